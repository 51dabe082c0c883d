#pragma once
/// The option `norm` of cells with layer normalization. Internal to cells/.

namespace unfold {

template <class Visitor>
void describe_norm(Visitor& v, bool& layer_norm) {
  v("norm", layer_norm, "layer: sums of a step are normalised to mean 0 and variance 1 (Ba et al. 2016)",
    {{false, "none"}, {true, "layer"}});
}

}  // namespace unfold
