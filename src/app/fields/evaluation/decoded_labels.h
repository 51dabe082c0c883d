#pragma once
/// Labels of networks that read earlier labels (model/decoding/label_decoder.h). Predictions and their metrics read the
/// labels that a search has found, not those of the data. The log likelihood of the labels of the data is computed from
/// the labels of the data, because it is the product of p(label | inputs, all earlier labels).

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "model/decoding/label_decoder.h"
#include "unfold/data/examples/example_batches.h"
#include "unfold/model/network/network_model.h"

namespace unfold {

/// Throws UsageError if labels of the model could not be searched. Called before training.
template <class T>
void require_decodable(const NetworkModel<T>& model, const ExampleSet& examples);

/// Calls use(example, labelings) for every example in order, with the labelings sorted best first, or with `samples`
/// samples if there are any.
template <class T>
void for_each_labeling(const NetworkModel<T>& model, const ExampleSet& examples, const LabelSearchOptions& options,
                       Index samples, std::uint64_t seed, Team& team,
                       const std::function<void(Index, const std::vector<DecodedLabels>&)>& use);

/// The labels of each field that is read back, by entry.
using DecodedFields = std::map<std::string, std::vector<Symbol>, std::less<>>;
template <class T>
DecodedFields decode_labels(const NetworkModel<T>& model, const ExampleSet& examples, Index beam, Team& team);

/// Returns the reader of the examples in which the network reads these labels as its earlier labels. The examples and
/// the labels must outlive the reader.
std::unique_ptr<BatchReader> decoded_reader(const ExampleSet& examples, ExampleBatchOptions options,
                                            const DecodedFields& labels);

}  // namespace unfold
