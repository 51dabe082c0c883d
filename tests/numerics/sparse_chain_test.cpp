// The kernels of whole recurrences compared with one row after another, for every instruction set: equal to the last
// bit.

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "numerics/simd.h"
#include "unfold/numerics/product.h"
#include "unfold/numerics/random.h"
#include "unfold/numerics/sparse.h"

namespace unfold::sparse_chain_test {
namespace {

constexpr Index kRows = 100, kAlphabet = 3;

struct Shape {
  Index units, edges;
  bool leaky, gated, regular;
  Map activation;
};

/// A recurrence over random symbols, some of which are missing.
template <class T>
struct Problem {
  explicit Problem(const Shape& shape)
      : n(shape.units),
        edges(n, n, pairs(shape)),
        gates(kRows),
        symbols(kRows),
        bias(at(n)),
        scratch(at((3 + kSparseChainBlock) * n)) {
    Random random(3, "sparse chains");
    const auto fill = [&](std::vector<T>& values, Index size) {
      values.resize(at(size));
      for (T& value : values) value = static_cast<T>(0.1 * random.normal());
    };
    fill(weights, (shape.gated ? kAlphabet : 1) * edges.count());
    fill(lookup, kAlphabet * n);
    fill(bias, n);
    fill(begin, n);
    fill(exit, kRows * n);
    fill(end, n);
    for (Index t = 0; t < kRows; ++t) {
      const auto draw = [&] {
        return random.below(12) == 0 ? kNoSymbol : static_cast<Symbol>(random.below(kAlphabet));
      };
      gates[at(t)] = draw();
      symbols[at(t)] = draw();
    }
    term = {.edges = &edges,
            .activation = shape.activation,
            .leaky = shape.leaky,
            .weights = {weights.data(), shape.gated ? kAlphabet : 1, edges.count(), edges.count()},
            .gates = shape.gated ? gates.data() : nullptr};
  }

  static std::size_t at(Index i) { return static_cast<std::size_t>(i); }
  static std::vector<std::pair<std::int32_t, std::int32_t>> pairs(const Shape& shape) {
    Random random(5, "edges");
    std::vector<std::pair<std::int32_t, std::int32_t>> result;
    const auto n = static_cast<std::int32_t>(shape.units);
    for (std::int32_t i = 0; i < n; ++i)
      for (std::int32_t k = 0; k < static_cast<std::int32_t>(shape.edges); ++k)
        if (shape.regular || random.below(3) > 0) result.emplace_back((i + k * (k + 1) / 2) % n, i);
    std::sort(result.begin(), result.end());
    result.erase(std::unique(result.begin(), result.end()), result.end());
    return result;
  }
  SparseTerm<T> row_of(Index t) const {
    SparseTerm<T> one = term;
    if (one.gates != nullptr) one.gates += t;
    return one;
  }
  Matrix<const T> lookups() const { return {lookup.data(), kAlphabet, n, n}; }
  /// Returns the state before the first row and the states of all rows.
  std::vector<T> states() const { return std::vector<T>(at((kRows + 1) * n)); }

  std::vector<T> forward() {
    std::vector<T> y = states();
    std::copy(begin.begin(), begin.end(), y.begin());
    sparse_chain_forward<T>(term, lookups(), symbols.data(), bias.data(), {y.data() + n, kRows, n, n}, scratch.data());
    return y;
  }
  std::vector<T> forward_by_rows() {
    std::vector<T> y = states();
    std::copy(begin.begin(), begin.end(), y.begin());
    for (Index t = 0; t < kRows; ++t) {
      const Matrix<T> row{y.data() + (t + 1) * n, 1, n, n};
      add_rows<T>(lookups(), symbols.data() + t, row, {0, n}, Start::bias, bias.data());
      sparse_multiply<T>(row_of(t), {y.data() + t * n, 1, n, n}, row, scratch.data());
    }
    return y;
  }
  std::vector<T> backward(const std::vector<T>& y, bool squared) {
    std::vector<T> adjoint = states();
    std::copy(end.begin(), end.end(), adjoint.end() - n);
    sparse_chain_backward<T>(term, {y.data() + n, kRows, n, n}, {exit.data(), kRows, n, n},
                             {adjoint.data() + n, kRows, n, n}, squared, scratch.data());
    return adjoint;
  }
  std::vector<T> backward_by_rows(const std::vector<T>& y, bool squared) {
    std::vector<T> adjoint = states();
    std::copy(end.begin(), end.end(), adjoint.end() - n);
    for (Index t = kRows; t-- > 0;) {
      const Matrix<T> from{adjoint.data() + (t + 1) * n, 1, n, n}, to{adjoint.data() + t * n, 1, n, n};
      for (Index i = 0; i < n; ++i) from(0, i) += exit[at(t * n + i)];
      sparse_transposed<T>(row_of(t), {y.data() + t * n, 1, n, n}, from, to, true, squared, scratch.data());
    }
    return adjoint;
  }

  Index n;
  Edges edges;
  std::vector<T> weights, lookup;
  std::vector<Symbol> gates, symbols;
  std::vector<T> bias, begin, exit, end, scratch;
  SparseTerm<T> term;
};

template <class T>
void expect_bits_of_single_rows(const Shape& shape) {
  Problem<T> problem(shape);
  for (const std::string& simd : simd_available()) {
    simd_limit(simd);
    const std::string where = simd + ", units " + std::to_string(shape.units);
    const std::vector<T> y = problem.forward();
    ASSERT_EQ(y, problem.forward_by_rows()) << where;
    for (const bool squared : {false, true})
      ASSERT_EQ(problem.backward(y, squared), problem.backward_by_rows(y, squared)) << where;
  }
  simd_limit(simd_available().front());
}

TEST(SparseChain, chains_have_the_bits_of_single_rows) {
  for (const Index units : {1, 5, 8, 16, 17, 20, 32, 33, 48, 64, 70})
    for (const Index edges : {1, 3, 5})
      for (const bool leaky : {false, true})
        for (const bool gated : {false, true})
          for (const bool regular : {false, true}) {
            const Map activation = edges == 1 ? Map::sigmoid : edges == 3 ? Map::tanh : Map::relu;
            const Shape shape{units, std::min(units, edges), leaky, gated, regular, activation};
            expect_bits_of_single_rows<float>(shape);
            expect_bits_of_single_rows<double>(shape);
          }
}

}  // namespace
}  // namespace unfold::sparse_chain_test
