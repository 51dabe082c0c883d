#include "graph/cells/activations.h"
#include "graph/cells/leak.h"
#include "graph/cells/zoneout.h"
#include "unfold/graph/cells/cell.h"
#include "unfold/graph/cells/cells.h"

namespace unfold {
/// h_t = s(x_t W + h_{t-1} U + b)                                                            Elman 1990
/// With delays, there is one product per delay. Leaky units: h_t = h_{t-1} + (s(...) - h_{t-1}) / theta.
Signal rnn(Circuit& c, Signal x, Index n, const RnnOptions& options) {
  const DelayedState h(c, n, options.delays, options.trained_initial);
  std::vector<Term> terms = {{"W", x, options.input}};
  h.add_terms(terms, options.recurrent);
  auto next = activated(c, options.activation, c.affine("z", n, terms, Init::zero(), options.biases));
  next = leaked(c, h.links().front(), next, options.leak, options.longest);
  next = zoned(c, h.links().front(), next, options.zoneout);
  h.feed(next);
  return next;
}

namespace {

enum class RecurrentStart { orthogonal, uniform, identity, sparse, normalized };

/// The options as strings of a SPEC.
struct RnnSpec {
  Map activation = Map::tanh;
  RecurrentStart init = RecurrentStart::orthogonal;
  double scale = 0, input_scale = 0;
  std::string delays = "1";
  TimeConstants leak = TimeConstants::none;
  double longest = 100;
  double zoneout = 0;
  bool biases = true;
  bool trained_initial = false;
};

template <class Visitor>
void describe(Visitor& v, RnnSpec& o) {
  describe_all_activations(v, o.activation);
  v("init", o.init, "initialization of the recurrent matrix",
    {{RecurrentStart::orthogonal, "orthogonal"},
     {RecurrentStart::uniform, "uniform"},
     {RecurrentStart::identity, "identity"},
     {RecurrentStart::sparse, "sparse"},
     {RecurrentStart::normalized, "normalised"}});
  v("scale", o.scale, "scale of the recurrent initialization; 0: 1, or 1/sqrt(inputs) for uniform", at_least(0));
  v("input-scale", o.input_scale,
    "input and output weights are initialized in [-input-scale, input-scale]; 0: 1/sqrt(inputs)", at_least(0));
  describe_delays(v, o.delays);
  describe_leak(v, o.leak, o.longest);
  describe_zoneout(v, o.zoneout);
  v("biases", o.biases, "whether units have a bias");
}

std::string rnn_fault(const StackOptions&, const RnnSpec& o) {
  if (std::string fault = delays_fault(o.delays); !fault.empty()) return fault;
  if (o.zoneout > 0)
    if (std::string fault = zoneout_fault(o.delays); !fault.empty()) return fault;
  return leak_fault(o.leak, o.delays);
}

Init recurrent_start(RecurrentStart init, double scale) {
  const double factor = scale > 0 ? scale : 1;
  switch (init) {
    case RecurrentStart::uniform: return Init::uniform(scale);
    case RecurrentStart::identity: return Init::identity(1, factor);
    case RecurrentStart::sparse: return Init::sparse(15, factor);
    case RecurrentStart::normalized: return Init::normalized(1, factor);
    case RecurrentStart::orthogonal: break;
  }
  return Init::orthogonal(1, factor);
}

Signal rnn_in_words(Circuit& c, Signal x, Index n, const RnnSpec& o) {
  return rnn(c, x, n,
             {.activation = o.activation,
              .recurrent = recurrent_start(o.init, o.scale),
              .input = Init::uniform(o.input_scale),
              .delays = parse_delays(o.delays),
              .leak = o.leak,
              .longest = o.longest,
              .zoneout = o.zoneout,
              .biases = o.biases,
              .trained_initial = o.trained_initial});
}

}  // namespace

/// irnn: Le et al. 2015; np-rnn: Talathi & Vartak 2015.
CellEntry rnn_cell() {
  CellOf<RnnSpec> cell;  // assigned member by member: GCC 12 warns about the string in a temporary
  cell.name = "rnn";
  cell.help = "simple recurrent network (Elman 1990)";
  cell.add = rnn_in_words;
  cell.fault = rnn_fault;
  cell.output_init = [](const RnnSpec& o) { return Init::uniform(o.input_scale); };
  cell.spellings = {{"irnn", "activation=relu,init=identity"}, {"np-rnn", "activation=relu,init=normalised"}};
  return cell;
}

}  // namespace unfold
