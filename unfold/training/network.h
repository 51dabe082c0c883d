#pragma once
/// What training and evaluation see of a symbol model: a plan, where the symbols go in, what comes out, how that is
/// read.

#include <memory>

#include "unfold/engine/unfolding.h"
#include "unfold/readouts/readout.h"

namespace unfold {

template <class T>
struct Network {
  std::shared_ptr<const Plan> plan;
  Signal symbols, output;
  std::shared_ptr<const Readout<T>> readout;
  bool dropout = false;  ///< the circuit contains masks
};

}  // namespace unfold
