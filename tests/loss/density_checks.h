#pragma once
/// Checks for every density: its gradient compared with finite differences, and products with its curvature.

#include <gtest/gtest.h>

#include "tests/loss/density_rows.h"

namespace unfold {

/// Expects gradients in the signal and in the loss's own parameters to equal finite differences, and others to be zero.
inline void expect_gradient_of_nats(DensityRows<double>&& f, double tolerance) {
  const Slopes<double> found = slopes_of(f, 0.5);
  EXPECT_EQ(found.nats, f.nats());
  constexpr double kStep = 1e-5;
  const auto difference = [&](double& x) {
    const double before = x;
    x = before + kStep;
    const double above = f.total(f.signal, f.parameters);
    x = before - kStep;
    const double below = f.total(f.signal, f.parameters);
    x = before;
    return 0.5 * (above - below) / (2 * kStep);
  };
  for (std::size_t i = 0; i < f.signal.size(); ++i)
    EXPECT_NEAR(found.adjoint[i], difference(f.signal[i]), tolerance) << i;
  std::vector<char> owned(f.parameters.size());
  for (const int own : f.loss->parameter_indices()) {
    const ParameterInfo& p = f.circuit.parameters()[at(own)];
    for (Index i = p.offset; i < p.offset + p.size(); ++i) {
      owned[at(i)] = 1;
      EXPECT_NEAR(found.own[at(i)], difference(f.parameters[at(i)]), tolerance) << p.name << i - p.offset;
    }
  }
  for (std::size_t i = 0; i < owned.size(); ++i) EXPECT_TRUE(owned[i] != 0 || found.own[i] == 0) << "not its own";
}

/// Returns products with the curvature, signal and parameters in one vector.
inline Numbers curved(const DensityRows<double>& f, const Numbers& v, double scale = 1) {
  Team team(2);
  const Numbers tangent(v.begin(), v.begin() + static_cast<Index>(f.signal.size()));
  const Numbers direction(v.begin() + static_cast<Index>(f.signal.size()), v.end());
  Numbers result(tangent.size()), own(direction.size());
  f.loss->need<LossCurvature<double>>("test").curvature(f.observed(), scale, team, f.matrix(tangent), direction,
                                                        f.matrix(result), own);
  result.insert(result.end(), own.begin(), own.end());
  return result;
}

/// Returns a random direction that is zero outside the signal and the loss's own parameters.
inline Numbers random_direction(const DensityRows<double>& f, std::uint64_t seed) {
  Random random(seed, "direction");
  Numbers v(f.signal.size() + f.parameters.size());
  for (std::size_t i = 0; i < f.signal.size(); ++i) v[i] = random.normal();
  for (const int own : f.loss->parameter_indices()) {
    const ParameterInfo& p = f.circuit.parameters()[at(own)];
    for (Index i = p.offset; i < p.offset + p.size(); ++i) v[f.signal.size() + at(i)] = random.normal();
  }
  return v;
}
inline double inner(const Numbers& x, const Numbers& y) {
  double sum = 0;
  for (std::size_t i = 0; i < x.size(); ++i) sum += x[i] * y[i];
  return sum;
}

}  // namespace unfold
