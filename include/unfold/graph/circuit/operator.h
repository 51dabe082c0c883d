#pragma once
/// Operators: the function that a term of an affine map applies to its source, y += f(w, x), row by row, with
/// parameters w. An operator defines its shapes and its local rules, which are all that the engine uses:
///
///   apply        y  += f(w, x)
///   transposed   dx (=|+=) (df/dx)^T dy, or the same with every entry of the Jacobian squared
///   gradient     g  += d(sum dy f)/dw, or the same with squared entries
///   tangent      dy += (df/dx) dx + (df/dw) dw
///
/// An operator may have a memory: rows of another chain that a row of x reads, as in attention. Its rules access them
/// through OperatorRows::memory, and `transposed` adds their adjoints.
///
/// A term without an operator is a matrix, or a row lookup by symbols (circuit.h). Available operators: sparse, gated
/// and leaky operators (sparse_operator.h), lookups of listed pairs of symbols and outputs (sparse_lookup.h), and maps
/// of whole vectors (vector_map.h). An operator declares which rules it does not support; a caller that needs one of
/// them raises an error that names the operator.
///
/// Determinism (invariant 2): rows are independent, except in a gradient and in the adjoints of a memory, where the sum
/// over rows runs from the last to the first.

#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "unfold/base/types.h"
#include "unfold/base/views.h"

namespace unfold {

/// The memory of an operator. Each row of x reads one chain, whose rows are in order.
template <class T>
struct MemoryRows {
  Matrix<const T> keys = {}, values = {};
  Matrix<T> key_adjoints = {}, value_adjoints = {};        ///< adjoints that `transposed` adds to, unless data is null
  Matrix<const T> key_tangents = {}, value_tangents = {};  ///< tangents; zero if data is null
  const Index* chain = nullptr;                            ///< chain that each row of x reads
  const Index* chain_begin = nullptr;  ///< first element of each chain in `rows`, and one past the last
  const Index* rows = nullptr;         ///< rows of keys and values

  std::span<const Index> seen_by(Index row) const {
    const Index c = chain[row];
    return {rows + chain_begin[c], rows + chain_begin[c + 1]};
  }
};

/// Inputs common to all rules.
template <class T>
struct OperatorRows {
  Matrix<const T> w = {};         ///< the parameter
  Matrix<const T> x = {};         ///< [rows x inputs]
  const Symbol* gates = nullptr;  ///< one gate symbol per row, if the operator reads a gate
  /// One array per symbol source, reads_symbols() in total, with one symbol per row. x is empty if the operator reads
  /// symbols.
  std::vector<const Symbol*> symbols = {};
  T* scratch = nullptr;       ///< scratch() elements, plus scratch_per_seen() for each row of the longest chain read
  MemoryRows<T> memory = {};  ///< memory, if the operator has one
};

template <class T>
class OperatorRules {
 public:
  virtual ~OperatorRules() = default;
  virtual void apply(const OperatorRows<T>& in, Matrix<T> y) const = 0;
  /// REQUIRES: has_squared() if `squared`.
  virtual void transposed(const OperatorRows<T>& in, Matrix<const T> dy, Matrix<T> dx, bool sets,
                          bool squared) const = 0;
  /// Adds the gradient to these columns of g (all unless gradient_by_columns()). REQUIRES: has_squared() if `squared`.
  virtual void gradient(const OperatorRows<T>& in, Matrix<const T> dy, Matrix<T> g, Range columns,
                        bool squared) const = 0;
  /// dw has the shape of the parameter; if dx.data is null, dx is 0.
  virtual void tangent(const OperatorRows<T>& in, Matrix<const T> dw, Matrix<const T> dx, Matrix<T> dy) const = 0;
};

/// A recurrence y_t = bias + rows of `lookup` + f(w, y_{t-1}) over one sequence, with all steps in one call.
template <class T>
struct Recurrence {
  Matrix<const T> w = {};
  const Symbol* gates = nullptr;    ///< gate symbols, from the first row on
  Matrix<const T> lookup = {};      ///< no lookup if data is null
  const Symbol* symbols = nullptr;  ///< indices of the lookup, from the first row on
  const T* bias = nullptr;          ///< zero if null
  T* scratch = nullptr;             ///< scratch() elements of the operator
};

template <class T>
class RecurrenceRules {
 public:
  virtual ~RecurrenceRules() = default;
  /// y.row(-1) is the state before the first row.
  virtual void forward(const Recurrence<T>& in, Matrix<T> y) const = 0;
  /// For t descending: adjoint_t += exit_t and adjoint_{t-1} = J_t^T adjoint_t. On entry, the last row of adjoint holds
  /// the contribution from later rows; adjoint.row(-1) receives the adjoint of the initial state. exit.data may be
  /// null.
  virtual void backward(const Recurrence<T>& in, Matrix<const T> y, Matrix<const T> exit, Matrix<T> adjoint,
                        bool squared) const = 0;
};

/// A kernel for loops that consist of a single operator. REQUIRES: the results are bit-identical to calling `apply` and
/// `transposed` step by step.
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

  virtual std::string_view name() const = 0;  ///< name for messages: "the unitary term U"
  virtual Index inputs() const = 0;           ///< components of x
  virtual Index outputs() const = 0;          ///< components of y
  /// Returns the shape of the parameter. `alphabet` is the alphabet size of the gate; 0 if the operator reads no gate.
  virtual ParameterShape parameter_shape(Index alphabet) const = 0;
  virtual Index scratch() const { return 0; }  ///< number of elements that a rule may overwrite
  virtual Index scratch_per_seen() const { return 0; }
  /// Returns the number of components of the keys and values of the memory; 0 if there is no memory.
  virtual Index key_size() const { return 0; }
  virtual Index value_size() const { return 0; }
  bool has_memory() const { return key_size() > 0; }
  virtual double operations() const = 0;  ///< additions and multiplications per row

  /// Returns whether rules read a symbol for each row in addition to x.
  virtual bool reads_gate() const { return false; }
  /// Returns whether f and the gradient of its parameter are zero where x is zero. Leaves of a tree, which have no
  /// children to read, can then skip the operator.
  virtual bool vanishes() const { return false; }
  /// Returns the number of symbol signals that the rules read instead of x; 0 if they read x. An operator that reads
  /// symbols has no `transposed`.
  virtual Index reads_symbols() const { return 0; }
  /// Returns whether threads may each compute some columns of the gradient; if not, one thread computes all of them.
  virtual bool gradient_by_columns() const { return false; }
  /// Returns whether the parameters are weights on edges between units; Jacobians may then be squared (modulus pass).
  virtual bool has_squared() const { return false; }
  /// Returns the operator with `rows` rows of parameters in its path-SGD form: linear, without a gate, all rows acting
  /// together. Throws a UsageError that names the parameter if there is no such form.
  virtual std::shared_ptr<const Operator> path_reading(std::string_view parameter, Index rows) const;
  /// Returns the kernel for all steps of a loop at once, or nullptr.
  virtual const RecurrenceKernel* recurrence() const { return nullptr; }
};

/// Implements the rules for float and double with templates: Derived has members apply_rows, transposed_rows,
/// gradient_rows and tangent_rows, with the same parameters as the rules. Base is Operator or a class derived from it.
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
