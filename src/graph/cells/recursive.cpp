#include "graph/cells/activations.h"
#include "graph/cells/tree_options.h"
#include "graph/circuit/quadratic.h"
#include "unfold/graph/cells/cell.h"
#include "unfold/graph/cells/cells.h"

namespace unfold {
namespace {

/// Initialized to the mean of the children, [1/K 1/K ..], so a node is similar to its children. Socher et al. 2013.
Term matrix_of_children(const std::vector<Signal>& children) {
  return {.parameter = "U",
          .source = children.front().circuit->join(children),
          .init = Init::identity(1, 1 / static_cast<double>(children.size()))};
}

}  // namespace

Signal recursive(Circuit& c, Signal x, Index n, const RecursiveOptions& options) {
  std::vector<Signal> children;
  for (Index k = 0; k < options.children; ++k) children.push_back(c.link(n, Delay::child(k)));
  auto h = activated(c, options.activation, c.affine("z", n, {{"W", x}, matrix_of_children(children)}));
  for (const Signal& child : children) c.feed(child, h);
  return h;
}

Signal recursive_tensor(Circuit& c, Signal x, Index n, const RecursiveOptions& options) {
  const Index width = options.children * n;
  auto all = c.link(width, Delay::each_child(options.children));
  std::vector<Signal> children;
  for (Index k = 0; k < options.children; ++k) children.push_back(c.slice(all, k * n, n));
  const Term tensor{.parameter = "V",
                    .source = all,
                    .init = Init::uniform(0.25),
                    .op = quadratic_form(width, n, 1 / static_cast<double>(width))};
  auto h = activated(c, options.activation, c.affine("z", n, {{"W", x}, matrix_of_children(children), tensor}));
  c.feed(all, h);
  return h;
}

template <class Visitor>
void describe(Visitor& v, RecursiveOptions& o) {
  describe_all_activations(v, o.activation);
  describe_children(v, o.children);
}

namespace {

Index children_of(const RecursiveOptions& o) { return o.children; }

std::string recursive_fault(const StackOptions& stack, const RecursiveOptions&) { return tree_fault(stack); }

constexpr Index kMostTensorInputs = 512;

std::string recursive_tensor_fault(const StackOptions& stack, const RecursiveOptions& o) {
  if (stack.units * o.children > kMostTensorInputs)
    return "units times children must be at most " + std::to_string(kMostTensorInputs) +
           ": each unit has a weight for every pair of them";
  return tree_fault(stack);
}

}  // namespace

CellEntry recursive_cell() {
  CellOf<RecursiveOptions> cell;
  cell.name = "recursive";
  cell.help = "for trees: one layer over the children of each node";
  cell.add = recursive;
  cell.fault = recursive_fault;
  cell.children = children_of;
  return cell;
}

CellEntry recursive_tensor_cell() {
  CellOf<RecursiveOptions> cell;
  cell.name = "recursive-tensor";
  cell.help = "recursive with a quadratic (tensor) term of the children";
  cell.add = recursive_tensor;
  cell.fault = recursive_tensor_fault;
  cell.children = children_of;
  return cell;
}

}  // namespace unfold
