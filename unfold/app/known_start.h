#pragma once
/// Models whose parameters training begins with, and hidden Markov models as networks: `hmm:20` is a `linear-gnn:20`
/// with the same probabilities (classical/hmm.h).

#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "unfold/models/language_model.h"
#include "unfold/runs/train_settings.h"

namespace unfold {

/// `model`: run folder or model file of an hmm. Calls write(bytes) with a model file of the network. Throws ModelError,
/// UsageError: it is none, or says that something is impossible.
void export_hmm_as_network(const std::string& model, const std::function<void(std::string_view)>& write);
/// `model`: of a linear-gnn. Throws ModelError that says why it is no HMM.
void export_network_as_hmm(const std::string& model, const std::function<void(std::string_view)>& write);

/// What training starts from: the parameters of a network; of an hmm, those of it as a network.
class KnownStart {
 public:
  /// Settings that nobody gave follow from the model: what it is, what its symbols are, how exact it is. Throws
  /// ModelError, UsageError: a model of another kind.
  KnownStart(const std::string& model, TrainSettings& settings, const Given& given);

  const Alphabet& alphabet() const { return network_->alphabet(); }
  /// Throws UsageError: another SPEC.
  template <class T>
  void put_into(LanguageModel<T>& model) const;

 private:
  std::string name_;
  std::unique_ptr<SymbolModel> network_;
};

}  // namespace unfold
