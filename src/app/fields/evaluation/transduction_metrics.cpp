#include "app/fields/evaluation/transduction_metrics.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>

#include "app/fields/evaluation/field_metrics.h"
#include "app/fields/field_model.h"
#include "base/utf8.h"
#include "model/decoding/edit_distance.h"
#include "unfold/base/error.h"

namespace unfold {
namespace {

/// Returns the concatenated source symbols of an example.
std::vector<Symbol> source_of(const ExampleSet& examples, Index example) {
  std::vector<Symbol> symbols;
  for (const FieldSpecification& field : examples.data().fields) {
    if (!field.source || field.type != FieldSpecification::Type::symbols) continue;
    const FieldColumn& column = examples.column(field.name);
    const Range own = column.chain(example);
    symbols.insert(symbols.end(), column.symbols.begin() + own.begin, column.symbols.begin() + own.end);
    symbols.push_back(kNoSymbol);  // separator between fields
  }
  return symbols;
}

/// Returns the target of an example without its end symbol, which is the last position.
std::vector<Symbol> target_of(const ExampleSet& examples, const std::string& field, Index example) {
  const auto begin = examples.column(field).symbols.begin() + examples.begin(example);
  return {begin, begin + examples.length(example) - 1};
}

bool is_character(std::string_view text) {
  Index end = 0;
  return !text.empty() && next_code_point(text, end) != kNoCodePoint && end == static_cast<Index>(text.size());
}

}  // namespace

TargetEnds target_ends(const std::optional<LengthModel>& lengths) {
  TargetEnds ends = kPairEnds;
  if (lengths) ends.left_field = kStepsLeftSuffix;
  ends.steps_left = steps_left;
  return ends;
}

template <class T>
void for_each_transduction(const NetworkModel<T>& model, const ExampleSet& examples, const TransduceOptions& options,
                           Index samples, std::uint64_t seed, Team& team,
                           const std::function<void(Index, std::vector<Transduced>&)>& use) {
  const std::optional<LengthModel> lengths = length_model_of(model);
  Transducer<T> transducer(model.network(), model.parameters(), model.data(), target_ends(lengths), team,
                           lengths ? &*lengths : nullptr);
  for_each_batch_of_sources(model, examples, [&](const Batch& batch) {
    auto found = samples > 0 ? transducer.samples(batch, samples, seed, options) : transducer.best(batch, options);
    for (std::size_t c = 0; c < found.size(); ++c) use(batch.passages[c], found[c]);
  });
}

template <class T>
Measures transduction_measures(const NetworkModel<T>& model, const ExampleSet& examples, Index beam, Team& team) {
  const std::string& field = target_field(model);
  std::map<std::vector<Symbol>, std::vector<Index>> by_source;
  std::vector<Index> firsts;
  for (Index e = 0; e < examples.count(); ++e) {
    std::vector<Index>& same = by_source[source_of(examples, e)];
    if (same.empty()) firsts.push_back(e);
    same.push_back(e);
  }
  const ExampleSet sources = examples.subset(firsts);
  Index wrong = 0, edits = 0, wanted = 0;
  for_each_transduction<T>(model, sources, {.beam = beam}, 0, 0, team,
                           [&](Index source, const std::vector<Transduced>& found) {
                             Index closest = -1, length = 0;
                             for (const Index e : by_source.at(source_of(sources, source))) {
                               const std::vector<Symbol> target = target_of(examples, field, e);
                               // Symbols unseen in training are kNoSymbol here, which never equals a predicted symbol.
                               const Index distance = edit_distance(found.front().symbols, target);
                               if (closest >= 0 && distance >= closest) continue;
                               closest = distance;
                               length = static_cast<Index>(target.size());
                             }
                             wrong += closest > 0 || !found.front().ended ? 1 : 0;
                             edits += closest;
                             wanted += length;
                           });
  const auto share = [](Index part, Index all) { return static_cast<double>(part) / static_cast<double>(all); };
  Measures measures = {{"sources", static_cast<double>(sources.count())}};
  if (sources.count() > 0) measures.emplace_back("sequence_error", share(wrong, sources.count()));
  if (wanted > 0) measures.emplace_back("edit_error", share(edits, wanted));
  return measures;
}

std::string target_text(const FieldSpecification& field, std::span<const Symbol> symbols) {
  bool characters = true;
  for (Symbol x = 0; x < field.size; ++x) {
    const std::string_view text = field.alphabet->text(x);
    characters = characters && (text == kTargetEnd || is_character(text));
  }
  std::vector<std::string_view> texts;
  texts.reserve(symbols.size());
  for (const Symbol x : symbols) texts.push_back(field.alphabet->text(x));
  return fmt::format("{}", fmt::join(texts, characters ? "" : " "));
}

template void for_each_transduction(const NetworkModel<float>&, const ExampleSet&, const TransduceOptions&, Index,
                                    std::uint64_t, Team&, const std::function<void(Index, std::vector<Transduced>&)>&);
template void for_each_transduction(const NetworkModel<double>&, const ExampleSet&, const TransduceOptions&, Index,
                                    std::uint64_t, Team&, const std::function<void(Index, std::vector<Transduced>&)>&);
template Measures transduction_measures(const NetworkModel<float>&, const ExampleSet&, Index, Team&);
template Measures transduction_measures(const NetworkModel<double>&, const ExampleSet&, Index, Team&);

}  // namespace unfold
