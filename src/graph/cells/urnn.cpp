#include <bit>
#include <numbers>

#include "unfold/graph/cells/cell.h"
#include "unfold/graph/cells/cells.h"

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
                      .op = unitary_map(n, static_cast<std::uint64_t>(options.permutation))}},
                    Init::zero(), false);
  auto next = c.affine("h", 2 * n, {{.parameter = "b", .source = z, .init = Init::zero(), .op = modulus_relu(n)}},
                       Init::zero(), false);
  c.feed(h, next);
  return next;
}

template <class Visitor>
void describe(Visitor& v, UrnnOptions& o) {
  v("permutation", o.permutation, "seed of the fixed permutation", range(0, 1e15));
}

namespace {

std::string urnn_fault(const StackOptions& stack, const UrnnOptions&) {
  if (stack.units >= 2 && (stack.units & (stack.units - 1)) == 0) return "";
  return "the number of units of a urnn must be a power of two, at least 2; " + std::to_string(stack.units) +
         " is not a power of two";
}

}  // namespace

CellEntry urnn_cell() {
  return CellOf<UrnnOptions>{.name = "urnn",
                             .help = "unitary RNN; the number of complex units is a power of two",
                             .add = urnn,
                             .fault = urnn_fault,
                             .with_max_units = [](StackOptions& stack, UrnnOptions&, Index) {
                               stack.units =
                                   static_cast<Index>(std::bit_floor(static_cast<std::uint64_t>(stack.units)));
                             }};
}

}  // namespace unfold
