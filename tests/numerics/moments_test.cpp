#include "numerics/moments.h"

#include <gtest/gtest.h>

#include <cmath>

#include "numerics/simd.h"
#include "unfold/numerics/random.h"

namespace unfold::moments_test {
namespace {

constexpr Index kRows = 40, kColumns = 7, kAlphabet = 3;

struct Data {
  std::vector<double> inputs, b, phi;
  std::vector<Symbol> symbols;
  Data() {
    Random random(4, "moments");
    for (Index i = 0; i < kRows * kColumns; ++i) inputs.push_back(random.normal());
    for (Index r = 0; r < kRows; ++r) {
      b.push_back(random.normal());
      phi.push_back(random.uniform());
      symbols.push_back(static_cast<Symbol>(random.below(kAlphabet + 1)) - 1);
    }
  }
  Matrix<const double> matrix() const { return {inputs.data(), kRows, kColumns, kColumns}; }
  /// Sum over the rows with symbol x (-2: all) of b or phi times two inputs.
  double sum(Symbol x, const std::vector<double>& weight, Index i, Index j) const {
    double total = 0;
    for (Index r = 0; r < kRows; ++r) {
      if (x != -2 && symbols[static_cast<std::size_t>(r)] != x) continue;
      const double u = i < 0 ? 1 : matrix()(r, i), v = j < 0 ? 1 : matrix()(r, j);
      total += weight[static_cast<std::size_t>(r)] * u * v;
    }
    return total;
  }
};

const std::vector<std::int32_t> kGated = {0, 3, 5}, kShared = {1, 2, 3, 6, 4};

TEST(UnitMoments, unit_moments_equal_their_definition) {
  const Data data;
  UnitMoments m(kGated, kShared, kAlphabet, true);
  m.add<double>(data.matrix(), data.symbols.data(), data.b.data(), data.phi.data(), 1);
  for (Symbol x = 0; x < kAlphabet; ++x)
    for (std::size_t i = 0; i < kGated.size(); ++i) {
      const auto at = static_cast<Index>(i);
      EXPECT_NEAR(m.gated_gradient(x, at), data.sum(x, data.b, kGated[i], -1), 1e-12);
      for (std::size_t j = 0; j <= i; ++j)
        EXPECT_NEAR(m.gated_moment(x, at, static_cast<Index>(j)), data.sum(x, data.phi, kGated[i], kGated[j]), 1e-12);
      for (std::size_t j = 0; j < kShared.size(); ++j)
        EXPECT_NEAR(m.mixed_moment(x, at, static_cast<Index>(j)), data.sum(x, data.phi, kGated[i], kShared[j]), 1e-12);
    }
  for (std::size_t i = 0; i < kShared.size(); ++i) {
    EXPECT_NEAR(m.shared_gradient(static_cast<Index>(i)), data.sum(-2, data.b, kShared[i], -1), 1e-12);
    for (std::size_t j = 0; j <= i; ++j)
      EXPECT_NEAR(m.shared_moment(static_cast<Index>(i), static_cast<Index>(j)),
                  data.sum(-2, data.phi, kShared[i], kShared[j]), 1e-12);
  }
}

TEST(UnitMoments, quasi_diagonal_moments_keep_first_row_and_diagonal) {
  const Data data;
  UnitMoments m(kGated, kShared, kAlphabet, false);
  m.add<double>(data.matrix(), data.symbols.data(), data.b.data(), data.phi.data(), 1);
  for (Symbol x = 0; x < kAlphabet; ++x)
    for (std::size_t i = 0; i < kGated.size(); ++i) {
      const auto at = static_cast<Index>(i);
      EXPECT_NEAR(m.first_gated(x, at), data.sum(x, data.phi, kGated[i], -1), 1e-12);
      EXPECT_NEAR(m.gated_moment(x, at, at), data.sum(x, data.phi, kGated[i], kGated[i]), 1e-12);
      EXPECT_NEAR(m.gated_gradient(x, at), data.sum(x, data.b, kGated[i], -1), 1e-12);
    }
  for (std::size_t i = 0; i < kShared.size(); ++i) {
    const auto at = static_cast<Index>(i);
    for (Symbol x = -1; x < kAlphabet; ++x)
      EXPECT_NEAR(m.first_shared(x < 0 ? kAlphabet : x, at), data.sum(x, data.phi, kShared[i], -1), 1e-12);
    EXPECT_NEAR(m.shared_moment(at, at), data.sum(-2, data.phi, kShared[i], kShared[i]), 1e-12);
    EXPECT_NEAR(m.shared_gradient(at), data.sum(-2, data.b, kShared[i], -1), 1e-12);
  }
}

TEST(UnitMoments, moments_without_a_modulus_use_the_squared_adjoint) {
  const Data data;
  UnitMoments m(kGated, {}, kAlphabet, true);
  m.add<double>(data.matrix(), data.symbols.data(), data.b.data(), nullptr, 1);
  std::vector<double> squares;
  for (const double b : data.b) squares.push_back(b * b);
  EXPECT_NEAR(m.gated_moment(1, 2, 1), data.sum(1, squares, kGated[2], kGated[1]), 1e-12);
}

TEST(UnitMoments, unit_moments_do_not_depend_on_the_instruction_set) {
  const Data data;
  std::vector<double> first;
  for (const std::string& simd : simd_available()) {
    simd_limit(simd);
    UnitMoments m(kGated, kShared, kAlphabet, true);
    m.add<double>(data.matrix(), data.symbols.data(), data.b.data(), data.phi.data(), 1);
    std::vector<double> all(m.by_symbol().begin(), m.by_symbol().end());
    all.insert(all.end(), m.by_all().begin(), m.by_all().end());
    if (first.empty()) first = all;
    EXPECT_EQ(all, first) << simd;
  }
  simd_limit(simd_available().front());
}

/// The rows with a symbol, sorted by it: columns of inputs, then b and phi.
template <class T>
struct Sorted {
  static constexpr Index kSlots = kAlphabet * 24;
  std::vector<T> columns = std::vector<T>((kColumns + 2) * kSlots);
  std::vector<SymbolRange> runs;
  explicit Sorted(const Data& data) {
    Index slot = 0;
    for (Symbol x = 0; x < kAlphabet; ++x) {
      const Index begin = slot;
      for (Index r = 0; r < kRows; ++r) {
        if (data.symbols[static_cast<std::size_t>(r)] != x) continue;
        for (Index c = 0; c < kColumns; ++c) at(c, slot) = static_cast<T>(data.matrix()(r, c));
        at(kColumns, slot) = static_cast<T>(data.b[static_cast<std::size_t>(r)]);
        at(kColumns + 1, slot++) = static_cast<T>(data.phi[static_cast<std::size_t>(r)]);
      }
      slot = (slot + kMomentLanes - 1) / kMomentLanes * kMomentLanes;
      if (slot > begin) runs.push_back({x, begin, slot});
    }
  }
  T& at(Index c, Index slot) { return columns[static_cast<std::size_t>(c * kSlots + slot)]; }
  UnitMoments moments(bool full, const std::vector<std::int32_t>& inputs = kGated) {
    UnitMoments result(inputs, {}, kAlphabet, full);
    LaneMoments<T> lanes(result);
    const Matrix<const T> rows{columns.data(), kColumns + 2, kSlots, kSlots};
    for (int twice = 0; twice < 2; ++twice) {  // lanes restart after move_to
      lanes.add(rows, runs, rows.row(kColumns), rows.row(kColumns + 1));
      lanes.move_to(result);
    }
    return result;
  }
};

template <class T>
void expect_lanes_to_equal_rows(bool full, double tolerance) {
  const Data data;
  const std::vector<std::int32_t> inputs = {0, 3, 5, 1, 2, 6};  // more than are summed at once
  UnitMoments rows(inputs, {}, kAlphabet, full);
  for (int twice = 0; twice < 2; ++twice)
    rows.add<double>(data.matrix(), data.symbols.data(), data.b.data(), data.phi.data(), 1);
  const UnitMoments lanes = Sorted<T>(data).moments(full, inputs);
  for (Index x = 0; x < kAlphabet; ++x)
    for (Index i = 0; i < rows.gated(); ++i) {
      EXPECT_NEAR(lanes.gated_gradient(x, i), rows.gated_gradient(x, i), tolerance);
      EXPECT_NEAR(lanes.gated_moment(x, i, i), rows.gated_moment(x, i, i), tolerance);
      if (!full) {
        EXPECT_NEAR(lanes.first_gated(x, i), rows.first_gated(x, i), tolerance);
      }
      for (Index j = 0; full && j < i; ++j)
        EXPECT_NEAR(lanes.gated_moment(x, i, j), rows.gated_moment(x, i, j), tolerance);
    }
}

TEST(LaneMoments, lane_moments_equal_row_moments) {
  for (const bool full : {true, false}) {
    expect_lanes_to_equal_rows<double>(full, 1e-12);
    expect_lanes_to_equal_rows<float>(full, 1e-4);
  }
}

TEST(LaneMoments, lane_moments_do_not_depend_on_the_instruction_set) {
  std::vector<double> first;
  for (const std::string& simd : simd_available()) {
    simd_limit(simd);
    UnitMoments m = Sorted<float>(Data()).moments(true);
    const std::vector<double> all(m.by_symbol().begin(), m.by_symbol().end());
    if (first.empty()) first = all;
    EXPECT_EQ(all, first) << simd;
  }
  simd_limit(simd_available().front());
}

TEST(Cholesky, cholesky_solves_positive_systems_and_rejects_others) {
  double a[] = {4, 0, 0, 2, 5, 0, -2, 1, 6}, x[] = {1, -2, 3};
  // b = A x with A = [4 2 -2; 2 5 1; -2 1 6]
  double b[] = {4 * 1 + 2 * -2 - 2 * 3, 2 * 1 + 5 * -2 + 1 * 3, -2 * 1 + 1 * -2 + 6 * 3};
  ASSERT_TRUE(cholesky(a, 3, 3));
  solve_lower(a, 3, 3, b);
  solve_upper(a, 3, 3, b);
  for (int i = 0; i < 3; ++i) EXPECT_NEAR(b[i], x[i], 1e-14);
  double indefinite[] = {1, 0, 2, 1}, missing[] = {NAN};
  EXPECT_FALSE(cholesky(indefinite, 2, 2));
  EXPECT_FALSE(cholesky(missing, 1, 1));
}

}  // namespace
}  // namespace unfold::moments_test
