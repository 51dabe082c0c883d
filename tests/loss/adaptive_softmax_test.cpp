/// The adaptive softmax, compared with a dense reference that computes the logits of all symbols, with finite
/// differences, and with products of dense matrices.

#include <gtest/gtest.h>

#include <cmath>
#include <memory>
#include <vector>

#include "loss/symbol_clusters.h"
#include "loss/symbol_probabilities.h"
#include "loss/weighted_loss.h"
#include "unfold/base/error.h"
#include "unfold/gradcheck/derivative_check.h"
#include "unfold/loss/registry.h"

namespace unfold {
namespace {

using Vector = std::vector<double>;

/// Rows of a random signal over `symbols` symbols; every fifth row is not predicted.
template <class T>
struct AdaptiveRows {
  Circuit circuit;
  ChosenLoss chosen;
  std::unique_ptr<Loss<T>> loss;
  Structure structure;
  Index symbols, size;
  std::vector<T> signal, parameters;
  std::vector<Symbol> targets;

  AdaptiveRows(const std::string& spec, Index alphabet, Index rows, std::uint64_t seed = 1)
      : chosen(choose_loss(spec)),
        loss(chosen.make<T>()),
        structure(Structure::chains(std::vector<Index>{rows})),
        symbols(alphabet),
        size(chosen.signal_size(alphabet)) {
    const Signal o = circuit.affine("o", size, {{"W", circuit.input("x", 1)}});
    circuit.output(o);
    dynamic_cast<SymbolCount<T>&>(*loss).set_symbols(alphabet);
    loss->declare(circuit, o);
    Random random(seed, "adaptive");
    const auto draw = [&] { return static_cast<T>(random.normal()); };
    for (Index i = 0; i < rows * size; ++i) signal.push_back(draw());
    for (Index i = 0; i < circuit.parameter_count(); ++i) parameters.push_back(draw());
    for (Index r = 0; r < rows; ++r)
      targets.push_back(r % 5 == 4 ? kNoSymbol : static_cast<Symbol>(random.below(at(alphabet))));
  }
  Index rows() const { return structure.positions(); }
  Matrix<const T> matrix(const std::vector<T>& x) const { return {x.data(), rows(), size, size}; }
  Matrix<T> matrix(std::vector<T>& x) const { return {x.data(), rows(), size, size}; }
  Observed<T> observed() const {
    return {structure, matrix(signal), {.symbols = targets.data(), .values = {}, .predicted = nullptr}, parameters};
  }
  std::vector<T> nats(int threads = 1) const {
    Team team(threads);
    std::vector<T> result(at(rows()));
    loss->negative_log_likelihood(observed(), team, result.data());
    return result;
  }
  double total() const {
    double sum = 0;
    for (const T x : nats()) sum += static_cast<double>(x);
    return sum;
  }
  const SymbolProbabilities<T>& probabilities() const { return loss->template need<SymbolProbabilities<T>>("test"); }
};

template <class T>
struct AdaptiveSlopes {
  std::vector<T> nats, adjoint, own;
  bool operator==(const AdaptiveSlopes&) const = default;
};

template <class T>
AdaptiveSlopes<T> gradient_of(const AdaptiveRows<T>& f, T scale = 1, int threads = 1, std::vector<T> weights = {}) {
  AdaptiveSlopes<T> found{std::vector<T>(at(f.rows())), std::vector<T>(f.signal.size()),
                          std::vector<T>(f.parameters.size())};
  Team team(threads, Attendance::all);
  f.loss->template need<WeightedLoss<T>>("test").weighted_gradient(
      f.observed(), {weights}, scale, team, found.nats.data(), f.matrix(found.adjoint), found.own);
  return found;
}

/// The logits of a path: those of the head, and those of the cluster of the target (empty for a frequent symbol).
struct DenseLogits {
  Vector head, tail;
  Index of_head = 0, of_tail = 0;  // elements of the target
  std::size_t cluster = 0;
};

/// Computes all logits of a symbol element by element.
DenseLogits dense_logits(const AdaptiveRows<double>& f, const Vector& signal, const Vector& parameters, Index row,
                         Symbol target) {
  const auto clusters = symbol_clusters(f.symbols, f.chosen.options.as<ClusterOptions>());
  const Index frequent = clusters.empty() ? f.symbols : clusters.front().begin;
  const double* o = signal.data() + row * f.size;
  DenseLogits result;
  result.head.assign(o, o + frequent + static_cast<Index>(clusters.size()));
  result.of_head = target;
  Index z = frequent + static_cast<Index>(clusters.size());
  for (std::size_t c = 0; c < clusters.size(); z += clusters[c].size, ++c) {
    if (target < clusters[c].begin || target >= clusters[c].end) continue;
    const ParameterInfo& w = f.circuit.parameters()[at(f.loss->parameter_indices()[2 * c])];
    const ParameterInfo& b = f.circuit.parameters()[at(f.loss->parameter_indices()[2 * c + 1])];
    for (Index s = 0; s < clusters[c].symbols(); ++s) {
      double sum = parameters[at(b.offset + s)];
      for (Index j = 0; j < clusters[c].size; ++j) sum += o[z + j] * parameters[at(w.offset + j * w.cols + s)];
      result.tail.push_back(sum);
    }
    result.of_head = frequent + static_cast<Index>(c);
    result.of_tail = target - clusters[c].begin;
    result.cluster = c;
  }
  return result;
}

double log_softmax_at(const Vector& logits, Index x) {
  double sum = 0;
  for (const double y : logits) sum += std::exp(y);
  return logits[at(x)] - std::log(sum);
}

double dense_log_probability(const AdaptiveRows<double>& f, Index row, Symbol symbol) {
  const DenseLogits found = dense_logits(f, f.signal, f.parameters, row, symbol);
  return log_softmax_at(found.head, found.of_head) +
         (found.tail.empty() ? 0 : log_softmax_at(found.tail, found.of_tail));
}

constexpr const char* kSmall = "adaptive-softmax:3,growth=2,size=4";

TEST(SymbolClusters, clusters_cover_all_symbols_in_order) {
  for (const Index symbols : {1, 2, 3, 4, 7, 1000, 1999, 2000, 12345, 1000000})
    for (const ClusterOptions& options : {ClusterOptions{}, ClusterOptions{.frequent = 3, .growth = 2, .size = 4}}) {
      const auto clusters = symbol_clusters(symbols, options);
      for (std::size_t c = 0; c < clusters.size(); ++c) {
        EXPECT_GT(clusters[c].symbols(), 0);
        EXPECT_GT(clusters[c].size, 0);
        EXPECT_TRUE(c == 0 || clusters[c].begin == clusters[c - 1].end);
      }
      if (!clusters.empty()) {
        EXPECT_EQ(clusters.back().end, symbols);
      }
    }
  EXPECT_TRUE(symbol_clusters(1999, {}).empty());
  const auto million = symbol_clusters(1000000, {});
  ASSERT_EQ(million.size(), 3);
  EXPECT_EQ(million[0].begin, 2000);
  EXPECT_EQ(million[1].begin, 16000);
  EXPECT_EQ(million[2].begin, 128000);
  EXPECT_EQ(million[2].size, 8);
}

TEST(AdaptiveSoftmax, log_probabilities_equal_the_dense_reference_and_add_up_to_one) {
  for (const Index symbols : {2, 3, 4, 5, 23, 7000}) {  // 7000: several blocks
    const AdaptiveRows<double> f(kSmall, symbols, 3);
    Vector log_p(at(symbols));
    for (Index r = 0; r < 3; ++r) {
      const std::span<const double> row(f.signal.data() + r * f.size, at(f.size));
      f.probabilities().log_probabilities(row, f.parameters, log_p);
      double sum = 0;
      for (Symbol s = 0; s < symbols; ++s) {
        sum += std::exp(log_p[at(s)]);
        if (s >= 30 && s % 97 != 0) continue;
        EXPECT_NEAR(log_p[at(s)], dense_log_probability(f, r, s), 1e-11) << symbols;
        EXPECT_EQ(log_p[at(s)], f.probabilities().log_probability(row, f.parameters, s));
      }
      EXPECT_NEAR(sum, 1, 1e-12);
    }
  }
}

template <class T>
void expect_nats_of_log_probabilities(Index symbols, Index rows) {
  const AdaptiveRows<T> f(kSmall, symbols, rows);
  const std::vector<T> nats = f.nats(2);
  EXPECT_EQ(nats, gradient_of(f).nats);
  std::vector<T> log_p(at(symbols));
  for (Index r = 0; r < rows; ++r) {
    f.probabilities().log_probabilities({f.signal.data() + r * f.size, at(f.size)}, f.parameters, log_p);
    EXPECT_EQ(nats[at(r)], f.targets[at(r)] == kNoSymbol ? T{0} : -log_p[at(f.targets[at(r)])]) << r;
  }
}

TEST(AdaptiveSoftmax, nats_are_exactly_the_negative_log_probabilities) {
  expect_nats_of_log_probabilities<double>(7000, 12);
  expect_nats_of_log_probabilities<float>(7000, 12);
  expect_nats_of_log_probabilities<float>(50, 600);  // several groups of rows
}

TEST(AdaptiveSoftmax, adaptive_gradient_equals_finite_differences) {
  AdaptiveRows<double> f(kSmall, 23, 9);
  const AdaptiveSlopes<double> found = gradient_of(f, 0.5);
  const auto difference = [&](double& x) {
    const double before = x, h = 1e-5;
    x = before + h;
    const double above = f.total();
    x = before - h;
    const double below = f.total();
    x = before;
    return 0.5 * (above - below) / (2 * h);
  };
  for (std::size_t i = 0; i < f.signal.size(); ++i) EXPECT_NEAR(found.adjoint[i], difference(f.signal[i]), 1e-8) << i;
  for (std::size_t i = 0; i < f.parameters.size(); ++i)
    EXPECT_NEAR(found.own[i], difference(f.parameters[i]), 1e-8) << i;
}

/// Along random directions, so that a cluster can have many symbols.
TEST(AdaptiveSoftmax, adaptive_gradient_of_several_blocks_equals_differences_along_directions) {
  AdaptiveRows<double> f(kSmall, 9000, 10);
  const AdaptiveSlopes<double> found = gradient_of(f);
  Random random(3, "directions");
  for (int trial = 0; trial < 3; ++trial) {
    Vector u(f.signal.size()), v(f.parameters.size());
    for (double& x : u) x = random.normal();
    for (double& x : v) x = random.normal();
    double expected = 0;
    for (std::size_t i = 0; i < u.size(); ++i) expected += u[i] * found.adjoint[i];
    for (std::size_t i = 0; i < v.size(); ++i) expected += v[i] * found.own[i];
    AdaptiveRows<double> above = AdaptiveRows<double>(kSmall, 9000, 10), below = AdaptiveRows<double>(kSmall, 9000, 10);
    const double h = 1e-6;
    for (std::size_t i = 0; i < u.size(); ++i) above.signal[i] += h * u[i], below.signal[i] -= h * u[i];
    for (std::size_t i = 0; i < v.size(); ++i) above.parameters[i] += h * v[i], below.parameters[i] -= h * v[i];
    EXPECT_NEAR((above.total() - below.total()) / (2 * h), expected, 1e-6 * (1 + std::fabs(expected)));
  }
}

/// Returns the derivatives of all logits of a row with respect to one component of the signal or the parameters.
Vector logit_tangent(const AdaptiveRows<double>& f, Index row, std::size_t component) {
  const double h = 1e-5;
  const auto moved = [&](double step) {
    Vector signal = f.signal, parameters = f.parameters;
    if (component < signal.size())
      signal[component] += step;
    else
      parameters[component - signal.size()] += step;
    const DenseLogits found = dense_logits(f, signal, parameters, row, f.targets[at(row)]);
    Vector all = found.head;
    all.insert(all.end(), found.tail.begin(), found.tail.end());
    return all;
  };
  Vector up = moved(h);
  const Vector down = moved(-h);
  for (std::size_t i = 0; i < up.size(); ++i) up[i] = (up[i] - down[i]) / (2 * h);
  return up;
}

/// Adds H t for the Hessian H of -log softmax.
void add_hessian(const Vector& logits, const Vector& t, std::size_t first, Vector& out) {
  double mean = 0;
  for (std::size_t i = 0; i < logits.size(); ++i)
    mean += std::exp(log_softmax_at(logits, static_cast<Index>(i))) * t[first + i];
  for (std::size_t i = 0; i < logits.size(); ++i)
    out[first + i] += std::exp(log_softmax_at(logits, static_cast<Index>(i))) * (t[first + i] - mean);
}

/// Returns J' H J, summed over rows.
std::vector<Vector> dense_gauss_newton(const AdaptiveRows<double>& f) {
  const std::size_t size = f.signal.size() + f.parameters.size();
  std::vector<Vector> result(size, Vector(size));
  for (Index r = 0; r < f.rows(); ++r) {
    if (f.targets[at(r)] == kNoSymbol) continue;
    const DenseLogits logits = dense_logits(f, f.signal, f.parameters, r, f.targets[at(r)]);
    std::vector<Vector> jacobian, curved;
    for (std::size_t i = 0; i < size; ++i) {
      jacobian.push_back(logit_tangent(f, r, i));
      Vector h(jacobian.back().size());
      add_hessian(logits.head, jacobian.back(), 0, h);
      if (!logits.tail.empty()) add_hessian(logits.tail, jacobian.back(), logits.head.size(), h);
      curved.push_back(std::move(h));
    }
    for (std::size_t i = 0; i < size; ++i)
      for (std::size_t j = 0; j < size; ++j)
        for (std::size_t k = 0; k < curved[j].size(); ++k) result[i][j] += jacobian[i][k] * curved[j][k];
  }
  return result;
}

Vector adaptive_curvature(const AdaptiveRows<double>& f, const Vector& v, double scale, int threads = 1) {
  Team team(threads, Attendance::all);
  const Vector tangent(v.begin(), v.begin() + static_cast<Index>(f.signal.size()));
  const Vector direction(v.begin() + static_cast<Index>(f.signal.size()), v.end());
  Vector result(tangent.size()), own(direction.size());
  f.loss->need<LossCurvature<double>>("test").curvature(f.observed(), scale, team, f.matrix(tangent), direction,
                                                        f.matrix(result), own);
  result.insert(result.end(), own.begin(), own.end());
  return result;
}

TEST(AdaptiveSoftmax, adaptive_curvature_equals_the_dense_gauss_newton_matrix) {
  const AdaptiveRows<double> f("adaptive-softmax:2,growth=2,size=2", 9, 6);
  const std::vector<Vector> dense = dense_gauss_newton(f);
  for (std::size_t j = 0; j < dense.size(); ++j) {
    Vector unit(dense.size());
    unit[j] = 1;
    const Vector column = adaptive_curvature(f, unit, 0.25);
    for (std::size_t i = 0; i < dense.size(); ++i) EXPECT_NEAR(column[i], 0.25 * dense[i][j], 1e-8) << i << " " << j;
  }
}

TEST(AdaptiveSoftmax, adaptive_curvature_samples_have_the_covariance_of_the_curvature) {
  const AdaptiveRows<double> f("adaptive-softmax:2,growth=2,size=1", 6, 3);
  const std::vector<Vector> dense = dense_gauss_newton(f);
  const std::size_t size = dense.size();
  std::vector<Vector> covariance(size, Vector(size));
  Vector sum(size);
  const int samples = 20000;
  Team team(1);
  for (int n = 0; n < samples; ++n) {
    Vector v(f.signal.size()), own(f.parameters.size());
    f.loss->need<LossCurvature<double>>("test").curvature_sample(f.observed(), 1, team, 7,
                                                                 static_cast<std::uint64_t>(n), f.matrix(v), own);
    v.insert(v.end(), own.begin(), own.end());
    for (std::size_t i = 0; i < size; ++i) {
      sum[i] += v[i] / samples;
      for (std::size_t j = 0; j < size; ++j) covariance[i][j] += v[i] * v[j] / samples;
    }
  }
  for (std::size_t i = 0; i < size; ++i) {
    EXPECT_NEAR(sum[i], 0, 0.03);
    for (std::size_t j = 0; j < size; ++j) EXPECT_NEAR(covariance[i][j], dense[i][j], 0.05) << i << " " << j;
  }
}

TEST(AdaptiveSoftmax, threads_do_not_change_results) {
  const AdaptiveRows<float> f(kSmall, 9000, 300);
  EXPECT_EQ(gradient_of(f, 0.5F, 1), gradient_of(f, 0.5F, 3));
  EXPECT_EQ(f.nats(1), f.nats(3));
  const AdaptiveRows<double> g(kSmall, 5000, 20);
  Random random(3, "directions");
  Vector v(g.signal.size() + g.parameters.size());
  for (double& x : v) x = random.normal();
  EXPECT_EQ(adaptive_curvature(g, v, 1, 1), adaptive_curvature(g, v, 1, 3));
}

/// Sequences may be read in segments from the last to the first (IndependentRows).
TEST(AdaptiveSoftmax, segments_do_not_change_the_adaptive_gradient) {
  const AdaptiveRows<float> f(kSmall, 5000, 40);
  const AdaptiveSlopes<float> whole = gradient_of(f);
  AdaptiveSlopes<float> parts{std::vector<float>(40), std::vector<float>(f.signal.size()),
                              std::vector<float>(f.parameters.size())};
  Team team(1);
  for (const auto& [first, rows] : {std::pair<Index, Index>{25, 15}, {0, 25}}) {
    const Structure structure = Structure::chains(std::vector<Index>{rows});
    const Observed<float> all = f.observed();
    f.loss->gradient({structure, all.signal.rows_from(first, rows), all.targets.from_row(first, rows), all.parameters},
                     1, team, parts.nats.data() + first, f.matrix(parts.adjoint).rows_from(first, rows), parts.own);
  }
  EXPECT_EQ(whole, parts);
}

TEST(AdaptiveSoftmax, adjoint_may_overwrite_the_signal) {
  AdaptiveRows<float> f(kSmall, 60, 20);
  const AdaptiveSlopes<float> expected = gradient_of(f);
  AdaptiveSlopes<float> found{std::vector<float>(20), {}, std::vector<float>(f.parameters.size())};
  Team team(2);
  f.loss->gradient(f.observed(), 1, team, found.nats.data(), f.matrix(f.signal), found.own);
  found.adjoint = f.signal;
  EXPECT_EQ(expected, found);
}

TEST(AdaptiveSoftmax, weights_of_rows_multiply_adaptive_gradients) {
  AdaptiveRows<double> f(kSmall, 60, 10);
  Vector weights;
  for (Index r = 0; r < 10; ++r) weights.push_back(0.5 * static_cast<double>(r));
  const AdaptiveSlopes<double> found = gradient_of(f, 1.0, 1, weights);
  Vector adjoint(f.signal.size()), own(f.parameters.size());
  const std::vector<Symbol> targets = f.targets;
  for (std::size_t r = 0; r < 10; ++r) {  // one row at a time
    f.targets.assign(10, kNoSymbol);
    f.targets[r] = targets[r];
    const AdaptiveSlopes<double> one = gradient_of(f);
    EXPECT_EQ(one.nats[r], found.nats[r]);
    for (std::size_t i = 0; i < adjoint.size(); ++i) adjoint[i] += weights[r] * one.adjoint[i];
    for (std::size_t i = 0; i < own.size(); ++i) own[i] += weights[r] * one.own[i];
  }
  for (std::size_t i = 0; i < adjoint.size(); ++i) EXPECT_NEAR(adjoint[i], found.adjoint[i], 1e-12);
  for (std::size_t i = 0; i < own.size(); ++i) EXPECT_NEAR(own[i], found.own[i], 1e-12);
}

TEST(AdaptiveSoftmax, without_clusters_it_is_the_softmax) {
  const AdaptiveRows<float> f("adaptive-softmax", 50, 20);
  EXPECT_EQ(f.size, 50);
  EXPECT_TRUE(f.loss->parameter_indices().empty());
  std::vector<float> nats(20), adjoint(f.signal.size());
  Team team(1);
  softmax_loss<float>()->gradient(f.observed(), 0.5F, team, nats.data(), f.matrix(adjoint), {});
  const AdaptiveSlopes<float> found = gradient_of(f, 0.5F);
  EXPECT_EQ(found.nats, nats);
  EXPECT_EQ(found.adjoint, adjoint);
}

TEST(AdaptiveSoftmax, adaptive_softmax_reports_misuse) {
  AdaptiveRows<float> f(kSmall, 20, 5);
  f.targets[0] = 20;
  EXPECT_THROW(f.nats(), UsageError);
  f.targets[0] = -2;
  EXPECT_THROW(f.nats(), UsageError);
  Observed<float> none = f.observed();
  none.targets.symbols = nullptr;
  std::vector<float> nats(5);
  Team team(1);
  EXPECT_THROW(f.loss->negative_log_likelihood(none, team, nats.data()), UsageError);
  Circuit circuit;
  const auto loss = choose_loss("adaptive-softmax").make<float>();
  EXPECT_ANY_THROW(loss->declare(circuit, circuit.affine("o", 3, {{"W", circuit.input("x", 1)}})));
  EXPECT_EQ(loss->as<Categorical<float>>(), nullptr);
  EXPECT_EQ(loss->as<LossFisher<float>>(), nullptr);
  EXPECT_THROW(choose_loss("adaptive-softmax:growth=1"), UsageError);
}

TEST(AdaptiveSoftmax, derivatives_of_a_circuit_with_an_adaptive_softmax_are_correct) {
  const ChosenLoss chosen = choose_loss("adaptive-softmax:2,growth=2,size=2");
  const auto loss = chosen.make<double>();
  dynamic_cast<SymbolCount<double>&>(*loss).set_symbols(9);
  Circuit circuit;
  const Signal x = circuit.symbols("x", 9);
  const Signal h = tanh(circuit.affine("h", 3, {{"U", x}}));
  const Signal o = circuit.affine("o", chosen.signal_size(9), {{"V", h}});
  circuit.output(o);
  loss->declare(circuit, o);
  const CheckReport report = check_derivatives(circuit, *loss, Structure::chains(std::vector<Index>{4, 1, 3}));
  EXPECT_TRUE(report.passed()) << report.text();
}

}  // namespace
}  // namespace unfold
