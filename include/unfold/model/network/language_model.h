#pragma once
/// A recurrent language model: a circuit built from a SPEC, an alphabet, parameters, and a card that records how it was
/// made.
///
///   LanguageModel<float> model("lstm:512", alphabet);
///   model.initialize(seed);
///   train(model, data, options, team, ...);                   // model/network/train.h
///   model.save("model.safetensors");
///   auto loaded = LanguageModel<float>::load("model.safetensors");
///   Evaluation e = loaded.evaluate(corpus, part, team);
///   RecurrentPredictor predictor(loaded);                     // one symbol at a time
///
/// File (model/model.h): one tensor per parameter, by its name; kind "language-model". Loading executes no code
/// and checks every tensor against the circuit. Equal models give equal bytes. A model can be moved, and several
/// threads may read it at the same time.

#include <memory>
#include <string>
#include <string_view>

#include "unfold/data/text/alphabet.h"
#include "unfold/graph/circuit/parameters.h"
#include "unfold/graph/engine/stepper.h"
#include "unfold/loss/network.h"
#include "unfold/model/network/network_body.h"
#include "unfold/model/network/spec.h"
#include "unfold/model/parameter_tensors.h"
#include "unfold/model/symbol_model.h"

namespace unfold {

template <class T>
class LanguageModel final : public SymbolModel, public NetworkHolder {
 public:
  static constexpr const char* kKind = "language-model";

  /// Throws UsageError for a bad SPEC. Parameters are zero until initialized.
  LanguageModel(std::string_view spec, const Alphabet& alphabet);
  LanguageModel(const ModelSpec& spec, const Alphabet& alphabet);
  /// Throws ModelError for a different kind of model, for a tensor that is missing, superfluous or of the wrong shape
  /// or type, and for a value that is not finite.
  explicit LanguageModel(const ModelFile& file);
  void initialize(std::uint64_t seed) { body_.parameters().initialize(seed); }

  const ModelSpec& spec() const override { return body_.spec(); }
  std::string spec_text() const override { return to_string(spec()); }
  std::string kind() const override { return kKind; }
  const Circuit& circuit() const override { return body_.circuit(); }
  std::shared_ptr<const Plan> plan() const override { return body_.plan(); }
  Signal symbols() const { return network().inputs.front().signal; }
  /// Returns the signal of the loss: logits of all symbols for a softmax.
  Signal logits() const { return network().heads.front().signal; }
  Parameters<T>& parameters() { return body_.parameters(); }
  const Parameters<T>& parameters() const { return body_.parameters(); }
  /// For the trainer and the evaluator; valid during the lifetime of the model.
  const Network<T>& network() const { return body_.network(); }

  /// Processes many sequences or segments at once. The results are bit-identical to those of the predictor, except that
  /// `segments` start from the initial state.
  Evaluation evaluate(const Corpus& corpus, const Split& part, Team& team,
                      const EvaluateOptions& options = {}) const override;

  /// Reads the next symbols of all streams in one batch.
  std::unique_ptr<Streams> streams(Index count, Team& team) const override;

  using SymbolModel::save;
  /// Saves the model with other parameters of the same circuit.
  void save(const std::string& path, const Parameters<T>& parameters) const;
  /// Throws ModelError.
  static LanguageModel load(const std::string& path);
  static LanguageModel from_bytes(std::string bytes, std::string name);

 protected:
  std::unique_ptr<Predictor> make_predictor() const override;
  void add_tensors(SafetensorsWriter& writer) const override { unfold::add_tensors(writer, parameters()); }
  void add_to_card(nlohmann::json& card) const override;

 private:
  NetworkBody<T> body_;
};

/// Runs a language model one symbol at a time. Clones share the weights and one stepper, so a predictor and its clones
/// must be used from one thread; a clone needs memory only for one state vector. The model must outlive them.
template <class T>
class RecurrentPredictor final : public Predictor {
 public:
  explicit RecurrentPredictor(const LanguageModel<T>& model);
  Index alphabet() const override;
  std::span<const float> log_probabilities() override;
  void reset() override;
  std::unique_ptr<Predictor> clone() const override;

 private:
  struct Engine;
  RecurrentPredictor(const RecurrentPredictor&) = default;
  float log_probability_of(Symbol symbol) override { return -static_cast<float>(surprisal_of(symbol)); }
  double surprisal_of(Symbol symbol) override;
  void update(Symbol symbol) override;
  void advance();

  std::shared_ptr<Engine> engine_;
  State<T> state_;              // state after all symbols except the pending one
  Symbol pending_ = kNoSymbol;  // symbol that has been observed but not yet read by the circuit
  bool current_ = false;        // whether the signal takes the pending symbol into account
  bool complete_ = false;       // whether the log probabilities were computed from the current signal
  std::vector<T> signal_;       // of the loss
  std::vector<float> log_probabilities_;
  std::vector<T> exact_;  // the log probabilities before rounding; empty if no rounding is needed
};

}  // namespace unfold
