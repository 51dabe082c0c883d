#pragma once
/// Internal: the gradient of the means of mixtures, an option of rnade.

#include "loss/density/component_distribution.h"
#include "unfold/base/options/options.h"

namespace unfold {

/// The gradient is exact, or it is multiplied by the deviation of the component, which prevents narrow components from
/// making large steps (Uria, Murray & Larochelle 2013). The scaled vector is not the gradient of any function.
enum class MeanGradient { exact, scaled };

template <class Visitor>
void describe_mean_gradient(Visitor& v, MeanGradient& means) {
  v("mean-gradient", means,
    "gradient of the means: exact, or scaled, multiplied by the deviation of the component (not for optimizers that "
    "compare losses)",
    {{MeanGradient::exact, "exact"}, {MeanGradient::scaled, "scaled"}});
}

/// Returns mixture_distribution with this gradient.
template <class T>
std::unique_ptr<ComponentDistribution<T>> mixture_distribution(Index components, MixtureShape shape, double background,
                                                               MeanGradient means);

}  // namespace unfold
