/// The loss of numbers in any order: the weight of a row in the value, gradient and curvature.

#include <gtest/gtest.h>

#include "tests/loss/density_rows.h"

namespace unfold {
namespace {

TEST(OrderlessLoss, orderless_numeric_loss_weights_each_mixture) {
  for (const std::string options : {"", ",shape=laplace", ",background=0.2"}) {
    const bool laplace = options == ",shape=laplace";
    const double background = options == ",background=0.2" ? 0.2 : 0;
    const auto loss = choose_loss("deep-rnade:4,components=2" + options).make<double>();
    const auto& rows = loss->need<RowLoss<double>>("test");
    constexpr Index kNumbers = 3, kOutputs = 6, kSize = kNumbers * kOutputs;
    Numbers o;
    Random random(5, "orderless numbers");
    for (Index i = 0; i < kSize; ++i) o.push_back(random.normal());
    const Numbers targets = {0.4, -1.3, 2.1, 0.5, 3, 0};
    const Targets<double> weighted{nullptr, {targets.data(), 1, 2 * kNumbers, 2 * kNumbers}, nullptr};
    const auto nats_of = [&](const Numbers& signal, Index d) {
      const double* a = signal.data() + d * kOutputs;
      double total = 0, density = 0;
      for (Index k = 0; k < 2; ++k) total += std::exp(a[k]);
      for (Index k = 0; k < 2; ++k) {
        const double width = std::exp(10 * std::tanh(a[4 + k] / 10)), x = targets[at(d)];
        density += std::exp(a[k]) / total *
                   (laplace ? std::exp(-std::fabs(x - a[2 + k]) / width) / (2 * width)
                            : std::exp(-normal_nats(x, a[2 + k], a[4 + k])));
      }
      return -std::log((1 - background) * density + background * std::exp(-std::fabs(targets[at(d)]) / 2) / 4);
    };
    const auto wanted = [&](const Numbers& signal) { return 0.5 * nats_of(signal, 0) + 3 * nats_of(signal, 1); };
    const auto matrix = [](const Numbers& x) { return Matrix<const double>{x.data(), 1, kSize, kSize}; };
    double nats = 0;
    rows.row_losses(matrix(o), weighted, &nats);
    EXPECT_NEAR(nats, wanted(o), 1e-12);
    Numbers slopes(kSize);
    rows.row_gradients(matrix(o), weighted, 2, &nats, {slopes.data(), 1, kSize, kSize});
    EXPECT_NEAR(nats, wanted(o), 1e-12);
    for (std::size_t i = 0; i < o.size(); ++i) {
      constexpr double kStep = 1e-5;
      Numbers more = o, less = o;
      more[i] += kStep;
      less[i] -= kStep;
      EXPECT_NEAR(slopes[i], 2 * (wanted(more) - wanted(less)) / (2 * kStep), 1e-8) << i;
    }
    const char left_out[] = {0};
    rows.row_gradients(matrix(o), {nullptr, weighted.values, left_out}, 2, &nats, {slopes.data(), 1, kSize, kSize});
    EXPECT_EQ(nats, 0);
    EXPECT_EQ(slopes, Numbers(kSize));
    EXPECT_THROW(loss->target_size(kSize + 1), UsageError);
  }
}

TEST(OrderlessLoss, orderless_loss_weights_every_bit_in_value_gradient_and_curvature) {
  const auto loss = choose_loss("deep-nade").make<double>();
  const auto& rows = loss->need<RowLoss<double>>("test");
  const Numbers o = {0.3, -1.2, 2.5}, targets = {1, 0, 0, 0.5, 3, 0};
  const Targets<double> weighted{nullptr, {targets.data(), 1, 6, 6}, nullptr};
  const auto matrix = [](const Numbers& x) { return Matrix<const double>{x.data(), 1, 3, 3}; };
  double nats = 0;
  rows.row_losses(matrix(o), weighted, &nats);
  EXPECT_NEAR(nats, 0.5 * bit_nats(o[0], 1) + 3 * bit_nats(o[1], 0), 1e-14);
  Numbers slopes(3), ones(3, 1), curved_ones(3), fisher(3);
  rows.row_gradients(matrix(o), weighted, 2, &nats, {slopes.data(), 1, 3, 3});
  loss->need<RowCurvature<double>>("test").row_curvatures(matrix(o), weighted, 2, matrix(ones),
                                                          {curved_ones.data(), 1, 3, 3});
  loss->need<LossFisher<double>>("test").fisher_diagonal(matrix(o), weighted, {fisher.data(), 1, 3, 3});
  for (std::size_t i = 0; i < 3; ++i) {
    const double p = logistic(o[i]), w = targets[3 + i];
    EXPECT_NEAR(slopes[i], 2 * w * (p - targets[i]), 1e-14);
    EXPECT_NEAR(curved_ones[i], 2 * w * p * (1 - p), 1e-14);
    EXPECT_NEAR(fisher[i], w * p * (1 - p), 1e-14);
  }
  rows.row_losses(matrix(o), {nullptr, {targets.data(), 1, 3, 6}, nullptr}, &nats);
  EXPECT_NEAR(nats, bit_nats(o[0], 1) + bit_nats(o[1], 0) + bit_nats(o[2], 0), 1e-14);
  const Numbers odd(4);
  EXPECT_THROW(rows.row_losses(matrix(o), {nullptr, {odd.data(), 1, 4, 4}, nullptr}, &nats), UsageError);
}

}  // namespace
}  // namespace unfold
