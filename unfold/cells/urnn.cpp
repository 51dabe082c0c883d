#include <numbers>

#include "unfold/cells/cells.h"

namespace unfold {

/// z_t = x_t W + D3 R2 F^-1 D2 P R1 F D1 h_{t-1}
/// h_t = modReLU(z_t)                                                                 Arjovsky, Shah & Bengio 2016
Signal urnn(Circuit& c, Signal x, Index n, const UrnnOptions& options) {
  auto h = c.link(2 * n, {}, options.trained_initial);
  auto z = c.affine("z", 2 * n,
                    {{"W", x, options.input},
                     {.parameter = "U",
                      .source = h,
                      .init = Init::uniform(std::numbers::pi),
                      .op = unitary_map(n, options.permutation)}},
                    Init::zero(), false);
  auto next = c.affine("h", 2 * n, {{.parameter = "b", .source = z, .init = Init::zero(), .op = modulus_relu(n)}},
                       Init::zero(), false);
  c.feed(h, next);
  return next;
}

}  // namespace unfold
