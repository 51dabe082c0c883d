#pragma once
/// Mixtures of vectors as models, `gaussian-mixture:5` and `bernoulli-mixture:5`: fitted by expectation-maximization
/// from several initializations (loss/hmm/vector_hmm.h with one state, loss/density/bernoulli_mixture_fit.h) and then
/// stored as the parameters of a network without inputs. Each row of the data is one vector.

#include <atomic>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "unfold/base/threads/team.h"
#include "unfold/data/examples/example_set.h"
#include "unfold/model/network/network_model.h"

namespace unfold {

/// Returns whether a SPEC names a mixture: gaussian-mixture or bernoulli-mixture.
bool names_mixture(std::string_view spec);
/// Returns whether a SPEC names a mixture that is fitted by expectation-maximization instead of gradients. Throws
/// UsageError for invalid options.
bool is_fitted_mixture(std::string_view spec);
/// Returns the SPEC of a mixture that is trained by gradients.
std::string by_gradients(std::string_view spec);

struct MixtureFit {
  std::string model;                ///< SPEC of the mixture
  std::vector<double> signal = {};  ///< the parameters, as the loss reads them
  double log_likelihood = 0;        ///< over all rows, times their weights, in units of the standardized data
  Index iterations = 0, rows = 0;
  double weight = 0;  ///< sum of the weights of the rows; without weights, their number

  std::string remark() const;
  nlohmann::json history() const;
};

/// Fits to the vectors of all examples. Throws UsageError, DataError, InterruptedError.
MixtureFit fit_mixture(const ModelSpec& spec, const ExampleSet& training, std::uint64_t seed,
                       const std::atomic<bool>* stop, Team& team);

/// Sets the parameters of a model whose SPEC is fit.model, and writes the model with the history of the fit.
template <class T>
TrainingResult train_mixture(const MixtureFit& fit, NetworkModel<T>& model, const std::string& model_file);

}  // namespace unfold
