#include "model/density/density_selection.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "loss/density/bernoulli_mixture_fit.h"
#include "loss/density/mixture_options.h"
#include "loss/hmm/vector_hmm.h"
#include "model/network/density_model.h"
#include "model/network/fitting/hmm_fit.h"
#include "unfold/base/error.h"
#include "unfold/loss/registry.h"
#include "unfold/numerics/random.h"
#include "unfold/train/evaluate.h"
#include "unfold/train/sources/example_sources.h"
#include "unfold/train/trainer.h"

namespace unfold {
namespace {

constexpr Index kFewRows = 400;  // largest number of rows for ten folds
constexpr Index kStarts = 6, kStartsOfFewRows = 20, kMostIterations = 60;
constexpr double kCoarse = 1e-4;  // nats per row
/// Columns with few different values, such as rounded measurements, are best described by narrow components.
constexpr const char* kNarrowPrior = ",prior=1e-06";
/// With few rows, components with similar covariances are described best by a prior with their mean covariance.
constexpr const char* kPooledPrior = ",prior=1e-06,pooled=1";

/// The training and the held-out rows of one fold.
struct Fold {
  std::vector<Index> training, held_out;
};

std::vector<Fold> random_folds(const std::vector<Index>& rows, Index count, std::uint64_t seed) {
  std::vector<Index> order = rows;
  Random random(seed, "density/folds");
  for (std::size_t i = order.size(); i > 1; --i) std::swap(order[i - 1], order[random.below(i)]);
  std::vector<Fold> folds(at(count));
  for (std::size_t i = 0; i < order.size(); ++i)
    for (std::size_t f = 0; f < folds.size(); ++f)
      (i % folds.size() == f ? folds[f].held_out : folds[f].training).push_back(order[i]);
  return folds;
}

/// Copies of rows, in double.
struct RowCopy {
  RowCopy(const FieldColumn& column, Index numbers, const std::vector<Index>& rows)
      : columns(numbers), values(rows.size() * at(numbers)) {
    for (std::size_t r = 0; r < rows.size(); ++r)
      std::copy_n(column.values.begin() + rows[r] * numbers, numbers, values.begin() + static_cast<Index>(r) * numbers);
  }
  Matrix<const double> rows() const {
    return {values.data(), static_cast<Index>(values.size()) / columns, columns, columns};
  }

  Index columns;
  std::vector<double> values;
};

double average_of(const std::vector<double>& values) {
  double sum = 0;
  for (const double x : values) sum += x;
  return sum / static_cast<double>(values.size());
}

/// `weights`: one number per value; empty: all are 1.
double weighted_average_of(const std::vector<double>& values, const std::vector<double>& weights) {
  if (weights.empty()) return average_of(values);
  double sum = 0, total = 0;
  for (std::size_t i = 0; i < values.size(); ++i) sum += weights[i] * values[i], total += weights[i];
  return sum / total;
}

class DensityComparison {
 public:
  DensityComparison(const ExampleSet& training, const DensitySelectionOptions& options, Team& team)
      : data_(training), o_(options), team_(team), numbers_(training.data().field(kVector).size) {
    const FieldColumn& column = training.column(kVector);
    if (std::ranges::find(column.present, char{0}) != column.present.end())
      throw DataError(fmt::format("{}: a vector is missing; fill it in, or remove its row", training.source()));
    weights_ = weights_of_positions(training);
    const Index rows = training.count();
    constexpr Index kFewest = 4;
    if (rows < kFewest)
      throw DataError(
          fmt::format("{}: {} rows are too few to choose a density model by cross-validation; name one "
                      "with --model, such as gaussian-mixture:1",
                      training.source(), rows));
    const Index read = std::min(rows, kSelectionRows);
    for (Index r = 0; r < read; ++r) read_.push_back(static_cast<Index>(static_cast<__int128>(r) * rows / read));
    constexpr Index kMany = 10, kUsual = 5;
    folds_ = random_folds(read_, std::min(read, read <= kFewRows ? kMany : kUsual), options.seed);
  }

  DensitySelection run() {
    if (o_.bits) {
      grow({1, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64}, "bernoulli-mixture:{}");
      try_network("nade:100");
    } else {
      for (const char* covariance : {"", ",covariance=diagonal"})
        for (const char* prior : {"", kNarrowPrior}) grow_gaussians(std::string(covariance) + prior);
      grow_gaussians(kPooledPrior);
      try_network("rnade:50");
    }
    settle_order();
    return {.candidates = std::move(candidates_), .rows = static_cast<Index>(read_.size()), .folds = fold_count()};
  }

 private:
  Index fold_count() const { return static_cast<Index>(folds_.size()); }
  /// Returns the number of short fits, the best of which is continued.
  Index starts() const { return static_cast<Index>(read_.size()) <= kFewRows ? kStartsOfFewRows : kStarts; }

  void grow_gaussians(const std::string& options) {
    const bool diagonal = options.find("diagonal") != std::string::npos;
    std::vector<Index> counts = {1, 2, 3, 4, 6, 8, 12, 16};
    if (diagonal) counts.insert(counts.end(), {24, 32});
    if (options == kPooledPrior) counts.erase(counts.begin());  // the same as without this prior
    grow(counts, "gaussian-mixture:{}" + options);
  }

  /// Increases the number of components until the held-out likelihood falls twice in a row.
  void grow(const std::vector<Index>& counts, const std::string& pattern) {
    double best = std::numeric_limits<double>::infinity();
    int worse = 0;
    for (const Index components : counts) {
      if (components > static_cast<Index>(folds_.front().training.size()) / 2) break;
      const std::string model = to_string(parse_model_spec(fmt::format(fmt::runtime(pattern), components)));
      begin(model);
      DensityCandidate candidate{.model = model, .nats = {}};
      for (const Fold& fold : folds_) candidate.nats.push_back(held_out_nats(fold, components, model));
      const double mean = candidate.mean();
      candidates_.push_back(std::move(candidate));
      worse = mean < best ? 0 : worse + 1;
      best = std::min(best, mean);
      if (worse == 2) break;
    }
  }

  double held_out_nats(const Fold& fold, Index components, const std::string& model) {
    const FieldColumn& column = data_.column(kVector);
    const RowCopy training(column, numbers_, fold.training), held_out(column, numbers_, fold.held_out);
    const std::vector<double> of_training = weights_of(fold.training), of_held_out = weights_of(fold.held_out);
    if (o_.bits) {
      const BernoulliMixtureFit fit = fit_bernoulli_mixture(training.rows(), components,
                                                            {.starts = starts(),
                                                             .restarts = 1,
                                                             .iterations = kMostIterations,
                                                             .tolerance = kCoarse,
                                                             .seed = o_.seed,
                                                             .stop = o_.stop,
                                                             .weights = of_training},
                                                            team_);
      return -weighted_average_of(log_probabilities(fit, held_out.rows(), team_), of_held_out);
    }
    const AnyOptions any = choose_loss(model).options;
    const auto& options = any.as<GaussianMixtureOptions>();
    const VectorHmmShape shape{.components = components,
                               .numbers = numbers_,
                               .full = options.covariance == Covariance::full,
                               .prior = options.prior,
                               .pooled = options.pooled};
    const VectorHmmFit fit = fit_vector_hmm(shape, rows_as_runs(training.rows(), of_training),
                                            {.starts = starts(),
                                             .restarts = 1,
                                             .iterations = kMostIterations,
                                             .tolerance = kCoarse,
                                             .seed = o_.seed,
                                             .stop = o_.stop},
                                            team_);
    const VectorSequences others = rows_as_runs(held_out.rows(), of_held_out);
    return -log_likelihood(fit.hmm, others, team_) / others.total();
  }

  /// Returns the weights of rows; empty if rows have none.
  std::vector<double> weights_of(const std::vector<Index>& rows) const {
    std::vector<double> weights;
    if (weights_.empty()) return weights;
    weights.reserve(rows.size());
    for (const Index row : rows) weights.push_back(weights_[at(row)]);
    return weights;
  }

  /// Trains a network on the first folds until it has read kNetworkRows rows.
  void try_network(const std::string& spec) {
    begin(spec);
    const std::string model = to_string(parse_model_spec(spec));
    const NetworkLayout layout{.reads = {kOne}, .heads = {{.field = kVector, .loss = model}}};
    DensityCandidate candidate{.model = model, .nats = {}};
    for (Index f = 0; f < std::min(kNetworkFolds, fold_count()); ++f) {
      const ExampleSet training = data_.subset(folds_[at(f)].training), held_out = data_.subset(folds_[at(f)].held_out);
      NetworkModel<float> network(model, data_.data(), layout);
      network.initialize(o_.seed);
      constexpr Index kFewestInBatch = 10, kMostInBatch = 100, kStepsOfEpoch = 20;
      const ExampleBatchOptions batches{
          .reads = layout.reads,
          .predicts = {kVector},
          .batch = std::clamp(training.count() / kStepsOfEpoch, kFewestInBatch, kMostInBatch)};
      TrainerOptions options;
      const double share = static_cast<double>(numbers_) / static_cast<double>(training.count());
      options.optimizer = fmt::format("adamw:rate=0.003,clip=1,decay={:.2g},schedule=cosine,warmup=100",
                                      std::min(1.0, o_.bits ? share : 30 * share));
      options.epochs = static_cast<double>(std::clamp<Index>(kNetworkRows / training.count(), 10, 100));
      options.seed = o_.seed;
      options.stop = o_.stop;
      const ExampleSet none = data_.subset({});
      Trainer<float>(network.network(), network.parameters(), example_sources<float>(training, none, batches, o_.seed),
                     options, team_)
          .run();
      ExampleBatchOptions once = batches;
      once.in_order = true;
      const auto reader = example_reader(held_out, once);
      candidate.nats.push_back(
          Evaluator<float>(network.network(), team_).run(network.parameters(), *reader).nats_per_symbol());
    }
    candidates_.push_back(std::move(candidate));
  }

  /// Sorts the candidates, the best first. A candidate with fewer folds is compared with the best other candidate on
  /// these folds.
  void settle_order() {
    std::ranges::stable_sort(candidates_, {}, [](const DensityCandidate& c) { return c.mean(); });
    const auto whole = std::ranges::find_if(
        candidates_, [&](const DensityCandidate& c) { return static_cast<Index>(c.nats.size()) == fold_count(); });
    for (auto network = candidates_.begin(); network < whole; ++network) {
      const auto tried = static_cast<Index>(network->nats.size());
      const double other = average_of({whole->nats.begin(), whole->nats.begin() + tried});
      if (network->mean() < other) return;
    }
    std::rotate(candidates_.begin(), whole, whole + 1);
  }

  void begin(const std::string& model) const {
    if (o_.stop != nullptr && *o_.stop) throw InterruptedError("interrupted");
    if (o_.progress) o_.progress(model);
  }

  const ExampleSet& data_;
  const DensitySelectionOptions& o_;
  Team& team_;
  Index numbers_;
  std::vector<double> weights_;  ///< of rows; empty: all are 1
  std::vector<Index> read_;
  std::vector<Fold> folds_;
  std::vector<DensityCandidate> candidates_;
};

}  // namespace

double DensityCandidate::mean() const { return average_of(nats); }

std::string DensitySelection::remark() const {
  const DensityCandidate& best = candidates.front();
  std::string text = fmt::format(
      "{}: chosen from {} models by {}-fold cross-validation on {} rows, {:.4f} nats per "
      "held-out row (standardized)",
      best.model, candidates.size(), folds, rows, best.mean());
  const std::size_t shown = std::min<std::size_t>(candidates.size(), 4);
  for (std::size_t i = 1; i < shown; ++i)
    text += fmt::format("{} {} {:.4f}", i == 1 ? "; next:" : ",", candidates[i].model, candidates[i].mean());
  return text + "; --model overrides the choice";
}

DensitySelection select_density(const ExampleSet& training, const DensitySelectionOptions& options, Team& team) {
  return DensityComparison(training, options, team).run();
}

}  // namespace unfold
