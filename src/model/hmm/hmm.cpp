#include "model/hmm/hmm.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "model/fitted_spec.h"
#include "numerics/functions.h"
#include "numerics/random.h"

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
      seen = state_;  // no state can emit the symbol: continue as if it had not been observed
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
  if (hmm_.alphabet != this->alphabet().size()) throw UsageError("the HMM has a different alphabet");
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
  struct Attempt {
    HmmParameters hmm;
    double objective = 0;
    Index iterations = 0;
  };
  std::vector<Attempt> starts(at(options_.restarts));
  const double least_gain = options_.tolerance * static_cast<double>(data.training.symbols());
  const auto climb = [&](Index number, Team& helpers, bool tells) {
    Attempt& start = starts[at(number)];
    start.hmm = HmmParameters::random(options_.states, alphabet().size(), options.seed, number);
    double before = -std::numeric_limits<double>::infinity();
    HmmMemory memory{.stop = options.stop};
    while (start.iterations < options_.iterations) {
      if (options.stop != nullptr && *options.stop) throw InterruptedError("interrupted");
      if (tells)
        options.tick("Baum-Welch", static_cast<double>(number * options_.iterations + start.iterations) /
                                       static_cast<double>(options_.restarts * options_.iterations));
      start.objective = reestimate(start.hmm, data.corpus, data.training, options_.add, helpers, &memory);
      ++start.iterations;
      if (start.iterations > 1 && !(start.objective - before >= least_gain)) break;
      before = start.objective;
    }
  };
  if (options_.restarts > 1 && team.size() > 1) {  // each restart runs on one member of the team
    team.run([&](Member& me) {
      Team alone(1);
      for (Index r = me.id(); r < options_.restarts; r += me.size()) climb(r, alone, me.id() == 0);
    });
  } else {
    for (Index r = 0; r < options_.restarts; ++r) climb(r, team, true);
  }
  const auto best = std::max_element(starts.begin(), starts.end(),
                                     [](const Attempt& a, const Attempt& b) { return a.objective < b.objective; });
  hmm_ = std::move(best->hmm);
  return {{"symbols", data.training.symbols()},
          {"best_start", best - starts.begin()},
          {"iterations", best->iterations},
          {"objective_nats", std::isfinite(best->objective) ? nlohmann::json(best->objective) : nlohmann::json()}};
}

void HmmModel::add_tensors(SafetensorsWriter& writer) const {
  writer.add<double>("initial", {hmm_.states}, hmm_.initial);
  writer.add<double>("transitions", {hmm_.states, hmm_.states}, hmm_.transitions);
  writer.add<double>("emissions", {hmm_.states, hmm_.alphabet}, hmm_.emissions);
}

}  // namespace unfold
