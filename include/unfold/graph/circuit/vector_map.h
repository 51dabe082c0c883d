#pragma once
/// Maps of whole vectors with parameters, y += f(w, x), row by row: operators (operator.h) that are neither
/// element-wise nor matrices. Their parameters are not weights on edges between units, so they have no squared rules:
/// the modulus and path passes raise an error.
///
/// Determinism (invariant 2): rows are independent. Sums over components are in ascending order, sums over rows run
/// from the last to the first, without fused operations.

#include <cstdint>
#include <memory>
#include <vector>

#include "unfold/graph/circuit/operator.h"

namespace unfold {

class VectorMap : public Operator {
 public:
  virtual Index size() const = 0;  ///< number of components of x and y
  virtual Index parameter_rows() const = 0;
  virtual Index parameter_cols() const = 0;

  Index inputs() const final { return size(); }
  Index outputs() const final { return size(); }
  ParameterShape parameter_shape(Index) const final { return {parameter_rows(), parameter_cols()}; }
};

/// The recurrent map of unitary networks (Arjovsky, Shah and Bengio 2016). For a row x of n complex numbers, stored as
/// n real parts followed by n imaginary parts,
///
///   D3 R2 F^-1 D2 P R1 F D1 x
///
/// D = diag(e^(i phase)); R = I - 2 v v* / |v|^2, a reflection; F the unitary Fourier transform; P a fixed permutation
/// that depends only on the seed. O(n log n) per row. Parameters [7 x n]: the phases of D1, D2, D3; the real and
/// imaginary parts of v of R1 and of R2. n must be a power of two, at least 2 (UsageError), so that every twiddle
/// factor can be computed with square roots.
std::shared_ptr<const VectorMap> unitary_map(Index n, std::uint64_t permutation_seed);
std::vector<Index> unitary_permutation(Index n, std::uint64_t seed);  ///< (P x)_k = x_permutation[k]

/// modReLU of the same paper: z = a + ib becomes max(m + b_k, 0) z / m, m = sqrt(|z|^2 + 1e-5). Parameters [1 x n]: b.
std::shared_ptr<const VectorMap> modulus_relu(Index n);

/// Cosine and sine of an angle, to 1e-15 for angles up to a million; NaN if the angle is not finite.
struct CosSin {
  double cos, sin;
};
CosSin cos_sin(double angle);

}  // namespace unfold
