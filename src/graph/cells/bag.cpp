#include "unfold/graph/cells/cell.h"
#include "unfold/graph/cells/cells.h"

namespace unfold {

Signal bag(Circuit& c, Signal x, Index n, const BagOptions&) {
  if (!c.is_symbols(x) && x.size() == n) return x;
  return c.affine("z", n, {{"W", x}}, Init::zero(), false);
}

template <class Visitor>
void describe(Visitor& v, BagOptions& o) {
  v("start", o.logistic,
    "initial weights: random, or those of a logistic regression on the words (one label per sequence)",
    {{false, "random"}, {true, "logistic"}});
}

CellEntry bag_cell() {
  return CellOf<BagOptions>{
      .name = "bag", .help = "no memory: with pool=mean, the mean of the inputs (deep averaging network)", .add = bag};
}

}  // namespace unfold
