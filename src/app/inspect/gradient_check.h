#pragma once
/// Gradient check: compares the derivatives of a small model with finite differences. A hidden Markov model is checked
/// as its equivalent network (model/hmm/hmm.h), whose probabilities are also compared with the forward algorithm.

#include <string>

#include "app/common/reporter.h"
#include "unfold/gradcheck/derivative_check.h"

namespace unfold {

struct CheckRequest {
  std::string model;             ///< SPEC, as for train; sizes are reduced to `units`
  Index units = 5, symbols = 4;  ///< maximum units per layer; alphabet size
  std::uint64_t seed = 1;        ///< seed of the parameters and the data
};
struct CheckOutcome {
  std::string model;  ///< SPEC of the checked model
  CheckReport report;
};
/// Throws UsageError, including for a model that is not trained by gradients. The report states whether the checks
/// passed.
CheckOutcome check(const CheckRequest& request, Reporter& reporter);

}  // namespace unfold
