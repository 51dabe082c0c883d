#include "model/selection/cross_validation.h"

#include <algorithm>
#include <map>
#include <numeric>

#include "unfold/data/examples/example_batches.h"
#include "unfold/model/network/network_model.h"
#include "unfold/numerics/random.h"
#include "unfold/train/evaluate.h"
#include "unfold/train/sources/example_sources.h"

namespace unfold {
namespace {

/// Examples that are kept together; their class is the most frequent class among them.
struct FoldUnit {
  std::vector<Index> examples;
  Index main_class = 0;
};

std::vector<FoldUnit> units_of(std::span<const Index> classes, std::span<const Index> groups) {
  std::map<Index, FoldUnit> by_group;
  for (std::size_t e = 0; e < classes.size(); ++e)
    by_group[groups.empty() ? static_cast<Index>(e) : groups[e]].examples.push_back(static_cast<Index>(e));
  std::vector<FoldUnit> units;
  for (auto& [group, unit] : by_group) {
    std::map<Index, Index> counts;
    for (const Index e : unit.examples) ++counts[classes[at(e)]];
    unit.main_class = std::ranges::max_element(counts, {}, [](const auto& count) { return count.second; })->first;
    units.push_back(std::move(unit));
  }
  return units;
}

}  // namespace

std::vector<Index> stratified_folds(std::span<const Index> classes, std::span<const Index> groups, Index folds,
                                    std::uint64_t seed) {
  std::vector<FoldUnit> units = units_of(classes, groups);
  Random random(seed, "cross-validation/folds");
  for (std::size_t i = units.size(); i > 1; --i) std::swap(units[i - 1], units[random.below(i)]);
  // Large groups are assigned first, so small groups can fill the gaps.
  std::ranges::stable_sort(units, std::greater<>(), [](const FoldUnit& unit) { return unit.examples.size(); });
  std::vector<Index> result(classes.size()), total(at(folds));
  std::map<Index, std::vector<Index>> of_class;
  for (const FoldUnit& unit : units) {
    std::vector<Index>& own = of_class.try_emplace(unit.main_class, at(folds)).first->second;
    Index best = 0;
    for (Index fold = 1; fold < folds; ++fold)
      if (std::pair(own[at(fold)], total[at(fold)]) < std::pair(own[at(best)], total[at(best)])) best = fold;
    for (const Index e : unit.examples) {
      result[at(e)] = best;
      ++of_class.try_emplace(classes[at(e)], at(folds)).first->second[at(best)];
      ++total[at(best)];
    }
  }
  return result;
}

std::vector<Index> classes_of(const ExampleSet& examples, const std::string& field) {
  const std::vector<Symbol>& symbols = examples.column(field).symbols;
  std::vector<Index> classes(at(examples.count()));
  if (!symbols.empty()) std::ranges::copy(symbols, classes.begin());
  return classes;
}

namespace {

/// Reports the progress of the training without one fold as the fraction of all folds.
class FoldProgress final : public Observer {
 public:
  FoldProgress(const FoldTraining& training, Index fold, Index folds)
      : training_(training), fold_(static_cast<double>(fold)), folds_(static_cast<double>(folds)) {}
  void progress(const ProgressEvent& event) override {
    if (training_.progress) training_.progress((fold_ + event.fraction) / folds_);
  }

 private:
  const FoldTraining& training_;
  double fold_, folds_;
};

/// Stores the signals at the end of each held-out example. `held` contains the numbers of these examples among all
/// `count` examples.
template <class T>
void keep_outputs(const Batch& batch, std::span<const Matrix<const T>> heads, const std::vector<Index>& held,
                  Index count, std::vector<Buffer<T>>& outputs) {
  for (std::size_t h = 0; h < heads.size(); ++h) {
    const Index cols = heads[h].cols;
    if (outputs.size() == h) outputs.emplace_back(count * cols);
    for (Index c = 0; c < batch.structure.sequences(); ++c)
      std::copy_n(heads[h].row(batch.structure.row(c, batch.structure.size(c) - 1)), cols,
                  outputs[h].data() + held[at(batch.passages[at(c)])] * cols);
  }
}

}  // namespace

template <class T>
CrossValidation<T> cross_validate(const std::string& name, const ExampleSet& examples, const NetworkLayout& layout,
                                  const std::vector<Index>& folds, const FoldTraining& training, Team& team) {
  ExampleBatchOptions batches{.reads = layout.reads, .batch = training.batch};
  for (const HeadSpecification& head : layout.heads) batches.predicts.push_back(head.field);
  CrossValidation<T> result;
  Index predicted = 0;
  const Index count = 1 + *std::ranges::max_element(folds);
  for (Index fold = 0; fold < count; ++fold) {
    std::vector<Index> held, others;
    for (Index e = 0; e < examples.count(); ++e) (folds[at(e)] == fold ? held : others).push_back(e);
    const ExampleSet held_out = examples.subset(held), rest = examples.subset(others), none = examples.subset({});
    NetworkModel<T> model(name, examples.data(), layout);
    model.initialize(training.seed);
    TrainerOptions options;
    options.optimizer = training.optimizer;
    options.epochs = training.epochs;
    options.seed = training.seed;
    options.stop = training.stop;
    FoldProgress progress(training, fold, count);
    train(model, example_sources<T>(rest, none, batches, training.seed), options, "", team, &progress);
    Evaluator<T> evaluator(model.network(), team);
    const Evaluation found = evaluator.run(model.parameters(), *example_reader(held_out, batches), {},
                                           [&](const Batch& batch, std::span<const Matrix<const T>> heads) {
                                             keep_outputs(batch, heads, held, examples.count(), result.outputs);
                                           });
    result.nats += found.nats;
    predicted += found.predicted;
  }
  result.nats /= static_cast<double>(std::max<Index>(1, predicted));
  return result;
}

double cross_validation_operations(const std::string& name, const ExampleSet& examples, const NetworkLayout& layout,
                                   Index folds, double epochs) {
  const NetworkModel<float> model(name, examples.data(), layout);
  constexpr double kPasses = 3;  // forward, adjoints and gradients
  const double per_position = 2 * kPasses * static_cast<double>(model.parameters().size());
  return per_position * static_cast<double>(examples.positions() * (folds - 1)) * epochs;
}

template CrossValidation<float> cross_validate<float>(const std::string&, const ExampleSet&, const NetworkLayout&,
                                                      const std::vector<Index>&, const FoldTraining&, Team&);
template CrossValidation<double> cross_validate<double>(const std::string&, const ExampleSet&, const NetworkLayout&,
                                                        const std::vector<Index>&, const FoldTraining&, Team&);

}  // namespace unfold
