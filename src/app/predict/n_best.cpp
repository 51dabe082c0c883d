#include "app/predict/n_best.h"

#include <algorithm>

#include "app/fields/evaluation/field_metrics.h"
#include "loss/ctc/unaligned_labels.h"
#include "unfold/train/evaluate.h"

namespace unfold {
namespace {

/// Number of examples processed in parallel; does not affect the result.
constexpr Index kExamplesAtOnce = 64;
/// For unaligned labels: prefixes that a search keeps in addition to the requested number.
constexpr Index kLeastBeam = 16;

template <class T>
std::vector<ScoredLabeling> answers_of(const Loss<T>& loss, const LabelQuery<T>& question, Index chain, Index count) {
  if (const auto* labels = loss.template as<LabelSequences<T>>()) return labels->n_best(question, chain, count);
  const auto& unsegmented = loss.template need<Unsegmented<T>>("--best");
  auto found = unsegmented.decode(question, chain, {.beam = std::max(count, kLeastBeam), .best = count});
  for (ScoredLabeling& each : found) {
    const std::vector<Index> places = unsegmented.places(question, chain, each.labels);
    std::vector<Symbol> placed(at(question.structure.size(chain)), kNoSymbol);
    for (std::size_t u = 0; u < places.size(); ++u) placed[at(places[u])] = each.labels[u];
    each.labels = std::move(placed);
  }
  return found;
}

}  // namespace

template <class T>
bool has_n_best(const Head<T>& head) {
  return head.loss->template as<LabelSequences<T>>() != nullptr || head.loss->template as<Unsegmented<T>>() != nullptr;
}

template <class T>
void for_each_n_best(const NetworkModel<T>& model, const ExampleSet& examples, Index count, Team& team,
                     const std::function<void(std::size_t, Index, const std::vector<ScoredLabeling>&)>& use) {
  ExampleBatchOptions reading = batch_options(model.layout());
  reading.batch = kExamplesAtOnce;
  reading.most_positions = positions_at_once(model);
  const std::vector<Head<T>>& heads = model.network().heads;
  std::vector<std::vector<ScoredLabeling>> answers;
  const auto see = [&](const Batch& batch, std::span<const Matrix<const T>> outputs) {
    for (std::size_t h = 0; h < heads.size(); ++h) {
      if (!has_n_best(heads[h])) continue;
      const LabelQuery<T> question{batch.structure, outputs[h], model.parameters().flat()};
      answers.assign(at(batch.structure.sequences()), {});
      team.run([&](Member& me) {
        const Range mine = me.share(batch.structure.sequences(), 1);
        for (Index c = mine.begin; c < mine.end; ++c) answers[at(c)] = answers_of(*heads[h].loss, question, c, count);
      });
      for (std::size_t c = 0; c < answers.size(); ++c) use(h, batch.passages[c], answers[c]);
    }
  };
  Evaluator<T> evaluator(model.network(), team);
  evaluator.run(model.parameters(), *example_reader(examples, reading), {}, see);
}

template bool has_n_best(const Head<float>&);
template bool has_n_best(const Head<double>&);
template void for_each_n_best(const NetworkModel<float>&, const ExampleSet&, Index, Team&,
                              const std::function<void(std::size_t, Index, const std::vector<ScoredLabeling>&)>&);
template void for_each_n_best(const NetworkModel<double>&, const ExampleSet&, Index, Team&,
                              const std::function<void(std::size_t, Index, const std::vector<ScoredLabeling>&)>&);

}  // namespace unfold
