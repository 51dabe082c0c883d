/// Local rules of attention.h. With t_k = tanh(q + a_k), or q * a_k, and g_k = dy . V_k:
///   de_k = a_k (g_k - sum_j a_j g_j),   dV_k = a_k dy,   dv = sum_k de_k t_k,
///   dq = sum_k de_k v (1 - t_k^2), da_k is the k-th summand (additive);
///   dq = sum_k de_k v a_k, da_k = de_k v q (multiplicative).

#include "graph/circuit/attention.h"

#include <algorithm>
#include <cmath>

#include "graph/circuit/known_operator.h"
#include "numerics/functions.h"
#include "unfold/numerics/vector.h"

namespace unfold {
namespace {

template <class T>
std::span<const T> span_of(const T* x, Index n) {
  return {x, static_cast<std::size_t>(n)};
}

template <class T>
std::span<T> span_to(T* x, Index n) {
  return {x, static_cast<std::size_t>(n)};
}

/// One row and the positions that it attends to. The scratch memory holds the weight, two more numbers and t_k for each
/// position, followed by two rows.
template <class T>
class Look {
 public:
  Look(AttentionScore score, const OperatorRows<T>& in, Index row)
      : score_(score),
        seen_(in.memory.seen_by(row)),
        n_(in.x.cols),
        count_(static_cast<Index>(seen_.size())),
        q_(in.x.row(row)),
        v_(in.w.row(0)),
        keys_(in.memory.keys) {
    weights = in.scratch, slopes = weights + count_, other = slopes + count_, t_ = other + count_;
    spare = t_ + count_ * n_;
    for (Index k = 0; k < count_; ++k) {
      const T* a = keys_.row(at(k));
      T* t = mixed(k);
      if (additive()) {
        for (Index i = 0; i < n_; ++i) t[i] = q_[i] + a[i];
        vector_tanh(t, t, n_);
      } else {
        for (Index i = 0; i < n_; ++i) t[i] = q_[i] * a[i];
      }
      weights[k] = static_cast<T>(dot<T>(span_of(v_, n_), span_of<T>(t, n_)));
    }
    softmax(weights, weights, count_);
  }

  bool additive() const { return score_ == AttentionScore::additive; }
  Index count() const { return count_; }
  Index at(Index k) const { return seen_[static_cast<std::size_t>(k)]; }  ///< row of the k-th position
  T* mixed(Index k) const { return t_ + k * n_; }                         ///< t_k

  /// Computes slopes = de from g_k in `slopes`.
  void through_softmax() const {
    const T mean = static_cast<T>(dot<T>(span_of<T>(weights, count_), span_of<T>(slopes, count_)));
    for (Index k = 0; k < count_; ++k) slopes[k] = weights[k] * (slopes[k] - mean);
  }
  /// Computes slopes = de for the adjoint dy of the result.
  void find_slopes(const Matrix<const T>& values, const T* dy) const {
    for (Index k = 0; k < count_; ++k)
      slopes[k] = static_cast<T>(dot<T>(span_of(dy, values.cols), span_of<T>(values.row(at(k)), values.cols)));
    through_softmax();
  }
  /// slope_of_query: out = de_k / dq; slope_of_key: out = de_k / da_k.
  void slope_of_query(Index k, T* out) const {
    const T *t = mixed(k), *a = keys_.row(at(k));
    for (Index i = 0; i < n_; ++i) out[i] = v_[i] * (additive() ? 1 - t[i] * t[i] : a[i]);
  }
  void slope_of_key(Index k, T* out) const {
    if (additive()) return slope_of_query(k, out);
    for (Index i = 0; i < n_; ++i) out[i] = v_[i] * q_[i];
  }

  T *weights, *slopes, *other, *spare;

 private:
  AttentionScore score_;
  std::span<const Index> seen_;
  Index n_, count_;
  const T *q_, *v_;
  Matrix<const T> keys_;
  T* t_;
};

class Attention final : public OperatorOf<Attention>, public RecordedOperator {
 public:
  Attention(AttentionScore score, Index keys, Index values) : score_(score), keys_(keys), values_(values) {
    if (keys < 1 || values < 1)
      throw UsageError("attention of keys of " + std::to_string(keys) + " and values of " + std::to_string(values) +
                       " components; both must be at least 1");
  }

  AttentionScore score() const { return score_; }
  std::string_view name() const override {
    return score_ == AttentionScore::additive ? "additive attention" : "multiplicative attention";
  }
  Index inputs() const override { return keys_; }
  Index outputs() const override { return values_; }
  OperatorRecord record() const override {
    return {score_ == AttentionScore::additive ? "additive-attention" : "multiplicative-attention",
            {{"keys", one(keys_)}, {"values", one(values_)}}};
  }
  ParameterShape parameter_shape(Index) const override { return {1, keys_}; }
  Index scratch() const override { return 2 * keys_; }
  Index scratch_per_seen() const override { return 3 + keys_; }
  Index key_size() const override { return keys_; }
  Index value_size() const override { return values_; }
  /// Returns the operations per attended position.
  double operations() const override { return 3.0 * static_cast<double>(keys_) + 2.0 * static_cast<double>(values_); }

  template <class T>
  void apply_rows(const OperatorRows<T>& in, Matrix<T> y) const {
    for (Index r = 0; r < in.x.rows; ++r) {
      const Look<T> look(score_, in, r);
      for (Index k = 0; k < look.count(); ++k)
        axpy<T>(look.weights[k], span_of<T>(in.memory.values.row(look.at(k)), values_), span_to(y.row(r), values_));
    }
  }

  template <class T>
  void transposed_rows(const OperatorRows<T>& in, Matrix<const T> dy, Matrix<T> dx, bool sets, bool) const {
    const MemoryRows<T>& memory = in.memory;
    for (Index r = in.x.rows; r-- > 0;) {
      const Look<T> look(score_, in, r);
      look.find_slopes(memory.values, dy.row(r));
      if (dx.data != nullptr && sets)
        for (Index i = 0; i < keys_; ++i) dx(r, i) = 0;
      for (Index k = 0; k < look.count(); ++k) {
        if (dx.data != nullptr) {
          look.slope_of_query(k, look.spare);
          axpy<T>(look.slopes[k], span_of<T>(look.spare, keys_), span_to(dx.row(r), keys_));
        }
        if (memory.key_adjoints.data != nullptr) {
          look.slope_of_key(k, look.spare);
          axpy<T>(look.slopes[k], span_of<T>(look.spare, keys_), span_to(memory.key_adjoints.row(look.at(k)), keys_));
        }
        if (memory.value_adjoints.data != nullptr)
          axpy<T>(look.weights[k], span_of<T>(dy.row(r), values_),
                  span_to(memory.value_adjoints.row(look.at(k)), values_));
      }
    }
  }

  template <class T>
  void gradient_rows(const OperatorRows<T>& in, Matrix<const T> dy, Matrix<T> g, Range, bool) const {
    for (Index r = in.x.rows; r-- > 0;) {
      const Look<T> look(score_, in, r);
      look.find_slopes(in.memory.values, dy.row(r));
      for (Index k = 0; k < look.count(); ++k)
        axpy<T>(look.slopes[k], span_of<T>(look.mixed(k), keys_), span_to(g.row(0), keys_));
    }
  }

  template <class T>
  void tangent_rows(const OperatorRows<T>& in, Matrix<const T> dw, Matrix<const T> dx, Matrix<T> dy) const {
    const MemoryRows<T>& memory = in.memory;
    for (Index r = 0; r < in.x.rows; ++r) {
      const Look<T> look(score_, in, r);
      for (Index k = 0; k < look.count(); ++k) {
        double moved = dot<T>(span_of(dw.row(0), keys_), span_of<T>(look.mixed(k), keys_));
        if (dx.data != nullptr) {
          look.slope_of_query(k, look.spare);
          moved += dot<T>(span_of<T>(look.spare, keys_), span_of(dx.row(r), keys_));
        }
        if (memory.key_tangents.data != nullptr) {
          look.slope_of_key(k, look.spare);
          moved += dot<T>(span_of<T>(look.spare, keys_), span_of<T>(memory.key_tangents.row(look.at(k)), keys_));
        }
        look.slopes[k] = static_cast<T>(moved);
      }
      look.through_softmax();  // the Jacobian of a softmax is symmetric
      for (Index k = 0; k < look.count(); ++k) {
        axpy<T>(look.slopes[k], span_of<T>(memory.values.row(look.at(k)), values_), span_to(dy.row(r), values_));
        if (memory.value_tangents.data != nullptr)
          axpy<T>(look.weights[k], span_of<T>(memory.value_tangents.row(look.at(k)), values_),
                  span_to(dy.row(r), values_));
      }
    }
  }

 private:
  AttentionScore score_;
  Index keys_, values_;
};

}  // namespace

std::shared_ptr<const Operator> attention(AttentionScore score, Index keys, Index values) {
  return std::make_shared<Attention>(score, keys, values);
}

Signal attend(Circuit& circuit, std::string_view name, Signal query, Signal keys, Signal values, AttentionScore score) {
  // Scores grow with the number of components; the factor 1 / sqrt keeps them moderate.
  const double start = 1 / std::sqrt(static_cast<double>(query.size()));
  return circuit.affine(name, values.size(),
                        {{.parameter = "v",
                          .source = query,
                          .init = score == AttentionScore::additive ? Init::normal(start) : Init::constant(start),
                          .op = attention(score, query.size(), values.size()),
                          .keys = keys,
                          .values = values}},
                        Init::zero(), false);
}

std::optional<AttentionScore> as_attention(const Operator* op) {
  const auto* found = dynamic_cast<const Attention*>(op);
  return found == nullptr ? std::nullopt : std::optional(found->score());
}

template <class T>
void attention_weights(AttentionScore score, const OperatorRows<T>& in, std::span<T> weights) {
  const Look<T> look(score, in, 0);
  std::copy_n(look.weights, look.count(), weights.data());
}

template void attention_weights(AttentionScore, const OperatorRows<float>&, std::span<float>);
template void attention_weights(AttentionScore, const OperatorRows<double>&, std::span<double>);

}  // namespace unfold
