#pragma once
/// The option `gates` of cells: the gate function. Internal to cells/.
///
///   sigmoid:  1 / (1 + exp(-x)), which never closes completely
///   hard:     min(max(x / 4 + 1/2, 0), 1), the tangent of the sigmoid at 0, clipped: exactly 0 from -2 down, exactly 1
///             from 2 up (Gulcehre et al. 2016)

#include "unfold/graph/cells/cell.h"

namespace unfold {

inline Signal gate(Signal x, bool hard) { return hard ? hard_sigmoid(x) : sigmoid(x); }

template <class Visitor>
void describe_gates(Visitor& v, bool& hard) {
  v("gates", hard,
    "hard: piecewise linear gates, which can close completely and keep a state forever (Gulcehre et al. 2016)",
    {{false, "sigmoid"}, {true, "hard"}});
}

}  // namespace unfold
