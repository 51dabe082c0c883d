#pragma once
/// Internal: nets over the numbers of a vector in their order: o_d = f_d(signal, x_1 .. x_d-1), some outputs for each
/// of D numbers (columns.h says how many, and how a number is read). The signal of a row is what the network gives: the
/// biases of all outputs first, then what else the net takes from it. All other weights are its own, in blocks.
///
/// Three rules, as an operation has: value, tangent, and the way back, to the adjoint of the signal and to the gradient
/// of the weights, in which rows meet: there sums run from the last row to the first (law 2).

#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "unfold/base/team.h"
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

/// Members of a team take so many rows or numbers together.
inline constexpr Index kRowGrain = 2, kNumberGrain = 4;

/// A row on its way there and back.
template <class T>
struct NetPass {
  const T* signal;
  const T* x;  ///< [numbers]
  T* kept;
  T* outputs;
  T* slopes;   ///< [outputs of all numbers]; as what follows: of the way back alone
  T* adjoint;  ///< [signal]
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
  /// Of several rows, each with the bits that it has alone. A net that meets the weights of some numbers with all rows
  /// while they are at hand is faster than row after row.
  virtual void values(const NetWeights<T>& w, std::span<const NetPass<T>> rows) const {
    for (const NetPass<T>& row : rows) value(w, row.signal, row.x, row.kept, row.outputs);
  }
  /// Of the outputs, as the weights move along `direction` and the signal along its own. After `value`.
  virtual void tangent(const NetWeights<T>& w, const NetWeights<T>& direction, const T* signal, const T* x,
                       const T* kept, T* out) const = 0;
  /// adjoint = J' slopes of every row, and `out`, a block each, += the gradient of the weights. After `value`, whose
  /// signal the adjoint may overwrite. All members of a team call it with the same rows, and share the work.
  virtual void back(const NetWeights<T>& w, std::span<const NetPass<T>> rows, Member& me,
                    const std::vector<T*>& out) const = 0;
  /// The outputs of number d alone, the same bits as in `value`; reads the numbers before it.
  virtual void outputs_of(const NetWeights<T>& w, const T* signal, const T* x, Index d, T* o) const = 0;
};

/// A net whose way back goes row by row, and then number by number: members of a team take rows, then numbers.
template <class T>
class RowByRowNet : public OrderedNet<T> {
 public:
  /// adjoint = J' slopes; `kept` holds what `gradient` needs, too.
  virtual void adjoint(const NetWeights<T>& w, const T* x, const T* slopes, T* kept, T* adjoint) const = 0;
  /// Adds to the gradient of the weights that belong to some numbers. After `adjoint` of all rows, which are given from
  /// the last to the first.
  virtual void gradient(const NetWeights<T>& w, std::span<const NetPass<T>> rows, Range numbers,
                        const std::vector<T*>& out) const = 0;

  void back(const NetWeights<T>& w, std::span<const NetPass<T>> rows, Member& me,
            const std::vector<T*>& out) const final {
    const Range mine = me.share(static_cast<Index>(rows.size()), kRowGrain);
    for (Index r = mine.begin; r < mine.end; ++r) {
      const NetPass<T>& row = rows[at(r)];
      adjoint(w, row.x, row.slopes, row.kept, row.adjoint);
    }
    me.sync();
    const std::vector<NetPass<T>> from_the_last(rows.rbegin(), rows.rend());
    if (const Range numbers = me.share(w.numbers(), kNumberGrain); !numbers.empty())
      gradient(w, from_the_last, numbers, out);
  }
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
