#include "unfold/cells/cell.h"
#include "unfold/cells/cells.h"

namespace unfold {

/// h_t = s(x_t W + h_{t-1} U + b)                                                            Elman 1990
Signal rnn(Circuit& c, Signal x, Index n, const RnnOptions& options) {
  auto h = c.link(n, {}, options.trained_initial);
  auto next = c.map(options.activation, c.affine("z", n, {{"W", x, options.input}, {"U", h, options.recurrent}}));
  c.feed(h, next);
  return next;
}

namespace {

enum class RecurrentStart { orthogonal, uniform, identity, sparse, normalised };

/// The options as a SPEC says them.
struct RnnWords {
  Map activation = Map::tanh;
  RecurrentStart init = RecurrentStart::orthogonal;
  double scale = 0, input_scale = 0;
  bool trained_initial = false;
};

template <class Visitor>
void describe(Visitor& v, RnnWords& o) {
  describe_activation(v, o.activation);
  v("init", o.init, "of the recurrent matrix",
    {{RecurrentStart::orthogonal, "orthogonal"},
     {RecurrentStart::uniform, "uniform"},
     {RecurrentStart::identity, "identity"},
     {RecurrentStart::sparse, "sparse"},
     {RecurrentStart::normalised, "normalised"}});
  v("scale", o.scale, "factor of the recurrent start; uniform: +-scale; 0: 1, uniform 1/sqrt(inputs)", at_least(0));
  v("input-scale", o.input_scale, "inputs and outputs start in +-this; 0: 1/sqrt(inputs)", at_least(0));
}

Init recurrent_start(RecurrentStart init, double scale) {
  const double factor = scale > 0 ? scale : 1;
  switch (init) {
    case RecurrentStart::uniform: return Init::uniform(scale);
    case RecurrentStart::identity: return Init::identity(1, factor);
    case RecurrentStart::sparse: return Init::sparse(15, factor);
    case RecurrentStart::normalised: return Init::normalised(1, factor);
    case RecurrentStart::orthogonal: break;
  }
  return Init::orthogonal(1, factor);
}

Signal rnn_in_words(Circuit& c, Signal x, Index n, const RnnWords& o) {
  return rnn(c, x, n,
             {.activation = o.activation,
              .recurrent = recurrent_start(o.init, o.scale),
              .input = Init::uniform(o.input_scale),
              .trained_initial = o.trained_initial});
}

}  // namespace

/// irnn: Le et al. 2015; np-rnn: Talathi & Vartak 2015.
CellEntry rnn_cell() {
  return CellOf<RnnWords>{
      .name = "rnn",
      .help = "simple recurrent network (Elman 1990)",
      .add = rnn_in_words,
      .output_start = [](const RnnWords& o) { return Init::uniform(o.input_scale); },
      .spellings = {{"irnn", "activation=relu,init=identity"}, {"np-rnn", "activation=relu,init=normalised"}}};
}

}  // namespace unfold
