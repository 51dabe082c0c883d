#pragma once
/// Internal: nets over the numbers of a vector in their order: o_d = f_d(signal, x_1 .. x_d-1), some outputs for each
/// of D numbers (columns.h says how many, and how a number is read). The signal of a row is what the network gives: the
/// biases of all outputs first, then what else the net takes from it. All other weights are its own, in blocks.
///
/// Four rules, as an operation has: value, tangent, adjoint, and the gradient of its weights, in which rows meet: there
/// sums run from the last row to the first (law 2), and members of a team take numbers d of their own.

#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "unfold/circuit/init.h"
#include "unfold/densities/columns.h"
#include "unfold/densities/scratch.h"
#include "unfold/numerics/vector.h"

namespace unfold {

/// Weights that a net wants for its own.
struct NetBlock {
  std::string_view name;
  Index rows, cols;
  Init init;
};

/// What the numbers are, and where the blocks lie, in the order in which the net names them.
template <class T>
struct NetWeights {
  const VectorShape* shape = nullptr;
  std::vector<const T*> blocks = {};

  Index numbers() const { return shape->numbers(); }
  Index all_outputs() const { return shape->all_outputs(); }
  Index first(Index d) const { return shape->first_output(d); }  ///< output of number d; of D: behind the last
};

/// A row whose slopes at the outputs are known.
template <class T>
struct NetRow {
  const T* x;       ///< [numbers]
  const T* slopes;  ///< [outputs of all numbers]
  const T* kept;    ///< what `adjoint` left
};

/// A row on its way through value and adjoint.
template <class T>
struct NetPass {
  const T* signal;
  const T* x;
  T* kept;
  T* outputs;
  const T* slopes;  ///< as what follows: of the adjoint alone
  T* adjoint;
};

template <class T>
class OrderedNet {
 public:
  virtual ~OrderedNet() = default;

  /// Numbers of a signal beside the biases of outputs.
  virtual Index beside_biases() const = 0;
  virtual std::vector<NetBlock> blocks(const VectorShape& shape) const = 0;
  /// How many numbers `value` keeps of a row for the other rules.
  virtual Index kept(const NetWeights<T>& w, const T* x) const = 0;

  virtual void value(const NetWeights<T>& w, const T* signal, const T* x, T* kept, T* o) const = 0;
  /// Of the outputs, as the weights move along `direction` and the signal along its own. After `value`.
  virtual void tangent(const NetWeights<T>& w, const NetWeights<T>& direction, const T* signal, const T* x,
                       const T* kept, T* out) const = 0;
  /// adjoint [signal] = J' slopes. After `value`, whose signal the adjoint may overwrite.
  virtual void adjoint(const NetWeights<T>& w, const T* x, const T* slopes, T* kept, T* adjoint) const = 0;
  /// Both of several rows, each with the bits that it has alone. A net that meets the weights of some numbers with all
  /// rows while they are at hand is faster than row after row.
  virtual void values(const NetWeights<T>& w, std::span<const NetPass<T>> rows) const {
    for (const NetPass<T>& row : rows) value(w, row.signal, row.x, row.kept, row.outputs);
  }
  virtual void adjoints(const NetWeights<T>& w, std::span<const NetPass<T>> rows) const {
    for (const NetPass<T>& row : rows) adjoint(w, row.x, row.slopes, row.kept, row.adjoint);
  }
  /// Adds to the gradient of the weights that belong to some numbers. After `adjoint` of all rows.
  virtual void gradient(const NetWeights<T>& w, std::span<const NetRow<T>> rows, Range numbers,
                        const std::vector<T*>& out) const = 0;
  /// The outputs of number d alone, the same bits as in `value`; reads the numbers before it.
  virtual void outputs_of(const NetWeights<T>& w, const T* signal, const T* x, Index d, T* o) const = 0;
};

enum class NadeActivation { sigmoid, relu };

/// One hidden layer whose sums are carried from number to number (nade_net.cpp).
template <class T>
std::unique_ptr<OrderedNet<T>> nade_net(Index units, NadeActivation activation);
/// Bits; rounds in which those that are not known yet are guessed anew (rounds_net.cpp).
template <class T>
std::unique_ptr<OrderedNet<T>> rounds_net(Index units, Index rounds);
/// Layers whose weights from later numbers are masked (made_net.cpp); up to kMostMadeLayers.
inline constexpr Index kMostMadeLayers = 8;
template <class T>
std::unique_ptr<OrderedNet<T>> made_net(Index units, Index layers);
/// A group of units behind every number, which all later ones read (group_net.cpp).
template <class T>
std::unique_ptr<OrderedNet<T>> group_net(Index units);
/// Linear maps (linear_net.cpp).
template <class T>
std::unique_ptr<OrderedNet<T>> linear_net();

/// y += a x, in the widths of rows.
template <class T>
void add_scaled(T a, const T* x, T* y, Index n) {
  axpy<T>(a, span_of(x, n), {y, static_cast<std::size_t>(n)});
}
template <class T>
T product(const T* x, const T* y, Index n) {
  return static_cast<T>(dot(span_of(x, n), span_of(y, n)));
}

}  // namespace unfold
