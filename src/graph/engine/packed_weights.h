#pragma once
/// Weight matrices of dense terms, packed in the order in which the products read them: plain, transposed, transposed
/// and squared, and the matrices of a parameter direction. They are packed once per change of the parameters. Internal
/// to engine/.

#include <vector>

#include "graph/engine/pass_timing.h"
#include "unfold/base/threads/team.h"
#include "unfold/graph/circuit/parameters.h"
#include "unfold/graph/plan/plan.h"
#include "unfold/numerics/product.h"

namespace unfold {

/// Returns whether a term is a matrix product, that is, neither a symbol lookup nor an operator.
bool is_product(const Plan& plan, const Node::AffineTerm& term);

template <class T>
class PackedWeights {
 public:
  PackedWeights(const Plan& plan, Precision precision);

  enum class Form : unsigned char { plain, transposed, squared, direction };

  /// Reads the weights of a parameter from output-major memory owned by the caller, [columns x rows] of the parameter,
  /// instead of the parameter vector. Directions are still read from their vector.
  void bind(int parameter, Matrix<const T> weights) { bound_[static_cast<std::size_t>(parameter)] = weights; }
  /// Also writes the gradient of a parameter to output-major memory owned by the caller.
  void bind_gradient(int parameter, Matrix<T> gradient) { gradients_[static_cast<std::size_t>(parameter)] = gradient; }
  /// The data is null if the gradient is not bound.
  Matrix<T> bound_gradient(int parameter) const { return gradients_[static_cast<std::size_t>(parameter)]; }
  bool is_packed(int parameter) const { return dense_[static_cast<std::size_t>(parameter)] != 0; }

  void mark_changed();            ///< marks all forms except `direction` as changed
  void mark_direction_changed();  ///< called by one thread of a team
  /// Packs whatever has changed, from the given vector (laid out like the parameters). Called by all threads; ends with
  /// a barrier.
  void pack(Member& me, Form form, const Parameters<T>& parameters, const T* flat, Account* account);
  const PackedMatrix<T>& operator()(Form form, int parameter) const {
    return set(form).matrices[static_cast<std::size_t>(parameter)];
  }

  Precision precision() const { return precision_; }  ///< precision of all products except products of squared values
  Buffer<T>& squares() { return squares_; }           ///< scratch for squared values
  std::size_t memory_bytes() const;

 private:
  struct Set {
    std::vector<PackedMatrix<T>> matrices;  // one matrix per parameter
    std::vector<char> changed;
  };
  Set& set(Form form) { return sets_[static_cast<std::size_t>(form)]; }
  const Set& set(Form form) const { return sets_[static_cast<std::size_t>(form)]; }
  Matrix<const T> square(Member& me, Matrix<const T> w);

  Precision precision_;
  std::vector<char> dense_;  // for each parameter: whether any product reads it
  Set sets_[4];
  Buffer<T> squares_;
  std::vector<Matrix<const T>> bound_;  // weights of each parameter; null if the weights are in the parameter vector
  std::vector<Matrix<T>> gradients_;    // gradient of each parameter; null if the gradient is in the gradient vector
};

}  // namespace unfold
