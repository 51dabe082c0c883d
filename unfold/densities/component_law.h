#pragma once
/// Internal: what the outputs of a net (ordered_net.h) say about each number x_d of a vector, given others: m outputs a
/// number, number by number.
///
///   bits       m = 1      p(x = 1) = sigmoid(o)
///   classes    m = K      p(x = k) = softmax(o)_k
///   normal     m = 2      (m, s): N(m, d^2), log d = 10 tanh(s / 10) (deviation.h)
///   mixture    m = 3 K    (a, m, s), K each: sum_k softmax(a)_k N(m_k, d_k^2), or Laplace(m_k, d_k) in place of N;
///                         with a background b: (1 - b) of that and b Laplace(0, 2)

#include <memory>
#include <string_view>
#include <utility>
#include <vector>

#include "unfold/densities/columns.h"
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
  /// Of the outputs of one number: its mean, of a bit the probability of a 1, of a class the place of the most probable
  /// one; and a draw.
  virtual double mean(const T* o) const = 0;
  virtual T sample(const T* o, Random& random) const = 0;
  /// Of a bit or a class what each of its values has; of others nothing.
  virtual std::vector<double> probabilities(const T* /*o*/) const { return {}; }
};

enum class MixtureShape { gaussian, laplace };

template <class T>
std::unique_ptr<ComponentLaw<T>> bit_law();
template <class T>
std::unique_ptr<ComponentLaw<T>> normal_law();
template <class T>
std::unique_ptr<ComponentLaw<T>> class_law(Index classes);
template <class T>
std::unique_ptr<ComponentLaw<T>> mixture_law(Index components, MixtureShape shape, double background);

/// The laws of all numbers of a vector: those of its columns, or one for any number of them.
template <class T>
class ColumnLaws {
 public:
  explicit ColumnLaws(std::unique_ptr<ComponentLaw<T>> alike);
  /// `of_numbers`: what columns of numbers have; null: there may be none. UsageError where there are; `who` is told.
  ColumnLaws(std::vector<Column> columns, std::unique_ptr<ComponentLaw<T>> of_numbers, std::string_view who);

  /// How many numbers a signal is of: their outputs and `beside` more. UsageError for a size that it cannot have.
  Index numbers_of(Index signal, Index beside, std::string_view who) const;
  VectorShape shape(Index numbers) const;
  const ComponentLaw<T>& of(Index d) const { return columns_.empty() ? *alike_ : *law_of(columns_[at(d)]); }
  /// Empty: all are alike.
  const std::vector<Column>& columns() const { return columns_; }

  /// As those of a ComponentLaw, of all numbers of a shape.
  T nats(const VectorShape& shape, const T* o, const T* x, std::string_view who) const;
  T slopes(const VectorShape& shape, const T* o, const T* x, std::string_view who, T* out) const;
  void curvature(const VectorShape& shape, const T* o, const T* x, const T* v, T* out) const;
  void curvature_root(const VectorShape& shape, const T* o, const T* x, const T* noise, T* out) const;

 private:
  const ComponentLaw<T>* law_of(const Column& column) const;
  /// use(law, first number, how many), over neighbours of one kind.
  template <class Use>
  void each_run(const VectorShape& shape, const Use& use) const;

  std::vector<Column> columns_;
  std::unique_ptr<ComponentLaw<T>> alike_, bits_;               // alike_: of numbers, where there are columns
  std::vector<std::unique_ptr<ComponentLaw<T>>> classes_ = {};  // by how many there are
};

}  // namespace unfold
