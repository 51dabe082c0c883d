#include <cmath>
#include <memory>

#include "loss/density/mixture_options.h"
#include "loss/density/vector_density.h"
#include "numerics/functions.h"
#include "unfold/loss/registry.h"
#include "unfold/loss/rows.h"
#include "unfold/numerics/vector.h"

namespace unfold {
namespace {

/// p(y) = sum_k softmax(a)_k prod_i sigmoid(l_ki)^y_i (1 - sigmoid(l_ki))^(1 - y_i); signal (a, l), l component by
/// component. With the joint probability j_k and the responsibilities r_k = j_k / sum_l j_l:
///
///   nats = -log sum_k j_k,   d nats / d a_k = p_k - r_k,   / d l_ki = r_k (sigmoid(l_ki) - y_i)
///
/// Curvature and Fisher metric are analogous to those of a mixture of Gaussians (mixture.cpp). The curvature omits the
/// covariance of the gradients over components: diag(p) - p p' for a, and r_k q (1 - q) for l, q = sigmoid(l). The
/// Fisher metric has p_k in place of r_k.
template <class T>
class BernoulliMixture final : public RowLoss<T>,
                               public RowCurvature<T>,
                               public LossFisher<T>,
                               public VectorDensity<T> {
 public:
  explicit BernoulliMixture(Index components) : components_(components) {}

  std::string_view name() const override { return "bernoulli-mixture"; }
  Index target_size(Index signal_size) const override {
    if (signal_size % components_ != 0 || signal_size < 2 * components_)
      throw UsageError("bernoulli-mixture loss: the signal has " + std::to_string(signal_size) +
                       " numbers; the size must be " + std::to_string(components_) +
                       " * (1 + n), where n is the number of predicted bits");
    return signal_size / components_ - 1;
  }

  void row_losses(Matrix<const T> signal, const Targets<T>& targets, T* nats) const override {
    require_values<T>(*this, signal, targets);
    const Work work = work_for(signal.cols);
    for (Index r = 0; r < signal.rows; ++r)
      nats[r] = is_predicted(targets, r) ? respond(work, signal.row(r), targets.values.row(r)) : T{0};
  }

  void row_gradients(Matrix<const T> signal, const Targets<T>& targets, T scale, T* nats,
                     Matrix<T> adjoint) const override {
    require_values<T>(*this, signal, targets);
    const Work work = work_for(signal.cols);
    for (Index r = 0; r < signal.rows; ++r) {
      nats[r] = 0;
      if (left_out(targets, r, adjoint)) continue;
      const T* y = targets.values.row(r);
      nats[r] = respond(work, signal.row(r), y);
      T *out = adjoint.row(r), *of_bits = out + components_;
      for (Index k = 0; k < components_; ++k) {
        out[k] = scale * (work.p[k] - work.share[k]);
        for (Index i = k * work.n; i < (k + 1) * work.n; ++i)
          of_bits[i] = scale * (work.share[k] * (work.q[i] - y[i - k * work.n]));
      }
    }
  }

  void row_curvatures(Matrix<const T> signal, const Targets<T>& targets, T scale, Matrix<const T> tangent,
                      Matrix<T> result) const override {
    each_response(signal, targets, result, [&](const Work& work, Index r, T* out) {
      const T* v = tangent.row(r);
      const auto along = static_cast<T>(dot(span_of<T>(work.p, components_), span_of(v, components_)));
      for (Index k = 0; k < components_; ++k) out[k] = scale * (work.p[k] * (v[k] - along));
      for (Index i = 0; i < components_ * work.n; ++i)
        out[components_ + i] = scale * (information(work, work.share, i) * v[components_ + i]);
    });
  }

  void row_curvature_roots(Matrix<const T> signal, const Targets<T>& targets, T scale, Matrix<const T> noise,
                           Matrix<T> result) const override {
    each_response(signal, targets, result, [&](const Work& work, Index r, T* out) {
      const T* z = noise.row(r);
      for (Index k = 0; k < components_; ++k) work.more[k] = std::sqrt(work.p[k]);
      const auto along = static_cast<T>(dot(span_of<T>(work.more, components_), span_of(z, components_)));
      for (Index k = 0; k < components_; ++k) out[k] = scale * (work.more[k] * z[k] - work.p[k] * along);
      for (Index i = 0; i < components_ * work.n; ++i)
        out[components_ + i] = scale * (std::sqrt(information(work, work.share, i)) * z[components_ + i]);
    });
  }

  void fisher_diagonal(Matrix<const T> signal, const Targets<T>& targets, Matrix<T> seed) const override {
    const Work work = work_for(signal.cols);
    for (Index r = 0; r < signal.rows; ++r) {
      if (left_out(targets, r, seed)) continue;
      prepare(work, signal.row(r));
      T* out = seed.row(r);
      for (Index k = 0; k < components_; ++k) out[k] = work.p[k] * (1 - work.p[k]);
      for (Index i = 0; i < components_ * work.n; ++i) out[components_ + i] = information(work, work.p, i);
    }
  }

  void fisher_through(Matrix<const T> signal, const Targets<T>& targets, Matrix<const T> w,
                      Matrix<T> seed) const override {
    require_same(name(), "weight columns", w.cols, signal.cols);
    const Work work = work_for(signal.cols);
    for (Index r = 0; r < signal.rows; ++r) {
      if (left_out(targets, r, seed)) continue;
      prepare(work, signal.row(r));
      for (Index j = 0; j < w.rows; ++j) {
        const T* weight = w.row(j);
        T mean = 0, square = 0, rest = 0;
        for (Index k = 0; k < components_; ++k) {
          mean += work.p[k] * weight[k];
          square += work.p[k] * (weight[k] * weight[k]);
        }
        for (Index i = 0; i < components_ * work.n; ++i) {
          const T each = weight[components_ + i];
          rest += information(work, work.p, i) * (each * each);
        }
        seed(r, j) = (square - mean * mean) + rest;
      }
    }
  }

  bool any_order() const override { return true; }

  double mean(const DensityQuery<T>& q, std::span<const char> known, std::span<const T> values,
              Index d) const override {
    const std::vector<double> share = posterior(q, known, values);
    double result = 0;
    for (Index k = 0; k < components_; ++k)
      result += share[at(k)] * probability(q, k, d, static_cast<Index>(values.size()));
    return result;
  }

  double sample(const DensityQuery<T>& q, Random& random, std::span<const char> known,
                std::span<T> values) const override {
    std::vector<double> share = posterior(q, known, values);
    vector_log(share.data(), share.data(), components_);
    const Symbol k = sample_symbol<double>(share, random);
    const auto n = static_cast<Index>(values.size());
    for (Index d = 0; d < n; ++d)
      if (known[at(d)] == 0) values[at(d)] = random.uniform() < probability(q, k, d, n) ? T{1} : T{0};
    return 0;
  }

 private:
  /// Work arrays of one row of n bits.
  struct Work {
    Index n;
    T *log_p, *p, *share, *more;  ///< [components]; share: the responsibilities
    T *q, *nats;                  ///< [components x n]
  };

  /// Calls use(work, row, out) for every row with a target; `work` holds the results for its components and bits.
  template <class Use>
  void each_response(Matrix<const T> signal, const Targets<T>& targets, Matrix<T> result, Use&& use) const {
    require_values<T>(*this, signal, targets);
    const Work work = work_for(signal.cols);
    for (Index r = 0; r < signal.rows; ++r) {
      if (left_out(targets, r, result)) continue;
      respond(work, signal.row(r), targets.values.row(r));
      use(work, r, result.row(r));
    }
  }
  Work work_for(Index signal_size) const {
    const Index n = target_size(signal_size), k = components_;
    T* m = row_scratch<T, 10>(4 * k + 2 * k * n);
    return {n, m, m + k, m + 2 * k, m + 3 * k, m + 4 * k, m + 4 * k + k * n};
  }
  void prepare(const Work& work, const T* o) const {
    log_softmax(o, work.log_p, components_);
    vector_exp(work.log_p, work.p, components_);
    vector_sigmoid(o + components_, work.q, components_ * work.n);
  }
  /// Returns the nats of a row; sets p, q and the responsibilities.
  T respond(const Work& work, const T* o, const T* y) const {
    prepare(work, o);
    const T* l = o + components_;
    for (Index i = 0; i < components_ * work.n; ++i) work.nats[i] = -std::fabs(l[i]);
    vector_softplus(work.nats, work.nats, components_ * work.n);
    for (Index k = 0; k < components_; ++k) {
      for (Index i = 0; i < work.n; ++i) {
        const Index c = k * work.n + i;
        work.nats[c] += l[c] > 0 ? l[c] * (1 - y[i]) : -l[c] * y[i];
      }
      work.share[k] = work.log_p[k] - static_cast<T>(sum(span_of<T>(work.nats + k * work.n, work.n)));
    }
    const T total = log_sum_exp(work.share, components_);
    for (Index k = 0; k < components_; ++k) work.share[k] -= total;
    vector_exp(work.share, work.share, components_);
    return -total;
  }
  T information(const Work& work, const T* weights, Index i) const {
    return weights[i / work.n] * (work.q[i] * (1 - work.q[i]));
  }
  double probability(const DensityQuery<T>& q, Index k, Index d, Index n) const {
    auto p = static_cast<double>(q.signal[at(components_ + k * n + d)]);
    vector_sigmoid(&p, &p, 1);
    return p;
  }
  /// Returns the posterior of the components given the known values.
  std::vector<double> posterior(const DensityQuery<T>& q, std::span<const char> known,
                                std::span<const T> values) const {
    const Index n = target_size(static_cast<Index>(q.signal.size()));
    require_same(name(), "values", static_cast<Index>(values.size()), n);
    require_same(name(), "flags", static_cast<Index>(known.size()), n);
    std::vector<double> share(q.signal.begin(), q.signal.begin() + components_);
    for (Index k = 0; k < components_; ++k)
      for (Index d = 0; d < n; ++d) {
        if (known[at(d)] == 0) continue;
        auto o = static_cast<double>(q.signal[at(components_ + k * n + d)]);
        double nats = values[at(d)] != 0 ? -o : o;
        vector_softplus(&nats, &nats, 1);
        share[at(k)] -= nats;
      }
    softmax(share.data(), share.data(), components_);
    return share;
  }

  Index components_;
};

template <class T>
std::unique_ptr<Loss<T>> make_bernoulli_mixture(const AnyOptions& any) {
  return std::make_unique<BernoulliMixture<T>>(any.as<BernoulliMixtureOptions>().components);
}

}  // namespace

LossEntry bernoulli_mixture_entry() {
  return {.name = "bernoulli-mixture",
          .help = "bits: a mixture of components in which they are independent",
          .of_symbols = false,
          .make_float = make_bernoulli_mixture<float>,
          .make_double = make_bernoulli_mixture<double>,
          .options = BernoulliMixtureOptions(),
          .main_option = "components",
          .size_of_signal =
              [](Index n, const AnyOptions& any) { return any.as<BernoulliMixtureOptions>().components * (1 + n); },
          .density = Density::bits};
}

}  // namespace unfold
