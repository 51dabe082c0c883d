#include "data/schema/inference/residual_dependence.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "data/schema/inference/serial_dependence.h"

namespace unfold {
namespace {

constexpr std::size_t kFewestDegreesOfFreedom = 16;
constexpr double kResidualRidge = 1e-9;  // of the diagonal, for columns that depend on each other

/// Solves the symmetric positive definite system a x = b, n x n, by elimination.
std::vector<double> solve_symmetric(std::vector<double> a, std::vector<double> b) {
  const std::size_t n = b.size();
  for (std::size_t k = 0; k < n; ++k)
    for (std::size_t i = k + 1; i < n; ++i) {
      const double factor = a[k * n + k] > 0 ? a[i * n + k] / a[k * n + k] : 0;
      for (std::size_t j = k; j < n; ++j) a[i * n + j] -= factor * a[k * n + j];
      b[i] -= factor * b[k];
    }
  for (std::size_t k = n; k-- > 0;) {
    for (std::size_t j = k + 1; j < n; ++j) b[k] -= a[k * n + j] * b[j];
    b[k] = a[k * n + k] > 0 ? b[k] / a[k * n + k] : 0;
  }
  return b;
}

}  // namespace

void ResidualDependence::add(const std::vector<ColumnProfile>& profiles) {
  if (profiles.size() > kMostColumns || values_.size() >= kMostRows * profiles.size()) return;
  columns_ = profiles.size();
  for (const ColumnProfile& profile : profiles) values_.push_back(profile.last_number());
}

void ResidualDependence::add(const std::vector<double>& row) {
  if (row.size() > kMostColumns || values_.size() >= kMostRows * row.size()) return;
  columns_ = row.size();
  values_.insert(values_.end(), row.begin(), row.end());
}

bool ResidualDependence::depends(std::size_t column, const std::vector<std::size_t>& inputs) const {
  if (inputs.empty() || columns_ == 0) return false;
  SerialDependence test;
  for (const double x : residuals(column, inputs)) test.add(std::isnan(x) ? 0 : 1, x);
  return test.depends({.residuals = true});
}

/// Returns the residuals of a least-squares regression, NaN for rows with a missing number; empty if there are too few
/// rows.
std::vector<double> ResidualDependence::residuals(std::size_t column, const std::vector<std::size_t>& inputs) const {
  const std::size_t n = inputs.size(), rows = values_.size() / columns_;
  const auto is_complete = [&](const double* row) {
    return !std::isnan(row[column]) && std::ranges::none_of(inputs, [&](std::size_t c) { return std::isnan(row[c]); });
  };
  std::vector<double> means(n + 1), a(n * n), b(n);
  std::size_t count = 0;
  for (std::size_t r = 0; r < rows; ++r) {
    const double* row = values_.data() + r * columns_;
    if (!is_complete(row)) continue;
    ++count;
    for (std::size_t i = 0; i < n; ++i) means[i] += row[inputs[i]];
    means[n] += row[column];
  }
  if (count < n + 1 + kFewestDegreesOfFreedom) return {};
  for (double& mean : means) mean /= static_cast<double>(count);
  for (std::size_t r = 0; r < rows; ++r) {
    const double* row = values_.data() + r * columns_;
    if (!is_complete(row)) continue;
    for (std::size_t i = 0; i < n; ++i) {
      const double x = row[inputs[i]] - means[i];
      b[i] += x * (row[column] - means[n]);
      for (std::size_t j = 0; j < n; ++j) a[i * n + j] += x * (row[inputs[j]] - means[j]);
    }
  }
  for (std::size_t i = 0; i < n; ++i) a[i * n + i] *= 1 + kResidualRidge;
  const std::vector<double> slopes = solve_symmetric(std::move(a), std::move(b));
  std::vector<double> result(rows, std::numeric_limits<double>::quiet_NaN());
  for (std::size_t r = 0; r < rows; ++r) {
    const double* row = values_.data() + r * columns_;
    if (!is_complete(row)) continue;
    result[r] = row[column] - means[n];
    for (std::size_t i = 0; i < n; ++i) result[r] -= slopes[i] * (row[inputs[i]] - means[i]);
  }
  return result;
}

}  // namespace unfold
