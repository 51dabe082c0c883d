#pragma once
/// Models of sources and targets: the targets they find, and how wrong these are.

#include <algorithm>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "unfold/data/example_batches.h"
#include "unfold/data/example_set.h"
#include "unfold/models/network_model.h"
#include "unfold/models/transduce.h"
#include "unfold/readers/example_reader.h"
#include "unfold/training/events.h"

namespace unfold {

/// How targets of `pairs` end.
inline constexpr TargetEnds kPairEnds = {.symbol = kTargetEnd, .stop_field = kStopField, .stop_at = kStop};
/// The field of targets, or of whole sequences.
template <class T>
const std::string& target_field(const NetworkModel<T>& model) {
  const auto& heads = model.network().heads;
  return heads.front().field.ends_with(kStopField) ? heads.back().field : heads.front().field;
}

/// Whether the model has a source, of which it finds a target: not one that predicts sequences of what is given once.
template <class T>
bool finds_targets(const NetworkModel<T>& model) {
  return std::ranges::any_of(model.data().fields,
                             [](const FieldSpecification& field) { return field.source && !field.once; });
}

/// What targets of the model end with; `lengths` are those of length_model_of(model).
TargetEnds target_ends(const std::optional<LengthModel>& lengths);

/// Calls use(batch) with the sources of the examples, so many side by side that it pays; without their targets, which
/// may be missing.
template <class T, class Use>
void for_each_batch_of_sources(const NetworkModel<T>& model, const ExampleSet& examples, const Use& use) {
  constexpr Index kSourcesAtOnce = 128;  // no influence on the result
  ExampleBatchOptions reading = batch_options(model.layout());
  reading.batch = kSourcesAtOnce;
  std::erase_if(reading.reads,
                [&](const std::string& read) { return !model.data().field(parse_read(read).field).source; });
  const auto reader = example_reader(examples, reading);
  for (Batch batch; reader->next(batch);) use(batch);
}

/// Calls use(example, its targets, the best first) for every example, in no particular order. `samples` > 0: so many
/// samples instead of the best ones.
template <class T>
void for_each_transduction(const NetworkModel<T>& model, const ExampleSet& examples, const TransduceOptions& options,
                           Index samples, std::uint64_t seed, Team& team,
                           const std::function<void(Index, std::vector<Transduced>&)>& use);

/// "sequence_error", the share of sources whose target is not found exactly, and "edit_error": insertions, deletions
/// and substitutions for a symbol of the targets that were wanted. Where a source has several targets, that counts
/// which the found one is closest to; each source counts once. "sources": how many there are.
template <class T>
Measures transduction_measures(const NetworkModel<T>& model, const ExampleSet& examples, Index beam, Team& team);

/// The symbols of a target as text: characters together, words between blanks.
std::string target_text(const FieldSpecification& field, std::span<const Symbol> symbols);

}  // namespace unfold
