/// Losses whose signal is larger than the observation, and the selection of losses: compared with explicit densities,
/// finite differences, and integrals over all observations.

#include <gtest/gtest.h>

#include <cmath>
#include <numbers>
#include <vector>

#include "loss/distribution.h"
#include "numerics/simd.h"
#include "unfold/base/error.h"
#include "unfold/gradcheck/derivative_check.h"
#include "unfold/loss/registry.h"

namespace unfold {
namespace {

using Numbers = std::vector<double>;

/// A loss for `values` numbers per row: the normal loss for zero components, otherwise a mixture.
struct Wide {
  const char* name;
  Index components, values;

  Index signal() const { return components == 0 ? 2 * values : components * (1 + 2 * values); }
  template <class T>
  std::unique_ptr<Loss<T>> make() const {
    return components == 0 ? normal_loss<T>() : mixture_loss<T>(components);
  }
};

void PrintTo(const Wide& wide, std::ostream* out) { *out << wide.name; }

double deviation_written_out(double s) { return std::exp(10 * std::tanh(s / 10)); }

/// Returns the log of p_k times the density of component k of a mixture, or of the normal distribution for k = 0 with
/// zero components.
double log_joint(const Wide& wide, const Numbers& signal, const Numbers& y, Index k) {
  const Index n = wide.values, count = std::max<Index>(1, wide.components), first = wide.components;
  double total = 0, result = 0;
  for (Index l = 0; l < wide.components; ++l) total += std::exp(signal[at(l)]);
  if (wide.components > 0) result = signal[at(k)] - std::log(total);
  for (Index i = 0; i < n; ++i) {
    const double m = signal[at(first + k * n + i)];
    const double d = deviation_written_out(signal[at(first + (count + k) * n + i)]);
    result += -0.5 * std::pow((y[at(i)] - m) / d, 2) - std::log(d) - 0.5 * std::log(2 * std::numbers::pi);
  }
  return result;
}

double nats_written_out(const Wide& wide, const Numbers& signal, const Numbers& y) {
  double density = 0;
  for (Index k = 0; k < std::max<Index>(1, wide.components); ++k) density += std::exp(log_joint(wide, signal, y, k));
  return -std::log(density);
}

template <class T>
struct WideRows {
  Wide wide;
  Index rows;
  std::vector<T> signal, values;
  std::vector<char> predicted;

  WideRows(const Wide& w, Index r, std::uint64_t seed, double scale = 1) : wide(w), rows(r) {
    Random random(seed, "wide");
    for (Index i = 0; i < r * w.signal(); ++i) signal.push_back(static_cast<T>(scale * random.normal()));
    for (Index i = 0; i < r * w.values; ++i) values.push_back(static_cast<T>(random.normal()));
    for (Index i = 0; i < r; ++i) predicted.push_back(i % 4 != 3);
  }
  Matrix<const T> matrix(const std::vector<T>& x) const { return {x.data(), rows, wide.signal(), wide.signal()}; }
  Matrix<T> matrix(std::vector<T>& x) const { return {x.data(), rows, wide.signal(), wide.signal()}; }
  Targets<T> targets() const {
    return {
        .symbols = nullptr, .values = {values.data(), rows, wide.values, wide.values}, .predicted = predicted.data()};
  }
  Numbers signal_of(Index row) const {
    return {signal.begin() + row * wide.signal(), signal.begin() + (row + 1) * wide.signal()};
  }
  Numbers values_of(Index row) const {
    return {values.begin() + row * wide.values, values.begin() + (row + 1) * wide.values};
  }
};

template <class T>
struct Found {
  std::vector<T> nats, slope;
  bool operator==(const Found&) const = default;
};

template <class T>
Found<T> gradient_of(const Loss<T>& loss, const WideRows<T>& rows, const std::vector<T>& signal, T scale = 1) {
  Found<T> found{std::vector<T>(at(rows.rows)), std::vector<T>(signal.size())};
  loss.template need<RowLoss<T>>("test").row_gradients(rows.matrix(signal), rows.targets(), scale, found.nats.data(),
                                                       rows.matrix(found.slope));
  return found;
}

/// Returns the curvature of the first row, column by column: [signal x signal].
Numbers dense_curvature(const Loss<double>& loss, const WideRows<double>& rows) {
  const Index size = rows.wide.signal();
  Numbers dense(at(size * size)), unit(rows.signal.size()), result(rows.signal.size());
  for (Index j = 0; j < size; ++j) {
    unit.assign(unit.size(), 0);
    unit[at(j)] = 1;
    loss.need<RowCurvature<double>>("test").row_curvatures(rows.matrix(rows.signal), rows.targets(), 1,
                                                           rows.matrix(std::as_const(unit)), rows.matrix(result));
    for (Index i = 0; i < size; ++i) dense[at(i * size + j)] = result[at(i)];
  }
  return dense;
}

/// Calls use(y, area) on a fine grid over all possible observations of a row.
template <class Use>
void for_all_observations(Index values, double step, double reach, Use&& use) {
  const auto points = static_cast<Index>(2 * reach / step) + 1;
  const Index total = values == 1 ? points : points * points;
  for (Index p = 0; p < total; ++p) {
    Numbers y = {-reach + static_cast<double>(p % points) * step};
    if (values == 2) y.push_back(-reach + static_cast<double>(p / points) * step);
    use(y, values == 1 ? step : step * step);
  }
}

/// Returns finite differences of log_joint with respect to the signal.
Numbers score_by_differences(const Wide& wide, const Numbers& signal, const Numbers& y, Index k) {
  Numbers score;
  for (std::size_t i = 0; i < signal.size(); ++i) {
    Numbers above = signal, below = signal;
    above[i] += 1e-5, below[i] -= 1e-5;
    score.push_back((log_joint(wide, above, y, k) - log_joint(wide, below, y, k)) / 2e-5);
  }
  return score;
}

/// Returns the mean of score score' over components and observations: the Fisher matrix of the pair.
Numbers fisher_by_integration(const Wide& wide, const Numbers& signal) {
  const std::size_t size = signal.size();
  Numbers fisher(size * size);
  for_all_observations(wide.values, wide.values == 1 ? 0.02 : 0.125, 18, [&](const Numbers& y, double area) {
    for (Index k = 0; k < std::max<Index>(1, wide.components); ++k) {
      const double p = area * std::exp(log_joint(wide, signal, y, k));
      if (p < 1e-14) continue;
      const Numbers score = score_by_differences(wide, signal, y, k);
      for (std::size_t i = 0; i < size; ++i)
        for (std::size_t j = 0; j < size; ++j) fisher[i * size + j] += p * score[i] * score[j];
    }
  });
  return fisher;
}

double quadratic(const Numbers& matrix, const Numbers& v) {
  double sum = 0;
  for (std::size_t i = 0; i < v.size(); ++i)
    for (std::size_t j = 0; j < v.size(); ++j) sum += v[i] * matrix[i * v.size() + j] * v[j];
  return sum;
}

class EveryWideLoss : public testing::TestWithParam<Wide> {
 protected:
  Wide wide_ = GetParam();
  std::unique_ptr<Loss<double>> loss_ = GetParam().make<double>();
};

TEST_P(EveryWideLoss, wide_loss_has_the_nats_of_its_density) {
  const WideRows<double> rows(wide_, 9, 1);
  Numbers nats(9);
  loss_->need<RowLoss<double>>("test").row_losses(rows.matrix(rows.signal), rows.targets(), nats.data());
  for (Index r = 0; r < 9; ++r) {
    const double expected = r % 4 == 3 ? 0 : nats_written_out(wide_, rows.signal_of(r), rows.values_of(r));
    EXPECT_NEAR(nats[at(r)], expected, 1e-12 * std::max(1.0, std::fabs(expected)));
  }
  EXPECT_EQ(nats, gradient_of(*loss_, rows, rows.signal).nats);
}

TEST_P(EveryWideLoss, wide_loss_has_the_gradient_of_its_nats) {
  const WideRows<double> rows(wide_, 5, 2);
  const Numbers slope = gradient_of(*loss_, rows, rows.signal, 0.5).slope;
  for (std::size_t i = 0; i < slope.size(); ++i) {
    const Index r = static_cast<Index>(i) / wide_.signal();
    Numbers above = rows.signal, below = rows.signal;
    above[i] += 1e-5, below[i] -= 1e-5;
    const double up = gradient_of(*loss_, rows, above).nats[at(r)], down = gradient_of(*loss_, rows, below).nats[at(r)];
    EXPECT_NEAR(slope[i], 0.5 * (up - down) / 2e-5, 2e-8 * std::max(1.0, std::fabs(slope[i])));
    EXPECT_TRUE(r != 3 || slope[i] == 0);
  }
}

TEST_P(EveryWideLoss, wide_loss_has_the_fisher_metric_over_all_observations) {
  const WideRows<double> rows(wide_, 1, 3, 0.4);
  const std::size_t size = rows.signal.size();
  const Numbers dense = fisher_by_integration(wide_, rows.signal);
  const auto& fisher = loss_->need<LossFisher<double>>("test");
  Numbers diagonal(size);
  fisher.fisher_diagonal(rows.matrix(rows.signal), rows.targets(), rows.matrix(diagonal));
  for (std::size_t i = 0; i < size; ++i) EXPECT_NEAR(diagonal[i], dense[i * size + i], 1e-7);
  Random random(4, "weights");
  Numbers w(2 * size), through(2);
  for (double& x : w) x = random.normal();
  fisher.fisher_through(rows.matrix(rows.signal), rows.targets(), {w.data(), 2, wide_.signal(), wide_.signal()},
                        {through.data(), 1, 2, 2});
  for (std::size_t i = 0; i < 2; ++i) {
    const auto first = w.begin() + static_cast<Index>(i * size);
    EXPECT_NEAR(through[i], quadratic(dense, {first, first + static_cast<Index>(size)}), 1e-6);
  }
}

TEST_P(EveryWideLoss, wide_loss_curvature_is_symmetric_and_nonnegative_with_a_root) {
  const WideRows<double> rows(wide_, 1, 5);
  const auto size = at(wide_.signal());
  const Numbers dense = dense_curvature(*loss_, rows);
  Numbers product(size * size), column(size);
  for (std::size_t j = 0; j < size; ++j) {
    column.assign(size, 0);
    column[j] = 1;
    loss_->need<RowCurvature<double>>("test").row_curvature_roots(rows.matrix(rows.signal), rows.targets(), 1,
                                                                  rows.matrix(std::as_const(column)),
                                                                  rows.matrix(column));  // in place
    for (std::size_t i = 0; i < size; ++i)
      for (std::size_t k = 0; k < size; ++k) product[i * size + k] += column[i] * column[k];
  }
  for (std::size_t i = 0; i < size; ++i)
    for (std::size_t j = 0; j < size; ++j) {
      EXPECT_NEAR(dense[i * size + j], dense[j * size + i], 1e-14 * (1 + std::fabs(dense[i * size + j])));
      EXPECT_NEAR(product[i * size + j], dense[i * size + j], 1e-12 * (1 + std::fabs(dense[i * size + j])));
    }
  Random random(6, "directions");
  for (int trial = 0; trial < 100; ++trial) {
    Numbers v(size);
    for (double& x : v) x = random.normal();
    EXPECT_GE(quadratic(dense, v), -1e-12);
  }
}

TEST_P(EveryWideLoss, unpredicted_rows_are_unchanged) {
  const WideRows<double> rows(wide_, 4, 7);
  const auto size = at(wide_.signal());
  Numbers curved(rows.signal.size()), seed(rows.signal.size()), through(4), w(size, 1);
  loss_->need<RowCurvature<double>>("test").row_curvatures(rows.matrix(rows.signal), rows.targets(), 1,
                                                           rows.matrix(rows.signal), rows.matrix(curved));
  loss_->need<LossFisher<double>>("test").fisher_diagonal(rows.matrix(rows.signal), rows.targets(), rows.matrix(seed));
  loss_->need<LossFisher<double>>("test").fisher_through(rows.matrix(rows.signal), rows.targets(),
                                                         {w.data(), 1, wide_.signal(), wide_.signal()},
                                                         {through.data(), 4, 1, 1});
  for (std::size_t i = 0; i < size; ++i) {
    EXPECT_EQ(curved[3 * size + i], 0);
    EXPECT_EQ(seed[3 * size + i], 0);
  }
  EXPECT_EQ(through[3], 0);
  EXPECT_GT(through[2], 0);
}

TEST_P(EveryWideLoss, adjoint_may_overwrite_the_signal) {
  const WideRows<double> rows(wide_, 7, 8);
  const Found<double> apart = gradient_of(*loss_, rows, rows.signal, 3.0);
  Numbers signal = rows.signal, nats(7);
  loss_->need<RowLoss<double>>("test").row_gradients(rows.matrix(std::as_const(signal)), rows.targets(), 3, nats.data(),
                                                     rows.matrix(signal));
  EXPECT_EQ((Found<double>{nats, signal}), apart);
}

TEST_P(EveryWideLoss, wide_loss_bits_do_not_depend_on_instruction_set_or_batch) {
  const WideRows<float> rows(wide_, 6, 9);
  const auto loss = wide_.make<float>();
  const Found<float> all = gradient_of(*loss, rows, rows.signal);
  for (const std::string& simd : simd_available()) {
    simd_limit(simd);
    EXPECT_EQ(gradient_of(*loss, rows, rows.signal), all) << simd;
  }
  simd_limit(simd_available().front());
  for (Index r = 0; r < 6; ++r) {
    std::vector<float> slope(at(wide_.signal()));
    float nats = 0;
    loss->need<RowLoss<float>>("test").row_gradients(rows.matrix(rows.signal).rows_from(r, 1),
                                                     rows.targets().from_row(r, 1), 1, &nats,
                                                     {slope.data(), 1, wide_.signal(), wide_.signal()});
    EXPECT_EQ(nats, all.nats[at(r)]);
    const auto first = all.slope.begin() + r * wide_.signal();
    EXPECT_EQ(slope, std::vector<float>(first, first + wide_.signal()));
  }
}

TEST_P(EveryWideLoss, float_and_double_agree) {
  const WideRows<float> single(wide_, 6, 10);
  WideRows<double> rows(wide_, 6, 10);
  rows.signal.assign(single.signal.begin(), single.signal.end());
  rows.values.assign(single.values.begin(), single.values.end());
  const auto loss = wide_.make<float>();
  const Found<double> exact = gradient_of(*loss_, rows, rows.signal);
  const Found<float> rounded = gradient_of(*loss, single, single.signal);
  for (std::size_t i = 0; i < exact.slope.size(); ++i)
    EXPECT_NEAR(rounded.slope[i], exact.slope[i], 2e-5 * (1 + std::fabs(exact.slope[i])));
  for (std::size_t r = 0; r < 6; ++r)
    EXPECT_NEAR(rounded.nats[r], exact.nats[r], 1e-5 * (1 + std::fabs(exact.nats[r])));
}

TEST_P(EveryWideLoss, wide_loss_stays_finite_in_float_for_extreme_values) {
  for (const double scale : {1e2, 1e6, 1e13}) {
    WideRows<float> rows(wide_, 8, 11, scale);
    const auto loss = wide_.make<float>();
    const Found<float> found = gradient_of(*loss, rows, rows.signal);
    std::vector<float> curved(rows.signal.size()), ones(rows.signal.size(), 1), seed(rows.signal.size());
    loss->need<RowCurvature<float>>("test").row_curvatures(rows.matrix(rows.signal), rows.targets(), 1,
                                                           rows.matrix(std::as_const(ones)), rows.matrix(curved));
    loss->need<LossFisher<float>>("test").fisher_diagonal(rows.matrix(rows.signal), rows.targets(), rows.matrix(seed));
    for (const auto& all : {found.nats, found.slope, curved, seed})
      for (const float x : all) EXPECT_TRUE(std::isfinite(x)) << scale;
  }
}

TEST_P(EveryWideLoss, signals_and_targets_of_another_size_are_rejected) {
  const WideRows<double> rows(wide_, 1, 12);
  Numbers nats(1);
  Targets<double> targets = rows.targets();
  ++targets.values.cols;
  EXPECT_THROW(loss_->need<RowLoss<double>>("test").row_losses(rows.matrix(rows.signal), targets, nats.data()),
               UsageError);
  EXPECT_EQ(loss_->target_size(wide_.signal()), wide_.values);
  EXPECT_THROW(loss_->target_size(wide_.signal() + 1), UsageError);
  EXPECT_THROW(loss_->target_size(wide_.signal() - 1), UsageError);
}

TEST_P(EveryWideLoss, wide_loss_passes_all_checks_at_the_end_of_a_network) {
  Circuit c;
  const Signal h = c.link(3), next = tanh(c.affine("z", 3, {{"W", c.symbols("symbols", 4)}, {"U", h}}));
  c.feed(h, next);
  c.output(c.affine("output", wide_.signal(), {{"V", next}}));
  const std::vector<Index> lengths = {4, 1, 3};
  const CheckReport report = check_derivatives(c, *loss_, Structure::chains(lengths));
  EXPECT_TRUE(report.passed()) << report.text();
}

INSTANTIATE_TEST_SUITE_P(, EveryWideLoss,
                         testing::Values(Wide{"normal_1", 0, 1}, Wide{"normal_2", 0, 2}, Wide{"mixture_1_of_1", 1, 1},
                                         Wide{"mixture_3_of_1", 3, 1}, Wide{"mixture_2_of_2", 2, 2}),
                         [](const auto& tested) { return std::string(tested.param.name); });

TEST(NormalLoss, normal_loss_curvature_is_its_fisher_matrix) {
  const WideRows<double> rows({"", 0, 2}, 1, 13, 0.4);
  const Numbers dense = dense_curvature(*normal_loss<double>(), rows);
  const Numbers expected = fisher_by_integration(rows.wide, rows.signal);
  for (std::size_t i = 0; i < dense.size(); ++i) EXPECT_NEAR(dense[i], expected[i], 1e-7);
}

TEST(MixtureLoss, mixture_of_one_component_is_the_normal_loss) {
  const WideRows<double> one({"", 1, 3}, 2, 14);
  WideRows<double> normal({"", 0, 3}, 2, 14);
  normal.values = one.values;
  for (Index r = 0; r < 2; ++r)
    for (Index i = 0; i < 6; ++i) normal.signal[at(r * 6 + i)] = one.signal[at(r * 7 + 1 + i)];
  const Found<double> found = gradient_of(*mixture_loss<double>(1), one, one.signal);
  const Found<double> expected = gradient_of(*normal_loss<double>(), normal, normal.signal);
  for (std::size_t r = 0; r < 2; ++r) {
    EXPECT_NEAR(found.nats[r], expected.nats[r], 1e-13);
    EXPECT_NEAR(found.slope[7 * r], 0, 1e-15);
    for (std::size_t i = 0; i < 6; ++i) EXPECT_NEAR(found.slope[7 * r + 1 + i], expected.slope[6 * r + i], 1e-12);
  }
}

/// In (a, m), only the covariance was left out, so G - H has no negative eigenvalue there.
TEST(MixtureLoss, mixture_curvature_bounds_its_hessian_in_logits_and_means) {
  const Wide wide{"", 3, 2};
  const auto loss = mixture_loss<double>(3);
  const auto size = at(wide.signal());
  for (std::uint64_t seed = 0; seed < 10; ++seed) {
    const WideRows<double> rows(wide, 1, seed);
    const Numbers g = dense_curvature(*loss, rows);
    Numbers hessian(size * size);
    for (std::size_t j = 0; j < size; ++j) {
      Numbers above = rows.signal, below = rows.signal;
      above[j] += 1e-5, below[j] -= 1e-5;
      const Numbers up = gradient_of(*loss, rows, above).slope, down = gradient_of(*loss, rows, below).slope;
      for (std::size_t i = 0; i < size; ++i) hessian[i * size + j] = (up[i] - down[i]) / 2e-5;
    }
    Random random(seed, "directions");
    for (int trial = 0; trial < 50; ++trial) {
      Numbers v(size);
      for (std::size_t i = 0; i < 9; ++i) v[i] = random.normal();  // 3 logits and 6 means
      EXPECT_GE(quadratic(g, v), quadratic(hessian, v) - 1e-6);
    }
  }
}

TEST(MixtureLoss, mixture_curvature_is_weighted_by_responsibilities) {
  const Wide wide{"", 3, 1};
  const WideRows<double> rows(wide, 1, 15);
  const Numbers dense = dense_curvature(*mixture_loss<double>(3), rows), signal = rows.signal_of(0);
  const double nats = nats_written_out(wide, signal, rows.values_of(0));
  double total = 0;
  for (std::size_t k = 0; k < 3; ++k) total += std::exp(signal[k]);
  Numbers expected(81);
  for (std::size_t k = 0; k < 3; ++k) {
    const double p = std::exp(signal[k]) / total, s = signal[6 + k];
    const double r = std::exp(log_joint(wide, signal, rows.values_of(0), static_cast<Index>(k)) + nats);
    for (std::size_t l = 0; l < 3; ++l) expected[9 * k + l] = (k == l ? p : 0) - p * std::exp(signal[l]) / total;
    expected[10 * (3 + k)] = r / std::pow(deviation_written_out(s), 2);
    expected[10 * (6 + k)] = 2 * r * std::pow(1 - std::pow(std::tanh(s / 10), 2), 2);
  }
  for (std::size_t i = 0; i < 81; ++i) EXPECT_NEAR(dense[i], expected[i], 1e-12 * (1 + expected[i]));
}

/// Observing the component adds information: the metric of the pair is at least that of the numbers alone.
TEST(MixtureLoss, mixture_fisher_metric_bounds_that_of_the_numbers_alone) {
  const Wide wide{"", 2, 1};
  const WideRows<double> rows(wide, 1, 16, 0.5);
  const Numbers pair = fisher_by_integration(wide, rows.signal);
  Numbers alone(36);
  const auto loss = mixture_loss<double>(2);
  for_all_observations(1, 0.02, 18, [&](const Numbers& y, double area) {
    WideRows<double> seen = rows;
    seen.values = y;
    const Found<double> found = gradient_of(*loss, seen, seen.signal);
    for (std::size_t i = 0; i < 6; ++i)
      for (std::size_t j = 0; j < 6; ++j)
        alone[6 * i + j] += area * std::exp(-found.nats[0]) * found.slope[i] * found.slope[j];
  });
  Random random(17, "directions");
  for (int trial = 0; trial < 100; ++trial) {
    Numbers v(6);
    for (double& x : v) x = random.normal();
    EXPECT_GE(quadratic(pair, v), quadratic(alone, v) - 1e-7);
  }
}

TEST(MixtureLoss, mixture_requires_a_component) { EXPECT_THROW(mixture_loss<double>(0), UsageError); }

TEST(ChooseLoss, loss_options_are_read_from_a_spec) {
  const ChosenLoss three = choose_loss("mixture:3");
  EXPECT_EQ(three.entry.name, "mixture");
  EXPECT_EQ(three.signal_size(4), 27);
  EXPECT_EQ(three.make<double>()->target_size(27), 4);
  EXPECT_EQ(choose_loss("mixture:components=3").signal_size(4), 27);
  EXPECT_EQ(choose_loss("mixture").signal_size(1), 15);
  EXPECT_EQ(losses().get("mixture").make<float>()->target_size(15), 1);
  EXPECT_EQ(choose_loss("normal").signal_size(4), 8);
  EXPECT_EQ(choose_loss("softmax").signal_size(4), 4);
  EXPECT_TRUE(choose_loss("softmax").entry.of_symbols);
}

TEST(ChooseLoss, signal_size_of_every_loss_is_known) {
  for (const LossEntry& entry : losses()) {
    const ChosenLoss chosen = choose_loss(entry.name);
    EXPECT_EQ(chosen.make<float>()->target_size(chosen.signal_size(3)), 3) << entry.name;
  }
}

TEST(ChooseLoss, unknown_loss_is_rejected) {
  for (const char* wrong :
       {"mixtures", "", "mixture:0", "mixture:1001", "mixture:many", "mixture:5,rate=1", "normal:2", "softmax:size=2"})
    EXPECT_THROW(choose_loss(wrong), UsageError) << wrong;
}

}  // namespace
}  // namespace unfold
