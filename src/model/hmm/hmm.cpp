#include "model/hmm/hmm.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <nlohmann/json.hpp>

#include "model/fitted_spec.h"
#include "model/hmm/hmm_starts.h"
#include "numerics/functions.h"
#include "unfold/base/error.h"
#include "unfold/numerics/random.h"

namespace unfold {
namespace {

constexpr const char* kMain = "states";

/// Predicts one symbol at a time, as reestimate does; f is the distribution of the state before the next symbol.
class HmmPredictor final : public Predictor {
 public:
  explicit HmmPredictor(const HmmParameters& hmm) : hmm_(&hmm) { reset(); }
  Index alphabet() const override { return hmm_->alphabet; }

  void reset() override {
    state_ = hmm_->initial;
    log_probabilities_.clear();
  }

  std::span<const float> log_probabilities() override {
    if (!log_probabilities_.empty()) return log_probabilities_;
    const std::size_t symbols = at(hmm_->alphabet);
    std::vector<double> p(symbols);
    for (std::size_t j = 0; j < state_.size(); ++j)
      for (std::size_t x = 0; x < symbols; ++x) p[x] += state_[j] * hmm_->emissions[j * symbols + x];
    for (double& x : p) x = std::min(x, 1.0);
    vector_log(p.data(), p.data(), hmm_->alphabet);
    log_probabilities_.assign(p.begin(), p.end());
    return log_probabilities_;
  }

  std::unique_ptr<Predictor> clone() const override { return std::make_unique<HmmPredictor>(*this); }

 private:
  float log_probability_of(Symbol symbol) override {
    double p = 0;
    for (std::size_t j = 0; j < state_.size(); ++j)
      p += state_[j] * hmm_->emissions[j * at(hmm_->alphabet) + static_cast<std::size_t>(symbol)];
    p = std::min(p, 1.0);
    vector_log(&p, &p, 1);
    return static_cast<float>(p);
  }

  void update(Symbol symbol) override {
    log_probabilities_.clear();
    const std::size_t n = state_.size();
    std::vector<double> seen(n);
    double total = 0;
    for (std::size_t j = 0; j < n; ++j) {
      seen[j] = state_[j] * hmm_->emissions[j * at(hmm_->alphabet) + static_cast<std::size_t>(symbol)];
      total += seen[j];
    }
    if (total >= kLeastProbability)
      for (double& x : seen) x /= total;
    else
      seen = state_;  // no state can emit the symbol; continue as if it had not been observed
    std::fill(state_.begin(), state_.end(), 0.0);
    for (std::size_t i = 0; i < n; ++i)
      for (std::size_t j = 0; j < n; ++j) state_[j] += seen[i] * hmm_->transitions[i * n + j];
  }

  static constexpr double kLeastProbability = 1e-290;
  const HmmParameters* hmm_;
  std::vector<double> state_;
  std::vector<float> log_probabilities_;
};

void check_rows(const ModelFile& file, const char* name, const std::vector<double>& values, Index columns) {
  for (std::size_t begin = 0; begin < values.size(); begin += at(columns)) {
    double total = 0;
    for (std::size_t i = begin; i < begin + at(columns); ++i) total += values[i] >= 0 ? values[i] : -1e300;
    if (!(std::abs(total - 1) < 1e-6))
      file.fail(fmt::format("tensor {} contains a row that is not a distribution", name));
  }
}

/// Parameters that are being fitted.
struct Attempt {
  Index number = 0;  ///< number of the initialization
  HmmParameters hmm = {};
  double objective = -std::numeric_limits<double>::infinity();
  Index iterations = 0;
};

/// Fits an HMM from several initializations. The result depends only on the options, the data and the seed.
class HmmFitting {
 public:
  HmmFitting(const HmmOptions& options, const TrainingData& data, const FitOptions& fit, Team& team)
      : o_(options), data_(data), fit_(fit), team_(team) {}

  Attempt best() {
    std::vector<Attempt> attempts = o_.start == HmmStart::spread && o_.states > 1 ? select_starts() : uniform_starts();
    climb(attempts, data_.training, o_.iterations, o_.tolerance);
    keep_best(attempts, 1);
    return std::move(attempts.front());
  }

 private:
  static constexpr Index kShort = 20, kLonger = 60, kOneOf = 3;
  static constexpr Index kMostNumbers = Index{1} << 26;  // total over all initializations

  std::vector<Attempt> uniform_starts() {
    std::vector<Attempt> attempts(at(o_.states > 1 || o_.start == HmmStart::uniform ? o_.restarts : 1));
    for (Index r = 0; r < static_cast<Index>(attempts.size()); ++r) {
      attempts[at(r)].number = r;
      attempts[at(r)].hmm = HmmParameters::random(o_.states, data_.corpus.alphabet().size(), fit_.seed, r);
    }
    planned_ = static_cast<double>(attempts.size());
    return attempts;
  }

  std::vector<Attempt> select_starts() {
    const HmmStarts starts(data_.corpus, data_.training, o_.states);
    const Index fit_in_memory = kMostNumbers / (o_.states * (o_.states + data_.corpus.alphabet().size()));
    std::vector<Attempt> attempts(at(std::max(std::min(o_.starts, fit_in_memory), o_.restarts)));
    const Index longer = std::max(o_.restarts, static_cast<Index>(attempts.size()) / kOneOf);
    planned_ = static_cast<double>(attempts.size()) + static_cast<double>(longer + o_.restarts);
    for (Index n = 0; n < static_cast<Index>(attempts.size()); ++n) {
      attempts[at(n)].number = n;
      attempts[at(n)].hmm = starts.make(n, fit_.seed);
    }
    climb(attempts, starts.sample(), kShort, 0);
    keep_best(attempts, longer);
    if (longer > o_.restarts) climb(attempts, starts.sample(), kLonger, 0);
    keep_best(attempts, o_.restarts);
    return attempts;
  }

  /// Sorts the attempts, the best first; equal attempts keep their order.
  static void keep_best(std::vector<Attempt>& attempts, Index count) {
    std::ranges::stable_sort(attempts, std::greater(), [](const Attempt& a) {
      return std::isnan(a.objective) ? -std::numeric_limits<double>::infinity() : a.objective;
    });
    attempts.erase(attempts.begin() + count, attempts.end());
  }

  /// Runs each attempt for at most `iterations`. Several attempts run in parallel, each on one thread of the team.
  void climb(std::vector<Attempt>& attempts, const Split& part, Index iterations, double tolerance) {
    const auto count = static_cast<Index>(attempts.size());
    if (count > 1 && team_.size() > 1) {
      team_.run([&](Member& me) {
        Team alone(1);
        for (Index a = me.id(); a < count; a += me.size())
          climb_one(attempts[at(a)], part, iterations, tolerance, alone, me.id() == 0);
      });
      done_ += static_cast<double>(count);
      return;
    }
    for (Attempt& attempt : attempts) {
      climb_one(attempt, part, iterations, tolerance, team_, true);
      ++done_;
    }
  }

  /// Growing gains indicate that the fit is leaving a plateau, so it stops only when gains shrink.
  void climb_one(Attempt& attempt, const Split& part, Index iterations, double tolerance, Team& helpers, bool tells) {
    const double least_gain = tolerance * static_cast<double>(part.symbols());
    double before = -std::numeric_limits<double>::infinity(), gained = std::numeric_limits<double>::infinity();
    HmmMemory memory{.stop = fit_.stop};
    attempt.iterations = 0;
    while (attempt.iterations < iterations) {
      if (fit_.stop != nullptr && *fit_.stop) throw InterruptedError("interrupted");
      if (tells)
        fit_.tick("Baum-Welch",
                  (done_ + static_cast<double>(attempt.iterations) / static_cast<double>(iterations)) / planned_);
      attempt.objective = reestimate(attempt.hmm, data_.corpus, part, o_.add, helpers, &memory);
      ++attempt.iterations;
      const double gain = attempt.objective - before;
      if (attempt.iterations > 1 && !(gain >= least_gain) && !(o_.start == HmmStart::spread && gain > gained)) break;
      before = attempt.objective;
      gained = gain;
    }
  }

  const HmmOptions& o_;
  const TrainingData& data_;
  const FitOptions& fit_;
  Team& team_;
  double done_ = 0, planned_ = 1;  // number of attempts
};

}  // namespace

HmmParameters::HmmParameters(Index n, Index v)
    : states(n),
      alphabet(v),
      initial(at(n), 1 / static_cast<double>(n)),
      transitions(at(n * n), 1 / static_cast<double>(n)),
      emissions(at(n * v), 1 / static_cast<double>(v)) {}

HmmParameters HmmParameters::random(Index states, Index alphabet, std::uint64_t seed, Index number) {
  HmmParameters hmm(states, alphabet);
  Random random(seed, stream_of("hmm") + static_cast<std::uint64_t>(number));
  const auto disturb = [&](std::vector<double>& values, Index columns) {
    for (std::size_t begin = 0; begin < values.size(); begin += at(columns)) {
      double total = 0;
      for (std::size_t i = begin; i < begin + at(columns); ++i) total += values[i] = random.uniform(0.5, 1.5);
      for (std::size_t i = begin; i < begin + at(columns); ++i) values[i] /= total;
    }
  };
  disturb(hmm.initial, states);
  disturb(hmm.transitions, states);
  disturb(hmm.emissions, alphabet);
  return hmm;
}

std::string HmmModel::canonical(std::string_view spec) {
  return fitted_spec(kName, parse_fitted_spec<HmmOptions>(spec, kMain), kMain);
}

std::vector<OptionHelp> HmmModel::options() { return help_of(HmmOptions()); }

HmmModel::HmmModel(std::string_view spec, const Alphabet& alphabet)
    : FittedModel(alphabet),
      options_(parse_fitted_spec<HmmOptions>(spec, kMain)),
      hmm_(options_.states, this->alphabet().size()) {}

HmmModel::HmmModel(HmmParameters hmm, const Alphabet& alphabet)
    : FittedModel(alphabet), options_{.states = hmm.states}, hmm_(std::move(hmm)) {
  if (hmm_.alphabet != this->alphabet().size())
    throw UsageError(
        fmt::format("the HMM has {} symbols, but the alphabet has {}", hmm_.alphabet, this->alphabet().size()));
}

HmmModel::HmmModel(const ModelFile& file)
    : FittedModel(file), options_(read_fitted_spec<HmmOptions>(file, kName, kMain)) {
  const Index n = options_.states, v = alphabet().size();
  file.expect_tensors({"initial", "transitions", "emissions"});
  if (file.tensors().tensor("emissions").shape != std::vector<Index>{n, v} ||
      file.tensors().tensor("transitions").shape != std::vector<Index>{n, n})
    file.fail(fmt::format("the tensors do not match {} states and {} symbols", n, v));
  hmm_ = HmmParameters(n, v);
  file.tensors().read<double>("initial", {n}, std::span(hmm_.initial));
  file.tensors().read<double>("transitions", {n, n}, std::span(hmm_.transitions));
  file.tensors().read<double>("emissions", {n, v}, std::span(hmm_.emissions));
  check_rows(file, "initial", hmm_.initial, n);
  check_rows(file, "transitions", hmm_.transitions, n);
  check_rows(file, "emissions", hmm_.emissions, v);
}

std::string HmmModel::spec_text() const { return fitted_spec(kName, options_, kMain); }

std::unique_ptr<Predictor> HmmModel::make_predictor() const { return std::make_unique<HmmPredictor>(hmm_); }

nlohmann::json HmmModel::fit(const TrainingData& data, const FitOptions& options, Team& team) {
  check_alphabet(data.corpus);
  const Attempt best = HmmFitting(options_, data, options, team).best();
  hmm_ = best.hmm;
  return {{"symbols", data.training.symbols()},
          {"best_start", best.number},
          {"iterations", best.iterations},
          {"objective_nats", std::isfinite(best.objective) ? nlohmann::json(best.objective) : nlohmann::json()}};
}

void HmmModel::add_tensors(SafetensorsWriter& writer) const {
  writer.add<double>("initial", {hmm_.states}, hmm_.initial);
  writer.add<double>("transitions", {hmm_.states, hmm_.states}, hmm_.transitions);
  writer.add<double>("emissions", {hmm_.states, hmm_.alphabet}, hmm_.emissions);
}

}  // namespace unfold
