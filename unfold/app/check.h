#pragma once
/// The derivatives of a model against finite differences, at a small size. A hidden Markov model is checked as the
/// network that it is (classical/hmm.h), and the probabilities of the network with its forward algorithm.

#include <string>

#include "unfold/runs/reporter.h"
#include "unfold/verify/derivative_check.h"

namespace unfold {

struct CheckRequest {
  std::string model;             ///< SPEC, as for train; its size is cut down to `units`
  Index units = 5, symbols = 4;  ///< at most in a layer; in the alphabet
  std::uint64_t seed = 1;        ///< of parameters and data
};
struct CheckOutcome {
  std::string model;  ///< SPEC of what was checked
  CheckReport report;
};
/// Throws UsageError, also for a fitted model. Whether the checks passed, the report says.
CheckOutcome check(const CheckRequest& request, Reporter& reporter);

}  // namespace unfold
