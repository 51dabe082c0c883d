#pragma once
/// Internal: the gradient of the means of mixtures, an option of rnade.

#include "loss/density/component_distribution.h"
#include "unfold/base/options/options.h"

namespace unfold {

/// Exact, or multiplied by the deviation of the component, which keeps narrow components from making large steps (Uria,
/// Murray & Larochelle 2013). The second is not the gradient of a function.
enum class MeanGradient { exact, scaled };

template <class Visitor>
void describe_mean_gradient(Visitor& v, MeanGradient& means) {
  v("mean-gradient", means,
    "gradient of the means: exact, or scaled, multiplied by the deviation of the component (not for optimizers that "
    "compare losses)",
    {{MeanGradient::exact, "exact"}, {MeanGradient::scaled, "scaled"}});
}

/// mixture_distribution with this gradient.
template <class T>
std::unique_ptr<ComponentDistribution<T>> mixture_distribution(Index components, MixtureShape shape, double background,
                                                               MeanGradient means);

}  // namespace unfold
