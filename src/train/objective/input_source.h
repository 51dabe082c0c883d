#pragma once
/// Training of networks that read their own outputs: scheduled sampling, which replaces inputs by constant outputs, and
/// output feedback, through which the gradient flows.

#include <memory>
#include <string_view>

#include "train/objective/objective_options.h"
#include "unfold/data/text/batch.h"
#include "unfold/graph/circuit/parameters.h"
#include "unfold/loss/network.h"

namespace unfold {

template <class T>
class InputSource {
 public:
  virtual ~InputSource() = default;
  /// Returns the batch in which each position reads one of the network's own outputs with probability 1 - forcing; with
  /// feedback, only the free positions do. `state`: the state before the batch, for which `enter_batch` is called.
  virtual const Batch& read(const Batch& batch, State<T>& state, const Parameters<T>& parameters, double forcing,
                            Index step) = 0;
  /// Throws UsageError if the gradient flows through these inputs: metrics are defined only for outputs that the
  /// network does not read.
  virtual void require_true_inputs(std::string_view /*optimizer*/) const {}
};

/// Returns null if the options specify neither. Throws UsageError for steps over several batches.
template <class T>
std::unique_ptr<InputSource<T>> make_input_source(const Network<T>& network, const BatchObjectiveOptions& options,
                                                  Team& team);

}  // namespace unfold
