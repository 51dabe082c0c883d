#pragma once
/// Matrix products with a fixed order of evaluation (invariant 2).
///
/// Each output element is one chain of fused multiply-adds over ascending k (descending in `accumulate_outer`, see
/// there), starting from the value of the output, the bias or zero:
///   c = start;  for k: c = fma(a[m][k], b[k][n], c).
/// The vector width, the tile, the number of threads and the number of rows do not change a single bit of the result.
///
/// Weights W [k x n] are stored input-major (row j holds the weights that leave input j): y = x W. They are packed once
/// per update and used in many products with few rows.

#include "unfold/base/views.h"

namespace unfold {

/// Arithmetic of products: `exact` is the arithmetic above; `bf16` rounds both operands to bfloat16 (bf16.h) and
/// supports only float.
enum class Precision : unsigned char { exact, bf16 };

/// A right-hand side [k x n], packed in panels of `kPanel` columns: panel p holds rows 0..k-1 of columns p*kPanel ..
/// p*kPanel+kPanel-1, zero-filled beyond n. In bf16 a panel holds pairs of rows, with row 2p in the upper half.
template <class T>
class PackedMatrix {
 public:
  static constexpr Index kPanel = 128 / static_cast<Index>(sizeof(T));  // 32 floats, 16 doubles

  void resize(Index k, Index n, Precision precision = Precision::exact);
  Precision precision() const { return precision_; }
  Index k() const { return k_; }
  Index n() const { return n_; }
  Index panels() const { return (n_ + kPanel - 1) / kPanel; }

  /// Packs the panels [panels.begin, panels.end) from w [k x n] row-major, or from its transpose if w is [n x k].
  /// Different threads may pack different panels.
  void pack(Matrix<const T> w, Range panels);
  void pack_transposed(Matrix<const T> w, Range panels);
  void pack(Matrix<const T> w) { resize(w.rows, w.cols), pack(w, {0, panels()}); }
  void pack_transposed(Matrix<const T> w) { resize(w.cols, w.rows), pack_transposed(w, {0, panels()}); }

  const T* panel(Index p) const { return data_.data() + p * kPanel * k_; }
  const std::uint32_t* pairs(Index p) const { return pairs_.data() + p * kPanel * ((k_ + 1) / 2); }
  std::size_t bytes() const { return at(data_.size()) * sizeof(T) + at(pairs_.size()) * sizeof(std::uint32_t); }

 private:
  template <class Weight>
  void pack_pairs(const Weight& weight, Range panels);

  Buffer<T> data_;               ///< panels of an exact matrix
  Buffer<std::uint32_t> pairs_;  ///< panels of a bf16 matrix
  Index k_ = 0, n_ = 0;
  Precision precision_ = Precision::exact;
};

/// Initial value of an output.
enum class Start { accumulate, zero, bias };

/// Panels of a product: one range, or the same range in each of several blocks of `every` panels.
struct Panels {
  Panels(Range panels) : range(panels) {}
  Panels(Index begin, Index end) : range{begin, end} {}
  Panels(Range panels, Index block_count, Index block_panels)
      : range(panels), blocks(block_count), every(block_panels) {}
  Range range;
  Index blocks = 1, every = 0;
};

/// C [m x n] = start + A [m x k] B [k x n], for the columns of the given panels. `bias` [n] is used if start is bias.
/// Rows of A and C may have any stride. Thread-safe on disjoint rows or panels.
template <class T>
void multiply(Matrix<const T> a, const PackedMatrix<T>& b, Matrix<T> c, const Panels& panels, Start start,
              const T* bias = nullptr);

/// G [k x n] = start + sum over rows r, from the last to the first, of a[r][k] * d[r][n]: the deferred weight gradient.
/// Computes only the rows `k_range` of G (the rows are divided among threads). `start` is accumulate or zero. Rows are
/// in descending order so a gradient that is accumulated window by window from the end of a sequence is bit-identical
/// to the gradient over the whole sequence. Strides of a and d may be 0 (one row repeated).
template <class T>
void accumulate_outer(Matrix<const T> a, Matrix<const T> d, Matrix<T> g, Range k_range, Start start,
                      Precision precision = Precision::exact);

/// g [n] (+)= column sums of d [r x n], rows in descending order, for the columns in `cols`.
template <class T>
void accumulate_columns(Matrix<const T> d, T* g, Range cols, Start start);

/// c[r] (= bias or c[r]) + w[symbols[r]] for the columns in `cols`; kNoSymbol adds nothing. w [alphabet x n]. `start`
/// is as in multiply. REQUIRES: symbols in [0, w.rows) or kNoSymbol.
template <class T>
void add_rows(Matrix<const T> w, const Symbol* symbols, Matrix<T> c, Range cols, Start start, const T* bias = nullptr);

/// g[symbols[r]] += d[r], rows in descending order, for the columns in `cols`.
template <class T>
void scatter_rows(Matrix<const T> d, const Symbol* symbols, Matrix<T> g, Range cols);

}  // namespace unfold
