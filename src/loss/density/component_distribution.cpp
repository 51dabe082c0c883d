#include "loss/density/component_distribution.h"

#include <cmath>
#include <string>

#include "loss/density/mean_gradient.h"
#include "loss/deviation.h"
#include "loss/draw.h"
#include "numerics/functions.h"
#include "unfold/base/error.h"
#include "unfold/loss/scratch.h"
#include "unfold/numerics/vector.h"

namespace unfold {
namespace {

constexpr int kLawMemory = 12;  // `user` of row_scratch

/// Throws ModelError if no probability is a number, which happens if weights are finite but too large.
Index drawn_place(const std::vector<double>& log_p, Random& random) {
  const Index drawn = draw_by_logs<double>(log_p, random);
  if (drawn < 0) throw ModelError("cannot sample: the model has no finite probabilities");
  return drawn;
}

template <class T>
class BitLaw final : public ComponentDistribution<T> {
 public:
  Index outputs() const override { return 1; }

  /// log(1 + exp(-|o|)), plus |o| if the sign of o is wrong; this avoids cancellation.
  T nats(const T* o, const T* x, Index n, std::string_view who) const override {
    T* z = row_scratch<T, kLawMemory>(n);
    for (Index i = 0; i < n; ++i) {
      if (x[i] != 0 && x[i] != 1)
        throw DataError(std::string(who) + " supports only bits, but one of the numbers is " + std::to_string(x[i]) +
                        "; use rnade or linear-ar for numbers");
      z[i] = -std::fabs(o[i]);
    }
    vector_softplus(z, z, n);
    for (Index i = 0; i < n; ++i) z[i] += o[i] > 0 ? o[i] * (1 - x[i]) : -o[i] * x[i];
    return static_cast<T>(sum(span_of<T>(z, n)));
  }
  T slopes(const T* o, const T* x, Index n, std::string_view who, T* out) const override {
    const T result = nats(o, x, n, who);
    vector_sigmoid(o, out, n);
    for (Index i = 0; i < n; ++i) out[i] -= x[i];
    return result;
  }
  void curvature(const T* o, const T*, Index n, const T* v, T* out) const override {
    const T* p = probabilities(o, n);
    for (Index i = 0; i < n; ++i) out[i] = p[i] * (1 - p[i]) * v[i];
  }
  void curvature_root(const T* o, const T*, Index n, const T* noise, T* out) const override {
    const T* p = probabilities(o, n);
    for (Index i = 0; i < n; ++i) out[i] = std::sqrt(p[i] * (1 - p[i])) * noise[i];
  }
  double mean(const T* o) const override {
    auto p = static_cast<double>(*o);
    vector_sigmoid(&p, &p, 1);
    return p;
  }
  T sample(const T* o, Random& random) const override { return random.uniform() < mean(o) ? T{1} : T{0}; }
  std::vector<double> probabilities(const T* o) const override { return {1 - mean(o), mean(o)}; }

 private:
  static const T* probabilities(const T* o, Index n) {
    T* p = row_scratch<T, kLawMemory>(n);
    vector_sigmoid(o, p, n);
    return p;
  }
};

/// K logits for each number, which is a class index.
template <class T>
class ClassLaw final : public ComponentDistribution<T> {
 public:
  explicit ClassLaw(Index classes) : k_(classes) {}

  Index outputs() const override { return k_; }

  T nats(const T* o, const T* x, Index n, std::string_view) const override {
    T *log_p = row_scratch<T, kLawMemory>(k_ + n), *each = log_p + k_;
    for (Index i = 0; i < n; ++i) {
      log_softmax(o + i * k_, log_p, k_);
      each[i] = -log_p[static_cast<Index>(x[i])];
    }
    return static_cast<T>(sum(span_of<T>(each, n)));
  }
  T slopes(const T* o, const T* x, Index n, std::string_view who, T* out) const override {
    const T result = nats(o, x, n, who);
    for (Index i = 0; i < n; ++i) {
      softmax(o + i * k_, out + i * k_, k_);
      out[i * k_ + static_cast<Index>(x[i])] -= 1;
    }
    return result;
  }
  void curvature(const T* o, const T*, Index n, const T* v, T* out) const override {
    T* p = row_scratch<T, kLawMemory>(k_);
    for (Index i = 0; i < n; ++i, o += k_, v += k_, out += k_) {
      softmax(o, p, k_);
      T along = 0;
      for (Index k = 0; k < k_; ++k) along += p[k] * v[k];
      for (Index k = 0; k < k_; ++k) out[k] = p[k] * (v[k] - along);
    }
  }
  void curvature_root(const T* o, const T*, Index n, const T* noise, T* out) const override {
    T* p = row_scratch<T, kLawMemory>(k_);
    for (Index i = 0; i < n; ++i, o += k_, noise += k_, out += k_) {
      softmax(o, p, k_);
      T along = 0;  // diag(root) - p root' is a root of diag(p) - p p'
      for (Index k = 0; k < k_; ++k) along += std::sqrt(p[k]) * noise[k];
      for (Index k = 0; k < k_; ++k) out[k] = std::sqrt(p[k]) * noise[k] - p[k] * along;
    }
  }
  double mean(const T* o) const override {
    Index best = 0;
    for (Index k = 1; k < k_; ++k)
      if (o[k] > o[best]) best = k;
    return static_cast<double>(best);
  }
  T sample(const T* o, Random& random) const override {
    std::vector<double> log_p(o, o + k_);
    log_softmax(log_p.data(), log_p.data(), k_);
    return static_cast<T>(drawn_place(log_p, random));
  }
  std::vector<double> probabilities(const T* o) const override {
    std::vector<double> p(o, o + k_);
    softmax(p.data(), p.data(), k_);
    return p;
  }

 private:
  Index k_;
};

/// (m, s) for each number.
template <class T>
class NormalLaw final : public ComponentDistribution<T> {
 public:
  Index outputs() const override { return 2; }

  T nats(const T* o, const T* x, Index n, std::string_view) const override {
    const Deviations d = deviations_of(o, n);
    T* terms = d.more;
    for (Index i = 0; i < n; ++i) {
      const T z = (x[i] - o[2 * i]) * d.inverse[i];
      terms[i] = d.log_d[i] + T{0.5} * (z * z);
    }
    return static_cast<T>(sum(span_of<T>(terms, n)) + static_cast<double>(n) * kHalfLogTwoPi);
  }
  T slopes(const T* o, const T* x, Index n, std::string_view who, T* out) const override {
    const T result = nats(o, x, n, who);
    const Deviations d = deviations_of(o, n);
    for (Index i = 0; i < n; ++i) {
      const T z = (x[i] - o[2 * i]) * d.inverse[i];
      out[2 * i] = -z * d.inverse[i];
      out[2 * i + 1] = (1 - z * z) * d.slope[i];
    }
    return result;
  }
  void curvature(const T* o, const T*, Index n, const T* v, T* out) const override {
    const Deviations d = deviations_of(o, n);
    for (Index i = 0; i < n; ++i) {
      out[2 * i] = d.inverse[i] * d.inverse[i] * v[2 * i];
      out[2 * i + 1] = 2 * (d.slope[i] * d.slope[i]) * v[2 * i + 1];
    }
  }
  void curvature_root(const T* o, const T*, Index n, const T* noise, T* out) const override {
    const Deviations d = deviations_of(o, n);
    for (Index i = 0; i < n; ++i) {
      out[2 * i] = d.inverse[i] * noise[2 * i];
      out[2 * i + 1] = static_cast<T>(std::sqrt(2.0)) * std::fabs(d.slope[i]) * noise[2 * i + 1];
    }
  }
  double mean(const T* o) const override { return static_cast<double>(*o); }
  T sample(const T* o, Random& random) const override {
    return static_cast<T>(static_cast<double>(o[0]) + deviation(static_cast<double>(o[1])) * random.normal());
  }

 private:
  struct Deviations {
    T *log_d, *inverse, *slope, *more;
  };
  static Deviations deviations_of(const T* o, Index n) {
    T* memory = row_scratch<T, kLawMemory>(5 * n);
    T* s = memory + 4 * n;
    for (Index i = 0; i < n; ++i) s[i] = o[2 * i + 1];
    const Deviations d{memory, memory + n, memory + 2 * n, memory + 3 * n};
    deviations(s, n, d.log_d, d.inverse, d.slope);
    return d;
  }
};

/// (a, m, s), K each, for each number. With z = (x - m) / d, the density of a component is exp(-z^2 / 2) / (d sqrt(2
/// pi)) or exp(-|z|) / (2 d). Gradients and curvature are the same as in mixture.cpp for one number; the Fisher matrix
/// of the Laplace distribution is 1 / d^2 for m and 1 for log d.
///
/// With a background of weight b, the density is (1 - b) times the density of the mixture plus b times Laplace(0, 2).
/// The background is a component without outputs: it has a responsibility in the value and the gradients, but no
/// parameters.
template <class T>
class MixtureLaw final : public ComponentDistribution<T> {
 public:
  MixtureLaw(Index components, MixtureShape shape, double background, MeanGradient means)
      : k_(components), shape_(shape), background_(background), scaled_(means == MeanGradient::scaled) {
    if (background == 0) return;
    double logs[] = {1 - background, background / (2 * kWide)};
    vector_log(logs, logs, 2);
    log_inside_ = static_cast<T>(logs[0]);
    log_wide_ = static_cast<T>(logs[1]) + constant();
  }

  Index outputs() const override { return 3 * k_; }

  T nats(const T* o, const T* x, Index n, std::string_view) const override {
    Work work = work_for(n);
    judge(o, x, n, work);
    return static_cast<T>(sum(span_of<T>(work.nats, n)));
  }

  T slopes(const T* o, const T* x, Index n, std::string_view, T* out) const override {
    Work work = work_for(n);
    judge(o, x, n, work);
    for (Index i = 0; i < n; ++i)
      for (Index k = 0; k < k_; ++k) {
        T* to = out + 3 * k_ * i + k;
        const Index c = i * k_ + k;
        const T share = work.share[c], z = work.z[c], inverse = work.inverse[c];
        to[0] = work.p[c] * work.inside[i] - share;
        to[k_] = -share * (scaled_ ? T{1} : inverse) * (gaussian() ? z : sign(z));
        to[2 * k_] = share * work.slope[c] * (1 - (gaussian() ? z * z : std::fabs(z)));
      }
    return static_cast<T>(sum(span_of<T>(work.nats, n)));
  }

  void curvature(const T* o, const T* x, Index n, const T* v, T* out) const override {
    Work work = work_for(n);
    judge(o, x, n, work);
    for (Index i = 0; i < n; ++i) {
      const T *p = work.p + i * k_, *from = v + 3 * k_ * i;
      T* to = out + 3 * k_ * i;
      T along = 0;
      for (Index k = 0; k < k_; ++k) along += p[k] * from[k];
      for (Index k = 0; k < k_; ++k) {
        to[k] = work.inside[i] * p[k] * (from[k] - along);
        to[k_ + k] = at_mean(work, i * k_ + k) * from[k_ + k];
        to[2 * k_ + k] = at_deviation(work, i * k_ + k) * from[2 * k_ + k];
      }
    }
  }

  void curvature_root(const T* o, const T* x, Index n, const T* noise, T* out) const override {
    Work work = work_for(n);
    judge(o, x, n, work);
    for (Index i = 0; i < n; ++i) {
      const T *p = work.p + i * k_, *from = noise + 3 * k_ * i;
      T* to = out + 3 * k_ * i;
      T along = 0;  // diag(root) - p root' is a root of diag(p) - p p'
      for (Index k = 0; k < k_; ++k) along += std::sqrt(p[k]) * from[k];
      for (Index k = 0; k < k_; ++k) {
        to[k] = std::sqrt(work.inside[i]) * (std::sqrt(p[k]) * from[k] - p[k] * along);
        to[k_ + k] = std::sqrt(at_mean(work, i * k_ + k)) * from[k_ + k];
        to[2 * k_ + k] = std::sqrt(at_deviation(work, i * k_ + k)) * from[2 * k_ + k];
      }
    }
  }

  double mean(const T* o) const override {
    std::vector<double> p(o, o + k_);
    softmax(p.data(), p.data(), k_);
    double result = 0;
    for (Index k = 0; k < k_; ++k) result += p[at(k)] * static_cast<double>(o[k_ + k]);
    return (1 - background_) * result;
  }

  T sample(const T* o, Random& random) const override {
    if (background_ > 0 && random.uniform() < background_) return static_cast<T>(kWide * laplace(random));
    std::vector<double> log_p(o, o + k_);
    log_softmax(log_p.data(), log_p.data(), k_);
    const Index k = drawn_place(log_p, random);
    const auto m = static_cast<double>(o[k_ + k]), d = deviation(static_cast<double>(o[2 * k_ + k]));
    return static_cast<T>(m + d * (gaussian() ? random.normal() : laplace(random)));
  }

 private:
  struct Work {
    T *a, *s, *z, *log_d, *inverse, *slope, *p, *share;  // one number per component
    T *nats, *inside;  // one per number; inside: responsibility of all components except the background
  };
  Work work_for(Index n) const {
    const Index all = k_ * n;
    T* m = row_scratch<T, kLawMemory>(8 * all + 2 * n);
    return {m,           m + all,     m + 2 * all, m + 3 * all, m + 4 * all,
            m + 5 * all, m + 6 * all, m + 7 * all, m + 8 * all, m + 8 * all + n};
  }
  bool gaussian() const { return shape_ == MixtureShape::gaussian; }
  static T sign(T z) { return static_cast<T>((z > 0) - (z < 0)); }
  /// Draws by inversion: a random sign times an exponential variable of rate 1.
  static double laplace(Random& random) {
    const double u = random.uniform() - 0.5;
    double tail = std::fmax(1 - 2 * std::fabs(u), 0x1p-54);
    vector_log(&tail, &tail, 1);
    return u < 0 ? tail : -tail;
  }

  /// Computes the densities, responsibilities and nats of all numbers.
  void judge(const T* o, const T* x, Index n, Work& work) const {
    const Index all = k_ * n;
    for (Index i = 0; i < n; ++i)
      for (Index k = 0; k < k_; ++k) {
        const T* from = o + 3 * k_ * i + k;
        work.a[i * k_ + k] = from[0];
        work.z[i * k_ + k] = x[i] - from[k_];
        work.s[i * k_ + k] = from[2 * k_];
      }
    deviations(work.s, all, work.log_d, work.inverse, work.slope);
    for (Index c = 0; c < all; ++c) work.z[c] *= work.inverse[c];
    for (Index i = 0; i < n; ++i) {
      T *log_p = work.a + i * k_, *share = work.share + i * k_;
      log_softmax(log_p, log_p, k_);
      for (Index k = 0; k < k_; ++k) {
        const T z = work.z[i * k_ + k];
        share[k] = log_p[k] - work.log_d[i * k_ + k] - (gaussian() ? T{0.5} * (z * z) : std::fabs(z));
      }
      const T total = log_sum_exp(share, k_), with_background = log_total(total, x[i]);
      for (Index k = 0; k < k_; ++k) share[k] += log_inside_ - with_background;
      work.inside[i] = total + log_inside_ - with_background;
      work.nats[i] = constant() - with_background;
    }
    vector_exp(work.a, work.p, all);
    vector_exp(work.share, work.share, all);
    vector_exp(work.inside, work.inside, n);
  }
  /// Returns the log density at x without the constant, given the log density of the mixture.
  T log_total(T of_mixture, T x) const {
    if (background_ == 0) return of_mixture;
    const T both[] = {of_mixture + log_inside_, log_wide_ - std::fabs(x) / static_cast<T>(kWide)};
    return log_sum_exp(both, 2);
  }
  T constant() const { return static_cast<T>(gaussian() ? kHalfLogTwoPi : kLogTwo); }
  T at_mean(const Work& work, Index c) const { return work.share[c] * (work.inverse[c] * work.inverse[c]); }
  T at_deviation(const Work& work, Index c) const {
    return (gaussian() ? 2 : 1) * work.share[c] * (work.slope[c] * work.slope[c]);
  }

  static constexpr double kLogTwo = 0.69314718055994530942, kWide = 2;
  Index k_;
  MixtureShape shape_;
  double background_;
  bool scaled_;
  T log_inside_ = 0, log_wide_ = 0;  // wide: log density of the background at 0, without the constant
};

}  // namespace

template <class T>
std::unique_ptr<ComponentDistribution<T>> bit_distribution() {
  return std::make_unique<BitLaw<T>>();
}

template <class T>
std::unique_ptr<ComponentDistribution<T>> normal_distribution() {
  return std::make_unique<NormalLaw<T>>();
}

template <class T>
std::unique_ptr<ComponentDistribution<T>> class_distribution(Index classes) {
  return std::make_unique<ClassLaw<T>>(classes);
}

template <class T>
std::unique_ptr<ComponentDistribution<T>> mixture_distribution(Index components, MixtureShape shape, double background,
                                                               MeanGradient means) {
  return std::make_unique<MixtureLaw<T>>(components, shape, background, means);
}

template <class T>
std::unique_ptr<ComponentDistribution<T>> mixture_distribution(Index components, MixtureShape shape,
                                                               double background) {
  return mixture_distribution<T>(components, shape, background, MeanGradient::exact);
}

template std::unique_ptr<ComponentDistribution<float>> bit_distribution<float>();
template std::unique_ptr<ComponentDistribution<double>> bit_distribution<double>();
template std::unique_ptr<ComponentDistribution<float>> normal_distribution<float>();
template std::unique_ptr<ComponentDistribution<double>> normal_distribution<double>();
template std::unique_ptr<ComponentDistribution<float>> class_distribution<float>(Index);
template std::unique_ptr<ComponentDistribution<double>> class_distribution<double>(Index);
template std::unique_ptr<ComponentDistribution<float>> mixture_distribution<float>(Index, MixtureShape, double);
template std::unique_ptr<ComponentDistribution<double>> mixture_distribution<double>(Index, MixtureShape, double);
template std::unique_ptr<ComponentDistribution<float>> mixture_distribution<float>(Index, MixtureShape, double,
                                                                                   MeanGradient);
template std::unique_ptr<ComponentDistribution<double>> mixture_distribution<double>(Index, MixtureShape, double,
                                                                                     MeanGradient);

}  // namespace unfold
