#include "graph/cells/activations.h"
#include "graph/cells/leak.h"
#include "unfold/graph/cells/cell.h"
#include "unfold/graph/cells/cells.h"

namespace unfold {

/// f_t = (x_t W_fx + b_f) * (h_{t-1} W_fh)
/// h_t = s(x_t W + f_t W_hf + b)                                      Sutskever, Martens & Hinton 2011
/// With delays, h_{t-1} W_fh becomes a sum over them; with a leak, h_t moves only part of the way toward s(..)
/// (leak.h).
Signal mrnn(Circuit& c, Signal x, Index n, const MrnnOptions& options) {
  const Index factors = options.factors > 0 ? options.factors : n;
  const DelayedState h(c, n, parse_delays(options.delays), options.trained_initial);
  const Init input = Init::uniform(options.input_scale);
  auto by_input = c.affine("fx", factors, {{"W", x, input}}, Init::constant(1));
  std::vector<Term> states;
  h.add_terms(states, Init::orthogonal());
  auto by_state = c.affine("fh", factors, states, Init::zero(), false);
  auto z = c.affine("z", n, {{"W", x, input}, {"U", by_input * by_state, Init::orthogonal()}});
  auto next = activated(c, options.activation, z);
  next = leaked(c, h.links().front(), next, options.leak, options.longest);
  h.feed(next);
  return next;
}

template <class Visitor>
void describe(Visitor& v, MrnnOptions& o) {
  v("factors", o.factors, "number of factors; 0: same as units", range(0, kMostUnits));
  describe_all_activations(v, o.activation);
  describe_delays(v, o.delays);
  describe_leak(v, o.leak, o.longest);
  v("input-scale", o.input_scale,
    "input and output weights are initialized in [-input-scale, input-scale]; 0: 1/sqrt(inputs)", at_least(0));
}

namespace {

std::string mrnn_fault(const StackOptions&, const MrnnOptions& o) {
  if (std::string fault = delays_fault(o.delays); !fault.empty()) return fault;
  return leak_fault(o.leak, o.delays);
}

}  // namespace

CellEntry mrnn_cell() {
  CellOf<MrnnOptions> cell;  // assigned member by member: GCC 12 warns about the string in a temporary
  cell.name = "mrnn";
  cell.help = "multiplicative RNN: the recurrent matrix depends on the input through factors";
  cell.add = mrnn;
  cell.fault = mrnn_fault;
  cell.output_init = [](const MrnnOptions& o) { return Init::uniform(o.input_scale); };
  cell.with_max_units = [](StackOptions&, MrnnOptions& o, Index most) { o.factors = std::min(o.factors, most); };
  return cell;
}

}  // namespace unfold
