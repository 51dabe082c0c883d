#pragma once
/// Decoding and error metrics of models that map sources to targets.

#include <algorithm>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "data/readers/example_reader.h"
#include "model/network/transduce.h"
#include "unfold/data/examples/example_batches.h"
#include "unfold/data/examples/example_set.h"
#include "unfold/model/network/network_model.h"
#include "unfold/train/events.h"

namespace unfold {

/// The end markers of targets in `pairs` data.
inline constexpr TargetEnds kPairEnds = {.symbol = kTargetEnd, .stop_field = kStopSuffix, .stop_at = kStop};
/// Returns the name of the target field, or of the field of whole sequences.
template <class T>
const std::string& target_field(const NetworkModel<T>& model) {
  const auto& heads = model.network().heads;
  return heads.front().field.ends_with(kStopSuffix) ? heads.back().field : heads.front().field;
}

/// Returns whether the model decodes a target from a source. False for models of sequences given only once-per-example
/// fields.
template <class T>
bool finds_targets(const NetworkModel<T>& model) {
  return std::ranges::any_of(model.data().fields,
                             [](const FieldSpecification& field) { return field.source && !field.once; });
}

/// Returns the end markers of the model's targets; `lengths` is length_model_of(model).
TargetEnds target_ends(const std::optional<LengthModel>& lengths);

/// Calls use(batch) with batches of the sources of the examples. Targets are not read and may be missing.
template <class T, class Use>
void for_each_batch_of_sources(const NetworkModel<T>& model, const ExampleSet& examples, const Use& use) {
  constexpr Index kSourcesAtOnce = 128;  // does not affect the result
  ExampleBatchOptions reading = batch_options(model.layout());
  reading.batch = kSourcesAtOnce;
  std::erase_if(reading.reads,
                [&](const std::string& read) { return !model.data().field(parse_read(read).field).source; });
  const auto reader = example_reader(examples, reading);
  for (Batch batch; reader->next(batch);) use(batch);
}

/// Calls use(example, targets) for every example, in no particular order, with the targets sorted best first. If
/// `samples` > 0, draws that many samples instead of the best targets.
template <class T>
void for_each_transduction(const NetworkModel<T>& model, const ExampleSet& examples, const TransduceOptions& options,
                           Index samples, std::uint64_t seed, Team& team,
                           const std::function<void(Index, std::vector<Transduced>&)>& use);

/// Returns "sequence_error", the fraction of sources without an exact match; "edit_error", the number of insertions,
/// deletions and substitutions per reference symbol; and "sources", the number of sources. If a source has several
/// reference targets, the closest one counts. Each source counts once.
template <class T>
Measures transduction_measures(const NetworkModel<T>& model, const ExampleSet& examples, Index beam, Team& team);

/// Returns a target as text: characters are concatenated, words are joined by spaces.
std::string target_text(const FieldSpecification& field, std::span<const Symbol> symbols);

}  // namespace unfold
