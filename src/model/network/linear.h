#pragma once
/// The linear model without layers: heads are linear in the inputs. With the loss crf it is a conditional random field
/// with feature templates over columns (data/examples/templates.h), and with softmax it is logistic regression.
///
/// There is one weight for each pair of an input symbol and a label that occurred with it in training; with `all=true`,
/// for each pair of an input symbol and any label. The list of pairs (graph/circuit/sparse_lookup.h) is created once
/// from the training data and stored in the model file as two tensors, NAME/listing/begin and NAME/listing/outputs,
/// where NAME is the output of the head.
///
/// Inputs may also have weights for transitions between labels (the loss crf:steps=read): the outputs are then n labels
/// followed by n^2 transitions. With several hidden states per label (hybrid:K), a pair is listed for each state.
///
/// `hash=BITS`: the strings of each field are hashed to 2^BITS symbols (Weinberger, Dasgupta, Langford, Smola &
/// Attenberg 2009) instead of having one symbol each. Strings are not stored, and a new string uses the weights of its
/// hash.
///
/// `crf:template=FILE`, which is used only in training, reads the fields of a CRF++ template.

#include <memory>
#include <string>
#include <vector>

#include "unfold/data/examples/example_set.h"
#include "unfold/graph/cells/cell.h"
#include "unfold/graph/circuit/sparse_lookup.h"
#include "unfold/model/model.h"
#include "unfold/model/network/spec.h"

namespace unfold {

struct LinearOptions {
  Index cut = 1, hash = 0;
  bool all = false;
  std::string steps = {};
};
template <class Visitor>
void describe(Visitor& v, LinearOptions& o) {
  v("cut", o.cut, "minimum count of a text in training to have weights", at_least(1));
  v("hash", o.hash, "hash bits: the strings of each input share 2^bits rows of weights; 0: no hashing",
    range(0, Alphabet::kMostHashBits));
  v("all", o.all, "weights for all labels, not only for those that occurred with a text");
  v.add({.name = "steps",
         .target = &o.steps,
         .help = "inputs with weights for label transitions, with ; between names; an input whose name ends in ! has "
                 "no other weights"});
}

/// Returns the entry of the linear model, which is not in the registry of cells because it adds no layers.
const CellEntry& linear_model();

/// Returns the symbol fields among the inputs, in order; these are the signals of a listing.
std::vector<std::string> listed_reads(const DataSpecification& data, const std::vector<std::string>& reads);

/// The fields that the option `steps` names.
struct StepReads {
  /// Fields with weights for transitions, and the subset of them that has no weights for labels.
  std::vector<std::string> steps, alone;

  static StepReads parse(std::string_view option);
  std::string option() const;
};

/// Lists the pairs of inputs and labels of a field in the examples. `<unk>`, which stands for texts that did not occur
/// in training, has no pairs. `loss`: SPEC of the loss of the field; empty: softmax. Throws DataError if no example has
/// a label, and UsageError for a loss that does not support the options.
std::shared_ptr<const Listing> list_pairs(const ExampleSet& examples, const std::vector<std::string>& reads,
                                          const std::string& labels, const LinearOptions& options,
                                          const std::string& loss);
inline std::shared_ptr<const Listing> list_pairs(const ExampleSet& examples, const std::vector<std::string>& reads,
                                                 const std::string& labels, bool all) {
  return list_pairs(examples, reads, labels, LinearOptions{.all = all}, "");
}

/// Returns the names of the tensors of a listing, given the name of its output.
std::vector<std::string> listing_tensors(const std::string& output);
void add_listing(SafetensorsWriter& writer, const std::string& output, const Listing& listing);
/// Returns null if the file has no listing for this output. Throws ModelError.
std::shared_ptr<const Listing> read_listing(const ModelFile& file, const std::string& output,
                                            const std::vector<std::string>& reads, Index outputs);

}  // namespace unfold
