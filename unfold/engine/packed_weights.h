#pragma once
/// The matrices of dense terms in the order in which products read them: as they are, transposed, transposed and
/// squared, and those of a direction. Packed once per change of the parameters. Internal to engine/.

#include <vector>

#include "unfold/base/team.h"
#include "unfold/circuit/parameters.h"
#include "unfold/engine/account.h"
#include "unfold/engine/plan.h"
#include "unfold/numerics/product.h"

namespace unfold {

/// Whether a term is a product with a matrix: neither a lookup of symbols nor an operator.
bool is_product(const Plan& plan, const Node::AffineTerm& term);

template <class T>
class PackedWeights {
 public:
  PackedWeights(const Plan& plan, Precision precision);

  enum class Form : unsigned char { plain, transposed, squared, direction };

  void mark_changed();            ///< the parameters: all forms but that of a direction
  void mark_direction_changed();  ///< by one member of a team
  /// Packs what has changed, of the vector given (laid out like the parameters). All members; they meet at its end.
  void pack(Member& me, Form form, const Parameters<T>& parameters, const T* flat, Account* account);
  const PackedMatrix<T>& operator()(Form form, int parameter) const {
    return set(form).matrices[static_cast<std::size_t>(parameter)];
  }

  Precision precision() const { return precision_; }  ///< of all products but those of squares
  Buffer<T>& squares() { return squares_; }           ///< room for squared numbers
  std::size_t memory_bytes() const;

 private:
  struct Set {
    std::vector<PackedMatrix<T>> matrices;  // per parameter
    std::vector<char> changed;
  };
  Set& set(Form form) { return sets_[static_cast<std::size_t>(form)]; }
  const Set& set(Form form) const { return sets_[static_cast<std::size_t>(form)]; }
  Matrix<const T> square(Member& me, Matrix<const T> w);

  Precision precision_;
  std::vector<char> dense_;  // per parameter: whether some product reads it
  Set sets_[4];
  Buffer<T> squares_;
};

}  // namespace unfold
