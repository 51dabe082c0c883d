#pragma once
/// Training from the parameters of an existing model, and conversion of hidden Markov models to and from networks:
/// `hmm:20` is equivalent to a `linear-gnn:20` (model/hmm/hmm.h).

#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "app/settings/train_settings.h"
#include "unfold/model/network/language_model.h"

namespace unfold {

/// `model` is a run folder or model file of an hmm. Calls write(bytes) with the model file of the network. Throws
/// ModelError, and UsageError if the model is not an hmm or has zero probabilities.
void export_hmm_as_network(const std::string& model, const std::function<void(std::string_view)>& write);
/// `model` is a run folder or model file of a linear-gnn. Throws a ModelError that says why it is not an HMM.
void export_network_as_hmm(const std::string& model, const std::function<void(std::string_view)>& write);

/// The initial parameters of training, taken from a network or from an hmm converted to a network.
class InitialModel {
 public:
  /// Loads the model and fills in settings that were not set explicitly: architecture, symbols and precision. Throws
  /// ModelError, and UsageError for an unsupported kind of model.
  InitialModel(const std::string& model, TrainSettings& settings, const Given& given);

  const Alphabet& alphabet() const { return network_->alphabet(); }
  /// Throws UsageError if the SPEC differs.
  template <class T>
  void copy_parameters_to(LanguageModel<T>& model) const;

 private:
  std::string name_;
  std::unique_ptr<SymbolModel> network_;
};

}  // namespace unfold
