#pragma once
/// Internal: conditional distributions of the single numbers x_d of a vector, parameterized by the outputs of a net
/// (ordered_net.h). Each number has m outputs, stored number by number.
///
///   bits       m = 1      p(x = 1) = sigmoid(o)
///   classes    m = K      p(x = k) = softmax(o)_k
///   normal     m = 2      (m, s): N(m, d^2), log d = 10 tanh(s / 10) (deviation.h)
///   mixture    m = 3 K    (a, m, s), K each: sum_k softmax(a)_k N(m_k, d_k^2), or Laplace(m_k, d_k) in place of N;
///                         with a background b: (1 - b) times that plus b Laplace(0, 2)

#include <memory>
#include <string_view>
#include <utility>
#include <vector>

#include "loss/density/columns.h"
#include "unfold/numerics/random.h"

namespace unfold {

template <class T>
class ComponentDistribution {
 public:
  virtual ~ComponentDistribution() = default;
  virtual Index outputs() const = 0;  ///< m
  /// Returns the sum of -log p over n numbers. Throws UsageError for numbers outside the support of the distribution;
  /// `who` is named in the message.
  virtual T nats(const T* o, const T* x, Index n, std::string_view who) const = 0;
  /// Like the function above; also sets out = d nats / d o. out must not overlap o.
  virtual T slopes(const T* o, const T* x, Index n, std::string_view who, T* out) const = 0;
  /// out = H v for a positive semidefinite matrix H: the Hessian for bits, the Fisher matrix for `normal`, and for
  /// mixtures the Fisher matrices of the components weighted by their responsibilities (mixture.cpp). out may be v.
  virtual void curvature(const T* o, const T* x, Index n, const T* v, T* out) const = 0;
  /// out = R noise, R R' = H. out may be noise.
  virtual void curvature_root(const T* o, const T* x, Index n, const T* noise, T* out) const = 0;
  /// The following functions take the outputs of one number. `mean` returns the mean; for a bit the probability of 1,
  /// for a class the index of the most probable class. `sample` draws a value.
  virtual double mean(const T* o) const = 0;
  virtual T sample(const T* o, Random& random) const = 0;
  /// Returns the probability of each value of a bit or class; empty for other numbers.
  virtual std::vector<double> probabilities(const T* /*o*/) const { return {}; }
};

enum class MixtureShape { gaussian, laplace };

template <class T>
std::unique_ptr<ComponentDistribution<T>> bit_distribution();
template <class T>
std::unique_ptr<ComponentDistribution<T>> normal_distribution();
template <class T>
std::unique_ptr<ComponentDistribution<T>> class_distribution(Index classes);
template <class T>
std::unique_ptr<ComponentDistribution<T>> mixture_distribution(Index components, MixtureShape shape, double background);

/// The distributions of all numbers of a vector: one per column, or a single distribution for any number of them.
template <class T>
class ColumnDistributions {
 public:
  explicit ColumnDistributions(std::unique_ptr<ComponentDistribution<T>> alike);
  /// `of_numbers`: the distribution of number columns; null if they are not allowed (throws UsageError if there are
  /// any). `who` is named in the message.
  ColumnDistributions(std::vector<Column> columns, std::unique_ptr<ComponentDistribution<T>> of_numbers,
                      std::string_view who);

  /// Returns the number of vector components for a signal that holds their outputs and `beside` further values. Throws
  /// UsageError for an invalid signal size.
  Index numbers_of(Index signal, Index beside, std::string_view who) const;
  VectorShape shape(Index numbers) const;
  const ComponentDistribution<T>& of(Index d) const { return columns_.empty() ? *alike_ : *law_of(columns_[at(d)]); }
  /// Empty if all numbers share one distribution.
  const std::vector<Column>& columns() const { return columns_; }

  /// Like the functions of ComponentDistribution, for all numbers of a shape.
  T nats(const VectorShape& shape, const T* o, const T* x, std::string_view who) const;
  T slopes(const VectorShape& shape, const T* o, const T* x, std::string_view who, T* out) const;
  void curvature(const VectorShape& shape, const T* o, const T* x, const T* v, T* out) const;
  void curvature_root(const VectorShape& shape, const T* o, const T* x, const T* noise, T* out) const;

 private:
  const ComponentDistribution<T>* law_of(const Column& column) const;
  /// Calls use(law, first number, count) for each sequence of adjacent columns of the same kind.
  template <class Use>
  void each_run(const VectorShape& shape, const Use& use) const;

  std::vector<Column> columns_;
  std::unique_ptr<ComponentDistribution<T>> alike_,
      bits_;  // alike_: with columns, the distribution of number columns
  std::vector<std::unique_ptr<ComponentDistribution<T>>> classes_ = {};  // indexed by the number of classes
};

}  // namespace unfold
