#pragma once
/// What training and evaluation see of a model: a plan, where symbols or vectors go in, what comes out, how that is
/// read.

#include <memory>
#include <vector>

#include "unfold/engine/unfolding.h"
#include "unfold/losses/readout.h"

namespace unfold {

template <class T>
struct Network {
  std::shared_ptr<const Plan> plan;
  Signal symbols, output;
  std::shared_ptr<const Readout<T>> readout;
  bool dropout = false;             ///< the circuit contains masks
  Signal vectors = {};              ///< where real vectors go in instead of symbols; not set otherwise
  std::vector<Signal> hidden = {};  ///< outputs of the circuit that penalties act on (penalty.h); otherwise none
  /// The same network with fewer outputs, for sampled softmax (sampled_softmax.h); otherwise none.
  std::shared_ptr<const Network> fewer_outputs = nullptr;

  /// Of the products of passes over windows (window_pass.h). What else is done with the network is exact.
  Precision precision = Precision::exact;

  bool reads_vectors() const { return vectors.valid(); }
};

}  // namespace unfold
