#include "app/train/baselines.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "loss/ctc/unaligned_labels.h"
#include "unfold/data/text/text_batches.h"

namespace unfold {
namespace {

/// Maximum number of symbols of a part that are counted.
constexpr Index kMostCounted = 10'000'000;
constexpr double kUnknown = std::numeric_limits<double>::quiet_NaN();

/// The frequencies of symbols, smoothed so that none has probability 0.
class SymbolFrequencies {
 public:
  explicit SymbolFrequencies(Index symbols) : counts_(at(symbols), 0.5) {}

  void add(Symbol symbol) { counts_[at(symbol)] += 1; }
  bool has(Symbol symbol) const { return symbol >= 0 && at(symbol) < counts_.size(); }
  double nats(Symbol symbol) const { return std::log(total() / counts_[at(symbol)]); }
  Symbol most_frequent() const { return static_cast<Symbol>(std::ranges::max_element(counts_) - counts_.begin()); }
  /// Returns the mean nats of the symbols counted in another object.
  double mean_nats(const SymbolFrequencies& of) const {
    double nats = 0, count = 0;
    for (std::size_t x = 0; x < counts_.size(); ++x) {
      const double seen = of.counts_[x] - 0.5;
      if (seen > 0) nats += seen * this->nats(static_cast<Symbol>(x));
      count += seen;
    }
    return count > 0 ? nats / count : kUnknown;
  }
  /// Returns the share of a symbol among those that were added.
  double share(Symbol symbol) const {
    const double added = total() - 0.5 * static_cast<double>(counts_.size());
    return added > 0 ? (counts_[at(symbol)] - 0.5) / added : 0;
  }

 private:
  double total() const { return std::accumulate(counts_.begin(), counts_.end(), 0.0); }
  std::vector<double> counts_;
};

/// Counts the symbols of a part that a model predicts.
SymbolFrequencies frequencies_in(const Corpus& corpus, const Split& part, Symbol predict_after) {
  constexpr Index kWindow = 4096;
  SymbolFrequencies result(corpus.alphabet().size());
  std::vector<Passage> passages;
  for (const Piece& piece : beginning_of(part, kMostCounted).pieces)
    passages.push_back({.sequence = piece.sequence, .range = piece.range, .score_from = piece.range.begin});
  StreamReader reader(corpus, kWindow, predict_after);
  reader.start({passages});
  for (Batch batch; reader.next(batch);)
    for (const Symbol x : batch.symbol_field(kSymbol).symbols)
      if (x != kNoSymbol) result.add(x);
  return result;
}

double measure_of(const Measures& measures, std::string_view name) {
  const auto found = std::ranges::find(measures, name, &Measures::value_type::first);
  return found == measures.end() ? kUnknown : found->second;
}

SymbolFrequencies frequencies_of(const FieldColumn& column, Index symbols) {
  SymbolFrequencies result(symbols);
  for (const Symbol x : column.symbols)
    if (result.has(x)) result.add(x);
  return result;
}

/// Mean and variance of each number of a column, without missing values and in standardized units.
struct Moments {
  std::vector<double> mean, variance;

  Moments(const FieldColumn& column, Index size) : mean(at(size)), variance(at(size)) {
    double count = 0;
    const auto entries = static_cast<Index>(column.present.size());
    const auto for_each = [&](const auto& use) {
      for (Index e = 0; e < entries; ++e)
        for (Index i = 0; i < size && column.present[at(e)] != 0; ++i)
          use(at(i), static_cast<double>(column.values[at(e * size + i)]));
    };
    for (const char present : column.present) count += present;
    count = std::max(count, 1.0);
    for_each([&](std::size_t i, double x) { mean[i] += x / count; });
    for_each([&](std::size_t i, double x) { variance[i] += (x - mean[i]) * (x - mean[i]) / count; });
  }
};

/// Returns the loss in nats of a constant prediction: a Gaussian, or the frequency of a bit, for each number.
double constant_nats(const FieldColumn& training, const FieldColumn& measured, const FieldSpecification& field) {
  constexpr double kLeastVariance = 1e-6, kLeastShare = 1e-3, kTwoPi = 6.283185307179586;
  const Moments moments(training, field.size);
  const bool bits = std::ranges::all_of(training.values, [](float x) { return x == 0 || x == 1; });
  double nats = 0, count = 0;
  for (std::size_t e = 0; e < measured.present.size(); ++e) {
    if (measured.present[e] == 0) continue;
    ++count;
    for (std::size_t i = 0; i < at(field.size); ++i) {
      const double x = measured.values[e * at(field.size) + i];
      const double mean = moments.mean[i], share = std::clamp(mean, kLeastShare, 1 - kLeastShare);
      const double variance = std::max(moments.variance[i], kLeastVariance);
      nats += bits ? -x * std::log(share) - (1 - x) * std::log(1 - share)
                   : 0.5 * (std::log(kTwoPi * variance) + (x - mean) * (x - mean) / variance);
    }
  }
  return count > 0 ? nats / count + log_scale(field) : kUnknown;
}

/// Returns the mean squared error of predicting the mean of the training part, in units of the data.
double constant_squared_error(const FieldColumn& training, const FieldColumn& measured,
                              const FieldSpecification& field) {
  const std::vector<double> mean = Moments(training, field.size).mean;
  double squares = 0, count = 0;
  for (std::size_t e = 0; e < measured.present.size(); ++e)
    for (std::size_t i = 0; i < at(field.size) && measured.present[e] != 0; ++i) {
      const double scale = field.deviation.empty() ? 1 : field.deviation[i];
      const double error = scale * (static_cast<double>(measured.values[e * at(field.size) + i]) - mean[i]);
      squares += error * error;
      ++count;
    }
  return count > 0 ? squares / count : kUnknown;
}

std::string comparison_text(const BaselineFigure& figure, double initial) {
  std::string text = fmt::format("the {} is {:.4g}", figure.name, figure.result);
  if (!std::isnan(figure.constant))
    text += fmt::format("; {} has {:.4g}",
                        figure.squared ? "always predicting the mean" : "always predicting the frequencies",
                        figure.constant);
  return text + fmt::format(", the initial network {:.4g}", initial);
}

/// Whether the result is worse than that of a constant, so that it is also compared with the initial network.
bool is_worse(const BaselineFigure& figure) {
  if (std::isnan(figure.constant)) return !figure.squared && figure.result > kDivergedNats;
  return !(figure.result <= figure.constant);
}

}  // namespace

bool has_diverged(const BaselineFigure& figure, double initial) {
  const double reference = std::isnan(figure.constant) ? initial : std::max(figure.constant, initial);
  if (figure.squared) return !(figure.result <= kDivergedRatio * reference);
  return !(figure.result <= reference + kDivergedNats * static_cast<double>(figure.size));
}

void compare_with_baselines(const std::vector<BaselineFigure>& figures,
                            const std::function<std::vector<double>()>& initial, const TrainSettings& settings,
                            const std::string& run, Reporter& reporter) {
  if (std::ranges::none_of(figures, is_worse)) return;
  const bool is_trial = settings.steps && *settings.steps < kFewestSteps;
  const std::vector<double> before = initial();
  for (std::size_t i = 0; i < figures.size(); ++i) {
    if (!is_worse(figures[i])) continue;
    const std::string text = comparison_text(figures[i], before[i]);
    if (has_diverged(figures[i], before[i]) && !is_trial)
      throw DivergedError(fmt::format(
          "training diverged, although all numbers stayed finite: {}. Train again (--overwrite) with a smaller "
          "learning rate, a smaller clip or more data per step than in {}{}",
          text, settings.optimizer, run.empty() ? "" : fmt::format("; {} contains the diverged model", run)));
    if (!figures[i].better_choices && !std::isnan(figures[i].constant))
      reporter.remark(
          fmt::format("warning: the model predicts worse than a constant: {}; train longer, or with a smaller learning "
                      "rate in --optimizer",
                      text));
  }
}

Split beginning_of(const Split& part, Index symbols) {
  Split result{.name = part.name, .pieces = {}};
  for (Piece piece : part.pieces) {
    if (symbols <= 0) break;
    piece.range.end = std::min(piece.range.end, piece.range.begin + symbols);
    symbols -= piece.range.size();
    result.pieces.push_back(piece);
  }
  return result;
}

BaselineFigure text_figure(double nats, const Corpus& corpus, const Split& training, const Corpus& measured,
                           const Split& part, Symbol predict_after) {
  const SymbolFrequencies known = frequencies_in(corpus, training, predict_after);
  const double by_frequency = known.mean_nats(frequencies_in(measured, part, predict_after));
  const double uniform = std::log(static_cast<double>(corpus.alphabet().size()));
  return {.name = "nats per symbol", .result = nats, .constant = std::fmin(uniform, by_frequency)};
}

ExampleSet beginning_of(const ExampleSet& examples, Index positions) {
  const bool is_chain = !examples.has_trees() && !examples.has_grids() && !examples.has_sources();
  if (examples.count() == 1 && is_chain) return examples.part(0, 0, std::min(positions, examples.length(0)), 0);
  std::vector<Index> first;
  for (Index e = 0, left = positions; e < examples.count() && left > 0; left -= examples.length(e), ++e)
    first.push_back(e);
  return examples.subset(first);
}

template <class T>
std::vector<BaselineFigure> field_figures(const NetworkModel<T>& model, const FieldFigures& found,
                                          const ExampleSet& training, const ExampleSet& measured) {
  std::vector<BaselineFigure> result;
  for (std::size_t h = 0; h < model.network().heads.size(); ++h) {
    const HeadFigures& head = found.heads[h];
    const FieldSpecification& field = model.data().field(head.field);
    const FieldColumn &known = training.column(head.field), &seen = measured.column(head.field);
    BaselineFigure figure{.name = fmt::format("nats per prediction of {}", head.field), .result = head.nats_each()};
    if (const double error = measure_of(head.measures, "mean_squared_error"); !std::isnan(error)) {
      figure = {.name = fmt::format("mean squared error of {}", head.field), .squared = true, .result = error};
      figure.constant = constant_squared_error(known, seen, field);
    } else if (field.type == FieldSpecification::Type::values) {
      figure.size = field.size;
      figure.constant = constant_nats(known, seen, field);
    } else if (model.network().heads[h].loss->template as<Unsegmented<T>>() == nullptr) {
      const SymbolFrequencies before = frequencies_of(known, field.size), now = frequencies_of(seen, field.size);
      figure.constant = before.mean_nats(now);
      figure.better_choices = measure_of(head.measures, "accuracy") > now.share(before.most_frequent());
    }
    if (head.predicted == 0) figure.result = -std::numeric_limits<double>::infinity();  // there is nothing to compare
    result.push_back(figure);
  }
  return result;
}

template std::vector<BaselineFigure> field_figures(const NetworkModel<float>&, const FieldFigures&, const ExampleSet&,
                                                   const ExampleSet&);
template std::vector<BaselineFigure> field_figures(const NetworkModel<double>&, const FieldFigures&, const ExampleSet&,
                                                   const ExampleSet&);

BaselineFigure task_figure(const TaskScore& score, const Task& task, std::uint64_t seed, Index count) {
  const TaskShape shape = task.shape();
  const auto for_each = [&](TaskSplit part, const auto& use) {
    Example example;
    for (Index n = 0; n < task.at_most(part, count); ++n) {
      task.example(part, seed, n, example);
      use(example);
    }
  };
  if (shape.predicts_symbols) {
    SymbolFrequencies known(shape.outputs), seen(shape.outputs);
    const auto count_into = [](SymbolFrequencies& all) {
      return [&all](const Example& example) {
        for (const Symbol x : example.target_symbols)
          if (x != kNoSymbol) all.add(x);
      };
    };
    for_each(TaskSplit::training, count_into(known));
    for_each(TaskSplit::validation, count_into(seen));
    return {
        .name = "nats per prediction", .result = score.evaluation.nats_per_symbol(), .constant = known.mean_nats(seen)};
  }
  double sum = 0, targets = 0, squares = 0, measured = 0;
  for_each(TaskSplit::training, [&](const Example& example) {
    for (const float y : example.target_values)
      if (!std::isnan(y)) sum += y, ++targets;
  });
  const double mean = targets > 0 ? sum / targets : 0;
  for_each(TaskSplit::validation, [&](const Example& example) {
    for (const float y : example.target_values)
      if (!std::isnan(y)) squares += (y - mean) * (y - mean), ++measured;
  });
  return {.name = "mean squared error",
          .squared = true,
          .result = measure_of(score.measures, "mean_squared_error"),
          .constant = measured > 0 ? squares / measured : kUnknown};
}

}  // namespace unfold
