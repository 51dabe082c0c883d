#include "graph/cells/tree_options.h"
#include "unfold/graph/cells/cell.h"
#include "unfold/graph/cells/cells.h"

namespace unfold {

/// i, o = sigmoid(x W + [h_1 .. h_K] U + b)    g = tanh(...)         (one product, columns i | o | g)
/// f_1 .. f_K = sigmoid([h_1 .. h_K] F + b_f)
/// c = i * g + sum over children k of f_k * c_k
/// h = o * tanh(c)                                         Tai, Socher & Manning 2015, equations (9) to (14)
Signal tree_lstm(Circuit& c, Signal x, Index n, const TreeLstmOptions& options) {
  const Index children = options.children;
  auto h = c.link(children * n, Delay::each_child(children));
  auto cells = c.link(children * n, Delay::each_child(children));
  auto z = c.affine("z", 3 * n, {{"W", x, Init::glorot(3)}, {"U", h, Init::orthogonal(3)}});
  auto f = c.affine("f", children * n, {{"F", h, Init::orthogonal(children)}}, Init::constant(options.forget_bias));
  auto [i, o, g] = c.split<3>(z);
  auto kept = sigmoid(f) * cells;
  auto next = sigmoid(i) * tanh(g);
  for (Index k = 0; k < children; ++k) next = next + c.slice(kept, k * n, n);
  auto y = sigmoid(o) * tanh(next);
  c.feed(cells, next);
  c.feed(h, y);
  return y;
}

/// i, o = sigmoid(x W + (sum over children of h_k) U + b)    g = tanh(...)
/// f_k = sigmoid(x W_f + h_k U_f + b_f)
/// c = i * g + sum over children k of f_k * c_k
/// h = o * tanh(c)                                         Ibid., equations (2) to (8)
/// The contribution f_k * c_k to the parent is computed at the child, which reads x W_f of its parent.
Signal child_sum_lstm(Circuit& c, Signal x, Index n, const ChildSumLstmOptions& options) {
  auto h = c.link(n, Delay::children());
  auto kept = c.link(n, Delay::children());
  auto asked = c.link(n, Delay::parent());
  c.feed(asked, c.affine("asked", n, {{"W", x, Init::glorot()}}, Init::constant(options.forget_bias)));
  auto z = c.affine("z", 3 * n, {{"W", x, Init::glorot(3)}, {"U", h, Init::orthogonal(3)}});
  auto [i, o, g] = c.split<3>(z);
  auto next = sigmoid(i) * tanh(g) + kept;
  auto y = sigmoid(o) * tanh(next);
  c.feed(h, y);
  c.feed(kept, sigmoid(asked + c.affine("f", n, {{"U", y, Init::orthogonal()}}, Init::zero(), false)) * next);
  return y;
}

template <class Visitor>
void describe(Visitor& v, TreeLstmOptions& o) {
  describe_children(v, o.children);
  v("forget-bias", o.forget_bias, "initial bias of the forget gates", range(-100, 100));
}

template <class Visitor>
void describe(Visitor& v, ChildSumLstmOptions& o) {
  v("forget-bias", o.forget_bias, "initial bias of the forget gates", range(-100, 100));
}

namespace {

Index told_apart(const TreeLstmOptions& o) { return o.children; }
Index none_told_apart(const ChildSumLstmOptions&) { return 0; }

std::string tree_lstm_fault(const StackOptions& stack, const TreeLstmOptions&) { return tree_fault(stack); }
std::string child_sum_fault(const StackOptions& stack, const ChildSumLstmOptions&) { return tree_fault(stack); }

}  // namespace

CellEntry tree_lstm_cell() {
  CellOf<TreeLstmOptions> cell;
  cell.name = "tree-lstm";
  cell.help = "for trees: LSTM with a forget gate for each child";
  cell.add = tree_lstm;
  cell.fault = tree_lstm_fault;
  cell.children = told_apart;
  return cell;
}

CellEntry child_sum_lstm_cell() {
  CellOf<ChildSumLstmOptions> cell;
  cell.name = "child-sum-lstm";
  cell.help = "for trees: child-sum tree-LSTM for any number of unordered children";
  cell.add = child_sum_lstm;
  cell.fault = child_sum_fault;
  cell.children = none_told_apart;
  return cell;
}

}  // namespace unfold
