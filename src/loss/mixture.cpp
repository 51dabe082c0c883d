#include <cmath>
#include <memory>
#include <vector>

#include "graph/circuit/cell_maps.h"
#include "loss/deviation.h"
#include "loss/distribution.h"
#include "loss/expected_target.h"
#include "loss/univariate_distributions.h"
#include "unfold/graph/circuit/circuit.h"
#include "unfold/loss/registry.h"
#include "unfold/loss/rows.h"
#include "unfold/numerics/vector.h"

namespace unfold {
namespace {

/// With p = softmax(a), the joint density j_k = p_k prod_i N(y_i; m_ki, d_ki^2) and the responsibilities
/// r_k = j_k / sum_l j_l:
///
///   nats = -log sum_k j_k
///   d nats / d a_k = p_k - r_k,  / d m_ki = -r_k z_ki / d_ki,  / d log d_ki = r_k (1 - z_ki^2),
///   z_ki = (y_i - m_ki) / d_ki
///
/// Curvature. With a hidden component k, -log p(y) = E_r[-log j_k] - entropy(r). The first derivative is given above;
/// the second is H = E_r[Hessian of -log j_k] - Cov_r[gradient of log j_k]. The covariance makes H indefinite. Without
/// the covariance, the remainder is an upper bound of H: diag(p) - p p' for a, and for each component r_k times the
/// Hessian of a Gaussian, which is replaced by its Fisher matrix as in the normal loss:
///
///   G = (diag(p) - p p')  +  diag(r_k / d_ki^2) for m  +  diag(2 r_k) for log d.
///
/// Fisher metric. The metric of y has no closed form, but the metric of the pair (k, y) has: it is G with p_k, the mean
/// of r_k, in place of r_k. It is an upper bound of the metric of y, with equality if the components do not overlap.
template <class T>
class MixtureLoss final : public RowLoss<T>,
                          public RowCurvature<T>,
                          public LossFisher<T>,
                          public ValueDistribution<T>,
                          public ExpectedTarget<T> {
 public:
  explicit MixtureLoss(Index components) : components_(components) {
    if (components < 1) throw UsageError("mixture loss: at least one component is required");
  }

  std::string_view name() const override { return "mixture"; }
  Index target_size(Index signal_size) const override {
    const Index each = signal_size / components_;
    if (signal_size < components_ || signal_size % components_ != 0 || each % 2 != 1)
      throw UsageError("mixture loss: the signal has " + std::to_string(signal_size) + " numbers; the size must be " +
                       std::to_string(components_) + " * (1 + 2 n), where n is the number of predicted numbers");
    return each / 2;
  }
  Signal expected_target(Circuit& circuit, Signal signal) const override {
    const Index n = target_size(signal.size());
    const Term mean{.parameter = "mean",
                    .source = circuit.slice(signal, 0, components_ * (1 + n)),
                    .init = Init::zero(),
                    .op = mixture_mean(components_, n)};
    return circuit.affine("expected", n, {mean}, Init::zero(), false);
  }

  void row_losses(Matrix<const T> signal, const Targets<T>& targets, T* nats) const override {
    require_values(*this, signal, targets);
    const Work work = work_for(signal.cols);
    for (Index r = 0; r < signal.rows; ++r) {
      nats[r] = 0;
      if (is_predicted(targets, r)) nats[r] = respond(work, signal.row(r), targets.values.row(r));
    }
  }

  void row_gradients(Matrix<const T> signal, const Targets<T>& targets, T scale, T* nats,
                     Matrix<T> adjoint) const override {
    require_values(*this, signal, targets);
    const Work work = work_for(signal.cols);
    for (Index r = 0; r < signal.rows; ++r) {
      nats[r] = 0;
      if (left_out(targets, r, adjoint)) continue;
      nats[r] = respond(work, signal.row(r), targets.values.row(r));
      slopes(work, signal.row(r), targets.values.row(r), scale, adjoint.row(r));
    }
  }

  void row_curvatures(Matrix<const T> signal, const Targets<T>& targets, T scale, Matrix<const T> tangent,
                      Matrix<T> result) const override {
    require_values(*this, signal, targets);
    const Work work = work_for(signal.cols);
    for (Index r = 0; r < signal.rows; ++r) {
      if (left_out(targets, r, result)) continue;
      respond(work, signal.row(r), targets.values.row(r));
      information(work, work.share);
      const T* v = tangent.row(r);
      T* out = result.row(r);
      const T along = static_cast<T>(dot(span_of<T>(work.p, components_), span_of(v, components_)));
      for (Index k = 0; k < components_; ++k) out[k] = scale * (work.p[k] * (v[k] - along));
      for (Index i = components_; i < signal.cols; ++i) out[i] = scale * (work.information[i - components_] * v[i]);
    }
  }

  void row_curvature_roots(Matrix<const T> signal, const Targets<T>& targets, T scale, Matrix<const T> noise,
                           Matrix<T> result) const override {
    require_values(*this, signal, targets);
    const Work work = work_for(signal.cols);
    for (Index r = 0; r < signal.rows; ++r) {
      if (left_out(targets, r, result)) continue;
      respond(work, signal.row(r), targets.values.row(r));
      information(work, work.share);
      const T* z = noise.row(r);
      T* out = result.row(r);
      T* root = work.share;  // sqrt(p); diag(root) - p root' is a root of diag(p) - p p'
      for (Index k = 0; k < components_; ++k) root[k] = std::sqrt(work.p[k]);
      const T along = static_cast<T>(dot(span_of<T>(root, components_), span_of(z, components_)));
      for (Index k = 0; k < components_; ++k) out[k] = scale * (root[k] * z[k] - work.p[k] * along);
      for (Index i = components_; i < signal.cols; ++i)
        out[i] = scale * (std::sqrt(work.information[i - components_]) * z[i]);
    }
  }

  void fisher_diagonal(Matrix<const T> signal, const Targets<T>& targets, Matrix<T> seed) const override {
    const Work work = work_for(signal.cols);
    for (Index r = 0; r < signal.rows; ++r) {
      if (left_out(targets, r, seed)) continue;
      prepare(work, signal.row(r));
      information(work, work.p);
      T* out = seed.row(r);
      for (Index k = 0; k < components_; ++k) out[k] = work.p[k] * (1 - work.p[k]);
      for (Index i = components_; i < signal.cols; ++i) out[i] = work.information[i - components_];
    }
  }

  void fisher_through(Matrix<const T> signal, const Targets<T>& targets, Matrix<const T> w,
                      Matrix<T> seed) const override {
    require_same(name(), "weight columns", w.cols, signal.cols);
    const Work work = work_for(signal.cols);
    const Index rest = signal.cols - components_;
    for (Index r = 0; r < signal.rows; ++r) {
      if (left_out(targets, r, seed)) continue;
      prepare(work, signal.row(r));
      information(work, work.p);
      for (Index i = 0; i < w.rows; ++i) {
        const T* wi = w.row(i);
        T* square = work.share;
        const T mean = static_cast<T>(dot(span_of<T>(work.p, components_), span_of(wi, components_)));
        for (Index k = 0; k < components_; ++k) square[k] = (wi[k] - mean) * (wi[k] - mean);
        for (Index x = 0; x < rest; ++x) work.scratch[x] = wi[components_ + x] * wi[components_ + x];
        seed(r, i) = static_cast<T>(dot(span_of<T>(work.p, components_), span_of<T>(square, components_)) +
                                    dot(span_of<T>(work.information, rest), span_of<T>(work.scratch, rest)));
      }
    }
  }

  void mean(std::span<const T> signal, std::span<T> mean) const override {
    require_size(*this, signal, mean);
    for (std::size_t i = 0; i < mean.size(); ++i) {
      double sum = 0;
      for (const WeightedNormal& each : component(signal, i)) sum += each.weight * each.mean;
      mean[i] = static_cast<T>(sum);
    }
  }
  void quantile(std::span<const T> signal, double level, std::span<T> values) const override {
    require_size(*this, signal, values);
    require_level(level);
    for (std::size_t i = 0; i < values.size(); ++i)
      values[i] = static_cast<T>(mixture_quantile(component(signal, i), level));
  }
  void component_crps(std::span<const T> signal, std::span<const T> observed, std::span<double> scores) const override {
    require_size(*this, signal, observed);
    require_size(*this, signal, scores);
    for (std::size_t i = 0; i < observed.size(); ++i) scores[i] = mixture_crps(component(signal, i), observed[i]);
  }
  /// Draws all numbers of a row from the same component, because they depend on each other.
  void sample(std::span<const T> signal, Random& random, std::span<T> values) const override {
    require_size(*this, signal, values);
    std::vector<double> log_p(signal.begin(), signal.begin() + components_);
    log_softmax(log_p.data(), log_p.data(), components_);
    const Symbol k = sample_symbol<double>(log_p, random);
    const T* m = signal.data() + components_ + k * static_cast<Index>(values.size());
    const T* s = m + components_ * static_cast<Index>(values.size());
    for (std::size_t i = 0; i < values.size(); ++i)
      values[i] = static_cast<T>(m[i] + deviation(s[i]) * random.normal());
  }

 private:
  /// Work arrays of one row that predicts n numbers.
  struct Work {
    Index n;
    T *log_p, *p, *share;        ///< [components]; share: the responsibilities
    T *log_d, *inverse, *slope;  ///< [components x n], see deviations()
    T *scratch, *information;    ///< [2 x components x n]; diagonal of G at m and s
  };
  Work work_for(Index signal_size) const {
    const Index n = target_size(signal_size), kn = components_ * n;
    T* memory = row_scratch<T, 2>(3 * components_ + 7 * kn);
    T* wide = memory + 3 * components_;
    return {n,
            memory,
            memory + components_,
            memory + 2 * components_,
            wide,
            wide + kn,
            wide + 2 * kn,
            wide + 3 * kn,
            wide + 5 * kn};
  }

  void prepare(const Work& work, const T* o) const {
    log_softmax(o, work.log_p, components_);
    vector_exp(work.log_p, work.p, components_);
    const Index kn = components_ * work.n;
    deviations(o + components_ + kn, kn, work.log_d, work.inverse, work.slope);
  }
  /// Returns the nats of a row; stores the responsibilities in `share`.
  T respond(const Work& work, const T* o, const T* y) const {
    prepare(work, o);
    const Index n = work.n;
    for (Index k = 0; k < components_; ++k) {
      for (Index i = 0; i < n; ++i) {
        const T z = (y[i] - o[components_ + k * n + i]) * work.inverse[k * n + i];
        work.scratch[i] = work.log_d[k * n + i] + T{0.5} * (z * z);
      }
      work.share[k] = work.log_p[k] - static_cast<T>(sum(span_of<T>(work.scratch, n)));
    }
    const T total = log_sum_exp(work.share, components_);
    for (Index k = 0; k < components_; ++k) work.share[k] -= total;
    vector_exp(work.share, work.share, components_);
    return static_cast<T>(static_cast<double>(n) * kHalfLogTwoPi - total);
  }
  /// Call after `respond`. `out` may be o.
  void slopes(const Work& work, const T* o, const T* y, T scale, T* out) const {
    const Index n = work.n, kn = components_ * n;
    for (Index k = 0; k < components_; ++k) out[k] = scale * (work.p[k] - work.share[k]);
    for (Index k = 0; k < components_; ++k)
      for (Index i = 0; i < n; ++i) {
        const Index at = k * n + i;
        const T z = (y[i] - o[components_ + at]) * work.inverse[at];
        out[components_ + at] = scale * (work.share[k] * (-z * work.inverse[at]));
        out[components_ + kn + at] = scale * (work.share[k] * ((1 - z * z) * work.slope[at]));
      }
  }
  void information(const Work& work, const T* weights) const {
    const Index n = work.n, kn = components_ * n;
    for (Index k = 0; k < components_; ++k)
      for (Index at = k * n; at < (k + 1) * n; ++at) {
        work.information[at] = weights[k] * (work.inverse[at] * work.inverse[at]);
        work.information[kn + at] = 2 * weights[k] * (work.slope[at] * work.slope[at]);
      }
  }
  /// Returns the marginal distribution of number i.
  std::vector<WeightedNormal> component(std::span<const T> signal, std::size_t i) const {
    std::vector<double> p(signal.begin(), signal.begin() + components_);
    softmax(p.data(), p.data(), components_);
    const std::size_t count = p.size(), n = (signal.size() / count - 1) / 2;
    std::vector<WeightedNormal> law(count);
    for (std::size_t k = 0; k < count; ++k)
      law[k] = {p[k], signal[count + k * n + i], deviation(signal[count * (1 + n) + k * n + i])};
    return law;
  }

  Index components_;
};

struct MixtureOptions {
  Index components = 5;
};

template <class Visitor>
void describe(Visitor& v, MixtureOptions& o) {
  v("components", o.components, "Gaussians in the mixture", range(1, 1000));
}

}  // namespace

template <class T>
std::unique_ptr<Loss<T>> mixture_loss(Index components) {
  return std::make_unique<MixtureLoss<T>>(components);
}

template std::unique_ptr<Loss<float>> mixture_loss<float>(Index);
template std::unique_ptr<Loss<double>> mixture_loss<double>(Index);

LossEntry mixture_entry() {
  const auto components = [](const AnyOptions& options) { return options.as<MixtureOptions>().components; };
  return {.name = "mixture",
          .help = "real vectors: a mixture of Gaussians with diagonal covariances",
          .of_symbols = false,
          .make_float = [=](const AnyOptions& options) { return mixture_loss<float>(components(options)); },
          .make_double = [=](const AnyOptions& options) { return mixture_loss<double>(components(options)); },
          .options = MixtureOptions(),
          .main_option = "components",
          .size_of_signal = [=](Index field_size,
                                const AnyOptions& options) { return components(options) * (1 + 2 * field_size); }};
}

}  // namespace unfold
