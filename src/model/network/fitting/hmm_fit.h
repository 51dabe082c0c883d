#pragma once
/// Hidden Markov models for vectors as models, `gaussian-hmm:4`: fitted by expectation maximization
/// (loss/hmm/vector_hmm.h) and then stored as the parameters of a network without inputs; all commands for networks
/// therefore apply to them.

#include <atomic>
#include <nlohmann/json_fwd.hpp>
#include <span>
#include <string>
#include <vector>

#include "loss/hmm/vector_hmm.h"
#include "unfold/data/examples/example_set.h"
#include "unfold/model/network/network_model.h"

namespace unfold {

bool is_hidden_markov(const ModelSpec& spec);

/// Returns the signal of the loss gaussian-mixture for a model with one state.
std::vector<double> mixture_signal(const VectorHmm& mixture);
/// Returns independent rows as short sequences for a model with one state; the sequences are divided among threads.
/// `weights`: one number per row; empty: all are 1.
VectorSequences rows_as_runs(Matrix<const double> rows, std::span<const double> weights = {});
/// Returns the weights of the examples of a set (data/text/example_weights.h) at each of their positions; empty if they
/// have none.
std::vector<double> weights_of_positions(const ExampleSet& examples);

struct HmmFit {
  std::string model;               ///< SPEC of the model, with the selected number of states
  std::vector<VectorHmmFit> fits;  ///< the selected fit, then the other fits that were tried
  Index positions = 0;

  /// Returns "5 states: log likelihood ..., BIC ...; others ...".
  std::string remark() const;
  nlohmann::json history() const;
};

/// Fits to all examples, which are sequences of `values`. If the SPEC has `fewest`, fits all numbers of states from
/// `fewest` on and selects the fit with the lowest BIC. Throws UsageError, DataError, InterruptedError.
HmmFit fit_states(const ModelSpec& spec, const ExampleSet& training, std::uint64_t seed, const std::atomic<bool>* stop,
                  Team& team);
/// REQUIRES a model of fit.model.
template <class T>
void set_states(const HmmFit& fit, NetworkModel<T>& model);
/// The inverse: the probabilities, means and covariances that the parameters of a model describe, in the units of the
/// network. REQUIRES is_hidden_markov(model.spec()).
template <class T>
VectorHmm states_of(const NetworkModel<T>& model);

/// Like the function above; also writes the model with its history.
template <class T>
TrainingResult train_states(const HmmFit& fit, NetworkModel<T>& model, const std::string& model_file);

}  // namespace unfold
