#include "model/network/fitting/hmm_fit.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "data/text/example_weights.h"
#include "loss/hmm/gaussian_hmm.h"
#include "model/network/density_model.h"
#include "numerics/functions.h"
#include "unfold/base/error.h"
#include "unfold/loss/registry.h"

namespace unfold {
namespace {

GaussianHmmOptions options_of(const std::string& spec) { return choose_loss(spec).options.as<GaussianHmmOptions>(); }

/// The concatenated sequences, in double.
struct RunsOfExamples {
  explicit RunsOfExamples(const ExampleSet& examples) {
    const FieldColumn& column = examples.column(kVector);
    numbers = examples.data().field(kVector).size;
    values.assign(column.values.begin(), column.values.end());
    for (Index e = 0; e < examples.count(); ++e) ends.push_back(examples.begin(e) + examples.length(e));
    weights = weights_of_positions(examples);
    const auto missing = std::ranges::find(column.present, char{0});
    if (missing != column.present.end())
      throw DataError(fmt::format("{}: a vector is missing at position {}; fill it in, or remove its row",
                                  examples.source(), missing - column.present.begin() + 1));
  }
  VectorSequences runs() const {
    return {{values.data(), static_cast<Index>(values.size()) / numbers, numbers, numbers}, ends, weights};
  }

  std::vector<double> values, weights;
  std::vector<Index> ends;
  Index numbers = 0;
};

/// Converts probabilities to logits; events without observations have a small, positive probability.
void to_logits(const std::vector<double>& shares, Index from, Index count, std::vector<double>& out) {
  constexpr double kLeast = 1e-12;
  std::vector<double> logs(shares.begin() + from, shares.begin() + from + count);
  for (double& x : logs) x = std::max(x, kLeast);
  vector_log(logs.data(), logs.data(), count);
  out.insert(out.end(), logs.begin(), logs.end());
}

/// Returns the s for which log d = 10 tanh(s / 10) (loss/deviation.h), within its range.
double deviation_logit(double log_d) {
  constexpr double kMost = 10, kFarthest = 9.9;
  const double x = std::clamp(log_d, -kFarthest, kFarthest) / kMost;
  double both[] = {1 + x, 1 - x};  // NOLINT: two numbers
  vector_log(both, both, 2);
  return kMost / 2 * (both[0] - both[1]);
}

/// Returns the means, the deviation signals and the regressions of a component.
std::vector<double> component_signal(const VectorHmm& hmm, Index k) {
  const VectorHmmShape& shape = hmm.shape;
  const GaussianFactors of(std::span(hmm.covariances).subspan(at(k * shape.spread()), at(shape.spread())),
                           shape.numbers, shape.full);
  std::vector<double> own(hmm.means.begin() + k * shape.numbers, hmm.means.begin() + (k + 1) * shape.numbers);
  for (const double log_d : of.log_d) own.push_back(deviation_logit(log_d));
  own.insert(own.end(), of.l.begin(), of.l.end());
  return own;
}

/// Returns the signal of the loss (loss/hmm/gaussian_hmm.h).
std::vector<double> signal_of(const VectorHmm& hmm) {
  const VectorHmmShape& shape = hmm.shape;
  const Index n = shape.numbers;
  std::vector<double> signal;
  to_logits(hmm.transitions, 0, shape.states * shape.states, signal);
  for (Index j = 0; j < shape.states; ++j) {
    to_logits(hmm.weights, j * shape.components, shape.components, signal);
    std::vector<double> means, deviations;
    for (Index k = j * shape.components; k < (j + 1) * shape.components; ++k) {
      const std::vector<double> own = component_signal(hmm, k);
      if (shape.full) {
        signal.insert(signal.end(), own.begin(), own.end());
      } else {  // layout of mixture.cpp: all means, then all deviations
        means.insert(means.end(), own.begin(), own.begin() + n);
        deviations.insert(deviations.end(), own.begin() + n, own.end());
      }
    }
    signal.insert(signal.end(), means.begin(), means.end());
    signal.insert(signal.end(), deviations.begin(), deviations.end());
  }
  return signal;
}

/// Reads a signal from its beginning to its end.
class SignalReader {
 public:
  explicit SignalReader(std::vector<double> signal) : signal_(std::move(signal)) {}
  std::span<const double> next(Index count) {
    const std::span<const double> part = std::span(signal_).subspan(at(place_), at(count));
    place_ += count;
    return part;
  }

 private:
  std::vector<double> signal_;
  Index place_ = 0;
};

template <class T>
std::vector<double> parameters_of(const NetworkModel<T>& model, const std::string& name) {
  const std::vector<ParameterInfo>& blocks = model.parameters().info();
  const auto found = std::ranges::find(blocks, model.layout().output_name(0) + name, &ParameterInfo::name);
  const Matrix<const T> block = model.parameters()[static_cast<int>(found - blocks.begin())];
  return {block.row(0), block.row(0) + block.cols};
}

void to_probabilities(std::span<const double> logits, Index from, std::vector<double>& out) {
  const auto count = static_cast<Index>(logits.size());
  std::vector<double> logs(logits.size());
  log_softmax(logits.data(), logs.data(), count);
  vector_exp(logs.data(), out.data() + from, count);
}

/// The covariance L^-1 D (L^-1)^T of the regressions u = L e, where L is lower triangular with ones on its diagonal and
/// D contains the variances of u.
void to_covariance(std::span<const double> deviations, std::span<const double> l, std::span<double> covariance) {
  const auto n = static_cast<Index>(deviations.size());
  std::vector<double> inverse(at(n * n));  // L^-1
  for (Index i = 0; i < n; ++i) {
    inverse[at(i * n + i)] = 1;
    for (Index k = 0; k < i; ++k)
      for (Index j = k; j < i; ++j) inverse[at(i * n + k)] -= l[at(i * (i - 1) / 2 + j)] * inverse[at(j * n + k)];
  }
  for (Index i = 0; i < n; ++i)
    for (Index j = 0; j < n; ++j) {
      double sum = 0;
      for (Index k = 0; k <= std::min(i, j); ++k)
        sum += inverse[at(i * n + k)] * deviations[at(k)] * deviations[at(k)] * inverse[at(j * n + k)];
      covariance[at(i * n + j)] = sum;
    }
}

/// Returns exp(10 tanh(s / 10)) for every signal s (loss/deviation.h).
std::vector<double> deviations_of(std::span<const double> signals) {
  constexpr double kMost = 10;
  std::vector<double> d(signals.begin(), signals.end());
  const auto n = static_cast<Index>(d.size());
  for (double& x : d) x /= kMost;
  vector_tanh(d.data(), d.data(), n);
  for (double& x : d) x *= kMost;
  vector_exp(d.data(), d.data(), n);
  return d;
}

/// Reads the Gaussians of state j.
void read_components(SignalReader& signal, Index j, VectorHmm& hmm) {
  const VectorHmmShape& shape = hmm.shape;
  const Index n = shape.numbers, first = j * shape.components;
  const auto put_means = [&](Index k, std::span<const double> means) {
    std::ranges::copy(means, hmm.means.begin() + k * n);
  };
  if (!shape.full) {  // all means, then all deviations
    for (Index k = first; k < first + shape.components; ++k) put_means(k, signal.next(n));
    for (Index k = first; k < first + shape.components; ++k) {
      const std::vector<double> d = deviations_of(signal.next(n));
      for (Index i = 0; i < n; ++i) hmm.covariances[at(k * n + i)] = d[at(i)] * d[at(i)];
    }
    return;
  }
  for (Index k = first; k < first + shape.components; ++k) {
    put_means(k, signal.next(n));
    const std::vector<double> d = deviations_of(signal.next(n));
    to_covariance(d, signal.next(n * (n - 1) / 2), std::span(hmm.covariances).subspan(at(k * n * n), at(n * n)));
  }
}

}  // namespace

std::vector<double> mixture_signal(const VectorHmm& mixture) {
  std::vector<double> signal;
  to_logits(mixture.weights, 0, mixture.shape.components, signal);
  for (Index k = 0; k < mixture.shape.components; ++k) {
    const std::vector<double> own = component_signal(mixture, k);
    signal.insert(signal.end(), own.begin(), own.end());
  }
  return signal;
}

VectorSequences rows_as_runs(Matrix<const double> rows, std::span<const double> weights) {
  constexpr Index kLength = 32;
  VectorSequences runs{.rows = rows, .ends = {}, .weights = weights};
  for (Index end = kLength; end < rows.rows; end += kLength) runs.ends.push_back(end);
  runs.ends.push_back(rows.rows);
  return runs;
}

std::vector<double> weights_of_positions(const ExampleSet& examples) {
  std::vector<double> weights;
  if (!examples.has(kExampleWeights)) return weights;
  const FieldColumn& column = examples.column(kExampleWeights);
  for (Index e = 0; e < examples.count(); ++e)
    weights.insert(weights.end(), at(examples.length(e)), static_cast<double>(column.values[at(e)]));
  return weights;
}

bool is_hidden_markov(const ModelSpec& spec) { return is_density(spec) && is_of_sequences(spec.density); }

std::string HmmFit::remark() const {
  const VectorHmmFit& best = fits.front();
  std::string text =
      fmt::format("{} states: log likelihood {:.2f} nats after {} iterations, {} parameters, BIC {:.2f}",
                  best.hmm.shape.states, best.log_likelihood, best.iterations, best.hmm.shape.parameters(), best.bic);
  for (std::size_t i = 1; i < fits.size(); ++i)
    text += fmt::format("{} {} states {:.2f}", i == 1 ? "; others:" : ",", fits[i].hmm.shape.states, fits[i].bic);
  return text;
}

nlohmann::json HmmFit::history() const {
  nlohmann::json tried = nlohmann::json::array();
  for (const VectorHmmFit& fit : fits)
    tried.push_back({{"states", fit.hmm.shape.states},
                     {"log_likelihood", fit.log_likelihood},
                     {"parameters", fit.hmm.shape.parameters()},
                     {"iterations", fit.iterations},
                     {"bic", fit.bic}});
  return {{"fitted", "expectation-maximization"}, {"states", std::move(tried)}};
}

HmmFit fit_states(const ModelSpec& spec, const ExampleSet& training, std::uint64_t seed, const std::atomic<bool>* stop,
                  Team& team) {
  const GaussianHmmOptions o = options_of(spec.density);
  if (o.fewest > o.states)
    throw UsageError(fmt::format("model {}: fewest is larger than the {} states", spec.density, o.states));
  const RunsOfExamples data(training);
  const VectorHmmShape shape{.states = o.states,
                             .components = o.components,
                             .numbers = data.numbers,
                             .full = o.covariance == Covariance::full};
  const VectorHmmFitOptions options{.restarts = o.restarts, .seed = seed, .stop = stop};
  HmmFit result{.model = spec.density, .fits = {}, .positions = training.positions()};
  if (data.values.empty())
    throw DataError(
        fmt::format("{}: there is no training data; use more data, or a larger training share", training.source()));
  result.fits = choose_vector_hmm(shape, o.fewest > 0 ? o.fewest : o.states, data.runs(), options, team);
  Spec chosen = parse_spec(spec.density);
  chosen.size = std::to_string(result.fits.front().hmm.shape.states);
  std::erase_if(chosen.values, [](const auto& value) { return value.first == "fewest"; });
  result.model = to_string(parse_model_spec(to_string(chosen)));
  return result;
}

template <class T>
void set_states(const HmmFit& fit, NetworkModel<T>& model) {
  const VectorHmm& hmm = fit.fits.front().hmm;
  const std::string output = model.layout().output_name(0);
  const auto put = [&](const std::string& name, const std::vector<double>& values) {
    const Matrix<T> into = model.parameters().at(output + name);
    if (into.rows != 1 || into.cols != static_cast<Index>(values.size()))
      throw UsageError(
          fmt::format("{}{} of {} has {} numbers instead of {}", output, name, fit.model, into.cols, values.size()));
    for (Index i = 0; i < into.cols; ++i) into(0, i) = static_cast<T>(values[at(i)]);
  };
  put("/signal", signal_of(hmm));
  std::vector<double> start;
  to_logits(hmm.start, 0, hmm.shape.states, start);
  put("/start", start);
}

template <class T>
VectorHmm states_of(const NetworkModel<T>& model) {
  const GaussianHmmOptions o = options_of(model.spec().density);
  VectorHmm hmm({.states = o.states,
                 .components = o.components,
                 .numbers = model.data().field(kVector).size,
                 .full = o.covariance == Covariance::full});
  SignalReader signal(parameters_of(model, "/signal"));
  for (Index i = 0; i < o.states; ++i) to_probabilities(signal.next(o.states), i * o.states, hmm.transitions);
  for (Index j = 0; j < o.states; ++j) {
    to_probabilities(signal.next(o.components), j * o.components, hmm.weights);
    read_components(signal, j, hmm);
  }
  to_probabilities(parameters_of(model, "/start"), 0, hmm.start);
  return hmm;
}

template <class T>
TrainingResult train_states(const HmmFit& fit, NetworkModel<T>& model, const std::string& model_file) {
  set_states(fit, model);
  model.history().push_back(fit.history());
  if (!model_file.empty()) model.save(model_file);
  return {.steps = fit.fits.front().iterations, .epochs = 1, .symbols = fit.positions, .reason = "fitted"};
}

template void set_states(const HmmFit&, NetworkModel<float>&);
template void set_states(const HmmFit&, NetworkModel<double>&);
template VectorHmm states_of(const NetworkModel<float>&);
template VectorHmm states_of(const NetworkModel<double>&);
template TrainingResult train_states(const HmmFit&, NetworkModel<float>&, const std::string&);
template TrainingResult train_states(const HmmFit&, NetworkModel<double>&, const std::string&);

}  // namespace unfold
