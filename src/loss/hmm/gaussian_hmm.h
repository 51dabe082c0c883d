#pragma once
/// Internal: options and signal layout of the loss gaussian-hmm, for fitting it as a whole
/// (model/network/fitting/hmm_fit.h).

#include "unfold/base/options/options.h"
#include "unfold/base/types.h"
#include "unfold/loss/loss.h"

namespace unfold {

enum class Covariance { full, diagonal };

struct GaussianHmmOptions {
  Index states = 4, components = 1, fewest = 0, restarts = 5;
  Covariance covariance = Covariance::full;
};
template <class Visitor>
void describe(Visitor& v, GaussianHmmOptions& o) {
  v("states", o.states, "hidden states", range(1, 256));
  v("components", o.components, "Gaussians of each state", range(1, 256));
  v("covariance", o.covariance, "type of the covariance of each Gaussian",
    {{Covariance::full, "full"}, {Covariance::diagonal, "diagonal"}});
  v("fewest", o.fewest, "standalone model: minimum number of states, selected by BIC; 0: use states", range(0, 256));
  v("restarts", o.restarts, "standalone model: number of random initializations, of which the best is kept",
    range(1, 10000));
}

/// Signal size of one state's emission: logits of the components, then for each component the means, deviation signals
/// and regressions (gaussian_mixture.cpp, mixture.cpp).
inline Index gaussian_hmm_emission(const GaussianHmmOptions& o, Index numbers) {
  return o.components * (1 + 2 * numbers + (o.covariance == Covariance::full ? numbers * (numbers - 1) / 2 : 0));
}
/// Signal size: logits of the transitions, [states x states], then the emissions of each state.
inline Index gaussian_hmm_signal(const GaussianHmmOptions& o, Index numbers) {
  return o.states * (o.states + gaussian_hmm_emission(o, numbers));
}

/// Creates the loss for vectors of n numbers from a mixture of Gaussians with full covariances (gaussian_mixture.cpp).
template <class T>
std::unique_ptr<Loss<T>> gaussian_mixture_loss(Index components);

}  // namespace unfold
