#include "graph/circuit/cell_maps.h"
#include "unfold/graph/cells/cell.h"
#include "unfold/graph/cells/cells.h"
#include "unfold/graph/circuit/sparse_operator.h"

namespace unfold {

/// V_t = V_{t-1} tau_{x_t},  a_t = V_t / sum of V_t;  the output is linear: p(x) ~ sum_j a_j w_jx
///                                            Ollivier 2015, section 1.2.2, after Bridle 1990; hmm.h
/// Only normalized values are carried: V would be as small as the probability of everything read so far.
Signal linear_gnn(Circuit& c, Signal x, Index n, const LinearGnnOptions&) {
  if (!c.is_symbols(x))
    throw UsageError(
        "linear-gnn reads only symbols, not vectors or embeddings; use a different model, such as gru:128");
  const double even = 1 / static_cast<double>(n);
  const auto carried = c.link(n, Delay::previous(), true);  // the initial value 0 gives equal shares
  const auto next = c.affine("V", n,
                             {{.parameter = "tau",
                               .source = carried + even,
                               .init = Init::positive(),
                               .op = sparse_operator(random_edges(n, n, 0), {.gating = Gating::weights}),
                               .gate = x}},
                             Init::zero(), false);
  const auto a = c.affine("a", n, {{.parameter = "share", .source = next, .init = Init::zero(), .op = shares(n)}},
                          Init::zero(), false);
  c.feed(carried, a + -even);
  return a;
}

Signal probabilities_to_logits(Signal o) {
  constexpr double kLeast = 1e-15;
  return log(relu(o) + kLeast);
}

template <class Visitor>
void describe(Visitor&, LinearGnnOptions&) {}

namespace {

constexpr Index kMostLinearUnits = 4096;

std::string linear_gnn_fault(const StackOptions& stack, const LinearGnnOptions&) {
  if (stack.units > kMostLinearUnits)
    return "a linear-gnn has at most " + std::to_string(kMostLinearUnits) +
           " units, because each symbol has a matrix of that size";
  if (stack.layers > 1 || stack.embedding > 0 || stack.both_directions)
    return "linear-gnn supports only one layer of symbols; leave out layers=, embedding= and \"bi\"";
  if (stack.dropout > 0 || stack.direct > 0 || stack.tied)
    return "linear-gnn outputs probabilities; leave out dropout=, direct= and tied=";
  if (stack.trained_initial) return "linear-gnn always has a trained initial state; leave out trained-initial=";
  return "";
}

}  // namespace

CellEntry linear_gnn_cell() {
  return CellOf<LinearGnnOptions>{
      .name = "linear-gnn",
      .help = "gated network of linear units with a linear output, equivalent to a hidden Markov model",
      .add = linear_gnn,
      .fault = linear_gnn_fault,
      .output_init = [](const LinearGnnOptions&) { return Init::positive(); },
      .outputs_probabilities = true};
}

}  // namespace unfold
