#include "model/selection/forecast_selection.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "model/network/fitting/readout.h"
#include "unfold/base/error.h"
#include "unfold/model/network/network_model.h"
#include "unfold/train/evaluate.h"
#include "unfold/train/sources/example_sources.h"

namespace unfold {
namespace {

constexpr Index kMostLags = 64, kLags[] = {1, 4, 16, kMostLags}, kJointLags[] = {2, 8};
constexpr Index kLongLags = 32, kAverages = 5, kLongSeries = 1000;
constexpr Index kReservoirUnits = 500, kReservoirBlocks = 10;
constexpr double kNoisyEpochs = 60, kFewestEpochs = 20;
/// Minimum number of values for each lag: in all series together, and on average in one series.
constexpr Index kPositionsPerLag = 4, kLeastPerLag = 2;

bool is_of_numbers(const ExampleSet& examples, const std::string& read) {
  return examples.data().field(parse_read(read).field).type == FieldSpecification::Type::values;
}

Index size_of(const ExampleSet& examples, const std::vector<std::string>& reads) {
  Index size = 0;
  for (const std::string& read : reads) size += examples.data().field(parse_read(read).field).size;
  return size;
}

/// Lists candidates with their operations.
class CandidateList {
 public:
  CandidateList(const ExampleSet& training, const NetworkLayout& layout, const ForecastSelectionOptions& options)
      : training_(training), layout_(layout), options_(options) {
    for (const std::string& read : layout.reads) {
      const FieldRead parsed = parse_read(read);
      const auto is_head = [&](const HeadSpecification& head) { return head.field == parsed.field; };
      if (parsed.back > 0 && std::ranges::any_of(layout.heads, is_head)) own_.push_back(read);
      if (is_of_numbers(training, read)) numbers_.push_back(read);
    }
    length_ = training.positions() / std::max<Index>(1, training.count());
  }

  std::vector<ForecastCandidate> all() {
    add_linear();
    add_reservoir();
    add_networks();
    for (ForecastCandidate& candidate : list_) candidate.model = to_string(parse_model_spec(candidate.model));
    return std::move(list_);
  }

 private:
  void add_linear() {
    if (!own_.empty()) {
      const Index most = std::min(training_.positions() / kPositionsPerLag, length_ / kLeastPerLag);
      Index before = 0;
      for (const Index lags : kLags) {
        const Index own = std::max<Index>(1, std::min(lags, most));
        if (own > before && (lags < kMostLags || own == lags)) add_autoregression(own_, own, 0);
        before = own;
      }
      if (length_ >= kLongSeries) add_autoregression(own_, kLongLags, kAverages);
    }
    if (numbers_.size() <= own_.size()) return;
    for (const Index lags : kJointLags)
      if (kPositionsPerLag * lags * size_of(training_, numbers_) <= training_.positions())
        add_autoregression(numbers_, lags, 0);
  }

  void add_autoregression(const std::vector<std::string>& reads, Index lags, Index averages) {
    std::string model = fmt::format("ar:{}", lags);
    if (averages > 0) model += fmt::format(",averages={}", averages);
    if (options_.ahead > 1) model += fmt::format(",ahead={}", options_.ahead);
    const auto features = static_cast<double>(size_of(training_, reads) * (lags + averages));
    list_.push_back({.model = std::move(model), .reads = reads, .operations = fit_operations(features, 1)});
  }

  void add_reservoir() {
    if (own_.empty() || training_.positions() < kLongSeries) return;
    list_.push_back({.model = fmt::format("esn:{},bias-scale=0.5,blocks={}", kReservoirUnits, kReservoirBlocks),
                     .reads = own_,
                     .kind = ForecastKind::reservoir,
                     .operations = fit_operations(static_cast<double>(kReservoirUnits), kReservoirBlocks)});
  }

  /// Sums of products, and a factorization for each value of lambda and each block.
  double fit_operations(double features, double blocks) const {
    constexpr double kLambdas = 16;
    return features * features * (static_cast<double>(training_.positions()) + kLambdas * blocks * features / 3);
  }

  void add_networks() {
    add_network(layout_.reads, options_.network, options_.epochs);
    const auto add_noisy = [&](const std::vector<std::string>& reads) {
      const bool numeric = std::ranges::all_of(reads, [&](const auto& read) { return is_of_numbers(training_, read); });
      add_network(reads, numeric ? "gru:32,direct=24,dropout=0.5" : "gru:32,dropout=0.5", kNoisyEpochs);
    };
    add_noisy(layout_.reads);
    if (!own_.empty() && own_.size() < layout_.reads.size()) add_noisy(own_);
  }

  /// A network is compared after fewer epochs if the budget requires it.
  void add_network(const std::vector<std::string>& reads, const std::string& model, double epochs) {
    constexpr double kPasses = 3;       // forward, adjoints and gradients
    constexpr double kMostShare = 0.4;  // maximum share of the budget
    const NetworkModel<float> built(model, training_.data(), {.reads = reads, .heads = layout_.heads});
    const double epoch =
        2 * kPasses * static_cast<double>(built.parameters().size()) * static_cast<double>(training_.positions());
    const double trial = std::min(epochs, std::floor(kMostShare * options_.budget / epoch));
    ForecastCandidate candidate{.model = model, .reads = reads, .kind = ForecastKind::network, .epochs = epochs};
    candidate.trial_epochs = trial >= kFewestEpochs ? trial : 0;
    candidate.operations = epoch * std::max(trial, kFewestEpochs);
    list_.push_back(std::move(candidate));
  }

  const ExampleSet& training_;
  const NetworkLayout& layout_;
  const ForecastSelectionOptions& options_;
  std::vector<std::string> own_, numbers_;
  Index length_ = 0;  // typical
  std::vector<ForecastCandidate> list_;
};

/// Appends the sum of squared errors of each predicted position, over all heads.
template <class T>
void add_squares(const Network<T>& network, const Batch& batch, std::span<const Matrix<const T>> outputs,
                 std::vector<double>& squares) {
  for (Index s = 0; s < batch.structure.sequences(); ++s)
    for (Index p = 0; p < batch.structure.size(s); ++p) {
      const Index row = batch.structure.row(s, p);
      double sum = 0;
      bool predicted = false;
      for (std::size_t h = 0; h < network.heads.size(); ++h) {
        const ValueRows& target = std::get<ValueRows>(batch.field(network.heads[h].field));
        if (!target.present(row)) continue;
        predicted = true;
        const Matrix<const double> wanted = target.values<double>(row, 1);
        for (Index k = 0; k < wanted.cols; ++k) {
          const double off = static_cast<double>(outputs[h](row, k)) - wanted(0, k);
          sum += off * off;
        }
      }
      if (predicted) squares.push_back(sum);
    }
}

double mean_of(const std::vector<double>& values) {
  double sum = 0;
  for (const double x : values) sum += x;
  return sum / static_cast<double>(values.size());
}

/// Returns whether a is larger than b on average, by more than two standard errors of the difference.
bool is_clearly_larger(const std::vector<double>& a, const std::vector<double>& b) {
  constexpr double kDeviations = 2;
  std::vector<double> differences(a.size());
  for (std::size_t i = 0; i < a.size(); ++i) differences[i] = a[i] - b[i];
  const double mean = mean_of(differences);
  double squares = 0;
  for (const double d : differences) squares += (d - mean) * (d - mean);
  const auto n = static_cast<double>(a.size());
  return mean > kDeviations * std::sqrt(squares / n / n);
}

/// Returns the mean squared error of the last known value at the held-out positions; NaN if none is known.
double persistence_error(const ExampleSet& held_out, const NetworkLayout& layout, Index ahead) {
  double sum = 0;
  Index count = 0;
  for (const HeadSpecification& head : layout.heads) {
    const FieldColumn& column = held_out.column(head.field);
    const Index size = held_out.data().field(head.field).size;
    count = 0;
    for (Index e = 0; e < held_out.count(); ++e)
      for (Index p = std::max(ahead, held_out.warmup(e)); p < held_out.length(e); ++p) {
        const Index now = held_out.begin(e) + p, before = now - ahead;
        if (column.present[at(now)] == 0 || column.present[at(before)] == 0) continue;
        ++count;
        for (Index k = 0; k < size; ++k) {
          const double off = static_cast<double>(column.values[at(now * size + k)]) -
                             static_cast<double>(column.values[at(before * size + k)]);
          sum += off * off;
        }
      }
  }
  return count > 0 ? sum / static_cast<double>(count) : std::numeric_limits<double>::quiet_NaN();
}

/// Trains a network on all but the last tenth of the training set, which determines the best step. The held-out values
/// are not read, so that networks have no advantage over fitted models.
template <class T>
void train_network(NetworkModel<T>& model, const ForecastCandidate& candidate, const ExampleSet& training,
                   const ExampleBatchOptions& batches, const ForecastSelectionOptions& options, Team& team) {
  constexpr Index kStoppingPart = 10;
  const bool single = training.count() == 1;
  const Index all = single ? training.positions() : training.count();
  const Index first = all - std::max<Index>(1, all / kStoppingPart);
  std::vector<Index> fitted(at(first)), stopping(at(all - first));
  std::iota(fitted.begin(), fitted.end(), Index{0});
  std::iota(stopping.begin(), stopping.end(), first);
  const ExampleSet beginning = single ? training.part(0, 0, first, 0) : training.subset(fitted);
  const ExampleSet end = single ? training.part(0, first, all, options.window) : training.subset(stopping);
  TrainerOptions trainer;
  trainer.optimizer = options.optimizer;
  trainer.epochs = candidate.trial_epochs;
  trainer.seed = options.seed;
  trainer.stop = options.stop;
  train(model, example_sources<T>(beginning, end, batches, options.seed), trainer, "", team);
}

template <class T>
std::vector<double> held_out_squares(const ForecastCandidate& candidate, const ExampleSet& training,
                                     const ExampleSet& held_out, const NetworkLayout& layout,
                                     const ForecastSelectionOptions& options, Team& team) {
  NetworkModel<T> model(candidate.model, training.data(), {.reads = candidate.reads, .heads = layout.heads});
  model.initialize(options.seed);
  ExampleBatchOptions batches{.reads = candidate.reads, .batch = options.batch, .window = options.window};
  for (const HeadSpecification& head : layout.heads) batches.predicts.push_back(head.field);
  if (const auto readout = readout_of(model.spec())) {
    fit_readout(model.network(), model.parameters(), *example_reader(training, batches), team, *readout);
  } else {
    train_network(model, candidate, training, batches, options, team);
  }
  std::vector<double> squares;
  Evaluator<T> evaluator(model.network(), team);
  evaluator.run(model.parameters(), *example_reader(held_out, batches), {},
                [&](const Batch& batch, std::span<const Matrix<const T>> outputs) {
                  add_squares(model.network(), batch, outputs, squares);
                });
  return squares;
}

/// Chooses the simplest kind whose best candidate is not clearly worse than the best of all. Returns the number of
/// candidates if none has an error.
std::size_t choose(const std::vector<ForecastCandidate>& candidates, const std::vector<std::vector<double>>& squares) {
  const auto best_of = [&](auto&& is_allowed) {
    std::size_t best = candidates.size();
    for (std::size_t i = 0; i < candidates.size(); ++i)
      if (is_allowed(candidates[i]) && std::isfinite(candidates[i].error) &&
          (best == candidates.size() || candidates[i].error < candidates[best].error))
        best = i;
    return best;
  };
  const std::size_t best = best_of([](const ForecastCandidate&) { return true; });
  if (best == candidates.size()) return best;
  for (const ForecastKind kind : {ForecastKind::linear, ForecastKind::reservoir}) {
    const std::size_t own = best_of([&](const ForecastCandidate& candidate) { return candidate.kind == kind; });
    if (own < candidates.size() && !is_clearly_larger(squares[own], squares[best])) return own;
  }
  return best;
}

}  // namespace

std::vector<ForecastCandidate> forecast_candidates(const ExampleSet& training, const NetworkLayout& layout,
                                                   const ForecastSelectionOptions& options) {
  return CandidateList(training, layout, options).all();
}

template <class T>
ForecastSelection select_forecast_model(const ExampleSet& training, const ExampleSet& held_out,
                                        const NetworkLayout& layout, std::vector<ForecastCandidate> candidates,
                                        const ForecastSelectionOptions& options, Team& team,
                                        const std::function<void(const ForecastCandidate&)>& progress) {
  ForecastSelection result{.candidates = std::move(candidates)};
  result.persistence = persistence_error(held_out, layout, options.ahead);
  std::vector<std::vector<double>> squares(result.candidates.size());
  double spent = 0;
  for (std::size_t i = 0; i < result.candidates.size(); ++i) {
    ForecastCandidate& candidate = result.candidates[i];
    const bool affordable = candidate.kind != ForecastKind::network || candidate.trial_epochs > 0;
    if (!affordable || spent + candidate.operations > options.budget) continue;
    if (progress) progress(candidate);
    spent += candidate.operations;
    candidate.tried = true;
    try {
      squares[i] = held_out_squares<T>(candidate, training, held_out, layout, options, team);
      candidate.error = mean_of(squares[i]);
      if (!std::isfinite(candidate.error)) candidate.failure = "its predictions are not finite";
    } catch (const DataError& error) {
      candidate.failure = error.what();
    } catch (const DivergedError& error) {
      candidate.failure = error.what();
    }
  }
  result.best = choose(result.candidates, squares);
  if (result.best == result.candidates.size()) return {};
  return result;
}

template ForecastSelection select_forecast_model<float>(const ExampleSet&, const ExampleSet&, const NetworkLayout&,
                                                        std::vector<ForecastCandidate>, const ForecastSelectionOptions&,
                                                        Team&, const std::function<void(const ForecastCandidate&)>&);
template ForecastSelection select_forecast_model<double>(const ExampleSet&, const ExampleSet&, const NetworkLayout&,
                                                         std::vector<ForecastCandidate>,
                                                         const ForecastSelectionOptions&, Team&,
                                                         const std::function<void(const ForecastCandidate&)>&);

}  // namespace unfold
