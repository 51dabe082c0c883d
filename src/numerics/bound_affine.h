#pragma once
/// Affine maps of one row that are applied repeatedly with the same weights and memory, as in one step of a recurrent
/// network.
///
///   BoundAffine<float> z(bias, {{symbols, embedding}}, {{x, w}, {h, u}}, y, n);
///   z();                            // y [n] = bias + embedding[symbols[0]] + x W + h U, with the bits of product.h
///
/// The sums of a strip of columns stay in registers while its weights are read. Strips are stored one after another, so
/// the map reads a single stream of memory. Every other call processes the strips from last to first, beginning with
/// weights that are still in the first-level cache. Not thread-safe; does not allocate.

#include <vector>

#include "unfold/base/views.h"

namespace unfold {

template <class T>
struct BoundLookup {
  const Symbol* symbol;  ///< kNoSymbol adds nothing
  Matrix<const T> w;     ///< [alphabet x n]: not copied
};

template <class T>
struct BoundTerm {
  const T* x;
  Matrix<const T> w;  ///< [k x n]: packed, for the instruction set in use
};

/// Inputs and outputs of one call. Internal.
template <class T>
struct AffineJob {
  struct Input {
    const T* x;
    Index k;
  };
  const T* start;  // zero if null
  const std::vector<const T*>* rows;
  const std::vector<Input>* inputs;
  const T* weights;
  T* y;
  Index k, n;
};

template <class T>
class BoundAffine {
 public:
  static constexpr Index kStrip = 256 / static_cast<Index>(sizeof(T));  ///< width of a strip in columns; the last strip
                                                                        ///< may be narrower

  /// Terms are added in the given order, starting from `start`: the bias, y itself, or null for zero.
  BoundAffine(const T* start, std::vector<BoundLookup<T>> lookups, const std::vector<BoundTerm<T>>& terms, T* y,
              Index n);
  void operator()();

 private:
  const T* start_;
  std::vector<BoundLookup<T>> lookups_;
  std::vector<const T*> rows_;  // rows of the current symbols
  std::vector<typename AffineJob<T>::Input> inputs_;
  Index k_ = 0, n_;
  T* y_;
  Buffer<T> weights_;
  void (*run_)(const AffineJob<T>&, bool backwards);
  bool backwards_ = false;
};

}  // namespace unfold
