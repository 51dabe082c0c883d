#include <algorithm>
#include <cmath>
#include <memory>
#include <vector>

#include "loss/density/mixture_options.h"
#include "loss/density/vector_density.h"
#include "loss/deviation.h"
#include "loss/hmm/gaussian_hmm.h"
#include "numerics/functions.h"
#include "numerics/moments.h"
#include "unfold/base/error.h"
#include "unfold/loss/registry.h"
#include "unfold/loss/rows.h"
#include "unfold/numerics/vector.h"

namespace unfold {
namespace {

constexpr int kMixtureMemory = 14;  // `user` of row_scratch

/// A mixture of Gaussians whose full covariances are factored into regressions of each number on the preceding numbers;
/// diagonal covariances have no regressions, l = 0:
///
///   e = y - m,   u_i = e_i + sum_{j<i} l_ij e_j,   z_i = u_i / d_i,   log d_i = 10 tanh(s_i / 10) (deviation.h)
///   j_k = softmax(a)_k prod_i exp(-z_ki^2 / 2) / (d_ki sqrt(2 pi)),   nats = -log sum_k j_k
///
/// Signal (a, then m, s, l by component): 1 + 2 n + n (n - 1) / 2 numbers per component, or 1 + 2 n for diagonal
/// covariances. With the responsibilities r_k = j_k / sum_l j_l and w_i = z_i / d_i:
///
///   d nats / d a_k = p_k - r_k,   / d m_j = -r_k (w_j + sum_{i>j} l_ij w_i),   / d log d_i = r_k (1 - z_i^2),
///   / d l_ij = r_k w_i e_j
///
/// As in mixture.cpp, the curvature omits the covariance of the gradients over components. It is diag(p) - p p' for a,
/// r_k J' J with J = d z / d (m, l) for m and l together, and 2 r_k for log d.
template <class T>
class GaussianMixture final : public RowLoss<T>, public RowCurvature<T>, public VectorDensity<T> {
 public:
  explicit GaussianMixture(const GaussianMixtureOptions& options) : options_(options), k_(options.components) {}

  std::string_view name() const override { return "gaussian-mixture"; }
  Index each(Index n) const { return options_.numbers(n); }
  Index target_size(Index signal_size) const override {
    Index n = 1;
    while (k_ * each(n) < signal_size) ++n;
    if (k_ * each(n) != signal_size)
      throw UsageError("gaussian-mixture loss: the signal has " + std::to_string(signal_size) +
                       " numbers; the size must be " + std::to_string(k_) +
                       (is_full() ? " * (1 + 2 n + n (n - 1) / 2)" : " * (1 + 2 n)") +
                       ", where n is the number of predicted numbers");
    return n;
  }

  void row_losses(Matrix<const T> signal, const Targets<T>& targets, T* nats) const override {
    require_values<T>(*this, signal, targets);
    for (Index r = 0; r < signal.rows; ++r)
      nats[r] = is_predicted(targets, r) ? respond(work_for(signal.cols), signal.row(r), targets.values.row(r)) : T{0};
  }

  void row_gradients(Matrix<const T> signal, const Targets<T>& targets, T scale, T* nats,
                     Matrix<T> adjoint) const override {
    require_values<T>(*this, signal, targets);
    for (Index r = 0; r < signal.rows; ++r) {
      nats[r] = 0;
      if (left_out(targets, r, adjoint)) continue;
      const Work work = work_for(signal.cols);
      nats[r] = respond(work, signal.row(r), targets.values.row(r));
      T* out = adjoint.row(r);
      for (Index k = 0; k < k_; ++k) {
        const Part of = part(work, k);
        const T share = scale * work.share[k];
        put_back(work, k, of.w, share, out);
        for (Index i = 0; i < work.n; ++i)
          place(out, work, k)[work.n + i] = share * ((1 - of.z[i] * of.z[i]) * of.slope[i]);
      }
      for (Index k = 0; k < k_; ++k) out[k] = scale * (work.p[k] - work.share[k]);
    }
  }

  void row_curvatures(Matrix<const T> signal, const Targets<T>& targets, T scale, Matrix<const T> tangent,
                      Matrix<T> result) const override {
    each_response(signal, targets, result, [&](const Work& work, Index r, T* out) {
      const T* v = tangent.row(r);
      const auto along = static_cast<T>(dot(span_of<T>(work.p, k_), span_of(v, k_)));
      for (Index k = 0; k < k_; ++k) {
        const Part of = part(work, k);
        const T *vm = place(v, work, k), *vs = vm + work.n, *vl = vs + work.n;
        for (Index i = 0; i < work.n; ++i) {
          const T *l = row_of(of.l, i), *moved = row_of(vl, i);
          const Index before = regressors(i);
          const auto lm = static_cast<T>(dot(span_of(l, before), span_of(vm, before)));
          const auto le = static_cast<T>(dot(span_of(moved, before), span_of<T>(of.e, before)));
          work.more[i] = of.inverse[i] * (of.inverse[i] * (le - lm - vm[i]));
        }
        const T share = scale * work.share[k];
        put_back(work, k, work.more, share, out);
        for (Index i = 0; i < work.n; ++i)
          place(out, work, k)[work.n + i] = share * (2 * of.slope[i] * of.slope[i] * vs[i]);
      }
      for (Index k = 0; k < k_; ++k) out[k] = scale * (work.p[k] * (v[k] - along));
    });
  }

  /// For m and l together, the noise of m is sufficient, because J' noise has covariance J' J.
  void row_curvature_roots(Matrix<const T> signal, const Targets<T>& targets, T scale, Matrix<const T> noise,
                           Matrix<T> result) const override {
    each_response(signal, targets, result, [&](const Work& work, Index r, T* out) {
      const T* v = noise.row(r);
      T along = 0;
      for (Index k = 0; k < k_; ++k) along += std::sqrt(work.p[k]) * v[k];
      for (Index k = 0; k < k_; ++k) {
        const Part of = part(work, k);
        const T *vm = place(v, work, k), *vs = vm + work.n;
        for (Index i = 0; i < work.n; ++i) work.more[i] = of.inverse[i] * vm[i];
        const T root = scale * std::sqrt(work.share[k]);
        T* to = place(out, work, k) + work.n;
        for (Index i = 0; i < work.n; ++i)
          to[i] = root * (static_cast<T>(std::sqrt(2.0)) * std::fabs(of.slope[i]) * vs[i]);
        put_back(work, k, work.more, root, out);
      }
      for (Index k = 0; k < k_; ++k) out[k] = scale * (std::sqrt(work.p[k]) * v[k] - work.p[k] * along);
    });
  }

  bool any_order() const override { return true; }

  double mean(const DensityQuery<T>& q, std::span<const char> known, std::span<const T> values,
              Index d) const override {
    const std::vector<Conditional> given = conditionals(q, known, values);
    double result = 0;
    for (const Conditional& component : given) result += component.share * component.mean[at(d)];
    return result;
  }

  double sample(const DensityQuery<T>& q, Random& random, std::span<const char> known,
                std::span<T> values) const override {
    const std::vector<Conditional> given = conditionals(q, known, values);
    double left = random.uniform();
    std::size_t chosen = 0;
    while (chosen + 1 < given.size() && (left -= given[chosen].share) >= 0) ++chosen;
    const Conditional& of = given[chosen];
    const std::size_t n = of.unknown.size();
    std::vector<double> noise(n);
    for (double& x : noise) x = random.normal();
    for (std::size_t i = 0; i < n; ++i) {
      double x = of.mean[at(of.unknown[i])];
      for (std::size_t j = 0; j <= i; ++j) x += of.factor[i * n + j] * noise[j];
      values[at(of.unknown[i])] = static_cast<T>(x);
    }
    return 0;
  }

 private:
  /// Work arrays of one row. For each component: e, u then z, w, log d, 1 / d and d log d / d s.
  struct Work {
    Index n;
    T *signal, *log_p, *p, *share, *more, *parts;
  };
  struct Part {
    const T *m, *s, *l;
    T *e, *z, *w, *log_d, *inverse, *slope;
  };
  static constexpr Index kPart = 6;

  Work work_for(Index signal_size) const {
    const Index n = target_size(signal_size);
    T* m = row_scratch<T, kMixtureMemory>(3 * k_ + n + k_ * kPart * n + signal_size);
    T* copy = m + 3 * k_ + n + k_ * kPart * n;
    return {n, copy, m, m + k_, m + 2 * k_, m + 3 * k_, m + 3 * k_ + n};
  }
  /// Returns the position of m of a component; s and l follow.
  template <class U>
  U* place(U* row, const Work& work, Index k) const {
    return row + k_ + k * (each(work.n) - 1);
  }
  bool is_full() const { return options_.covariance == Covariance::full; }
  /// Returns how many preceding numbers number i depends on.
  Index regressors(Index i) const { return is_full() ? i : 0; }
  Index row_begin(Index i) const { return is_full() ? i * (i - 1) / 2 : 0; }
  const T* row_of(const T* l, Index i) const { return l + row_begin(i); }
  Part part(const Work& work, Index k) const {
    const Index n = work.n;
    const T* m = place(work.signal, work, k);
    T* own = work.parts + k * kPart * n;
    return {m, m + n, m + 2 * n, own, own + n, own + 2 * n, own + 3 * n, own + 4 * n, own + 5 * n};
  }

  /// Returns the nats of a row; stores all intermediate values in `work`. Copies the signal because results may
  /// overwrite it.
  T respond(const Work& work, const T* o, const T* y) const {
    const Index n = work.n;
    std::copy_n(o, k_ * each(n), work.signal);
    log_softmax(work.signal, work.log_p, k_);
    vector_exp(work.log_p, work.p, k_);
    for (Index k = 0; k < k_; ++k) {
      const Part of = part(work, k);
      deviations(of.s, n, of.log_d, of.inverse, of.slope);
      for (Index i = 0; i < n; ++i) of.e[i] = y[i] - of.m[i];
      for (Index i = 0; i < n; ++i) {
        const T u =
            of.e[i] + static_cast<T>(dot(span_of(row_of(of.l, i), regressors(i)), span_of<T>(of.e, regressors(i))));
        of.z[i] = u * of.inverse[i];
        of.w[i] = of.z[i] * of.inverse[i];
      }
      work.share[k] = work.log_p[k] - static_cast<T>(sum(span_of<T>(of.log_d, n))) -
                      static_cast<T>(0.5 * dot(span_of<T>(of.z, n), span_of<T>(of.z, n)));
    }
    const T total = log_sum_exp(work.share, k_);
    for (Index k = 0; k < k_; ++k) work.share[k] -= total;
    vector_exp(work.share, work.share, k_);
    return static_cast<T>(static_cast<double>(n) * kHalfLogTwoPi) - total;
  }

  /// Sets out at m and l of a component to factor J' D w, where w = z / d: -(w_j + sum_i l_ij w_i) and w_i e_j.
  void put_back(const Work& work, Index k, const T* w, T factor, T* out) const {
    const Part of = part(work, k);
    const Index n = work.n;
    T *to_m = place(out, work, k), *to_l = to_m + 2 * n;
    for (Index j = 0; j < n; ++j) to_m[j] = -w[j];
    for (Index i = 0; i < n; ++i) {
      axpy<T>(-w[i], span_of(row_of(of.l, i), regressors(i)), {to_m, at(regressors(i))});
      T* to = to_l + row_begin(i);
      for (Index j = 0; j < regressors(i); ++j) to[j] = factor * (w[i] * of.e[j]);
    }
    for (Index j = 0; j < n; ++j) to_m[j] *= factor;
  }

  template <class Use>
  void each_response(Matrix<const T> signal, const Targets<T>& targets, Matrix<T> result, const Use& use) const {
    require_values<T>(*this, signal, targets);
    for (Index r = 0; r < signal.rows; ++r) {
      if (left_out(targets, r, result)) continue;
      const Work work = work_for(signal.cols);
      respond(work, signal.row(r), targets.values.row(r));
      use(work, r, result.row(r));
    }
  }

  /// The conditional distribution of a component given the known values.
  struct Conditional {
    double share;
    std::vector<double> mean;    ///< [n]; the values of known numbers
    std::vector<Index> unknown;  ///< indices of the unknown numbers
    std::vector<double> factor;  ///< Cholesky factor of their covariance
  };

  std::vector<Conditional> conditionals(const DensityQuery<T>& q, std::span<const char> known,
                                        std::span<const T> values) const {
    const Index n = target_size(static_cast<Index>(q.signal.size()));
    require_same(name(), "values", static_cast<Index>(values.size()), n);
    require_same(name(), "flags", static_cast<Index>(known.size()), n);
    std::vector<Conditional> result;
    std::vector<double> log_share(q.signal.begin(), q.signal.begin() + k_);
    for (Index k = 0; k < k_; ++k)
      result.push_back(conditional(q.signal.data() + k_ + k * (each(n) - 1), n, known, values, log_share[at(k)]));
    softmax(log_share.data(), log_share.data(), k_);
    for (Index k = 0; k < k_; ++k) result[at(k)].share = log_share[at(k)];
    return result;
  }

  /// Orders the numbers as known, unknown: the Cholesky factor of their covariance is [F 0; G H], with F for the known
  /// numbers. With t = F^-1 (x - m), the unknown numbers are m + G t + H noise, and log p(known) = -|t|^2 / 2 - log det
  /// F, up to a constant.
  Conditional conditional(const T* m, Index n, std::span<const char> known, std::span<const T> values,
                          double& log_share) const {
    std::vector<Index> order;
    Conditional result{0, std::vector<double>(m, m + n), {}, {}};
    for (Index d = 0; d < n; ++d)
      if (known[at(d)] != 0) order.push_back(d);
    const auto given = static_cast<Index>(order.size());
    for (Index d = 0; d < n; ++d)
      if (known[at(d)] == 0) result.unknown.push_back(d);
    order.insert(order.end(), result.unknown.begin(), result.unknown.end());
    const std::vector<double> spread = covariance_factor(m, n);
    std::vector<double> a(at(n * n));
    for (Index i = 0; i < n; ++i)
      for (Index j = 0; j <= i; ++j)
        a[at(i * n + j)] = dot(std::span<const double>(spread).subspan(at(order[at(i)] * n), at(n)),
                               std::span<const double>(spread).subspan(at(order[at(j)] * n), at(n)));
    if (!cholesky(a.data(), n, n))
      throw ModelError("gaussian-mixture: the covariance of a component is not positive definite in double precision");
    std::vector<double> t;
    for (Index i = 0; i < given; ++i) {
      const Index d = order[at(i)];
      double x = static_cast<double>(values[at(d)]) - result.mean[at(d)];
      for (Index j = 0; j < i; ++j) x -= a[at(i * n + j)] * t[at(j)];
      t.push_back(x / a[at(i * n + i)]);
      double log_f = a[at(i * n + i)];
      vector_log(&log_f, &log_f, 1);
      log_share -= 0.5 * t.back() * t.back() + log_f;
      result.mean[at(d)] = static_cast<double>(values[at(d)]);
    }
    for (Index i = given; i < n; ++i) {
      for (Index j = 0; j < given; ++j) result.mean[at(order[at(i)])] += a[at(i * n + j)] * t[at(j)];
      for (Index j = given; j < n; ++j) result.factor.push_back(j <= i ? a[at(i * n + j)] : 0);
    }
    return result;
  }

  /// Returns M^-1 diag(d), where M = 1 + l; this matrix times its transpose is the covariance.
  std::vector<double> covariance_factor(const T* m, Index n) const {
    std::vector<double> factor(at(n * n));
    const T *s = m + n, *l = m + 2 * n;
    for (Index i = 0; i < n; ++i) {
      factor[at(i * n + i)] = deviation(static_cast<double>(s[i]));
      for (Index j = 0; j < regressors(i); ++j)
        for (Index c = 0; c <= j; ++c)
          factor[at(i * n + c)] -= static_cast<double>(row_of(l, i)[j]) * factor[at(j * n + c)];
    }
    return factor;
  }

  GaussianMixtureOptions options_;
  Index k_;
};

template <class T>
std::unique_ptr<Loss<T>> make_gaussian_mixture(const AnyOptions& any) {
  const auto& options = any.as<GaussianMixtureOptions>();
  if (options.fit == MixtureFitting::gradients && (options.prior != kPriorVariance || options.pooled > 0))
    throw UsageError(std::string("gaussian-mixture: ") + (options.pooled > 0 ? "pooled" : "prior") +
                     "= applies to fit=em, not to training by gradients; leave one of them out");
  return std::make_unique<GaussianMixture<T>>(options);
}

}  // namespace

template <class T>
std::unique_ptr<Loss<T>> gaussian_mixture_loss(Index components) {
  return std::make_unique<GaussianMixture<T>>(GaussianMixtureOptions{.components = components});
}

template std::unique_ptr<Loss<float>> gaussian_mixture_loss<float>(Index);
template std::unique_ptr<Loss<double>> gaussian_mixture_loss<double>(Index);

LossEntry gaussian_mixture_entry() {
  return {.name = "gaussian-mixture",
          .help = "numbers: a mixture of Gaussians with full or diagonal covariances",
          .of_symbols = false,
          .make_float = make_gaussian_mixture<float>,
          .make_double = make_gaussian_mixture<double>,
          .options = GaussianMixtureOptions(),
          .main_option = "components",
          .size_of_signal =
              [](Index n, const AnyOptions& any) {
                const auto& options = any.as<GaussianMixtureOptions>();
                return options.components * options.numbers(n);
              },
          .density = Density::numbers};
}

}  // namespace unfold
