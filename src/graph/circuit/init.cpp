#include "unfold/graph/circuit/init.h"

#include <algorithm>
#include <cmath>
#include <string>

#include "numerics/functions.h"
#include "unfold/base/error.h"
#include "unfold/numerics/random.h"
#include "unfold/numerics/vector.h"

namespace unfold {
namespace {

/// One column block of a matrix [inputs x outputs].
struct WeightBlock {
  double* w;
  Index inputs, outputs, stride;
  double& operator()(Index i, Index j) const { return w[i * stride + j]; }
};

std::span<double> row_of(std::vector<double>& rows, Index i, Index length) {
  return std::span<double>(rows).subspan(static_cast<std::size_t>(i * length), static_cast<std::size_t>(length));
}

// Modified Gram-Schmidt over the shorter side, applied twice for orthogonality up to rounding errors.
void orthogonalize(std::vector<double>& rows, Index count, Index length) {
  for (int pass = 0; pass < 2; ++pass)
    for (Index i = 0; i < count; ++i) {
      const std::span<double> v = row_of(rows, i, length);
      for (Index j = 0; j < i; ++j) {
        const std::span<const double> u = row_of(rows, j, length);
        axpy<double>(-dot<double>(u, v), u, v);
      }
      scale<double>(1 / std::sqrt(sum_of_squares<double>(v)), v);
    }
}

void fill_orthogonal(const WeightBlock& b, double gain, Random& random) {
  const bool wide = b.inputs <= b.outputs;
  const Index count = wide ? b.inputs : b.outputs, length = wide ? b.outputs : b.inputs;
  std::vector<double> rows(static_cast<std::size_t>(count * length));
  for (double& x : rows) x = random.normal();
  orthogonalize(rows, count, length);
  for (Index i = 0; i < count; ++i)
    for (Index j = 0; j < length; ++j)
      (wide ? b(i, j) : b(j, i)) = gain * rows[static_cast<std::size_t>(i * length + j)];
}

void fill_sparse(const WeightBlock& b, Index count, double scale, Random& random) {
  std::vector<Index> order(static_cast<std::size_t>(b.inputs));
  for (Index j = 0; j < b.outputs; ++j) {
    for (Index i = 0; i < b.inputs; ++i) order[static_cast<std::size_t>(i)] = i, b(i, j) = 0;
    for (Index k = 0; k < std::min(count, b.inputs); ++k) {
      const Index pick = k + static_cast<Index>(random.below(static_cast<std::uint64_t>(b.inputs - k)));
      std::swap(order[static_cast<std::size_t>(k)], order[static_cast<std::size_t>(pick)]);
      b(order[static_cast<std::size_t>(k)], j) = scale * random.normal();
    }
  }
}

// np-RNN: A = RR'/n is positive definite; W = (A + I) / largest eigenvalue of (A + I), computed by power iteration.
void fill_normalized(const WeightBlock& b, double gain, Random& random) {
  const Index n = b.inputs;
  if (n != b.outputs) throw UsageError("init `normalised` needs square blocks");
  std::vector<double> r(static_cast<std::size_t>(n * n)), w(r.size());
  for (double& x : r) x = random.normal();
  for (Index i = 0; i < n; ++i)
    for (Index j = 0; j < n; ++j)
      w[static_cast<std::size_t>(i * n + j)] =
          dot<double>(row_of(r, i, n), row_of(r, j, n)) / static_cast<double>(n) + (i == j ? 1.0 : 0.0);
  std::vector<double> v(static_cast<std::size_t>(n), 1.0), next(v);
  double largest = 1;
  for (int iteration = 0; iteration < 200; ++iteration) {
    for (Index i = 0; i < n; ++i) next[static_cast<std::size_t>(i)] = dot<double>(row_of(w, i, n), v);
    largest = std::sqrt(sum_of_squares<double>(next));
    for (Index i = 0; i < n; ++i) v[static_cast<std::size_t>(i)] = next[static_cast<std::size_t>(i)] / largest;
  }
  for (Index i = 0; i < n; ++i)
    for (Index j = 0; j < n; ++j) b(i, j) = gain / largest * w[static_cast<std::size_t>(i * n + j)];
}

void fill_block(const Init& init, const WeightBlock& b, Random& random) {
  const double fan_in = static_cast<double>(b.inputs);
  const double natural = init.scale != 0 ? init.scale : 1 / std::sqrt(fan_in);
  switch (init.kind) {
    case Init::Kind::uniform:
      for (Index i = 0; i < b.inputs; ++i)
        for (Index j = 0; j < b.outputs; ++j) b(i, j) = random.uniform(-natural, natural);
      return;
    case Init::Kind::positive:
      for (Index i = 0; i < b.inputs; ++i)
        for (Index j = 0; j < b.outputs; ++j) b(i, j) = random.uniform(0.5, 1.5);
      return;
    case Init::Kind::normal:
      for (Index i = 0; i < b.inputs; ++i)
        for (Index j = 0; j < b.outputs; ++j) b(i, j) = natural * random.normal();
      return;
    case Init::Kind::glorot: {
      const double a = init.scale * std::sqrt(6.0 / static_cast<double>(b.inputs + b.outputs));
      for (Index i = 0; i < b.inputs; ++i)
        for (Index j = 0; j < b.outputs; ++j) b(i, j) = random.uniform(-a, a);
      return;
    }
    case Init::Kind::orthogonal: return fill_orthogonal(b, init.scale, random);
    case Init::Kind::identity:
      for (Index i = 0; i < b.inputs; ++i)
        for (Index j = 0; j < b.outputs; ++j) b(i, j) = i == j ? init.scale : 0;
      return;
    case Init::Kind::sparse: return fill_sparse(b, init.count, init.scale, random);
    case Init::Kind::normalized: return fill_normalized(b, init.scale, random);
    case Init::Kind::constant:
    case Init::Kind::chrono: return;  // handled by fill_chrono
  }
}

// Both gates of a unit share one draw, so all draws are made first and each block applies its sign.
void fill_chrono(const Init& init, Random& random, Index n, double* w) {
  for (Index j = 0; j < n; ++j) {
    double value = random.uniform(1.0, std::max(init.scale - 1, 1.0 + 1e-9));
    vector_log(&value, &value, 1);
    for (std::size_t block = 0; block < init.values.size(); ++block)
      w[static_cast<Index>(block) * n + j] = init.values[block] * value;
  }
}

}  // namespace

void check(const Init& init, std::string_view name, Index outputs) {
  const std::string who = "init of " + std::string(name) + ": ";
  const Index blocks = init.blocks;
  if (blocks < 1 || outputs % blocks != 0)
    throw UsageError(who + std::to_string(outputs) + " columns cannot be divided into " + std::to_string(blocks) +
                     " equal blocks");
  const auto values = static_cast<Index>(init.values.size());
  const bool one_each =
      init.kind == Init::Kind::chrono || (init.kind == Init::Kind::normal && init.values != std::vector<double>{0});
  if (init.kind == Init::Kind::constant ? values < 1 : one_each && values != blocks)

    throw UsageError(who + "there are " + std::to_string(values) + " values for " + std::to_string(blocks) + " blocks");
  const auto finite = [](double x) { return std::isfinite(x); };
  if (!finite(init.scale) || !std::all_of(init.values.begin(), init.values.end(), finite))
    throw UsageError(who + "its numbers must be finite");
  if (init.count < 0)
    throw UsageError(who + "the number of weights into each output is " + std::to_string(init.count) +
                     ", but must not be negative");
}

void fill(const Init& init, std::uint64_t seed, std::string_view name, Index inputs, Index outputs, double* w) {
  check(init, name, outputs);
  const Index blocks = init.blocks, n = outputs / blocks;
  Random random(seed, name);
  if (init.kind == Init::Kind::constant) {
    for (Index i = 0; i < inputs; ++i)
      for (Index j = 0; j < outputs; ++j)
        w[i * outputs + j] = init.values[static_cast<std::size_t>(j / n) % init.values.size()];
    return;
  }
  if (init.kind == Init::Kind::chrono) return fill_chrono(init, random, n, w);
  for (Index block = 0; block < blocks; ++block) fill_block(init, {w + block * n, inputs, n, outputs}, random);
  if (init.kind != Init::Kind::normal || init.values == std::vector<double>{0}) return;
  for (Index i = 0; i < inputs; ++i)
    for (Index j = 0; j < outputs; ++j) w[i * outputs + j] *= init.values[static_cast<std::size_t>(j / n)];
}

}  // namespace unfold
