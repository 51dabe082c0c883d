#include "graph/cells/kernels.h"

#include "graph/circuit/random_kernels.h"

namespace unfold {
namespace {

/// The length that is assumed without training data, for checks and plans.
constexpr Index kAssumedLength = 100;

std::string kernels_fault(const StackOptions& stack, const KernelsOptions&) {
  if (stack.needs_layers()) return "random kernels have no layers; they support only the options normalize and length";
  return {};
}

}  // namespace

Signal kernels(Circuit& c, Signal x, Index n, const KernelsOptions& options) {
  if (c.is_symbols(x)) throw UsageError("model kernels reads numbers, not symbols; use another model, such as gru:128");
  const auto whole = c.in_part(0);
  const Signal last = c.link(x.size(), Delay::source_last());
  c.feed(last, x);
  const std::shared_ptr<const Operator> op =
      random_kernels({.features = n,
                      .channels = x.size(),
                      .length = options.length > 0 ? options.length : kAssumedLength,
                      .standardized = options.standardized});
  return c.affine("features", op->outputs(),
                  {{.parameter = "thresholds", .source = last, .init = Init::zero(), .op = op, .keys = x, .values = x}},
                  Init::zero(), false);
}

template <class Visitor>
void describe(Visitor& v, KernelsOptions& o) {
  v("normalize", o.standardized, "series: each channel of each series is first standardized to mean 0 and deviation 1",
    {{false, "none"}, {true, "series"}});
  v("length", o.length,
    "length of a typical series, which determines the dilations; 0: the median of the training series", range(0, 1e9));
}

const CellEntry& kernels_model() {
  static const CellEntry entry = CellOf<KernelsOptions>{
      .name = "kernels",
      .help = "random convolutional kernels over whole series, pooled to features, with a fitted ridge readout",
      .add = kernels,
      .fault = kernels_fault,
      .accepts_joined_input = false};
  return entry;
}

}  // namespace unfold
