#include "model/network/initialization/gaussian_init.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "loss/hmm/vector_hmm.h"
#include "model/network/fitting/hmm_fit.h"
#include "numerics/functions.h"
#include "unfold/base/error.h"
#include "unfold/loss/registry.h"

namespace unfold {
namespace {

constexpr Index kMostSteps = 100;
constexpr double kLeastImprovement = 1e-6;   // nats per vector
constexpr double kStay = 0.8;                // initial value for expectation maximization
constexpr double kUnseenProbability = 1e-6;  // events without observations have a small, positive probability

/// The sequences of one label.
struct LabelRuns {
  std::vector<double> values;
  std::vector<Index> ends;
  Index numbers = 0;
  std::vector<double> weights = {};  ///< of rows; empty: all are 1

  VectorSequences runs() const {
    return {{values.data(), static_cast<Index>(values.size()) / numbers, numbers, numbers}, ends, weights};
  }
};

LabelRuns runs_of(const ExampleSet& examples, const FieldColumn& column, const std::vector<Symbol>& labels,
                  Symbol label, Index numbers) {
  LabelRuns found{.values = {}, .ends = {}, .numbers = numbers};
  const std::vector<double> weights = weights_of_positions(examples);
  for (Index e = 0; e < examples.count(); ++e) {
    if (labels[at(e)] != label) continue;
    const auto begin = column.values.begin() + examples.begin(e) * numbers;
    found.values.insert(found.values.end(), begin, begin + examples.length(e) * numbers);
    found.ends.push_back(static_cast<Index>(found.values.size()) / numbers);
    if (!weights.empty()) found.weights.resize(at(found.ends.back()), weights[at(examples.begin(e))]);
  }
  return found;
}

/// Returns a left-to-right chain of states, initialized with the moments of the vectors in equal parts of each
/// sequence.
VectorHmm even_start(const LabelRuns& of, Index states) {
  VectorHmm hmm({.states = states, .numbers = of.numbers});
  const Index n = of.numbers;
  std::vector<double> counts(at(states)), firsts(at(states * n)), seconds(at(states * n * n));
  const VectorSequences runs = of.runs();
  for (Index s = 0; s < runs.count(); ++s) {
    const Matrix<const double> run = runs.run(s);
    for (Index t = 0; t < run.rows; ++t) {
      const Index k = std::min(t * states / run.rows, states - 1);
      const double weight = runs.weight(runs.begin(s) + t);
      counts[at(k)] += weight;
      for (Index i = 0; i < n; ++i) {
        firsts[at(k * n + i)] += weight * run(t, i);
        for (Index j = 0; j < n; ++j) seconds[at((k * n + i) * n + j)] += weight * run(t, i) * run(t, j);
      }
    }
  }
  std::ranges::fill(hmm.transitions, 0.0);
  for (Index k = 0; k < states; ++k) {
    hmm.start[at(k)] = k == 0 ? 1 : 0;
    hmm.transitions[at(k * states + k)] = k + 1 < states ? kStay : 1;
    if (k + 1 < states) hmm.transitions[at(k * states + k + 1)] = 1 - kStay;
    if (counts[at(k)] == 0) continue;
    for (Index i = 0; i < n; ++i) hmm.means[at(k * n + i)] = firsts[at(k * n + i)] / counts[at(k)];
    for (Index i = 0; i < n; ++i)
      for (Index j = 0; j < n; ++j) {
        const double centered =
            seconds[at((k * n + i) * n + j)] - counts[at(k)] * hmm.means[at(k * n + i)] * hmm.means[at(k * n + j)];
        const double prior = i == j ? kPriorCount * kPriorVariance : 0;
        hmm.covariances[at((k * n + i) * n + j)] = (centered + prior) / (counts[at(k)] + kPriorCount);
      }
  }
  return hmm;
}

VectorHmm fitted(const LabelRuns& of, Index states, Team& team) {
  VectorHmm hmm = even_start(of, states);
  const VectorSequences runs = of.runs();
  double before = 0;
  for (Index iteration = 0; iteration < kMostSteps; ++iteration) {
    const double now = reestimate(hmm, runs, team);
    if (iteration > 0 && now - before < kLeastImprovement * runs.total()) break;
    before = now;
  }
  return hmm;
}

/// log N(x; m, C) = constant + linear x + sum over i <= j of products(i, j) x_i x_j
struct QuadraticForm {
  double constant = 0;
  std::vector<double> linear, products;

  QuadraticForm(const VectorHmm& hmm, Index state)
      : linear(at(hmm.shape.numbers)), products(at(hmm.shape.numbers * hmm.shape.numbers)) {
    const Index n = hmm.shape.numbers;
    const double* mean = hmm.means.data() + state * n;
    const GaussianFactors of(std::span(hmm.covariances).subspan(at(state * n * n), at(n * n)), n, true);
    std::vector<double> row(at(n));  // row of the regressions: C^-1 = sum of row' row / d^2
    constant = of.log_density(mean, mean);
    for (Index i = 0; i < n; ++i) {
      std::ranges::fill(row, 0.0);
      for (Index j = 0; j < i; ++j) row[at(j)] = of.l[at(i * (i - 1) / 2 + j)];
      row[at(i)] = 1;
      for (double& x : row) x *= of.inverse[at(i)];
      double at_mean = 0;
      for (Index j = 0; j <= i; ++j) at_mean += row[at(j)] * mean[j];
      constant -= at_mean * at_mean / 2;
      for (Index j = 0; j <= i; ++j) {
        linear[at(j)] += at_mean * row[at(j)];
        for (Index k = j; k <= i; ++k) products[at(j * n + k)] -= row[at(j)] * row[at(k)] * (j == k ? 0.5 : 1);
      }
    }
  }
};

/// The parameters of an output, by the names of its direct terms (network_body.cpp).
template <class T>
class GaussianOutput {
 public:
  GaussianOutput(NetworkModel<T>& model, Index numbers, double scale)
      : parameters_(model.parameters()), name_(model.layout().output_name(0)), numbers_(numbers), scale_(scale) {
    for (const ParameterInfo& p : model.circuit().parameters())  // "V", or "V1" and "V2" for bidirectional networks
      if (p.name.starts_with(name_ + "/V"))
        for (T& x : parameters_.flat().subspan(at(p.offset), at(p.size()))) x = 0;
  }

  void put_state(Index state, const QuadraticForm& form) {
    table("bias")(0, state) = scaled(form.constant);
    for (Index i = 0; i < numbers_; ++i) table("G")(i, state) = scaled(form.linear[at(i)]);
    for (Index apart = 0; apart < numbers_; ++apart)
      for (Index i = 0; i + apart < numbers_; ++i)
        table(fmt::format("G{}", apart))(i, state) = scaled(form.products[at(i * numbers_ + i + apart)]);
  }
  void put_steps(Index first_state, const VectorHmm& hmm) {
    std::vector<double> logs = hmm.transitions;
    for (double& x : logs) x = std::max(x, kUnseenProbability);
    vector_log(logs.data(), logs.data(), static_cast<Index>(logs.size()));
    const Index states = hmm.shape.states;
    for (Index i = 0; i < states; ++i)
      for (Index j = 0; j < states; ++j)
        table("transitions")(first_state + i, first_state + j) = static_cast<T>(logs[at(i * states + j)]);
  }

 private:
  Matrix<T> table(const std::string& name) { return parameters_.at(name_ + "/" + name); }
  T scaled(double x) const { return static_cast<T>(scale_ * x); }

  Parameters<T>& parameters_;
  std::string name_;
  Index numbers_;
  double scale_;
};

}  // namespace

template <class T>
void initialize_from_gaussians(NetworkModel<T>& model, const ExampleSet& training, Team& team) {
  const double scale = model.spec().gaussians;
  if (scale == 0) return;
  const NetworkLayout& layout = model.layout();
  const FieldSpecification& label = training.data().field(layout.heads.front().field);
  const std::string& loss = layout.heads.front().loss;
  const FieldRead read = parse_read(layout.reads.front());
  const Index numbers = training.data().field(read.field).size;
  const Index states = choose_loss(loss).signal_size(label.size) / label.size;
  GaussianOutput<T> output(model, numbers, scale);
  const std::vector<Symbol>& labels = training.column(layout.heads.front().field).symbols;
  for (Index l = 0; l < label.size; ++l) {
    const LabelRuns runs = runs_of(training, training.column(read.field), labels, static_cast<Symbol>(l), numbers);
    if (runs.ends.empty()) continue;
    const VectorHmm hmm = fitted(runs, states, team);
    for (Index k = 0; k < states; ++k) output.put_state(l * states + k, QuadraticForm(hmm, k));
    output.put_steps(l * states, hmm);
  }
}

template void initialize_from_gaussians(NetworkModel<float>&, const ExampleSet&, Team&);
template void initialize_from_gaussians(NetworkModel<double>&, const ExampleSet&, Team&);

}  // namespace unfold
