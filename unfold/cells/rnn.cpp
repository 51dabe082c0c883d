#include "unfold/cells/cells.h"

namespace unfold {

/// h_t = s(x_t W + h_{t-1} U + b)                                                            Elman 1990
Signal rnn(Circuit& c, Signal x, Index n, const RnnOptions& options) {
  auto h = c.link(n, {}, options.trained_initial);
  auto next = c.map(options.activation, c.affine("z", n, {{"W", x, options.input}, {"U", h, options.recurrent}}));
  c.feed(h, next);
  return next;
}

}  // namespace unfold
