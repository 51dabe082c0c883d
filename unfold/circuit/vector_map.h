#pragma once
/// Maps of whole vectors with parameters of their own, y += f(w, x), row by row: operators (operator.h) that are
/// neither element-wise nor a matrix. Their parameters are not weights on edges between units, so they have no squared
/// rules: modulus and path refuse them.
///
/// Law 2: rows never meet: a sum over components runs in ascending order, one over rows from the last to the first,
/// without fused operations.

#include <cstdint>
#include <memory>
#include <vector>

#include "unfold/circuit/operator.h"

namespace unfold {

class VectorMap : public Operator {
 public:
  virtual Index size() const = 0;  ///< of x, and of y
  virtual Index parameter_rows() const = 0;
  virtual Index parameter_cols() const = 0;

  Index inputs() const final { return size(); }
  Index outputs() const final { return size(); }
  ParameterShape parameter_shape(Index) const final { return {parameter_rows(), parameter_cols()}; }
};

/// The recurrent map of unitary networks (Arjovsky, Shah and Bengio 2016): for a row x of n complex numbers, held as n
/// real parts and then n imaginary parts,
///
///   D3 R2 F^-1 D2 P R1 F D1 x
///
/// D = diag(e^(i phase)); R = I - 2 v v* / |v|^2, a reflection; F the unitary Fourier transform; P a fixed permutation,
/// that of the seed on every machine. O(n log n) for a row; parameters [7 x n]: the phases of D1, D2, D3; real and
/// imaginary parts of v of R1, of R2. n is a power of two, at least 2 (UsageError): every twiddle factor then follows
/// from square roots.
std::shared_ptr<const VectorMap> unitary_map(Index n, std::uint64_t permutation_seed);
std::vector<Index> unitary_permutation(Index n, std::uint64_t seed);  ///< (P x)_k = x_permutation[k]

/// modReLU of the same source: z = a + ib becomes (m + b_k)+ z / m, m = sqrt(|z|^2 + 1e-5). Parameters [1 x n]: b.
std::shared_ptr<const VectorMap> modulus_relu(Index n);

/// cos and sin of an angle, to 1e-15 for angles up to a million; not a number where it is not finite.
struct CosSin {
  double cos, sin;
};
CosSin cos_sin(double angle);

}  // namespace unfold
