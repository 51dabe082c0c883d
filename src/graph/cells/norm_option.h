#pragma once
/// The option `norm` of cells with layer normalization. Internal to cells/.

namespace unfold {

template <class Visitor>
void describe_norm(Visitor& v, bool& layer_norm) {
  v("norm", layer_norm, "layer: layer normalization of the pre-activations (Ba et al. 2016)",
    {{false, "none"}, {true, "layer"}});
}

}  // namespace unfold
