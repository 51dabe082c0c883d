#include "graph/circuit/reservoir.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <span>
#include <utility>

#include "numerics/functions.h"
#include "unfold/base/error.h"
#include "unfold/numerics/random.h"
#include "unfold/numerics/vector.h"

namespace unfold {
namespace {

using Vector = std::vector<double>;

constexpr Index kKrylov = 250;
constexpr int kSquarings = 24;
constexpr double kNothing = 1e-3;  // below this value, only rounding errors remain, and the matrix is nilpotent

Vector times(const Edges& edges, const Vector& weights, const Vector& x) {
  Vector y(at(edges.outputs()), 0.0);
  for (std::size_t e = 0; e < weights.size(); ++e) y[at(edges.to()[e])] += weights[e] * x[at(edges.from()[e])];
  return y;
}

double norm(const Vector& x) { return std::sqrt(sum_of_squares<double>(x)); }

/// Projects the matrix onto an orthonormal basis of a Krylov space (Arnoldi): m x m, where m is set to the dimension.
Vector project(const Edges& edges, const Vector& weights, Index& m) {
  const Index n = edges.outputs(), most = std::min(n, kKrylov);
  Random random(1, "krylov");
  std::vector<Vector> basis(1, Vector(at(n)));
  for (double& x : basis[0]) x = random.normal();
  scale<double>(1 / norm(basis[0]), basis[0]);
  Vector h(at(most * most), 0.0);
  for (m = 1; m <= most; ++m) {
    Vector next = times(edges, weights, basis.back());
    const double before = norm(next);
    for (int twice = 0; twice < 2; ++twice)  // twice, for orthogonality up to rounding errors
      for (Index i = 0; i < m; ++i) {
        const double along = dot<double>(basis[at(i)], next);
        h[at(i * most + m - 1)] += along;
        axpy<double>(-along, basis[at(i)], next);
      }
    const double rest = norm(next);
    if (m == most || !(rest > 1e-12 * before)) break;
    h[at(m * most + m - 1)] = rest;
    scale<double>(1 / rest, next);
    basis.push_back(std::move(next));
  }
  Vector small(at(m * m));
  for (Index i = 0; i < m; ++i)
    for (Index j = 0; j < m; ++j) small[at(i * m + j)] = h[at(i * most + j)];
  return small;
}

double logarithm(double x) {
  vector_log(&x, &x, 1);
  return x;
}

/// Returns |A^(2^k)|^(1 / 2^k), which converges to the spectral radius.
double radius_by_squaring(Vector a, Index m) {
  double log_scale = 0, power = 1;
  for (int k = 0; k <= kSquarings; ++k) {
    const double size = norm(a);
    if (!(size > 0)) return 0;
    scale<double>(1 / size, a);
    log_scale += logarithm(size) / power;
    if (k == kSquarings) break;
    Vector square(a.size(), 0.0);
    for (Index i = 0; i < m; ++i)
      for (Index l = 0; l < m; ++l)
        axpy<double>(a[at(i * m + l)], std::span(a).subspan(at(l * m), at(m)),
                     std::span(square).subspan(at(i * m), at(m)));
    a = std::move(square);
    power *= 2;
  }
  vector_exp(&log_scale, &log_scale, 1);
  return log_scale;
}

}  // namespace

double spectral_radius(const Edges& edges, const std::vector<double>& weights) {
  if (edges.inputs() != edges.outputs() || at(edges.count()) != weights.size())
    throw UsageError("a spectral radius needs a square matrix with one weight per edge");
  Index m = 0;
  Vector small = project(edges, weights, m);
  return radius_by_squaring(std::move(small), m);
}

Reservoir random_reservoir(Index n, Index degree, double radius, std::uint64_t seed) {
  if (n < 1 || degree < 1) throw UsageError("a reservoir needs at least one unit and one edge per unit");
  Random random(seed, "reservoir");
  std::vector<std::int32_t> order(at(n));
  std::iota(order.begin(), order.end(), 0);
  std::vector<std::pair<std::int32_t, std::int32_t>> pairs;
  pairs.reserve(at(n * std::min(degree, n)));
  for (std::int32_t from = 0; from < static_cast<std::int32_t>(n); ++from)
    for (Index k = 0; k < std::min(degree, n); ++k) {
      const Index pick = k + static_cast<Index>(random.below(static_cast<std::uint64_t>(n - k)));
      std::swap(order[at(k)], order[at(pick)]);
      pairs.emplace_back(from, order[at(k)]);
    }
  Reservoir result{.edges = std::make_shared<const Edges>(n, n, std::move(pairs)), .weights = {}};
  result.weights.resize(at(result.edges->count()));
  for (double& w : result.weights) w = random.uniform(-1, 1);
  const double now = spectral_radius(*result.edges, result.weights);
  if (!(now > kNothing))
    throw UsageError(
        "this reservoir has no cycle, and therefore no spectral radius; choose a different seed or degree");
  for (double& w : result.weights) w *= radius / now;
  return result;
}

}  // namespace unfold
