#pragma once
/// Maps of whole vectors with parameters of their own, y += f(w, x), row by row: what is neither element-wise nor a
/// matrix. A term of an affine map may be one (circuit.h); each has the rules of an operation:
///
///   apply        y  += f(w, x)
///   transposed   dx (=|+=) (df/dx)^T dy
///   gradient     g  += d(sum dy f)/dw
///   tangent      dy += (df/dx) dx + (df/dw) dw
///
/// and no squared one: their parameters are not weights on edges between units, so modulus and path refuse them.
///
/// Law 2: rows never meet: a sum over components runs in ascending order, one over rows from the last to the first,
/// without fused operations.

#include <cstdint>
#include <memory>
#include <string_view>
#include <vector>

#include "unfold/base/views.h"

namespace unfold {

/// x, y [rows x size]; w, dw, g [parameter_rows x parameter_cols]. `scratch`: as many numbers as scratch() says.
template <class T>
class VectorRules {
 public:
  virtual ~VectorRules() = default;
  virtual void apply(Matrix<const T> w, Matrix<const T> x, Matrix<T> y, T* scratch) const = 0;
  virtual void transposed(Matrix<const T> w, Matrix<const T> x, Matrix<const T> dy, Matrix<T> dx, bool sets,
                          T* scratch) const = 0;
  virtual void gradient(Matrix<const T> w, Matrix<const T> x, Matrix<const T> dy, Matrix<T> g, T* scratch) const = 0;
  /// dx.data may be null: x does not move.
  virtual void tangent(Matrix<const T> w, Matrix<const T> dw, Matrix<const T> x, Matrix<const T> dx, Matrix<T> dy,
                       T* scratch) const = 0;
};

class VectorMap : public VectorRules<float>, public VectorRules<double> {
 public:
  using VectorRules<float>::apply, VectorRules<double>::apply;
  using VectorRules<float>::transposed, VectorRules<double>::transposed;
  using VectorRules<float>::gradient, VectorRules<double>::gradient;
  using VectorRules<float>::tangent, VectorRules<double>::tangent;

  virtual std::string_view name() const = 0;
  virtual Index size() const = 0;  ///< of x, and of y
  virtual Index parameter_rows() const = 0;
  virtual Index parameter_cols() const = 0;
  virtual Index scratch() const { return 0; }
  virtual double operations() const = 0;  ///< additions and multiplications for a row
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

/// Both widths of T from one template: Map has members apply_rows, transposed_rows, gradient_rows and tangent_rows.
template <class Map>
class VectorMapOf : public VectorMap {
 public:
#define UNFOLD_RULES(T)                                                                                                \
  void apply(Matrix<const T> w, Matrix<const T> x, Matrix<T> y, T* scratch) const final {                              \
    self().apply_rows(w, x, y, scratch);                                                                               \
  }                                                                                                                    \
  void transposed(Matrix<const T> w, Matrix<const T> x, Matrix<const T> dy, Matrix<T> dx, bool sets, T* scratch)       \
      const final {                                                                                                    \
    self().transposed_rows(w, x, dy, dx, sets, scratch);                                                               \
  }                                                                                                                    \
  void gradient(Matrix<const T> w, Matrix<const T> x, Matrix<const T> dy, Matrix<T> g, T* scratch) const final {       \
    self().gradient_rows(w, x, dy, g, scratch);                                                                        \
  }                                                                                                                    \
  void tangent(Matrix<const T> w, Matrix<const T> dw, Matrix<const T> x, Matrix<const T> dx, Matrix<T> dy, T* scratch) \
      const final {                                                                                                    \
    self().tangent_rows(w, dw, x, dx, dy, scratch);                                                                    \
  }
  UNFOLD_RULES(float)
  UNFOLD_RULES(double)
#undef UNFOLD_RULES

 private:
  const Map& self() const { return static_cast<const Map&>(*this); }
};

}  // namespace unfold
