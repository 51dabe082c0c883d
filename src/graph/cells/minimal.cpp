#include "graph/cells/gates.h"
#include "unfold/graph/cells/cell.h"
#include "unfold/graph/cells/cells.h"

namespace unfold {
namespace {

/// h_t = (1 - z_t) * h_{t-1} + z_t * g_t. Everything that depends only on the input is computed before the loop.
Signal average(Circuit& c, Signal keep, Signal add, bool trained_initial) {
  auto h = c.link(add.size(), {}, trained_initial);
  auto next = keep * h + add;
  c.feed(h, next);
  return next;
}

}  // namespace

/// z = sigmoid(x_t W + b), g = x_t W' + b'                              (one product, columns z | g)
/// h_t = (1 - z) * h_{t-1} + z * g                                                        Feng et al. 2024
Signal min_gru(Circuit& c, Signal x, Index n, const MinimalOptions& options) {
  const Init bias =
      options.chrono > 1 ? Init::chrono({-1, 0}, options.chrono) : Init::block_values({options.gate_bias, 0});
  auto [z, g] = c.split<2>(c.affine("zg", 2 * n, {{"W", x, Init::glorot(2)}}, bias));
  auto in = gate(z, options.hard_gates);
  return average(c, one_minus(in), in * g, options.trained_initial);
}

/// f = sigmoid(x_t W + b), i = sigmoid(..), g = x_t W' + b'              (one product, columns f | i | g)
/// h_t = f / (f + i) * h_{t-1} + i / (f + i) * g                                          Feng et al. 2024
/// With log sigmoid(v) = -softplus(-v), i / (f + i) = sigmoid(log i - log f), which cannot overflow.
Signal min_lstm(Circuit& c, Signal x, Index n, const MinimalOptions& options) {
  const Init bias =
      options.chrono > 1 ? Init::chrono({1, -1, 0}, options.chrono) : Init::block_values({-options.gate_bias, 0, 0});
  auto [f, i, g] = c.split<3>(c.affine("fig", 3 * n, {{"W", x, Init::glorot(3)}}, bias));
  auto in = sigmoid(softplus(-1 * f) - softplus(-1 * i));
  return average(c, one_minus(in), in * g, options.trained_initial);
}

/// f, r = sigmoid(x_t W + b), u = x_t W', s = x_t W''                   (one product, columns f | r | u | s)
/// c_t = f * c_{t-1} + (1 - f) * u
/// h_t = r * c_t + (1 - r) * s                                                              Lei et al. 2018
/// The terms v * c_{t-1} of the gates are omitted, because they would prevent a scan. The input is always projected
/// (s); the paper does this only if the sizes differ.
Signal sru(Circuit& c, Signal x, Index n, const MinimalOptions& options) {
  const Init bias = options.chrono > 1 ? Init::chrono({1, 0, 0, 0}, options.chrono)
                                       : Init::block_values({-options.gate_bias, 0, 0, 0});
  auto [f, r, u, s] = c.split<4>(c.affine("frus", 4 * n, {{"W", x, Init::glorot(4)}}, bias));
  auto keep = gate(f, options.hard_gates);
  auto state = average(c, keep, one_minus(keep) * u, options.trained_initial);
  return s + gate(r, options.hard_gates) * (state - s);
}

namespace {

/// Returns a sum over the last k inputs: x_t W + x_{t-1} W2 + ... + b. Symbols cannot be delayed, so their lookups are
/// delayed instead.
Signal convolution(Circuit& c, Signal x, Index size, Index k, const Init& bias) {
  const bool symbols = c.is_symbols(x);
  std::vector<Term> terms = {{"W", x, Init::glorot(3)}};
  std::vector<std::string> names;  // terms refer to these strings
  names.reserve(static_cast<std::size_t>(k));
  Signal delayed;
  for (Index back = 1; back < k; ++back) {
    names.push_back("W" + std::to_string(back + 1));
    Signal source =
        symbols ? c.affine("tap" + std::to_string(back + 1), size, {{"W", x, Init::glorot(3)}}, Init::zero(), false)
                : x;
    auto link = c.link(source.size(), Delay::previous(back));
    c.feed(link, source);
    if (symbols)
      delayed = delayed.valid() ? delayed + link : c.map(Map::copy, link);
    else
      terms.push_back({names.back(), link, Init::glorot(3)});
  }
  auto now = c.affine("zfo", size, terms, bias);
  return delayed.valid() ? now + delayed : now;
}

}  // namespace

/// z = tanh(..), f = sigmoid(..), o = sigmoid(..) of the last k inputs   (one product, columns z | f | o)
/// c_t = f * c_{t-1} + (1 - f) * z
/// h_t = o * c_t                                                         Bradbury et al. 2017, fo-pooling
Signal qrnn(Circuit& c, Signal x, Index n, const QrnnOptions& options) {
  auto zfo = convolution(c, x, 3 * n, options.width, Init::block_values({0, options.forget_bias, 0}));
  auto [z, f, o] = c.split<3>(zfo);
  auto keep = sigmoid(f);
  return sigmoid(o) * average(c, keep, one_minus(keep) * tanh(z), options.trained_initial);
}

template <class Visitor>
void describe(Visitor& v, MinimalOptions& o) {
  v("gate-bias", o.gate_bias, "initial bias of the update gate", range(-100, 100));
  v("chrono", o.chrono, "initialize the gate bias for time scales up to this many steps; 0: off", at_least(0));
  describe_gates(v, o.hard_gates);
}

template <class Visitor>
void describe(Visitor& v, QrnnOptions& o) {
  v("width", o.width, "number of inputs that a step reads: the current input and the preceding ones", range(1, 3));
  v("forget-bias", o.forget_bias, "initial bias of the forget gate", range(-100, 100));
}

namespace {

std::string minimal_fault(const StackOptions&, const MinimalOptions& o) {
  return o.chrono > 0 && !(o.chrono > 2) ? "chrono must be 0 or greater than 2" : "";
}

std::string min_lstm_fault(const StackOptions& s, const MinimalOptions& o) {
  return o.hard_gates ? "minlstm does not support gates=hard, because both gates could be closed; use mingru or sru"
                      : minimal_fault(s, o);
}

}  // namespace

CellEntry min_gru_cell() {
  return CellOf<MinimalOptions>{
      .name = "mingru",
      .help = "minimal gated unit: the gate reads only the input, so the recurrence is a scan",
      .add = min_gru,
      .fault = minimal_fault};
}

CellEntry min_lstm_cell() {
  return CellOf<MinimalOptions>{.name = "minlstm",
                                .help = "minimal LSTM: like mingru, with normalized forget and input gates",
                                .add = min_lstm,
                                .fault = min_lstm_fault};
}

CellEntry sru_cell() {
  return CellOf<MinimalOptions>{.name = "sru",
                                .help = "simple recurrent unit: a scan with a highway connection",
                                .add = sru,
                                .fault = minimal_fault};
}

CellEntry qrnn_cell() {
  return CellOf<QrnnOptions>{.name = "qrnn",
                             .help = "quasi-recurrent network: convolutional gates, then a scan",
                             .add = qrnn,
                             .accepts_joined_input = false};
}

}  // namespace unfold
