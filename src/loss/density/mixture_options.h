#pragma once
/// Internal: options of the losses gaussian-mixture and bernoulli-mixture, for fitting them as a whole
/// (model/density/mixture_fit.h).

#include "loss/hmm/gaussian_hmm.h"
#include "loss/hmm/vector_hmm.h"
#include "unfold/base/options/options.h"
#include "unfold/base/types.h"

namespace unfold {

inline constexpr double kSmallestPrior = 1e-9, kMostPooled = 1e6;
inline constexpr double kMostFullComponents = 1000, kMostBitComponents = 10'000;

enum class MixtureFitting { em, gradients };

struct GaussianMixtureOptions {
  Index components = 10;
  Covariance covariance = Covariance::full;
  MixtureFitting fit = MixtureFitting::em;
  double prior = kPriorVariance, pooled = 0;

  /// Returns how many numbers of the signal belong to each component: its weight, n means, n deviations, and n (n - 1)
  /// / 2 regressions.
  Index numbers(Index n) const { return 1 + 2 * n + (covariance == Covariance::full ? n * (n - 1) / 2 : 0); }
};
template <class Visitor>
void describe_mixture_fitting(Visitor& v, MixtureFitting& fit) {
  v("fit", fit, "standalone model: fitted by expectation-maximization, or by gradients, the default with a budget",
    {{MixtureFitting::em, "em"}, {MixtureFitting::gradients, "gradients"}});
}

template <class Visitor>
void describe(Visitor& v, GaussianMixtureOptions& o) {
  v("components", o.components, "in the mixture", range(1, kMostFullComponents));
  v("covariance", o.covariance, "type of the covariance of each component",
    {{Covariance::full, "full"}, {Covariance::diagonal, "diagonal"}});
  describe_mixture_fitting(v, o.fit);
  v("prior", o.prior,
    "standalone model, fit=em: the prior of each covariance is one observation with this variance, in standardized "
    "units",
    range(kSmallestPrior, 1));
  v("pooled", o.pooled,
    "standalone model, fit=em: the prior of each covariance is instead this many observations for each number, with "
    "the "
    "mean covariance of all components plus that variance; 0: off",
    range(0, kMostPooled));
}

struct BernoulliMixtureOptions {
  Index components = 10;
  MixtureFitting fit = MixtureFitting::em;
};
template <class Visitor>
void describe(Visitor& v, BernoulliMixtureOptions& o) {
  v("components", o.components, "in the mixture", range(1, kMostBitComponents));
  describe_mixture_fitting(v, o.fit);
}

}  // namespace unfold
