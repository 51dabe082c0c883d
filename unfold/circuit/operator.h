#pragma once
/// Operators: what a term of an affine map does to its source, y += f(w, x), row by row, with parameters w of its own.
/// An operator states its shapes and its local rules; the engine knows nothing else of it:
///
///   apply        y  += f(w, x)
///   transposed   dx (=|+=) (df/dx)^T dy, or the same with every entry of the Jacobian squared
///   gradient     g  += d(sum dy f)/dw, or the same with squared entries
///   tangent      dy += (df/dx) dx + (df/dw) dw
///
/// An operator may have a memory: rows of another chain that a row of x looks at (attention.h). Its rules see them in
/// OperatorRows::memory, and `transposed` adds their adjoints.
///
/// A term without an operator is a matrix, or the rows that symbols look up (circuit.h). Known operators: sparse, gated
/// and leaky ones (sparse_operator.h), listed pairs of symbols and outputs (listed.h), maps of whole vectors
/// (vector_map.h). What an operator cannot do, it says:
/// whoever asks for it refuses the operator by its name.
///
/// Law 2: rows never meet, except in a gradient and in the adjoints of a memory, where the sum over rows runs from the
/// last to the first.

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "unfold/base/types.h"
#include "unfold/base/views.h"

namespace unfold {

/// What an operator with a memory looks at. Rows of x look at chains; the rows of a chain are given in their order.
template <class T>
struct MemoryRows {
  Matrix<const T> keys = {}, values = {};
  Matrix<T> key_adjoints = {}, value_adjoints = {};        ///< `transposed` adds to them; data null: not wanted
  Matrix<const T> key_tangents = {}, value_tangents = {};  ///< data null: they do not move
  const Index* chain = nullptr;                            ///< that a row of x looks at
  const Index* chain_begin = nullptr;                      ///< where a chain begins in `rows`, and the next one
  const Index* rows = nullptr;                             ///< of keys and values

  std::span<const Index> seen_by(Index row) const {
    const Index c = chain[row];
    return {rows + chain_begin[c], rows + chain_begin[c + 1]};
  }
};

/// What every rule reads.
template <class T>
struct OperatorRows {
  Matrix<const T> w = {};                   ///< the parameter
  Matrix<const T> x = {};                   ///< [rows x inputs]
  const Symbol* gates = nullptr;            ///< one for each row, if the operator reads a gate
  std::vector<const Symbol*> symbols = {};  ///< one for each row, reads_symbols() of them: then x holds nothing
  T* scratch = nullptr;       ///< scratch() numbers, and scratch_per_seen() for each row of the longest chain seen
  MemoryRows<T> memory = {};  ///< if the operator has one
};

template <class T>
class OperatorRules {
 public:
  virtual ~OperatorRules() = default;
  virtual void apply(const OperatorRows<T>& in, Matrix<T> y) const = 0;
  /// `squared`: REQUIRES has_squared().
  virtual void transposed(const OperatorRows<T>& in, Matrix<const T> dy, Matrix<T> dx, bool sets,
                          bool squared) const = 0;
  /// Of the columns of g given: all of them unless gradient_by_columns(). `squared`: REQUIRES has_squared().
  virtual void gradient(const OperatorRows<T>& in, Matrix<const T> dy, Matrix<T> g, Range columns,
                        bool squared) const = 0;
  /// dw as the parameter; dx.data may be null: x does not move.
  virtual void tangent(const OperatorRows<T>& in, Matrix<const T> dw, Matrix<const T> dx, Matrix<T> dy) const = 0;
};

/// One sequence of a recurrence y_t = bias + rows of `lookup` + f(w, y_{t-1}), all its steps in one call.
template <class T>
struct Recurrence {
  Matrix<const T> w = {};
  const Symbol* gates = nullptr;    ///< from the first row on
  Matrix<const T> lookup = {};      ///< data null: none
  const Symbol* symbols = nullptr;  ///< what is looked up, from the first row on
  const T* bias = nullptr;          ///< null: zero
  T* scratch = nullptr;             ///< as many numbers as the operator's scratch()
};

template <class T>
class RecurrenceRules {
 public:
  virtual ~RecurrenceRules() = default;
  /// y.row(-1) is the state before the first row.
  virtual void forward(const Recurrence<T>& in, Matrix<T> y) const = 0;
  /// For t descending: adjoint_t += exit_t, adjoint_{t-1} = J_t^T adjoint_t. On entry adjoint's last row holds what
  /// comes from beyond it; adjoint.row(-1) receives what leaves the first row. exit.data may be null.
  virtual void backward(const Recurrence<T>& in, Matrix<const T> y, Matrix<const T> exit, Matrix<T> adjoint,
                        bool squared) const = 0;
};

/// A kernel for loops that are nothing but one operator. REQUIRES: the bits of `apply` and `transposed` step by step.
class RecurrenceKernel : public RecurrenceRules<float>, public RecurrenceRules<double> {
 public:
  using RecurrenceRules<float>::forward, RecurrenceRules<double>::forward;
  using RecurrenceRules<float>::backward, RecurrenceRules<double>::backward;
};

struct ParameterShape {
  Index rows = 0, cols = 0;
};

class Operator : public OperatorRules<float>, public OperatorRules<double> {
 public:
  using OperatorRules<float>::apply, OperatorRules<double>::apply;
  using OperatorRules<float>::transposed, OperatorRules<double>::transposed;
  using OperatorRules<float>::gradient, OperatorRules<double>::gradient;
  using OperatorRules<float>::tangent, OperatorRules<double>::tangent;

  virtual std::string_view name() const = 0;  ///< for messages: "the unitary term U"
  virtual Index inputs() const = 0;           ///< components of x
  virtual Index outputs() const = 0;          ///< components of y
  /// Of the parameter. `alphabet`: of the gate, 0 if the operator reads none.
  virtual ParameterShape parameter_shape(Index alphabet) const = 0;
  virtual Index scratch() const { return 0; }  ///< numbers that a rule may overwrite
  virtual Index scratch_per_seen() const { return 0; }
  /// Components of the keys and values of its memory; 0: it has none.
  virtual Index key_size() const { return 0; }
  virtual Index value_size() const { return 0; }
  bool has_memory() const { return key_size() > 0; }
  virtual double operations() const = 0;  ///< additions and multiplications for a row

  /// Whether rules read a symbol for each row beside x.
  virtual bool reads_gate() const { return false; }
  /// Whether it is zero, and the gradient of its parameter too, where x is zero: leaves, which have no children to
  /// read, need it not.
  virtual bool vanishes() const { return false; }
  /// Signals of symbols that rules read instead of numbers x; 0: they read x. It then has no `transposed`.
  virtual Index reads_symbols() const { return 0; }
  /// Whether members of a team may compute some columns of the gradient each; if not, one computes all.
  virtual bool gradient_by_columns() const { return false; }
  /// Whether its parameters are weights on edges between units, so that Jacobians may be squared (modulus pass).
  virtual bool has_squared() const { return false; }
  /// The operator with `rows` rows of parameters as path-SGD reads it: linear, without a gate, all rows acting
  /// together. Throws UsageError naming the parameter when there is no such reading.
  virtual std::shared_ptr<const Operator> path_reading(std::string_view parameter, Index rows) const;
  /// All steps of a loop at once, or nullptr.
  virtual const RecurrenceKernel* recurrence() const { return nullptr; }
};

/// Both widths of T from one template: Derived has members apply_rows, transposed_rows, gradient_rows and tangent_rows
/// with the parameters of the rules. Base: Operator, or a class derived from it.
template <class Derived, class Base = Operator>
class OperatorOf : public Base {
 public:
#define UNFOLD_RULES(T)                                                                                                \
  void apply(const OperatorRows<T>& in, Matrix<T> y) const final { self().apply_rows(in, y); }                         \
  void transposed(const OperatorRows<T>& in, Matrix<const T> dy, Matrix<T> dx, bool sets, bool squared) const final {  \
    self().transposed_rows(in, dy, dx, sets, squared);                                                                 \
  }                                                                                                                    \
  void gradient(const OperatorRows<T>& in, Matrix<const T> dy, Matrix<T> g, Range columns, bool squared) const final { \
    self().gradient_rows(in, dy, g, columns, squared);                                                                 \
  }                                                                                                                    \
  void tangent(const OperatorRows<T>& in, Matrix<const T> dw, Matrix<const T> dx, Matrix<T> dy) const final {          \
    self().tangent_rows(in, dw, dx, dy);                                                                               \
  }
  UNFOLD_RULES(float)
  UNFOLD_RULES(double)
#undef UNFOLD_RULES

 private:
  const Derived& self() const { return static_cast<const Derived&>(*this); }
};

}  // namespace unfold
