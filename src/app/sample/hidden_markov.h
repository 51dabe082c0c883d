#pragma once
/// Sequences sampled from hidden Markov models of vectors, and the values that follow observed sequences.

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "loss/hmm/vector_hmm.h"
#include "unfold/data/examples/example_set.h"
#include "unfold/model/network/network_model.h"

namespace unfold {

/// Returns whether a run folder or model file holds a hidden Markov model of vectors (model/network/fitting/hmm_fit.h).
bool holds_hidden_markov(const std::string& model);

template <class T>
class HiddenMarkovModel {
 public:
  /// REQUIRES is_hidden_markov(model.spec()).
  explicit HiddenMarkovModel(const NetworkModel<T>& model);

  const std::vector<std::string>& names() const { return names_; }  ///< of the columns
  const FieldSpecification& field() const { return field_; }
  const VectorHmm& hmm() const { return hmm_; }

  /// Draws a sequence, in units of the data. If `nats` is not null, it becomes -ln of its density.
  DrawnRun draw(Index length, std::uint64_t seed, Index number, double* nats = nullptr) const;
  /// Returns the probabilities of the states at the last position of an example. Throws DataError for a missing vector.
  std::vector<double> last_states(const ExampleSet& examples, Index example) const;
  /// Returns the model of the positions after one whose states have these probabilities.
  HiddenMarkovModel after(std::span<const double> states) const;

 private:
  std::vector<std::string> names_;
  FieldSpecification field_;
  VectorHmm hmm_;
};

}  // namespace unfold
