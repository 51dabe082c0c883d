/// Losses of numbers whose distribution has a learned shape (student-t, negative-binomial): compared with explicit
/// densities, finite differences, and sums over all observations.

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <numbers>
#include <vector>

#include "numerics/simd.h"
#include "unfold/base/error.h"
#include "unfold/gradcheck/derivative_check.h"
#include "unfold/loss/registry.h"

namespace unfold {
namespace {

using Reals = std::vector<double>;

double positive_written_out(double s) { return std::exp(10 * std::tanh(s / 10)); }

double student_nats_written_out(const Reals& o, double y) {
  const double d = positive_written_out(o[1]), f = 2 + std::log1p(std::exp(o[2])), z = (y - o[0]) / d;
  return std::lgamma(f / 2) - std::lgamma((f + 1) / 2) + 0.5 * std::log(f * std::numbers::pi) + std::log(d) +
         (f + 1) / 2 * std::log1p(z * z / f);
}

double count_nats_written_out(const Reals& o, double y) {
  const double mean = std::exp(o[0]), r = 1 / positive_written_out(o[1]);
  return std::lgamma(r) + std::lgamma(y + 1) - std::lgamma(y + r) - r * std::log(r / (r + mean)) -
         y * std::log(mean / (r + mean));
}

/// A loss with `parts` signals for each number, and the nats of one number given its part of the signal.
struct Shaped {
  const char *name, *spec;
  Index parts;
  double (*nats)(const Reals& o, double y);
  bool counts;

  template <class T>
  std::unique_ptr<Loss<T>> make() const {
    return choose_loss(spec).make<T>();
  }
};

void PrintTo(const Shaped& shaped, std::ostream* out) { *out << shaped.name; }

template <class T>
struct ShapedRows {
  const Shaped& shaped;
  Index rows, values_each, size;
  std::vector<T> signal, values;
  std::vector<char> predicted;

  ShapedRows(const Shaped& s, Index r, Index n, std::uint64_t seed, double scale = 1)
      : shaped(s), rows(r), values_each(n), size(n * s.parts) {
    Random random(seed, "shaped");
    for (Index i = 0; i < r * size; ++i) signal.push_back(static_cast<T>(scale * random.normal()));
    for (Index i = 0; i < r * n; ++i)
      values.push_back(static_cast<T>(s.counts ? static_cast<double>(random.below(9)) : 3 * random.normal()));
    for (Index i = 0; i < r; ++i) predicted.push_back(i % 4 != 3);
  }
  Matrix<const T> matrix(const std::vector<T>& x) const { return {x.data(), rows, size, size}; }
  Matrix<T> matrix(std::vector<T>& x) const { return {x.data(), rows, size, size}; }
  Targets<T> targets() const {
    return {
        .symbols = nullptr, .values = {values.data(), rows, values_each, values_each}, .predicted = predicted.data()};
  }
  /// The signals of number i in a row.
  Reals of(Index row, Index i) const {
    Reals o;
    for (Index part = 0; part < shaped.parts; ++part)
      o.push_back(static_cast<double>(signal[at(row * size + part * values_each + i)]));
    return o;
  }
};

template <class T>
struct ShapedGradient {
  std::vector<T> nats, slope;
  bool operator==(const ShapedGradient&) const = default;
};

template <class T>
ShapedGradient<T> shaped_gradient(const Loss<T>& loss, const ShapedRows<T>& rows, const std::vector<T>& signal,
                                  T scale = 1) {
  ShapedGradient<T> found{std::vector<T>(at(rows.rows)), std::vector<T>(signal.size())};
  loss.template need<RowLoss<T>>("test").row_gradients(rows.matrix(signal), rows.targets(), scale, found.nats.data(),
                                                       rows.matrix(found.slope));
  return found;
}

/// Sums use(y, probability) over all observations of one number, a fine grid for densities.
void for_observations(const Shaped& shaped, const Reals& o,
                      const std::function<void(double y, double probability)>& use) {
  if (shaped.counts) {
    for (int y = 0; y < 4000; ++y) use(y, std::exp(-shaped.nats(o, y)));
    return;
  }
  const double d = positive_written_out(o[1]);
  constexpr double kStep = 1e-3;
  for (double x = -9; x < 9; x += kStep) {  // y = m + d sinh(2 x) reaches the heavy tails
    const double y = o[0] + d * std::sinh(2 * x);
    use(y, std::exp(-shaped.nats(o, y)) * d * 2 * std::cosh(2 * x) * kStep);
  }
}

/// The mean of score score', with scores by finite differences: [parts x parts].
Reals fisher_over_observations(const Shaped& shaped, const Reals& o) {
  const auto parts = at(shaped.parts);
  Reals fisher(parts * parts);
  for_observations(shaped, o, [&](double y, double probability) {
    if (probability < 1e-25) return;
    Reals score(parts);
    for (std::size_t i = 0; i < parts; ++i) {
      Reals above = o, below = o;
      above[i] += 1e-5, below[i] -= 1e-5;
      score[i] = (shaped.nats(above, y) - shaped.nats(below, y)) / 2e-5;
    }
    for (std::size_t i = 0; i < parts; ++i)
      for (std::size_t j = 0; j < parts; ++j) fisher[i * parts + j] += probability * score[i] * score[j];
  });
  return fisher;
}

class EveryLearnedShape : public testing::TestWithParam<Shaped> {
 protected:
  Shaped shaped_ = GetParam();
  std::unique_ptr<Loss<double>> loss_ = GetParam().make<double>();

  /// The curvature of a row with one number: [parts x parts].
  Reals curvature(const ShapedRows<double>& rows) const {
    const auto parts = at(shaped_.parts);
    Reals dense(parts * parts), unit(parts), column(parts);
    for (std::size_t j = 0; j < parts; ++j) {
      unit.assign(parts, 0);
      unit[j] = 1;
      loss_->need<RowCurvature<double>>("test").row_curvatures(rows.matrix(rows.signal), rows.targets(), 1,
                                                               rows.matrix(std::as_const(unit)), rows.matrix(column));
      for (std::size_t i = 0; i < parts; ++i) dense[i * parts + j] = column[i];
    }
    return dense;
  }
};

TEST_P(EveryLearnedShape, shaped_loss_has_the_nats_of_its_density) {
  const ShapedRows<double> rows(shaped_, 9, 2, 1);
  Reals nats(9);
  loss_->need<RowLoss<double>>("test").row_losses(rows.matrix(rows.signal), rows.targets(), nats.data());
  for (Index r = 0; r < 9; ++r) {
    double expected = 0;
    for (Index i = 0; i < 2 && r % 4 != 3; ++i) expected += shaped_.nats(rows.of(r, i), rows.values[at(2 * r + i)]);
    EXPECT_NEAR(nats[at(r)], expected, 1e-12 * std::max(1.0, std::fabs(expected)));
  }
  EXPECT_EQ(nats, shaped_gradient(*loss_, rows, rows.signal).nats);
}

TEST_P(EveryLearnedShape, probabilities_sum_to_one) {
  const ShapedRows<double> rows(shaped_, 5, 1, 2);
  for (Index r = 0; r < 5; ++r) {
    double total = 0;
    for_observations(shaped_, rows.of(r, 0), [&](double, double probability) { total += probability; });
    EXPECT_NEAR(total, 1, 1e-6);
  }
}

TEST_P(EveryLearnedShape, shaped_loss_has_the_gradient_of_its_nats) {
  const ShapedRows<double> rows(shaped_, 5, 3, 3);
  const Reals slope = shaped_gradient(*loss_, rows, rows.signal, 0.5).slope;
  for (std::size_t i = 0; i < slope.size(); ++i) {
    const Index r = static_cast<Index>(i) / rows.size;
    Reals above = rows.signal, below = rows.signal;
    above[i] += 1e-5, below[i] -= 1e-5;
    const double up = shaped_gradient(*loss_, rows, above).nats[at(r)];
    const double down = shaped_gradient(*loss_, rows, below).nats[at(r)];
    EXPECT_NEAR(slope[i], 0.5 * (up - down) / 2e-5, 2e-8 * std::max(1.0, std::fabs(slope[i])));
    EXPECT_TRUE(r != 3 || slope[i] == 0);
  }
}

TEST_P(EveryLearnedShape, shaped_curvature_has_a_root) {
  const ShapedRows<double> rows(shaped_, 1, 1, 4);
  const auto parts = at(shaped_.parts);
  const Reals dense = curvature(rows);
  Reals product(parts * parts), column(parts);
  for (std::size_t j = 0; j < parts; ++j) {
    column.assign(parts, 0);
    column[j] = 1;
    loss_->need<RowCurvature<double>>("test").row_curvature_roots(rows.matrix(rows.signal), rows.targets(), 1,
                                                                  rows.matrix(std::as_const(column)),
                                                                  rows.matrix(column));  // in place
    for (std::size_t i = 0; i < parts; ++i)
      for (std::size_t k = 0; k < parts; ++k) product[i * parts + k] += column[i] * column[k];
  }
  for (std::size_t i = 0; i < product.size(); ++i) EXPECT_NEAR(product[i], dense[i], 1e-13 * (1 + dense[i]));
}

TEST_P(EveryLearnedShape, fisher_metric_is_that_of_the_curvature) {
  const ShapedRows<double> rows(shaped_, 1, 1, 5);
  const auto parts = at(shaped_.parts);
  const Reals dense = curvature(rows);
  const auto& fisher = loss_->need<LossFisher<double>>("test");
  Reals diagonal(parts), w(2 * parts), through(2);
  fisher.fisher_diagonal(rows.matrix(rows.signal), rows.targets(), rows.matrix(diagonal));
  for (std::size_t i = 0; i < parts; ++i) EXPECT_NEAR(diagonal[i], dense[i * parts + i], 1e-14 * (1 + diagonal[i]));
  Random random(6, "weights");
  for (double& x : w) x = random.normal();
  fisher.fisher_through(rows.matrix(rows.signal), rows.targets(), {w.data(), 2, shaped_.parts, shaped_.parts},
                        {through.data(), 1, 2, 2});
  for (std::size_t k = 0; k < 2; ++k) {
    double expected = 0;
    for (std::size_t i = 0; i < parts; ++i)
      for (std::size_t j = 0; j < parts; ++j) expected += w[k * parts + i] * dense[i * parts + j] * w[k * parts + j];
    EXPECT_NEAR(through[k], expected, 1e-12 * (1 + expected));
  }
}

TEST_P(EveryLearnedShape, unpredicted_rows_are_unchanged) {
  const ShapedRows<double> rows(shaped_, 4, 2, 7);
  const auto size = at(rows.size);
  Reals curved(rows.signal.size()), seed(rows.signal.size()), through(4), w(size, 1);
  loss_->need<RowCurvature<double>>("test").row_curvatures(rows.matrix(rows.signal), rows.targets(), 1,
                                                           rows.matrix(rows.signal), rows.matrix(curved));
  loss_->need<LossFisher<double>>("test").fisher_diagonal(rows.matrix(rows.signal), rows.targets(), rows.matrix(seed));
  loss_->need<LossFisher<double>>("test").fisher_through(
      rows.matrix(rows.signal), rows.targets(), {w.data(), 1, rows.size, rows.size}, {through.data(), 4, 1, 1});
  for (std::size_t i = 3 * size; i < 4 * size; ++i) {
    EXPECT_EQ(curved[i], 0);
    EXPECT_EQ(seed[i], 0);
  }
  EXPECT_EQ(through[3], 0);
  EXPECT_GT(through[2], 0);
}

TEST_P(EveryLearnedShape, adjoint_may_overwrite_the_signal) {
  const ShapedRows<double> rows(shaped_, 7, 2, 8);
  const ShapedGradient<double> apart = shaped_gradient(*loss_, rows, rows.signal, 3.0);
  Reals signal = rows.signal, nats(7);
  loss_->need<RowLoss<double>>("test").row_gradients(rows.matrix(std::as_const(signal)), rows.targets(), 3, nats.data(),
                                                     rows.matrix(signal));
  EXPECT_EQ((ShapedGradient<double>{nats, signal}), apart);
}

TEST_P(EveryLearnedShape, shaped_loss_bits_do_not_depend_on_instruction_set_or_batch) {
  const ShapedRows<float> rows(shaped_, 6, 3, 9);
  const auto loss = shaped_.make<float>();
  const ShapedGradient<float> all = shaped_gradient(*loss, rows, rows.signal);
  for (const std::string& simd : simd_available()) {
    simd_limit(simd);
    EXPECT_EQ(shaped_gradient(*loss, rows, rows.signal), all) << simd;
  }
  simd_limit(simd_available().front());
  for (Index r = 0; r < 6; ++r) {
    std::vector<float> slope(at(rows.size));
    float nats = 0;
    loss->need<RowLoss<float>>("test").row_gradients(rows.matrix(rows.signal).rows_from(r, 1),
                                                     rows.targets().from_row(r, 1), 1, &nats,
                                                     {slope.data(), 1, rows.size, rows.size});
    EXPECT_EQ(nats, all.nats[at(r)]);
    const auto first = all.slope.begin() + r * rows.size;
    EXPECT_EQ(slope, std::vector<float>(first, first + rows.size));
  }
}

TEST_P(EveryLearnedShape, float_and_double_agree) {
  const ShapedRows<float> single(shaped_, 6, 2, 10);
  ShapedRows<double> rows(shaped_, 6, 2, 10);
  rows.signal.assign(single.signal.begin(), single.signal.end());
  rows.values.assign(single.values.begin(), single.values.end());
  const ShapedGradient<double> exact = shaped_gradient(*loss_, rows, rows.signal);
  const ShapedGradient<float> rounded = shaped_gradient(*shaped_.make<float>(), single, single.signal);
  for (std::size_t i = 0; i < exact.slope.size(); ++i)
    EXPECT_NEAR(rounded.slope[i], exact.slope[i], 1e-6 * (1 + std::fabs(exact.slope[i])));
  for (std::size_t r = 0; r < 6; ++r)
    EXPECT_NEAR(rounded.nats[r], exact.nats[r], 1e-6 * (1 + std::fabs(exact.nats[r])));
}

TEST_P(EveryLearnedShape, shaped_loss_stays_finite_in_float_for_extreme_values) {
  for (const double scale : {1e2, 1e6, 1e13}) {
    ShapedRows<float> rows(shaped_, 8, 2, 11, scale);
    for (std::size_t i = 0; i < rows.values.size(); ++i)
      rows.values[i] = static_cast<float>(std::floor(scale)) * rows.values[i];
    const auto loss = shaped_.make<float>();
    const ShapedGradient<float> found = shaped_gradient(*loss, rows, rows.signal);
    std::vector<float> curved(rows.signal.size()), ones(rows.signal.size(), 1), seed(rows.signal.size());
    loss->need<RowCurvature<float>>("test").row_curvatures(rows.matrix(rows.signal), rows.targets(), 1,
                                                           rows.matrix(std::as_const(ones)), rows.matrix(curved));
    loss->need<LossFisher<float>>("test").fisher_diagonal(rows.matrix(rows.signal), rows.targets(), rows.matrix(seed));
    for (const auto& all : {found.nats, found.slope, curved, seed})
      for (const float x : all) EXPECT_TRUE(std::isfinite(x)) << scale;
  }
}

TEST_P(EveryLearnedShape, signals_and_targets_of_another_size_are_rejected) {
  const ShapedRows<double> rows(shaped_, 1, 2, 12);
  Reals nats(1);
  Targets<double> targets = rows.targets();
  ++targets.values.cols;
  EXPECT_THROW(loss_->need<RowLoss<double>>("test").row_losses(rows.matrix(rows.signal), targets, nats.data()),
               UsageError);
  EXPECT_EQ(loss_->target_size(rows.size), 2);
  EXPECT_THROW(loss_->target_size(rows.size + 1), UsageError);
  EXPECT_THROW(loss_->target_size(rows.size - 1), UsageError);
}

TEST_P(EveryLearnedShape, shaped_loss_passes_all_checks_at_the_end_of_a_network) {
  Circuit c;
  const Signal h = c.link(3), next = tanh(c.affine("z", 3, {{"W", c.symbols("symbols", 4)}, {"U", h}}));
  c.feed(h, next);
  c.output(c.affine("output", 2 * shaped_.parts, {{"V", next}}));
  const std::vector<Index> lengths = {4, 1, 3};
  const CheckReport report = check_derivatives(c, *loss_, Structure::chains(lengths));
  EXPECT_TRUE(report.passed()) << report.text();
}

INSTANTIATE_TEST_SUITE_P(, EveryLearnedShape,
                         testing::Values(Shaped{"student_t", "student-t", 3, student_nats_written_out, false},
                                         Shaped{"negative_binomial", "negative-binomial", 2, count_nats_written_out,
                                                true}),
                         [](const auto& tested) { return std::string(tested.param.name); });

const Shaped kStudent{"", "student-t", 3, student_nats_written_out, false};
const Shaped kCounts{"", "negative-binomial", 2, count_nats_written_out, true};

Reals diagonal_of(const Loss<double>& loss, const Reals& o) {
  const auto size = static_cast<Index>(o.size());
  Reals diagonal(o.size());
  loss.need<LossFisher<double>>("test").fisher_diagonal({o.data(), 1, size, size}, {},
                                                        {diagonal.data(), 1, size, size});
  return diagonal;
}

TEST(StudentLoss, student_curvature_is_the_fisher_matrix_over_all_observations) {
  const auto loss = choose_loss("student-t").make<double>();
  for (const Reals& o : {Reals{0.3, -0.7, 0.2}, Reals{-1, 0.4, -3}, Reals{2, 1, 6}}) {
    const Reals expected = fisher_over_observations(kStudent, o);
    for (std::size_t j = 0; j < 3; ++j) {
      Reals unit(3), column(3);
      unit[j] = 1;
      loss->need<RowCurvature<double>>("test").row_curvatures({o.data(), 1, 3, 3}, {}, 1, {unit.data(), 1, 3, 3},
                                                              {column.data(), 1, 3, 3});
      for (std::size_t i = 0; i < 3; ++i) EXPECT_NEAR(column[i], expected[3 * i + j], 1e-7 * (1 + expected[3 * i + j]));
    }
  }
}

/// The series for many degrees of freedom continues the closed form.
TEST(StudentLoss, information_about_the_degrees_of_freedom_is_smooth_and_positive) {
  const auto loss = choose_loss("student-t").make<double>();
  const auto scaled = [&](double u) { return diagonal_of(*loss, {0, 0, u})[2] * std::pow(u + 2, 4); };
  EXPECT_NEAR(scaled(297.999), scaled(298.001), 1e-6);
  EXPECT_NEAR(scaled(1e5 - 2), 3.49987000395, 1e-9);
  EXPECT_GT(diagonal_of(*loss, {0, 0, 1e9})[2], 0);
}

TEST(StudentLoss, many_degrees_of_freedom_give_the_normal_loss) {
  const auto loss = choose_loss("student-t").make<double>(), normal = normal_loss<double>();
  const Reals o = {0.4, -0.2, 1e9}, y = {1.7};
  Reals found(1), expected(1);
  loss->need<RowLoss<double>>("test").row_losses({o.data(), 1, 3, 3}, {.values = {y.data(), 1, 1, 1}}, found.data());
  normal->need<RowLoss<double>>("test").row_losses({o.data(), 1, 2, 2}, {.values = {y.data(), 1, 1, 1}},
                                                   expected.data());
  EXPECT_NEAR(found[0], expected[0], 1e-8);
}

/// The information about the dispersion is an upper bound: that of the pair of rate and count.
TEST(NegativeBinomialLoss, fisher_metric_is_exact_for_the_mean_and_a_bound_for_the_dispersion) {
  const auto loss = choose_loss("negative-binomial").make<double>();
  for (const Reals& o : {Reals{0.3, -0.7}, Reals{2, 0.4}, Reals{-1, 1.5}, Reals{3, -2}}) {
    const Reals expected = fisher_over_observations(kCounts, o), found = diagonal_of(*loss, o);
    EXPECT_NEAR(found[0], expected[0], 1e-6 * (1 + expected[0]));
    EXPECT_NEAR(expected[1], 0, 1e-6);
    EXPECT_GE(found[1], expected[3]);
    EXPECT_LE(found[1], 1);
  }
  // The larger the mean, the better the rate is known from the count.
  double last = INFINITY;
  for (const double log_mean : {0.0, 2.0, 4.0, 6.0}) {
    const Reals o = {log_mean, -1};
    const double gap = diagonal_of(*loss, o)[1] - fisher_over_observations(kCounts, o)[3];
    EXPECT_LT(gap, 0.7 * last);
    last = gap;
  }
  EXPECT_LT(last, 0.03);
}

TEST(NegativeBinomialLoss, no_dispersion_gives_the_poisson_distribution) {
  const auto loss = choose_loss("negative-binomial").make<double>(), poisson = poisson_loss<double>();
  const Reals o = {0.4, -1e3}, y = {3};  // dispersion e^-10
  Reals found(1), expected(1);
  loss->need<RowLoss<double>>("test").row_losses({o.data(), 1, 2, 2}, {.values = {y.data(), 1, 1, 1}}, found.data());
  poisson->need<RowLoss<double>>("test").row_losses({o.data(), 1, 1, 1}, {.values = {y.data(), 1, 1, 1}},
                                                    expected.data());
  EXPECT_NEAR(found[0], expected[0] + std::lgamma(4.0), 1e-3);
}

TEST(NegativeBinomialLoss, numbers_that_are_not_counts_are_rejected) {
  const auto loss = choose_loss("negative-binomial").make<double>();
  const Reals o = {1, 0};
  double nats = 0;
  for (const double y : {-1.0, 2.5, std::nan("")})
    EXPECT_THROW(loss->need<RowLoss<double>>("test").row_losses({o.data(), 1, 2, 2}, {.values = {&y, 1, 1, 1}}, &nats),
                 UsageError);
}

}  // namespace
}  // namespace unfold
