#include <algorithm>
#include <cmath>
#include <memory>
#include <numbers>

#include "loss/deviation.h"
#include "loss/expected_target.h"
#include "loss/inverted_distribution.h"
#include "loss/univariate_distributions.h"
#include "numerics/special/gamma.h"
#include "unfold/graph/circuit/circuit.h"
#include "unfold/loss/registry.h"
#include "unfold/loss/rows.h"

namespace unfold {
namespace {

/// y = m + d t, where t has Student's distribution with f degrees of freedom; f = 2 + softplus(u), so that the variance
/// d^2 f / (f - 2) is finite. The signal is (m, s, u), with log d as in the normal loss. With z = (y - m) / d:
///
///   nats          = log Gamma(f / 2) - log Gamma((f + 1) / 2) + log(pi f) / 2 + log d + (f + 1) / 2 log(1 + z^2 / f)
///   d / d m       = -(f + 1) z / (d (f + z^2))
///   d / d log d   = 1 - (f + 1) z^2 / (f + z^2)
///   d / d f       = (psi(f / 2) - psi((f + 1) / 2) + 1 / f + log(1 + z^2 / f) - (f + 1) z^2 / (f (f + z^2))) / 2
///
/// The curvature is the Fisher matrix (Lange, Little & Taylor 1989), which has one entry off the diagonal:
///
///   m:  (f + 1) / ((f + 3) d^2),   log d:  2 f / (f + 3),   log d and f:  -2 / ((f + 1) (f + 3)),
///   f:  (psi'(f / 2) - psi'((f + 1) / 2)) / 4 - (f + 5) / (2 f (f + 1) (f + 3))
struct StudentComponent {
  double mean, log_d, inverse, deviation_slope, freedom, freedom_slope;

  double z(double y) const { return (y - mean) * inverse; }
  double deviation() const { return 1 / inverse; }
};

template <class T>
StudentComponent student_component(const T* o, Index n, Index i) {
  StudentComponent c{};
  c.mean = o[i];
  const double s = o[n + i], u = o[2 * n + i];
  deviations(&s, 1, &c.log_d, &c.inverse, &c.deviation_slope);
  vector_softplus(&u, &c.freedom, 1);
  vector_sigmoid(&u, &c.freedom_slope, 1);
  c.freedom += 2;
  return c;
}

double student_nats(const StudentComponent& c, double y) {
  const double f = c.freedom, z = c.z(y);
  double log_pi_f = std::numbers::pi * f;
  vector_log(&log_pi_f, &log_pi_f, 1);
  return c.log_d + 0.5 * (log_pi_f + (f + 1) * log_of_one_plus(z * z / f)) - log_gamma_half_step(0.5 * f);
}

/// Derivatives with respect to m, s and u.
struct StudentSlopes {
  double mean, deviation, freedom;
};

StudentSlopes student_slopes(const StudentComponent& c, double y) {
  const double f = c.freedom, z = c.z(y), square = z * z, share = (f + 1) * square / (f + square);
  const double by_freedom =
      0.5 * (digamma(0.5 * f) - digamma(0.5 * f + 0.5) + (1 - share) / f + log_of_one_plus(square / f));
  return {.mean = -(f + 1) * z * c.inverse / (f + square),
          .deviation = (1 - share) * c.deviation_slope,
          .freedom = by_freedom * c.freedom_slope};
}

/// The Fisher matrix with respect to m, s and u; `cross` is the entry of s and u.
struct StudentFisher {
  double mean, deviation, cross, freedom;
};

/// The information about f. Its terms cancel for large f, where a series in 1 / f is used.
double freedom_information(double f) {
  constexpr double kManyDegrees = 300;
  if (f < kManyDegrees)
    return 0.25 * (trigamma(0.5 * f) - trigamma(0.5 * f + 0.5)) - (f + 5) / (2 * f * (f + 1) * (f + 3));
  const double r = 1 / f;
  return r * r * r * r * (3.5 - r * (13 - r * (39.5 - r * (119 - r * 363.5))));
}

StudentFisher student_fisher(const StudentComponent& c) {
  const double f = c.freedom;
  return {.mean = (f + 1) / (f + 3) * (c.inverse * c.inverse),
          .deviation = 2 * f / (f + 3) * (c.deviation_slope * c.deviation_slope),
          .cross = -2 / ((f + 1) * (f + 3)) * (c.deviation_slope * c.freedom_slope),
          .freedom = freedom_information(f) * (c.freedom_slope * c.freedom_slope)};
}

template <class T>
class StudentLoss final : public RowLoss<T>,
                          public RowCurvature<T>,
                          public LossFisher<T>,
                          public InvertedDistribution<T>,
                          public ExpectedTarget<T> {
 public:
  std::string_view name() const override { return "student-t"; }
  Index target_size(Index signal_size) const override {
    if (signal_size % 3 != 0)
      throw UsageError("student-t loss: the signal has " + std::to_string(signal_size) +
                       " numbers; it must have a mean, a scale and degrees of freedom for each predicted number");
    return signal_size / 3;
  }
  Signal expected_target(Circuit& circuit, Signal signal) const override {
    return circuit.map(Map::copy, circuit.slice(signal, 0, signal.size() / 3));
  }

  void row_losses(Matrix<const T> signal, const Targets<T>& targets, T* nats) const override {
    require_values(*this, signal, targets);
    for (Index r = 0; r < signal.rows; ++r) nats[r] = is_predicted(targets, r) ? nats_of(signal, targets, r) : T{0};
  }

  void row_gradients(Matrix<const T> signal, const Targets<T>& targets, T scale, T* nats,
                     Matrix<T> adjoint) const override {
    require_values(*this, signal, targets);
    const Index n = signal.cols / 3;
    for (Index r = 0; r < signal.rows; ++r) {
      nats[r] = 0;
      if (left_out(targets, r, adjoint)) continue;
      nats[r] = nats_of(signal, targets, r);
      T* out = adjoint.row(r);
      for (Index i = 0; i < n; ++i) {
        const StudentSlopes slopes = student_slopes(student_component(signal.row(r), n, i), targets.values(r, i));
        out[i] = scale * static_cast<T>(slopes.mean);
        out[n + i] = scale * static_cast<T>(slopes.deviation);
        out[2 * n + i] = scale * static_cast<T>(slopes.freedom);
      }
    }
  }

  void row_curvatures(Matrix<const T> signal, const Targets<T>& targets, T scale, Matrix<const T> tangent,
                      Matrix<T> result) const override {
    for_components(signal, targets, result, [&](Index r, Index i, Index n, const StudentFisher& fisher) {
      const double s = tangent(r, n + i), u = tangent(r, 2 * n + i);
      result(r, i) = scale * static_cast<T>(fisher.mean * tangent(r, i));
      result(r, n + i) = scale * static_cast<T>(fisher.deviation * s + fisher.cross * u);
      result(r, 2 * n + i) = scale * static_cast<T>(fisher.cross * s + fisher.freedom * u);
    });
  }

  void row_curvature_roots(Matrix<const T> signal, const Targets<T>& targets, T scale, Matrix<const T> noise,
                           Matrix<T> result) const override {
    for_components(signal, targets, result, [&](Index r, Index i, Index n, const StudentFisher& fisher) {
      // The Cholesky factor of the block of s and u.
      const double root = std::sqrt(fisher.deviation), below = fisher.cross / root;
      const double rest = std::sqrt(std::max(0.0, fisher.freedom - below * below));
      const double s = noise(r, n + i), u = noise(r, 2 * n + i);
      result(r, i) = scale * static_cast<T>(std::sqrt(fisher.mean) * noise(r, i));
      result(r, n + i) = scale * static_cast<T>(root * s);
      result(r, 2 * n + i) = scale * static_cast<T>(below * s + rest * u);
    });
  }

  void fisher_diagonal(Matrix<const T> signal, const Targets<T>& targets, Matrix<T> seed) const override {
    for_components(signal, targets, seed, [&](Index r, Index i, Index n, const StudentFisher& fisher) {
      seed(r, i) = static_cast<T>(fisher.mean);
      seed(r, n + i) = static_cast<T>(fisher.deviation);
      seed(r, 2 * n + i) = static_cast<T>(fisher.freedom);
    });
  }

  void fisher_through(Matrix<const T> signal, const Targets<T>& targets, Matrix<const T> w,
                      Matrix<T> seed) const override {
    require_same(name(), "weight columns", w.cols, signal.cols);
    const Index n = signal.cols / 3;
    for (Index r = 0; r < signal.rows; ++r) {
      if (left_out(targets, r, seed)) continue;
      for (Index j = 0; j < w.rows; ++j) {
        double sum = 0;
        for (Index i = 0; i < n; ++i) {
          const StudentFisher fisher = student_fisher(student_component(signal.row(r), n, i));
          const double m = w(j, i), s = w(j, n + i), u = w(j, 2 * n + i);
          sum += fisher.mean * m * m + fisher.deviation * s * s + 2 * fisher.cross * s * u + fisher.freedom * u * u;
        }
        seed(r, j) = static_cast<T>(sum);
      }
    }
  }

  void mean(std::span<const T> signal, std::span<T> mean) const override {
    require_size(*this, signal, mean);
    std::ranges::copy(signal.first(mean.size()), mean.begin());
  }

 protected:
  double quantile_at(std::span<const T> signal, std::size_t i, double level) const override {
    const StudentComponent c = component(signal, i);
    return c.mean + c.deviation() * student_quantile(level, c.freedom);
  }
  double crps_at(std::span<const T> signal, std::size_t i, double observed) const override {
    const StudentComponent c = component(signal, i);
    return c.deviation() * student_crps(c.freedom, c.z(observed));
  }

 private:
  static T nats_of(Matrix<const T> signal, const Targets<T>& targets, Index row) {
    const Index n = signal.cols / 3;
    double sum = 0;
    for (Index i = 0; i < n; ++i) sum += student_nats(student_component(signal.row(row), n, i), targets.values(row, i));
    return static_cast<T>(sum);
  }
  /// Calls use(row, i, n, Fisher matrix) for each component of each predicted row and sets the other rows to 0.
  template <class Use>
  static void for_components(Matrix<const T> signal, const Targets<T>& targets, Matrix<T> result, const Use& use) {
    const Index n = signal.cols / 3;
    for (Index r = 0; r < signal.rows; ++r) {
      if (left_out(targets, r, result)) continue;
      for (Index i = 0; i < n; ++i) use(r, i, n, student_fisher(student_component(signal.row(r), n, i)));
    }
  }
  static StudentComponent component(std::span<const T> signal, std::size_t i) {
    return student_component(signal.data(), static_cast<Index>(signal.size()) / 3, static_cast<Index>(i));
  }
};

template <class T>
std::unique_ptr<Loss<T>> student_loss() {
  return std::make_unique<StudentLoss<T>>();
}

}  // namespace

LossEntry student_entry() {
  return {.name = "student-t",
          .help =
              "real vectors with outliers: (y_i - m_i) / d_i has Student's t distribution with learned degrees of "
              "freedom",
          .of_symbols = false,
          .make_float = student_loss<float>,
          .make_double = student_loss<double>,
          .size_of_signal = [](Index field_size, const AnyOptions&) { return 3 * field_size; }};
}

}  // namespace unfold
