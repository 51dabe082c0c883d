#include <cmath>

#include "unfold/cells/cell.h"
#include "unfold/cells/cells.h"

namespace unfold {

/// h_t = s(h_{t-1} U_{x_t} + w_{x_t})                                      Sutskever, Martens & Hinton 2011, section 3
Signal tensor_rnn(Circuit& c, Signal x, Index n, const TensorRnnOptions& options) {
  if (!c.holds_symbols(x))
    throw UsageError("tensor-rnn reads the symbols themselves: it has one layer and no embedding");
  auto h = c.link(n, {}, options.trained_initial);
  Term recurrent{.parameter = "U", .source = h, .init = Init::normal(1 / std::sqrt(static_cast<double>(n))), .gate = x};
  recurrent.op = sparse_operator(random_edges(n, n, 0), {.gating = Gating::weights});  // all edges
  auto next = c.map(options.activation, c.affine("z", n, {{"W", x}, recurrent}, Init::zero(), false));
  c.feed(h, next);
  return next;
}

template <class Visitor>
void describe(Visitor& v, TensorRnnOptions& o) {
  describe_activation(v, o.activation);
}

namespace {

constexpr Index kMostTensorUnits = 4096;

std::string tensor_rnn_fault(const StackOptions& stack, const TensorRnnOptions&) {
  if (stack.layers > 1 || stack.embedding > 0)
    return "tensor-rnn reads the symbols themselves: it has one layer and no embedding";
  if (stack.units > kMostTensorUnits)
    return "a tensor-rnn has at most " + std::to_string(kMostTensorUnits) + " units: each symbol has a matrix of them";
  return "";
}

}  // namespace

CellEntry tensor_rnn_cell() {
  return CellOf<TensorRnnOptions>{.name = "tensor-rnn",
                                  .help = "one dense recurrent matrix for each symbol; one layer",
                                  .add = tensor_rnn,
                                  .fault = tensor_rnn_fault};
}

}  // namespace unfold
