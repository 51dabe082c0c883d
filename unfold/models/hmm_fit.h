#pragma once
/// Hidden Markov models of vectors as models by themselves, `gaussian-hmm:4`: fitted as a whole, by
/// expectation-maximisation (markov/vector_hmm.h), then put into the parameters of a network that reads nothing, so
/// that every verb of networks is theirs.

#include <atomic>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "unfold/data/example_set.h"
#include "unfold/markov/vector_hmm.h"
#include "unfold/models/network_model.h"

namespace unfold {

bool is_hidden_markov(const ModelSpec& spec);

struct HmmFit {
  std::string model;               ///< its SPEC, with the number of states that was chosen
  std::vector<VectorHmmFit> fits;  ///< the chosen one, then the others that were tried
  Index positions = 0;

  /// "5 states: log likelihood ..., BIC ...; others ...".
  std::string remark() const;
  nlohmann::json history() const;
};

/// Fits to all examples, which are sequences of `values`. With `fewest` of the SPEC, all numbers of states from there
/// on; the one of the smallest BIC is chosen. Throws UsageError, DataError, InterruptedError.
HmmFit fit_states(const ModelSpec& spec, const ExampleSet& training, std::uint64_t seed, const std::atomic<bool>* stop,
                  Team& team);
/// REQUIRES a model of fit.model.
template <class T>
void set_states(const HmmFit& fit, NetworkModel<T>& model);

/// The same, and writes the model with its history.
template <class T>
TrainingResult take_states(const HmmFit& fit, NetworkModel<T>& model, const std::string& model_file);

}  // namespace unfold
