#pragma once
/// Products of single rows with one matrix, again and again: what a network does at one position.
///
///   RowProduct<float> product(w);         // packs w [k x n], for the instruction set in use
///   product(x, bias, y);                  // y [n] = bias + x [k] W, with the bits of `multiply` (product.h)
///
/// The sums of a strip of columns stay in registers while its weights go by; strips lie one behind the other, so that a
/// product is one stream of memory. Every other product goes through the strips from the last to the first: it begins
/// with weights that are still in the first-level cache. Not thread-safe; does not allocate.

#include "unfold/base/views.h"

namespace unfold {

template <class T>
struct RowProductJob {
  const T* x = nullptr;
  const T* weights = nullptr;
  const T* start = nullptr;  ///< null: zero
  T* y = nullptr;
  Index k = 0, n = 0;
};

template <class T>
class RowProduct {
 public:
  static constexpr Index kStrip = 256 / static_cast<Index>(sizeof(T));  ///< columns; the last strip may have fewer

  explicit RowProduct(Matrix<const T> w);
  /// `start` may be y; null: zero. y is not x.
  void operator()(const T* x, const T* start, T* y) {
    run_({x, weights_.data(), start, y, k_, n_}, backwards_);
    backwards_ = !backwards_;
  }

 private:
  Index k_, n_;
  Buffer<T> weights_;
  void (*run_)(const RowProductJob<T>&, bool backwards);
  bool backwards_ = false;
};

}  // namespace unfold
