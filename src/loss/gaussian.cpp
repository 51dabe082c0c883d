#include <algorithm>
#include <memory>

#include "loss/distribution.h"
#include "loss/expected_target.h"
#include "loss/univariate_distributions.h"
#include "unfold/graph/circuit/circuit.h"
#include "unfold/loss/registry.h"
#include "unfold/loss/rows.h"
#include "unfold/numerics/vector.h"

namespace unfold {
namespace {

template <class T>
class GaussianLoss final : public RowLoss<T>,
                           public RowCurvature<T>,
                           public LossFisher<T>,
                           public ValueDistribution<T>,
                           public ExpectedTarget<T> {
 public:
  std::string_view name() const override { return "gaussian"; }
  Signal expected_target(Circuit& circuit, Signal signal) const override { return circuit.map(Map::copy, signal); }

  void row_losses(Matrix<const T> signal, const Targets<T>& targets, T* nats) const override {
    require_values(*this, signal, targets);
    T* difference = row_scratch<T>(signal.cols);
    for (Index r = 0; r < signal.rows; ++r)
      nats[r] =
          is_predicted(targets, r) ? row_nats(signal.row(r), targets.values.row(r), signal.cols, difference) : T{0};
  }

  void row_gradients(Matrix<const T> signal, const Targets<T>& targets, T scale, T* nats,
                     Matrix<T> adjoint) const override {
    require_values(*this, signal, targets);
    const Index n = signal.cols;
    for (Index r = 0; r < signal.rows; ++r) {
      T* out = adjoint.row(r);
      if (!is_predicted(targets, r)) {
        nats[r] = 0;
        set_row(out, n, T{0});
        continue;
      }
      nats[r] = row_nats(signal.row(r), targets.values.row(r), n, out);
      for (Index i = 0; i < n; ++i) out[i] *= scale;
    }
  }

  /// H = I.
  void row_curvatures(Matrix<const T> signal, const Targets<T>& targets, T scale, Matrix<const T> tangent,
                      Matrix<T> result) const override {
    for (Index r = 0; r < signal.rows; ++r) {
      const T factor = is_predicted(targets, r) ? scale : T{0};
      for (Index i = 0; i < signal.cols; ++i) result(r, i) = factor * tangent(r, i);
    }
  }

  void row_curvature_roots(Matrix<const T> signal, const Targets<T>& targets, T scale, Matrix<const T> noise,
                           Matrix<T> result) const override {
    row_curvatures(signal, targets, scale, noise, result);  // R = H = I
  }

  void fisher_diagonal(Matrix<const T> signal, const Targets<T>& targets, Matrix<T> seed) const override {
    for (Index r = 0; r < signal.rows; ++r) set_row(seed.row(r), signal.cols, is_predicted(targets, r) ? T{1} : T{0});
  }

  void fisher_through(Matrix<const T> signal, const Targets<T>& targets, Matrix<const T> w,
                      Matrix<T> seed) const override {
    require_same(name(), "weight columns", w.cols, signal.cols);
    for (Index i = 0; i < w.rows; ++i) {
      const T norm = static_cast<T>(sum_of_squares(span_of(w.row(i), w.cols)));
      for (Index r = 0; r < signal.rows; ++r) seed(r, i) = is_predicted(targets, r) ? norm : T{0};
    }
  }

  void mean(std::span<const T> signal, std::span<T> mean) const override {
    require_size(*this, signal, mean);
    std::ranges::copy(signal, mean.begin());
  }
  void quantile(std::span<const T> signal, double level, std::span<T> values) const override {
    require_size(*this, signal, values);
    require_level(level);
    const double z = normal_quantile(level);
    for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<T>(signal[i] + z);
  }
  void component_crps(std::span<const T> signal, std::span<const T> observed, std::span<double> scores) const override {
    require_size(*this, signal, observed);
    require_size(*this, signal, scores);
    for (std::size_t i = 0; i < observed.size(); ++i) {
      const WeightedNormal law{.weight = 1, .mean = signal[i], .deviation = 1};
      scores[i] = mixture_crps({&law, 1}, observed[i]);
    }
  }
  void sample(std::span<const T> signal, Random& random, std::span<T> values) const override {
    require_size(*this, signal, values);
    sample_gaussian<T>(signal, random, values.data());
  }

 private:
  /// Stores signal - target in `difference`, which may be the signal.
  static T row_nats(const T* o, const T* y, Index n, T* difference) {
    for (Index i = 0; i < n; ++i) difference[i] = o[i] - y[i];
    return static_cast<T>(0.5 * sum_of_squares(span_of<T>(difference, n)));
  }
};

}  // namespace

template <class T>
std::unique_ptr<Loss<T>> gaussian_loss() {
  return std::make_unique<GaussianLoss<T>>();
}

template std::unique_ptr<Loss<float>> gaussian_loss<float>();
template std::unique_ptr<Loss<double>> gaussian_loss<double>();

LossEntry gaussian_entry() {
  return {.name = "gaussian",
          .help = "real vectors: squared error, y ~ N(o, I)",
          .of_symbols = false,
          .make_float = gaussian_loss<float>,
          .make_double = gaussian_loss<double>};
}

}  // namespace unfold
