/// Every loss, compared with slow references: finite differences, dense Hessians, sums over all outcomes, frequencies.

#include "unfold/loss/loss.h"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <vector>

#include "numerics/simd.h"
#include "unfold/base/error.h"
#include "unfold/loss/registry.h"

namespace unfold {
namespace {

/// The functions of a loss that work on any block of rows.
template <class T>
struct ByRow {
  using In = Matrix<const T>;
  const Loss<T>& loss;
  void nats(In signal, const Targets<T>& targets, T* nats) const {
    loss.template need<RowLoss<T>>("test").row_losses(signal, targets, nats);
  }
  void gradient(In signal, const Targets<T>& targets, T scale, T* nats, Matrix<T> adjoint) const {
    loss.template need<RowLoss<T>>("test").row_gradients(signal, targets, scale, nats, adjoint);
  }
  void curvature(In signal, const Targets<T>& targets, T scale, In tangent, Matrix<T> result) const {
    loss.template need<RowCurvature<T>>("test").row_curvatures(signal, targets, scale, tangent, result);
  }
  void curvature_root(In signal, const Targets<T>& targets, T scale, In noise, Matrix<T> result) const {
    loss.template need<RowCurvature<T>>("test").row_curvature_roots(signal, targets, scale, noise, result);
  }
  void fisher_diagonal(In signal, const Targets<T>& targets, Matrix<T> seed) const {
    loss.template need<LossFisher<T>>("test").fisher_diagonal(signal, targets, seed);
  }
  void fisher_through(In signal, const Targets<T>& targets, In w, Matrix<T> seed) const {
    loss.template need<LossFisher<T>>("test").fisher_through(signal, targets, w, seed);
  }
};

template <class T>
ByRow<T> by_row(const Loss<T>& loss) {
  return {loss};
}

using Vector = std::vector<double>;

struct Case {
  const char* name;
  std::unique_ptr<Loss<double>> (*make)();
  std::unique_ptr<Loss<float>> (*make_float)();
  double extreme = 400;  ///< scale of signals at which it stays finite
  double size = 1;       ///< magnitude of its derivatives at signals of 2; determines the errors of finite differences
};

void PrintTo(const Case& c, std::ostream* out) { *out << c.name; }

template <class T>
struct Rows {
  Index rows, size;
  std::vector<T> signal, values;
  std::vector<Symbol> symbols;
  std::vector<char> predicted;

  Rows(Index r, Index n, std::uint64_t seed, double scale = 2) : rows(r), size(n) {
    Random random(seed, "rows");
    for (Index i = 0; i < r * n; ++i) {
      signal.push_back(static_cast<T>(scale * random.normal()));
      values.push_back(static_cast<T>(random.below(2)));
    }
    for (Index i = 0; i < r; ++i) {
      predicted.push_back(i % 4 != 3);
      symbols.push_back(i % 4 == 3 ? kNoSymbol : static_cast<Symbol>(random.below(static_cast<std::uint64_t>(n))));
    }
  }
  Matrix<const T> matrix(const std::vector<T>& x) const { return {x.data(), rows, size, size}; }
  Matrix<T> matrix(std::vector<T>& x) const { return {x.data(), rows, size, size}; }
  Targets<T> targets() const { return {symbols.data(), matrix(values), predicted.data()}; }
};

class EveryReadout : public testing::TestWithParam<Case> {
 protected:
  std::unique_ptr<Loss<double>> loss_ = GetParam().make();

  Vector nats(const Rows<double>& rows, const Vector& signal) const {
    Vector result(static_cast<std::size_t>(rows.rows));
    by_row(*loss_).nats(rows.matrix(signal), rows.targets(), result.data());
    return result;
  }
  Vector gradient(const Rows<double>& rows, const Vector& signal, double scale = 1) const {
    Vector result(signal.size()), nats(static_cast<std::size_t>(rows.rows));
    by_row(*loss_).gradient(rows.matrix(signal), rows.targets(), scale, nats.data(), rows.matrix(result));
    return result;
  }
};

TEST_P(EveryReadout, every_loss_has_the_gradient_of_its_nats) {
  const Rows<double> rows(9, 5, 1);
  const Vector exact = gradient(rows, rows.signal, 0.5);
  for (std::size_t i = 0; i < exact.size(); ++i) {
    Vector above = rows.signal, below = rows.signal;
    const double h = 1e-5;
    above[i] += h, below[i] -= h;
    const std::size_t r = i / 5;
    EXPECT_NEAR(exact[i], 0.5 * (nats(rows, above)[r] - nats(rows, below)[r]) / (2 * h), 1e-9 * GetParam().size);
  }
}

TEST_P(EveryReadout, every_loss_has_the_curvature_of_its_dense_hessian) {
  const Rows<double> rows(9, 5, 2);
  Vector tangent = Rows<double>(9, 5, 3).signal, result(tangent.size());
  by_row(*loss_).curvature(rows.matrix(rows.signal), rows.targets(), 0.25, rows.matrix(std::as_const(tangent)),
                           rows.matrix(result));
  const double h = 1e-5;
  Vector above = rows.signal, below = rows.signal;
  for (std::size_t i = 0; i < tangent.size(); ++i) above[i] += h * tangent[i], below[i] -= h * tangent[i];
  const Vector up = gradient(rows, above), down = gradient(rows, below);
  for (std::size_t i = 0; i < result.size(); ++i)
    EXPECT_NEAR(result[i], 0.25 * (up[i] - down[i]) / (2 * h), 1e-8 * GetParam().size);
}

TEST_P(EveryReadout, every_loss_has_a_root_of_its_curvature) {
  const Index n = 5;
  const Rows<double> rows(9, n, 2);
  Vector h(rows.signal.size()), roots(rows.signal.size());
  // Column by column: (R R')_ij = sum_k R_ik R_jk, compared with H e_j.
  for (Index i = 0; i < n; ++i)
    for (Index j = 0; j < n; ++j) {
      Vector unit(rows.signal.size(), 0), product(static_cast<std::size_t>(rows.rows), 0);
      for (Index r = 0; r < rows.rows; ++r) unit[static_cast<std::size_t>(r * n + j)] = 1;
      by_row(*loss_).curvature(rows.matrix(rows.signal), rows.targets(), 4, rows.matrix(std::as_const(unit)),
                               rows.matrix(h));
      for (Index k = 0; k < n; ++k) {
        std::fill(roots.begin(), roots.end(), 0);
        for (Index r = 0; r < rows.rows; ++r) roots[static_cast<std::size_t>(r * n + k)] = 1;
        const Matrix<double> in_place = rows.matrix(roots);
        by_row(*loss_).curvature_root(rows.matrix(rows.signal), rows.targets(), 2, in_place, in_place);
        for (Index r = 0; r < rows.rows; ++r) product[static_cast<std::size_t>(r)] += in_place(r, i) * in_place(r, j);
      }
      for (Index r = 0; r < rows.rows; ++r)
        EXPECT_NEAR(product[static_cast<std::size_t>(r)], h[static_cast<std::size_t>(r * n + i)], 1e-12);
    }
}

TEST_P(EveryReadout, unpredicted_rows_are_unchanged) {
  const Rows<double> rows(8, 3, 4);
  const Vector all_nats = nats(rows, rows.signal), slope = gradient(rows, rows.signal);
  Vector curved(24), seed(24), through(16);
  by_row(*loss_).curvature(rows.matrix(rows.signal), rows.targets(), 1, rows.matrix(rows.signal), rows.matrix(curved));
  by_row(*loss_).fisher_diagonal(rows.matrix(rows.signal), rows.targets(), rows.matrix(seed));
  const Vector w = {1, -2, 3, 0.5, 0, 2};
  by_row(*loss_).fisher_through(rows.matrix(rows.signal), rows.targets(), {w.data(), 2, 3, 3},
                                {through.data(), 8, 2, 2});
  for (std::size_t r = 0; r < 8; ++r) {
    const bool predicted = r % 4 != 3;
    EXPECT_EQ(all_nats[r] != 0, predicted);
    for (std::size_t c = 0; c < 3; ++c) {
      EXPECT_EQ(slope[3 * r + c] != 0, predicted);
      EXPECT_EQ(curved[3 * r + c] != 0, predicted);
      EXPECT_EQ(seed[3 * r + c] != 0, predicted);
    }
    EXPECT_EQ(through[2 * r] != 0, predicted);
  }
}

TEST_P(EveryReadout, adjoint_may_overwrite_the_signal) {
  const Rows<double> rows(7, 6, 5);
  const Vector apart = gradient(rows, rows.signal, 3), apart_nats = nats(rows, rows.signal);
  Vector signal = rows.signal, own_nats(7);
  by_row(*loss_).gradient(rows.matrix(std::as_const(signal)), rows.targets(), 3, own_nats.data(), rows.matrix(signal));
  EXPECT_EQ(signal, apart);
  EXPECT_EQ(own_nats, apart_nats);  // and `nats` has the bits of `gradient`
}

TEST_P(EveryReadout, row_bits_are_the_same_alone_and_in_a_block) {
  const Rows<float> rows(6, 70, 6);
  const auto loss = GetParam().make_float();
  std::vector<float> all(6 * 70), all_nats(6), alone(70);
  by_row(*loss).gradient(rows.matrix(rows.signal), rows.targets(), 1, all_nats.data(), rows.matrix(all));
  for (Index r = 0; r < 6; ++r) {
    float nats = 0;
    const Targets<float> targets{rows.symbols.data() + r, rows.matrix(rows.values).rows_from(r, 1),
                                 rows.predicted.data() + r};
    by_row(*loss).gradient(rows.matrix(rows.signal).rows_from(r, 1), targets, 1, &nats, {alone.data(), 1, 70, 70});
    EXPECT_EQ(nats, all_nats[static_cast<std::size_t>(r)]);
    EXPECT_EQ(alone, std::vector<float>(all.begin() + r * 70, all.begin() + (r + 1) * 70));
  }
}

TEST_P(EveryReadout, loss_bits_do_not_depend_on_the_instruction_set) {
  const Rows<float> rows(4, 77, 7);
  const auto loss = GetParam().make_float();
  std::vector<std::vector<float>> results;
  for (const std::string& simd : simd_available()) {
    simd_limit(simd);
    std::vector<float> adjoint(4 * 77), nats(4), fisher(4 * 2);
    by_row(*loss).gradient(rows.matrix(rows.signal), rows.targets(), 1, nats.data(), rows.matrix(adjoint));
    by_row(*loss).fisher_through(rows.matrix(rows.signal), rows.targets(), rows.matrix(rows.signal).rows_from(0, 2),
                                 {fisher.data(), 4, 2, 2});
    adjoint.insert(adjoint.end(), nats.begin(), nats.end());
    adjoint.insert(adjoint.end(), fisher.begin(), fisher.end());
    results.push_back(adjoint);
  }
  simd_limit(simd_available().front());
  for (const auto& result : results) EXPECT_EQ(result, results.front());
}

TEST_P(EveryReadout, float_and_double_agree) {
  const Rows<double> rows(6, 9, 8);
  Rows<float> single(6, 9, 8);
  const auto loss = GetParam().make_float();
  std::vector<float> adjoint(54), nats(6);
  by_row(*loss).gradient(single.matrix(single.signal), single.targets(), 1, nats.data(), single.matrix(adjoint));
  const Vector exact = gradient(rows, rows.signal), exact_nats = this->nats(rows, rows.signal);
  for (std::size_t i = 0; i < 54; ++i) EXPECT_NEAR(adjoint[i], exact[i], 1e-6 * GetParam().size);
  for (std::size_t i = 0; i < 6; ++i) EXPECT_NEAR(nats[i], exact_nats[i], 1e-5 * GetParam().size);
}

TEST_P(EveryReadout, every_loss_stays_finite_at_extreme_signals) {
  const Rows<double> rows(8, 5, 9, GetParam().extreme);
  for (const double n : nats(rows, rows.signal)) EXPECT_TRUE(std::isfinite(n) && n >= 0);
  for (const double g : gradient(rows, rows.signal)) EXPECT_TRUE(std::isfinite(g));
}

INSTANTIATE_TEST_SUITE_P(, EveryReadout,
                         testing::Values(Case{"softmax", softmax_loss<double>, softmax_loss<float>},
                                         Case{"bernoulli", bernoulli_loss<double>, bernoulli_loss<float>},
                                         Case{"gaussian", gaussian_loss<double>, gaussian_loss<float>},
                                         Case{"poisson", poisson_loss<double>, poisson_loss<float>, 100, 100}),
                         [](const auto& tested) { return std::string(tested.param.name); });

/// Returns the mean over all outcomes of the square of sum_x w_x d log p(outcome) / d signal_x: the Fisher metric
/// applied to w.
double fisher_by_enumeration(const Vector& signal, const Vector& w, bool softmax) {
  const std::size_t n = signal.size(), outcomes = softmax ? n : std::size_t{1} << n;
  Vector p(outcomes);
  double total = 0;
  const auto is_on = [&](std::size_t outcome, std::size_t x) {
    return softmax ? outcome == x : (outcome >> x & 1) != 0;
  };
  for (std::size_t y = 0; y < outcomes; ++y) {
    double log_p = 0;
    for (std::size_t x = 0; x < n; ++x) log_p += is_on(y, x) ? signal[x] : 0;
    total += p[y] = std::exp(log_p);
  }
  double result = 0;
  for (std::size_t y = 0; y < outcomes; ++y) {
    double score = 0;
    for (std::size_t x = 0; x < n; ++x) {
      double mean = 0;
      for (std::size_t z = 0; z < outcomes; ++z) mean += is_on(z, x) ? p[z] / total : 0;
      score += w[x] * ((is_on(y, x) ? 1 : 0) - mean);
    }
    result += p[y] / total * score * score;
  }
  return result;
}

void expect_fisher_of_enumeration(const Loss<double>& loss, bool softmax) {
  const Index n = 4;
  const Rows<double> rows(3, n, 10, 1.5);
  const Vector w = Rows<double>(2, n, 11).signal;
  Vector diagonal(12), through(6);
  by_row(loss).fisher_diagonal(rows.matrix(rows.signal), rows.targets(), rows.matrix(diagonal));
  by_row(loss).fisher_through(rows.matrix(rows.signal), rows.targets(), {w.data(), 2, n, n}, {through.data(), 3, 2, 2});
  for (Index r = 0; r < 3; ++r) {
    const Vector signal(rows.signal.begin() + r * n, rows.signal.begin() + (r + 1) * n);
    for (Index x = 0; x < n; ++x) {
      Vector unit(4);
      unit[static_cast<std::size_t>(x)] = 1;
      EXPECT_NEAR(diagonal[static_cast<std::size_t>(r * n + x)], fisher_by_enumeration(signal, unit, softmax), 1e-14);
    }
    for (Index i = 0; i < 2; ++i) {
      const Vector wi(w.begin() + i * n, w.begin() + (i + 1) * n);
      EXPECT_NEAR(through[static_cast<std::size_t>(r * 2 + i)], fisher_by_enumeration(signal, wi, softmax), 1e-13);
    }
  }
}

TEST(Fisher, softmax_fisher_is_the_mean_over_outcomes) { expect_fisher_of_enumeration(*softmax_loss<double>(), true); }
TEST(Fisher, bernoulli_fisher_is_the_mean_over_outcomes) {
  expect_fisher_of_enumeration(*bernoulli_loss<double>(), false);
}

TEST(Fisher, gaussian_fisher_is_the_identity) {
  const Rows<double> rows(2, 3, 12);
  const Vector w = {3, 4, 12};
  Vector diagonal(6), through(2);
  by_row(*gaussian_loss<double>()).fisher_diagonal(rows.matrix(rows.signal), rows.targets(), rows.matrix(diagonal));
  by_row(*gaussian_loss<double>())
      .fisher_through(rows.matrix(rows.signal), rows.targets(), {w.data(), 1, 3, 3}, {through.data(), 2, 1, 1});
  EXPECT_EQ(diagonal, Vector(6, 1));
  EXPECT_EQ(through, Vector(2, 169));
}

TEST(Fisher, poisson_fisher_is_the_mean_over_all_counts) {
  const Index n = 3;
  const Rows<double> rows(2, n, 13, 0.7);
  Vector diagonal(6), squares(6);
  by_row(*poisson_loss<double>()).fisher_diagonal(rows.matrix(rows.signal), rows.targets(), rows.matrix(diagonal));
  for (std::size_t i = 0; i < 6; ++i) {
    const double rate = std::exp(rows.signal[i]);
    double p = std::exp(-rate);
    for (int y = 0; y < 60; p *= rate / ++y) squares[i] += p * (rate - y) * (rate - y);
    EXPECT_NEAR(diagonal[i], squares[i], 1e-12);
  }
  const Vector w = {3, 4, 12};
  Vector through(2);
  by_row(*poisson_loss<double>())
      .fisher_through(rows.matrix(rows.signal), rows.targets(), {w.data(), 1, n, n}, {through.data(), 2, 1, 1});
  for (std::size_t r = 0; r < 2; ++r)
    EXPECT_NEAR(through[r], 9 * squares[3 * r] + 16 * squares[3 * r + 1] + 144 * squares[3 * r + 2], 1e-10);
}

TEST(Fisher, nearly_certain_softmax_keeps_its_precision) {
  const Vector signal = {0, -60}, w = {1e3, 1e3 + 1};
  const Symbol symbol = 0;
  double through = 0;
  by_row(*softmax_loss<double>())
      .fisher_through({signal.data(), 1, 2, 2}, {&symbol, {}, nullptr}, {w.data(), 1, 2, 2}, {&through, 1, 1, 1});
  EXPECT_NEAR(through / std::exp(-60.0), 1, 1e-9);
}

TEST(Softmax, softmax_nats_are_minus_the_log_probability) {
  const std::vector<float> signal = {1, 2, 3};
  const Symbol symbol = 1;
  float nats = 0;
  by_row(*softmax_loss<float>()).nats({signal.data(), 1, 3, 3}, {&symbol, {}, nullptr}, &nats);
  EXPECT_NEAR(nats, std::log(std::exp(1.) + std::exp(2.) + std::exp(3.)) - 2, 1e-6);
}

TEST(Softmax, target_outside_the_alphabet_is_rejected) {
  const std::vector<double> signal = {1, 2, 3};
  const Symbol symbol = 3;
  double nats = 0;
  EXPECT_THROW(by_row(*softmax_loss<double>()).nats({signal.data(), 1, 3, 3}, {&symbol, {}, nullptr}, &nats),
               UsageError);
}

TEST(Poisson, negative_counts_are_rejected) {
  const Vector signal = {1}, values = {-1};
  double nats = 0;
  EXPECT_THROW(by_row(*poisson_loss<double>())
                   .nats({signal.data(), 1, 1, 1}, {nullptr, {values.data(), 1, 1, 1}, nullptr}, &nats),
               UsageError);
}

/// y = e^x has the density of x divided by y, so the nats differ by x.
TEST(LogNormal, log_normal_loss_is_the_normal_loss_of_the_logarithm) {
  const auto loss = choose_loss("log-normal").make<double>(), normal = normal_loss<double>();
  EXPECT_EQ(loss->target_size(6), 3);
  const Rows<double> signal(2, 6, 12, 0.7);
  const Vector y = {0.5, 3, 1, 40, 0.01, 2};
  Vector x;
  for (const double v : y) x.push_back(std::log(v));
  const auto nats_of = [&](const Loss<double>& of, const Vector& o, const Vector& observed, Vector& slope) {
    Vector nats(2);
    slope.resize(12);
    by_row(of).gradient({o.data(), 2, 6, 6},
                        {.symbols = nullptr, .values = {observed.data(), 2, 3, 3}, .predicted = nullptr}, 1,
                        nats.data(), {slope.data(), 2, 6, 6});
    return nats;
  };
  Vector slope, expected_slope;
  const Vector nats = nats_of(*loss, signal.signal, y, slope);
  const Vector expected = nats_of(*normal, signal.signal, x, expected_slope);
  for (std::size_t r = 0; r < 2; ++r) EXPECT_NEAR(nats[r], expected[r] + x[3 * r] + x[3 * r + 1] + x[3 * r + 2], 1e-12);
  for (std::size_t i = 0; i < slope.size(); ++i) EXPECT_NEAR(slope[i], expected_slope[i], 1e-12);
  EXPECT_THROW(nats_of(*loss, signal.signal, {1, 2, 0, 1, 1, 1}, slope), UsageError);
}

TEST(Normalized, normalized_loss_has_the_gradient_and_fisher_matrix_of_its_nats) {
  const Index n = 4;
  const Vector o = {0.2, 1.5, 0.01, 3}, w = {1, -2, 0.5, 3};
  const auto loss = normalized_loss<double>();
  const auto row = [](auto& x) {
    return Matrix<std::remove_reference_t<decltype(x[0])>>{x.data(), Index{1}, Index{4}, Index{4}};
  };
  const Matrix<const double> signal{o.data(), 1, n, n}, weights{w.data(), 1, n, n};
  Vector fisher(16);  // from the scores of all outcomes
  double through = 0, total = 4.71;
  for (Symbol x = 0; x < 4; ++x) {
    const Targets<double> target{.symbols = &x, .values = {}, .predicted = nullptr};
    Vector score(4);
    double nats = 0, along = 0;
    by_row(*loss).gradient(signal, target, 1, &nats, row(score));
    const double p = o[static_cast<std::size_t>(x)] / total;
    EXPECT_NEAR(nats, -std::log(p), 1e-14);
    for (std::size_t i = 0; i < 4; ++i) {
      Vector above = o, below = o;
      const double h = 1e-6 * o[i];
      above[i] += h, below[i] -= h;
      double up = 0, down = 0;
      by_row(*loss).nats({above.data(), 1, n, n}, target, &up);
      by_row(*loss).nats({below.data(), 1, n, n}, target, &down);
      EXPECT_NEAR(score[i] * o[i], (up - down) / 2e-6, 1e-9);
      along += w[i] * score[i];
      for (std::size_t j = 0; j < 4; ++j) fisher[4 * i + j] += p * score[i] * score[j];
    }
    through += p * along * along;
  }
  const Symbol any = 1;
  const Targets<double> target{.symbols = &any, .values = {}, .predicted = nullptr};
  Vector products(16), diagonal(4);
  for (std::size_t j = 0; j < 4; ++j) {
    Vector unit(4), column(4);
    unit[j] = 1;
    by_row(*loss).curvature(signal, target, 1, {unit.data(), 1, n, n}, row(column));
    for (std::size_t i = 0; i < 4; ++i) EXPECT_NEAR(column[i], fisher[4 * i + j], 1e-12 * fisher[4 * i + i]);
    by_row(*loss).curvature_root(signal, target, 1, {unit.data(), 1, n, n}, row(column));
    for (std::size_t i = 0; i < 4; ++i)
      for (std::size_t k = 0; k < 4; ++k) products[4 * i + k] += column[i] * column[k];
  }
  for (std::size_t i = 0; i < 16; ++i) EXPECT_NEAR(products[i], fisher[i], 1e-10);
  by_row(*loss).fisher_diagonal(signal, target, row(diagonal));
  for (std::size_t i = 0; i < 4; ++i) EXPECT_NEAR(diagonal[i], fisher[5 * i], 1e-12 * fisher[5 * i]);
  double seen = 0;
  by_row(*loss).fisher_through(signal, target, weights, {&seen, 1, 1, 1});
  EXPECT_NEAR(seen, through, 1e-12 * through);
}

TEST(Normalized, normalized_loss_skips_unpredicted_rows_and_is_nan_for_negative_signals) {
  const Vector o = {1, 2, 1, -2};
  const std::vector<Symbol> symbols = {kNoSymbol, 1};
  Vector nats(2), slope(4);
  by_row(*normalized_loss<double>())
      .gradient({o.data(), 2, 2, 2}, {.symbols = symbols.data(), .values = {}, .predicted = nullptr}, 1, nats.data(),
                {slope.data(), 2, 2, 2});
  EXPECT_EQ(nats[0], 0);
  EXPECT_EQ(slope[0], 0);
  EXPECT_TRUE(std::isnan(nats[1]));
}

TEST(LossRegistry, registry_creates_every_loss_by_name) {
  for (const LossEntry& entry : losses()) {
    EXPECT_EQ(entry.make<double>()->name(), entry.name);
    EXPECT_EQ(entry.make<float>()->name(), entry.name);
  }
}

TEST(Bernoulli, bernoulli_targets_of_another_width_are_rejected) {
  const Vector signal = {1, 2, 3}, values = {1, 0};
  double nats = 0;
  EXPECT_THROW(by_row(*bernoulli_loss<double>())
                   .nats({signal.data(), 1, 3, 3}, {nullptr, {values.data(), 1, 2, 2}, nullptr}, &nats),
               UsageError);
}

TEST(Bernoulli, bernoulli_targets_may_be_probabilities) {
  const Vector signal = {0.3, -40, 40}, values = {0.25, 0.5, 0.75};
  double nats = 0, expected = 0;
  by_row(*bernoulli_loss<double>()).nats({signal.data(), 1, 3, 3}, {nullptr, {values.data(), 1, 3, 3}, nullptr}, &nats);
  for (std::size_t i = 0; i < 3; ++i)
    expected += values[i] * std::log1p(std::exp(-signal[i])) + (1 - values[i]) * std::log1p(std::exp(signal[i]));
  EXPECT_NEAR(nats, expected, 1e-12);
}

/// Expects |count - n p| to be within five standard deviations.
void expect_frequency(Index count, Index n, double p) {
  EXPECT_NEAR(static_cast<double>(count), static_cast<double>(n) * p,
              5 * std::sqrt(static_cast<double>(n) * p * (1 - p)) + 1);
}

TEST(RegisterLoss, registered_loss_is_chosen_by_its_spec) {
  register_loss({.name = "copy-of-gaussian",
                 .help = "squared error under another name",
                 .of_symbols = false,
                 .make_float = gaussian_loss<float>,
                 .make_double = gaussian_loss<double>});
  const ChosenLoss chosen = choose_loss("copy-of-gaussian");
  EXPECT_EQ(chosen.signal_size(3), 3);
  EXPECT_EQ(chosen.make<double>()->name(), gaussian_loss<double>()->name());
  EXPECT_EQ(losses().names().back(), "copy-of-gaussian");
  EXPECT_THROW(register_loss({.name = "gaussian",
                              .help = "",
                              .of_symbols = false,
                              .make_float = gaussian_loss<float>,
                              .make_double = gaussian_loss<double>}),
               UsageError);
  EXPECT_THROW(register_loss({.name = "empty", .help = "", .of_symbols = false}), UsageError);
}

TEST(Sampling, symbols_are_sampled_with_their_probabilities) {
  const std::vector<float> p = {0.1f, 0, 0.2f, 0.7f};
  std::vector<float> log_p;
  for (const float x : p) log_p.push_back(std::log(x));
  Random random(1, "sampling");
  std::vector<Index> counts(4);
  for (int i = 0; i < 20000; ++i) ++counts[static_cast<std::size_t>(sample_symbol<float>(log_p, random))];
  EXPECT_EQ(counts[1], 0);
  for (std::size_t x = 0; x < 4; ++x) expect_frequency(counts[x], 20000, p[x]);
}

TEST(Sampling, sampling_inverts_in_symbol_order) {
  const Vector log_p(8, std::log(0.125));
  for (std::uint64_t seed = 0; seed < 50; ++seed) {
    Random random(seed, "a"), same(seed, "a");
    EXPECT_EQ(sample_symbol<double>(log_p, random), static_cast<Symbol>(same.uniform() * 8));
  }
}

TEST(Sampling, distribution_without_probability_is_rejected) {
  Random random(1, "sampling");
  const Vector nothing(3, -INFINITY), unknown(3, NAN);
  EXPECT_THROW(sample_symbol<double>(nothing, random), UsageError);
  EXPECT_THROW(sample_symbol<double>(unknown, random), UsageError);
}

TEST(Sampling, bits_and_gaussians_are_sampled_around_their_means) {
  const Vector signal = {-2, 0, 1};
  Random random(2, "sampling");
  Vector ones(3), mean(3), square(3), drawn(3);
  const int n = 20000;
  for (int i = 0; i < n; ++i) {
    sample_bits<double>(signal, random, drawn.data());
    for (std::size_t k = 0; k < 3; ++k) ones[k] += drawn[k];
    sample_gaussian<double>(signal, random, drawn.data());
    for (std::size_t k = 0; k < 3; ++k)
      mean[k] += drawn[k] / n, square[k] += (drawn[k] - signal[k]) * (drawn[k] - signal[k]) / n;
  }
  for (std::size_t k = 0; k < 3; ++k) {
    expect_frequency(static_cast<Index>(ones[k]), n, 1 / (1 + std::exp(-signal[k])));
    EXPECT_NEAR(mean[k], signal[k], 0.04);
    EXPECT_NEAR(square[k], 1, 0.06);
  }
}

}  // namespace
}  // namespace unfold
