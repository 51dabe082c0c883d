// The products compared with the chain of std::fma that product.h defines: equal to the last bit, for every instruction
// set.
#include "unfold/numerics/product.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "numerics/bound_affine.h"
#include "numerics/simd.h"
#include "unfold/base/error.h"
#include "unfold/base/threads/team.h"

namespace unfold::product_test {
namespace {

constexpr double kCanary = 12345.678;

/// A small separate generator, so that this test does not depend on the code that it tests.
class Numbers {
 public:
  std::uint32_t next() {
    state_ = state_ * 6364136223846793005u + 1442695040888963407u;
    return static_cast<std::uint32_t>(state_ >> 33);
  }
  Index below(Index n) { return next() % n; }
  double value() { return static_cast<double>(next()) / 1073741824.0 - 1.0; }

 private:
  std::uint64_t state_ = 88172645463325252u;
};

/// A matrix in exactly the memory it needs, so that a sanitizer detects every access beyond it; gaps between rows hold
/// canaries.
template <class T>
class Sample {
 public:
  Sample(Index rows, Index cols, Index padding, Numbers& numbers) : rows_(rows), cols_(cols), stride_(cols + padding) {
    data_.assign(static_cast<std::size_t>(rows == 0 ? 0 : (rows - 1) * stride_ + cols), static_cast<T>(kCanary));
    for (Index r = 0; r < rows; ++r) {
      for (Index c = 0; c < cols; ++c) view()(r, c) = static_cast<T>(numbers.value());
    }
  }
  Matrix<T> view() { return {data_.data(), rows_, cols_, stride_}; }
  Matrix<const T> view() const { return {data_.data(), rows_, cols_, stride_}; }
  /// Compares every element, including gaps, bit for bit.
  bool operator==(const Sample& other) const {
    return data_.size() == other.data_.size() &&
           (data_.empty() || std::memcmp(data_.data(), other.data_.data(), sizeof(T) * data_.size()) == 0);
  }

 private:
  Index rows_, cols_, stride_;
  std::vector<T> data_;
};

template <class T>
void slow_multiply(Matrix<const T> a, Matrix<const T> w, Matrix<T> c, Range cols, Start start, const T* bias) {
  for (Index m = 0; m < a.rows; ++m) {
    for (Index n = cols.begin; n < std::min(cols.end, c.cols); ++n) {
      T sum = start == Start::accumulate ? c(m, n) : start == Start::bias ? bias[n] : T(0);
      for (Index k = 0; k < a.cols; ++k) sum = std::fma(a(m, k), w(k, n), sum);
      c(m, n) = sum;
    }
  }
}

template <class T>
void slow_outer(Matrix<const T> a, Matrix<const T> d, Matrix<T> g, Range k_range, Start start) {
  for (Index k = k_range.begin; k < k_range.end; ++k) {
    for (Index n = 0; n < g.cols; ++n) {
      T sum = start == Start::accumulate ? g(k, n) : T(0);
      for (Index r = a.rows - 1; r >= 0; --r) sum = std::fma(a(r, k), d(r, n), sum);
      g(k, n) = sum;
    }
  }
}

template <class T>
Sample<T> transposed(const Sample<T>& w, Numbers& numbers) {
  Sample<T> t(w.view().cols, w.view().rows, 3, numbers);
  for (Index r = 0; r < w.view().rows; ++r) {
    for (Index c = 0; c < w.view().cols; ++c) t.view()(c, r) = w.view()(r, c);
  }
  return t;
}

template <class T>
class Product : public testing::Test {
 protected:
  void TearDown() override { simd_limit(simd_available().front()); }

  /// Runs the test for every instruction set of this processor.
  template <class Body>
  void on_every_target(const Body& body) {
    for (const std::string& name : simd_available()) {
      SCOPED_TRACE(name);
      simd_limit(name);
      body();
    }
  }

  void expect_exact(Index m, Index k, Index n, Index padding, Start start) {
    SCOPED_TRACE(testing::Message() << m << " x " << k << " x " << n << ", padding " << padding << ", start "
                                    << static_cast<int>(start));
    const Sample<T> a(m, k, padding, numbers_), w(k, n, padding, numbers_), bias(1, n, 0, numbers_);
    Sample<T> expected(m, n, padding, numbers_);
    const Sample<T> before = expected;
    const T* const bias_row = start == Start::bias ? bias.view().data : nullptr;
    slow_multiply<T>(a.view(), w.view(), expected.view(), {0, n}, start, bias_row);
    PackedMatrix<T> packed;
    packed.pack(w.view());
    on_every_target([&] {
      Sample<T> c = before;
      multiply<T>(a.view(), packed, c.view(), {0, packed.panels()}, start, bias_row);
      EXPECT_TRUE(c == expected);
    });
  }

  void expect_exact_outer(Index rows, Index k, Index n, Index padding, Start start) {
    SCOPED_TRACE(testing::Message() << rows << " rows, " << k << " x " << n << ", padding " << padding);
    const Sample<T> a(rows, k, padding, numbers_), d(rows, n, padding, numbers_);
    Sample<T> expected(k, n, padding, numbers_);
    const Sample<T> before = expected;
    slow_outer<T>(a.view(), d.view(), expected.view(), {0, k}, start);
    on_every_target([&] {
      Sample<T> g = before;
      accumulate_outer<T>(a.view(), d.view(), g.view(), {0, k}, start);
      EXPECT_TRUE(g == expected);
    });
  }

  Numbers numbers_;
};

using Types = testing::Types<float, double>;
TYPED_TEST_SUITE(Product, Types);

constexpr Start kStarts[] = {Start::accumulate, Start::zero, Start::bias};

TYPED_TEST(Product, product_is_the_fma_chain_for_every_number_of_rows) {
  for (Index m = 1; m <= 47; ++m) this->expect_exact(m, 1 + this->numbers_.below(40), 97, m % 3, kStarts[m % 3]);
}

TYPED_TEST(Product, product_is_the_fma_chain_for_every_number_of_columns) {
  for (Index n = 1; n <= 300; n += n < 70 ? 1 : 13) {
    this->expect_exact(1 + this->numbers_.below(16), 9, n, n % 2, kStarts[n % 3]);
  }
}

TYPED_TEST(Product, product_is_the_fma_chain_for_random_shapes) {
  for (int i = 0; i < 150; ++i) {
    const auto size = [&] { return 1 + this->numbers_.below(70); };
    const Index m = size(), k = size(), n = size();
    this->expect_exact(m, k, n, this->numbers_.below(20), kStarts[i % 3]);
  }
}

TYPED_TEST(Product, product_is_exact_for_split_long_rows_and_copied_dense_rows) {
  for (const Start start : kStarts) {
    this->expect_exact(17, 1100, 37, 1, start);
    this->expect_exact(3, 1024, 160, 0, start);
    this->expect_exact(33, 513, 161, 0, start);
    this->expect_exact(40, 1536, 130, 0, start);
  }
  this->expect_exact(300, 700, 33, 0, Start::bias);  // several blocks of rows
}

TYPED_TEST(Product, product_without_inputs_is_the_initial_value) {
  for (const Start start : kStarts) this->expect_exact(5, 0, 39, 1, start);
  this->expect_exact(0, 4, 39, 1, Start::zero);
}

/// Twice, since every other call processes the strips in reverse order.
TYPED_TEST(Product, single_row_product_has_the_bits_of_lookups_and_multiply) {
  using T = TypeParam;
  Numbers numbers;
  for (Index n = 0; n <= 300; n += n < 140 ? 1 : 13) {
    const Index k = n % 37, alphabet = 4;
    const Sample<T> a(1, k, 0, numbers), b(1, 3, 0, numbers), w(k, n, n % 2, numbers), u(3, n, 0, numbers);
    const Sample<T> bias(1, n, 0, numbers), table(alphabet, n, n % 3, numbers);
    const Symbol symbols[] = {3, kNoSymbol, static_cast<Symbol>(n % 4)};
    for (const Start start : kStarts) {
      Sample<T> expected(1, n, 0, numbers);
      const Sample<T> before = expected;
      Matrix<T> row = expected.view();
      if (start == Start::zero) std::fill_n(row.data, n, T{0});
      if (start == Start::bias) std::copy_n(bias.view().data, n, row.data);
      for (const Symbol& symbol : symbols) add_rows<T>(table.view(), &symbol, row, {0, n}, Start::accumulate);
      slow_multiply<T>(a.view(), w.view(), row, {0, n}, Start::accumulate, nullptr);
      slow_multiply<T>(b.view(), u.view(), row, {0, n}, Start::accumulate, nullptr);
      this->on_every_target([&] {
        Sample<T> y = before;
        T* const to = y.view().data;
        BoundAffine<T> map(start == Start::bias   ? bias.view().data
                           : start == Start::zero ? nullptr
                                                  : to,
                           {{&symbols[0], table.view()}, {&symbols[1], table.view()}, {&symbols[2], table.view()}},
                           {{a.view().data, w.view()}, {b.view().data, u.view()}}, to, n);
        for (int twice = 0; twice < 2; ++twice) {
          if (start == Start::accumulate) std::copy_n(before.view().data, n, to);
          map();
          EXPECT_TRUE(y == expected) << k << " x " << n;
        }
      });
    }
  }
}

TYPED_TEST(Product, separate_panels_and_rows_equal_the_whole_product) {
  using T = TypeParam;
  Numbers numbers;
  const Sample<T> a(29, 83, 5, numbers), w(83, 201, 0, numbers);
  PackedMatrix<T> packed;
  packed.pack(w.view());
  Sample<T> whole(29, 201, 2, numbers);
  Sample<T> parts = whole;
  multiply<T>(a.view(), packed, whole.view(), {0, packed.panels()}, Start::accumulate);
  for (Index p = 0; p < packed.panels(); ++p) {
    for (Index m = 0; m < 29; m += 10) {
      const Index rows = std::min<Index>(10, 29 - m);
      multiply<T>(a.view().rows_from(m, rows), packed, parts.view().rows_from(m, rows), {p, p + 1}, Start::accumulate);
    }
  }
  EXPECT_TRUE(parts == whole);
}

TYPED_TEST(Product, partial_product_leaves_other_columns_unchanged) {
  using T = TypeParam;
  Numbers numbers;
  constexpr Index kPanel = PackedMatrix<T>::kPanel;
  const Sample<T> a(7, 20, 0, numbers), w(20, 5 * kPanel + 3, 0, numbers);
  PackedMatrix<T> packed;
  packed.pack(w.view());
  Sample<T> expected(7, 5 * kPanel + 3, 0, numbers);
  const Sample<T> before = expected;
  slow_multiply<T>(a.view(), w.view(), expected.view(), {kPanel, 4 * kPanel}, Start::zero, nullptr);
  this->on_every_target([&] {
    Sample<T> c = before;
    multiply<T>(a.view(), packed, c.view(), {1, 4}, Start::zero);
    EXPECT_TRUE(c == expected);
  });
}

TYPED_TEST(Product, product_reads_one_repeated_row) {
  using T = TypeParam;
  Numbers numbers;
  Sample<T> a(1, 600, 0, numbers);
  const Sample<T> w(600, 150, 0, numbers);
  PackedMatrix<T> packed;
  packed.pack(w.view());
  const Matrix<const T> repeated{a.view().data, 20, 600, 0};
  Sample<T> expected(20, 150, 0, numbers);
  Sample<T> c = expected;
  slow_multiply<T>(repeated, w.view(), expected.view(), {0, 150}, Start::zero, nullptr);
  multiply<T>(repeated, packed, c.view(), {0, packed.panels()}, Start::zero);
  EXPECT_TRUE(c == expected);
}

TYPED_TEST(Product, product_propagates_infinities_and_nan) {
  using T = TypeParam;
  Numbers numbers;
  Sample<T> a(3, 40, 0, numbers);
  const Sample<T> w(40, 33, 0, numbers);
  a.view()(0, 7) = std::numeric_limits<T>::infinity();
  a.view()(2, 39) = std::numeric_limits<T>::quiet_NaN();
  PackedMatrix<T> packed;
  packed.pack(w.view());
  this->on_every_target([&] {
    Sample<T> c(3, 33, 0, numbers);
    multiply<T>(a.view(), packed, c.view(), {0, packed.panels()}, Start::zero);
    for (Index n = 0; n < 33; ++n) {
      EXPECT_TRUE(std::isinf(c.view()(0, n)));
      EXPECT_TRUE(std::isfinite(c.view()(1, n)));
      EXPECT_TRUE(std::isnan(c.view()(2, n)));
    }
  });
}

TYPED_TEST(Product, packing_the_transpose_equals_packing_the_matrix) {
  using T = TypeParam;
  Numbers numbers;
  for (const auto& shape : {std::pair<Index, Index>{1, 1}, {5, 70}, {33, 31}, {64, 64}, {70, 129}, {130, 17}}) {
    const Index k = shape.first, n = shape.second;
    SCOPED_TRACE(testing::Message() << k << " x " << n);
    const Sample<T> w(k, n, 1, numbers), t = transposed(w, numbers);
    PackedMatrix<T> direct, by_transpose;
    direct.pack(w.view());
    this->on_every_target([&] {
      by_transpose.resize(k, n);
      for (Index p = by_transpose.panels(); p-- > 0;) by_transpose.pack_transposed(t.view(), {p, p + 1});
      const std::size_t bytes = sizeof(T) * static_cast<std::size_t>(direct.panels() * PackedMatrix<T>::kPanel * k);
      EXPECT_EQ(std::memcmp(direct.panel(0), by_transpose.panel(0), bytes), 0);
    });
  }
}

TYPED_TEST(Product, repacking_discards_the_previous_matrix) {
  using T = TypeParam;
  Numbers numbers;
  const Sample<T> former(40, 64, 0, numbers), w(40, 33, 0, numbers);
  PackedMatrix<T> packed;
  packed.pack(former.view());
  packed.pack(w.view());
  for (Index k = 0; k < 40; ++k) {
    for (Index j = 0; j < PackedMatrix<T>::kPanel; ++j) {
      const Index n = (packed.panels() - 1) * PackedMatrix<T>::kPanel + j;
      EXPECT_EQ(packed.panel(packed.panels() - 1)[k * PackedMatrix<T>::kPanel + j], n < 33 ? w.view()(k, n) : T(0));
    }
  }
}

TYPED_TEST(Product, outer_sums_are_the_fma_chain_over_descending_rows) {
  for (int i = 0; i < 120; ++i) {
    const auto size = [&] { return 1 + this->numbers_.below(70); };
    const Index rows = size(), k = size(), n = size();
    this->expect_exact_outer(rows, k, n, this->numbers_.below(20), kStarts[i % 2]);
  }
  for (Index k = 1; k <= 33; ++k) this->expect_exact_outer(11, k, 40, 0, Start::accumulate);
}

TYPED_TEST(Product, outer_sums_are_exact_where_rows_and_columns_are_split) {
  this->expect_exact_outer(1300, 40, 35, 0, Start::zero);
  this->expect_exact_outer(1024, 17, 70, 3, Start::accumulate);
  this->expect_exact_outer(20, 600, 37, 0, Start::zero);
  this->expect_exact_outer(530, 300, 20, 0, Start::accumulate);
}

TYPED_TEST(Product, outer_sums_of_no_rows_are_the_initial_value) {
  this->expect_exact_outer(0, 9, 40, 1, Start::zero);
  this->expect_exact_outer(0, 9, 40, 1, Start::accumulate);
}

TYPED_TEST(Product, outer_sums_by_window_from_the_end_equal_the_whole) {
  using T = TypeParam;
  Numbers numbers;
  const Sample<T> a(700, 21, 0, numbers), d(700, 50, 4, numbers);
  Sample<T> whole(21, 50, 0, numbers);
  Sample<T> windows = whole;
  accumulate_outer<T>(a.view(), d.view(), whole.view(), {0, 21}, Start::zero);
  Start start = Start::zero;
  for (Index end = 700; end > 0; end -= 100, start = Start::accumulate) {
    accumulate_outer<T>(a.view().rows_from(end - 100, 100), d.view().rows_from(end - 100, 100), windows.view(), {0, 21},
                        start);
  }
  EXPECT_TRUE(windows == whole);
}

TYPED_TEST(Product, outer_sums_write_only_their_range) {
  using T = TypeParam;
  Numbers numbers;
  const Sample<T> a(50, 64, 0, numbers), d(50, 45, 0, numbers);
  Sample<T> expected(64, 45, 2, numbers);
  const Sample<T> before = expected;
  slow_outer<T>(a.view(), d.view(), expected.view(), {13, 50}, Start::accumulate);
  this->on_every_target([&] {
    Sample<T> g = before;
    for (const Range range : {Range{13, 14}, Range{14, 14}, Range{14, 37}, Range{37, 50}}) {
      accumulate_outer<T>(a.view(), d.view(), g.view(), range, Start::accumulate);
    }
    EXPECT_TRUE(g == expected);
  });
}

TYPED_TEST(Product, outer_sums_read_repeated_rows) {
  using T = TypeParam;
  Numbers numbers;
  Sample<T> a(1, 30, 0, numbers), d(1, 40, 0, numbers);
  const Matrix<const T> ones{a.view().data, 25, 30, 0}, same{d.view().data, 25, 40, 0};
  Sample<T> expected(30, 40, 0, numbers);
  Sample<T> g = expected;
  slow_outer<T>(ones, same, expected.view(), {0, 30}, Start::zero);
  accumulate_outer<T>(ones, same, g.view(), {0, 30}, Start::zero);
  EXPECT_TRUE(g == expected);
}

TYPED_TEST(Product, team_computes_the_same_bits_as_one_thread) {
  using T = TypeParam;
  Numbers numbers;
  const Sample<T> a(37, 96, 0, numbers), w(96, 200, 0, numbers), d(37, 200, 0, numbers);
  PackedMatrix<T> one_packed;
  one_packed.pack(w.view());
  Sample<T> one_c(37, 200, 0, numbers), one_g(96, 200, 0, numbers);
  const Sample<T> c_before = one_c, g_before = one_g;
  multiply<T>(a.view(), one_packed, one_c.view(), {0, one_packed.panels()}, Start::accumulate);
  accumulate_outer<T>(a.view(), d.view(), one_g.view(), {0, 96}, Start::accumulate);
  for (int threads = 1; threads <= 3; ++threads) {
    Team team(threads);
    PackedMatrix<T> packed;
    packed.resize(96, 200);
    Sample<T> c = c_before, g = g_before;
    team.run([&](Member& me) {
      packed.pack(w.view(), me.share(packed.panels()));
      me.sync();
      multiply<T>(a.view(), packed, c.view(), me.share(packed.panels()), Start::accumulate);
      accumulate_outer<T>(a.view(), d.view(), g.view(), me.share(96), Start::accumulate);
    });
    EXPECT_TRUE(c == one_c) << threads << " threads";
    EXPECT_TRUE(g == one_g) << threads << " threads";
  }
}

TYPED_TEST(Product, column_sums_are_over_descending_rows) {
  using T = TypeParam;
  Numbers numbers;
  const Sample<T> d(41, 67, 3, numbers);
  for (const Start start : {Start::accumulate, Start::zero}) {
    Sample<T> expected(1, 67, 0, numbers);
    Sample<T> g = expected;
    for (Index c = 5; c < 60; ++c) {
      T sum = start == Start::zero ? T(0) : expected.view()(0, c);
      for (Index r = 40; r >= 0; --r) sum += d.view()(r, c);
      expected.view()(0, c) = sum;
    }
    accumulate_columns<T>(d.view(), g.view().data, {5, 33}, start);
    accumulate_columns<T>(d.view(), g.view().data, {33, 60}, start);
    EXPECT_TRUE(g == expected);
  }
}

TYPED_TEST(Product, symbol_rows_are_added_to_their_initial_value) {
  using T = TypeParam;
  Numbers numbers;
  const Sample<T> w(9, 50, 2, numbers), bias(1, 50, 0, numbers);
  const std::vector<Symbol> symbols = {3, kNoSymbol, 0, 8, 3, 3, kNoSymbol};
  for (const Start start : kStarts) {
    Sample<T> expected(7, 50, 1, numbers);
    Sample<T> c = expected;
    for (Index r = 0; r < 7; ++r) {
      for (Index j = 4; j < 47; ++j) {
        T& y = expected.view()(r, j);
        if (start == Start::zero) y = 0;
        if (start == Start::bias) y = bias.view()(0, j);
        if (symbols[static_cast<std::size_t>(r)] != kNoSymbol) y += w.view()(symbols[static_cast<std::size_t>(r)], j);
      }
    }
    add_rows<T>(w.view(), symbols.data(), c.view(), {4, 20}, start, bias.view().data);
    add_rows<T>(w.view(), symbols.data(), c.view(), {20, 47}, start, bias.view().data);
    EXPECT_TRUE(c == expected);
  }
}

TYPED_TEST(Product, symbol_row_is_the_product_with_its_one_hot_vector) {
  using T = TypeParam;
  Numbers numbers;
  const Sample<T> w(9, 50, 0, numbers), bias(1, 50, 0, numbers);
  PackedMatrix<T> packed;
  packed.pack(w.view());
  const std::vector<Symbol> symbols = {8, 0, 4};
  Sample<T> one_hot(3, 9, 0, numbers), by_product(3, 50, 0, numbers), by_row(3, 50, 0, numbers);
  for (Index r = 0; r < 3; ++r) {
    for (Index k = 0; k < 9; ++k) one_hot.view()(r, k) = symbols[static_cast<std::size_t>(r)] == k ? T(1) : T(0);
  }
  multiply<T>(one_hot.view(), packed, by_product.view(), {0, packed.panels()}, Start::bias, bias.view().data);
  add_rows<T>(w.view(), symbols.data(), by_row.view(), {0, 50}, Start::bias, bias.view().data);
  EXPECT_TRUE(by_product == by_row);
}

TYPED_TEST(Product, rows_are_scattered_to_their_symbols_in_descending_order) {
  using T = TypeParam;
  Numbers numbers;
  std::vector<Symbol> symbols;
  for (int r = 0; r < 60; ++r) symbols.push_back(static_cast<Symbol>(numbers.below(6)) - 1);
  const Sample<T> d(60, 50, 2, numbers);
  Sample<T> expected(5, 50, 1, numbers);
  Sample<T> g = expected;
  for (Index r = 59; r >= 0; --r) {
    const Symbol symbol = symbols[static_cast<std::size_t>(r)];
    for (Index j = 3; symbol != kNoSymbol && j < 48; ++j) expected.view()(symbol, j) += d.view()(r, j);
  }
  scatter_rows<T>(d.view(), symbols.data(), g.view(), {3, 30});
  scatter_rows<T>(d.view(), symbols.data(), g.view(), {30, 48});
  EXPECT_TRUE(g == expected);
}

TEST(Simd, simd_names_the_instruction_set_in_use) {
  const std::vector<std::string> names = simd_available();
  ASSERT_FALSE(names.empty());
  std::string last;
  for (const std::string& name : names) {
    simd_limit(name);
    EXPECT_NE(simd_name(), last);
    last = simd_name();
  }
  simd_limit(names.front());
}

TEST(Simd, unknown_instruction_set_is_rejected_with_alternatives) {
  try {
    simd_limit("mmx");
    FAIL() << "accepted";
  } catch (const UsageError& error) {
    EXPECT_NE(std::string(error.what()).find("\"mmx\""), std::string::npos);
    EXPECT_NE(std::string(error.what()).find(simd_available().front()), std::string::npos);
  }
}

TEST(Buffer, buffer_is_aligned_and_zeroed) {
  for (const Index size : {Index{1}, Index{100}, Index{3} << 20}) {
    Buffer<float> buffer(size);
    const auto alignment = static_cast<std::uintptr_t>(size * 4 >= (4 << 20) ? 2 << 20 : 64);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(buffer.data()) % alignment, 0u);
    for (const float x : buffer) ASSERT_EQ(x, 0.0f);
  }
}

TEST(Buffer, impossible_buffer_sizes_are_rejected) {
  EXPECT_THROW(allocate_aligned(static_cast<std::size_t>(-1)), std::bad_alloc);
  EXPECT_THROW(allocate_aligned(static_cast<std::size_t>(-64)), std::bad_alloc);
}

}  // namespace
}  // namespace unfold::product_test
