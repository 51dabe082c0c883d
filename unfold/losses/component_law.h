#pragma once
/// Internal: what the outputs of a net over ordered numbers (ordered_net.h) say about each number x_d of a vector,
/// given those before it: m outputs a number, number by number.
///
///   bits       m = 1      p(x = 1) = sigmoid(o)
///   normal     m = 2      (m, s): N(m, d^2), log d = 10 tanh(s / 10) (deviation.h)
///   mixture    m = 3 K    (a, m, s), K each: sum_k softmax(a)_k N(m_k, d_k^2), or Laplace(m_k, d_k) in place of N

#include <memory>
#include <string_view>

#include "unfold/base/types.h"
#include "unfold/numerics/random.h"

namespace unfold {

template <class T>
class ComponentLaw {
 public:
  virtual ~ComponentLaw() = default;
  virtual Index outputs() const = 0;  ///< m
  /// -log p of all n numbers together. UsageError for numbers that the law does not know; `who` is told.
  virtual T nats(const T* o, const T* x, Index n, std::string_view who) const = 0;
  /// The same; out = d nats / d o, another place than o.
  virtual T slopes(const T* o, const T* x, Index n, std::string_view who, T* out) const = 0;
  /// out = H v for a matrix H that is nowhere negative: the Hessian of bits, the Fisher matrix of `normal`, of mixtures
  /// that of the components weighted by their responsibilities (mixture.cpp). out may be v.
  virtual void curvature(const T* o, const T* x, Index n, const T* v, T* out) const = 0;
  /// out = R noise, R R' = H. out may be noise.
  virtual void curvature_root(const T* o, const T* x, Index n, const T* noise, T* out) const = 0;
  /// Of the outputs of one number.
  virtual double mean(const T* o) const = 0;
  virtual T sample(const T* o, Random& random) const = 0;
};

enum class MixtureShape { gaussian, laplace };

template <class T>
std::unique_ptr<ComponentLaw<T>> bit_law();
template <class T>
std::unique_ptr<ComponentLaw<T>> normal_law();
template <class T>
std::unique_ptr<ComponentLaw<T>> mixture_law(Index components, MixtureShape shape);

}  // namespace unfold
