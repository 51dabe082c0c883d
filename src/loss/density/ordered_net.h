#pragma once
/// Internal: autoregressive nets over the numbers of a vector in a fixed order: o_d = f_d(signal, x_1 .. x_d-1), with
/// one or more outputs for each of D numbers (columns.h defines the number of outputs and how a number is read). The
/// signal of a row comes from the network: first the biases of all outputs, then further inputs of the net. All other
/// weights belong to the net, in blocks.
///
/// A net has three rules, like an operation: value, tangent, and backward pass to the adjoint of the signal and the
/// gradient of the weights. Only the gradient combines rows; its sums run from the last row to the first (invariant 2).

#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "loss/density/columns.h"
#include "unfold/base/threads/team.h"
#include "unfold/graph/circuit/init.h"
#include "unfold/loss/scratch.h"
#include "unfold/numerics/vector.h"

namespace unfold {

/// A block of weights that a net owns.
struct NetBlock {
  std::string_view name;
  Index rows, cols;
  Init init;
};

/// The shape of the vector and pointers to the weight blocks, in the order in which the net lists them.
template <class T>
struct NetWeights {
  const VectorShape* shape = nullptr;
  std::vector<const T*> blocks = {};

  Index numbers() const { return shape->numbers(); }
  Index all_outputs() const { return shape->all_outputs(); }
  Index first(Index d) const { return shape->first_output(d); }  ///< first output of number d; for d = D the total
};

/// Numbers of rows or of vector components that a thread processes at a time.
inline constexpr Index kRowGrain = 2, kNumberGrain = 4;

/// The data of one row during the forward and backward pass.
template <class T>
struct NetPass {
  const T* signal;
  const T* x;  ///< [numbers]
  T* kept;
  T* outputs;
  T* slopes;   ///< [outputs of all numbers]; this and the following members are used only by the backward pass
  T* adjoint;  ///< [signal]
};

template <class T>
class AutoregressiveNet {
 public:
  virtual ~AutoregressiveNet() = default;

  /// Returns the number of signal values in addition to the output biases.
  virtual Index beside_biases() const = 0;
  virtual std::vector<NetBlock> blocks(const VectorShape& shape) const = 0;
  /// Returns the number of values that `value` stores per row for the other rules.
  virtual Index kept(const NetWeights<T>& w, const T* x) const = 0;

  virtual void value(const NetWeights<T>& w, const T* signal, const T* x, T* kept, T* o) const = 0;
  /// Like the function above, for several rows; the result of each row is bit-identical to that of a separate call.
  /// Overridden by nets that are faster if all rows are processed while some weights are in the cache.
  virtual void values(const NetWeights<T>& w, std::span<const NetPass<T>> rows) const {
    for (const NetPass<T>& row : rows) value(w, row.signal, row.x, row.kept, row.outputs);
  }
  /// Computes the tangent of the outputs when the weights move along `direction` and the signal along its own
  /// direction. Call after `value`.
  virtual void tangent(const NetWeights<T>& w, const NetWeights<T>& direction, const T* signal, const T* x,
                       const T* kept, T* out) const = 0;
  /// Sets adjoint = J' slopes for every row, and adds the gradient of the weights to `out`, one pointer per block. Call
  /// after `value`; the adjoint may overwrite its signal. All threads of a team call it with the same rows and share
  /// the work.
  virtual void back(const NetWeights<T>& w, std::span<const NetPass<T>> rows, Member& me,
                    const std::vector<T*>& out) const = 0;
  /// Computes only the outputs of number d, bit-identical to `value`; reads the numbers before d.
  virtual void outputs_of(const NetWeights<T>& w, const T* signal, const T* x, Index d, T* o) const = 0;
};

/// A net whose backward pass runs first row by row, then number by number: threads of a team divide the rows, then the
/// numbers.
template <class T>
class RowByRowNet : public AutoregressiveNet<T> {
 public:
  /// adjoint = J' slopes; also stores the data that `gradient` needs in `kept`.
  virtual void adjoint(const NetWeights<T>& w, const T* x, const T* slopes, T* kept, T* adjoint) const = 0;
  /// Adds to the gradient of the weights of some numbers. Call after `adjoint` of all rows; the rows are given from
  /// last to first.
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

/// NADE: one hidden layer whose pre-activations are accumulated from number to number (nade_net.cpp).
template <class T>
std::unique_ptr<AutoregressiveNet<T>> nade_net(Index units, NadeActivation activation);
/// NADE-k: bits only; the unknown bits are re-estimated in several rounds (nade_k_net.cpp).
template <class T>
std::unique_ptr<AutoregressiveNet<T>> nade_k_net(Index units, Index rounds);
/// MADE: layers in which weights from later numbers are masked (made_net.cpp); up to kMostMadeLayers.
inline constexpr Index kMostMadeLayers = 8;
template <class T>
std::unique_ptr<AutoregressiveNet<T>> made_net(Index units, Index layers);
/// A group of hidden units after every number, read by the outputs of all later numbers, or by the groups of later
/// numbers in the next layer (group_net.cpp); up to kMostGroupLayers.
inline constexpr Index kMostGroupLayers = 8;
template <class T>
std::unique_ptr<AutoregressiveNet<T>> group_net(Index units, Index layers);
/// Linear autoregression (linear_net.cpp).
template <class T>
std::unique_ptr<AutoregressiveNet<T>> linear_net();

/// y += a x for row pointers.
template <class T>
void add_scaled(T a, const T* x, T* y, Index n) {
  axpy<T>(a, span_of(x, n), {y, static_cast<std::size_t>(n)});
}
template <class T>
T product(const T* x, const T* y, Index n) {
  return static_cast<T>(dot(span_of(x, n), span_of(y, n)));
}

}  // namespace unfold
