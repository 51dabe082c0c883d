#pragma once
/// The recurrent language model: a circuit from a SPEC, an alphabet, parameters, and a card that says where it comes
/// from.
///
///   LanguageModel<float> model("lstm:512", alphabet);
///   model.initialise(seed);
///   train(model, data, options, team, ...);                   // models/train.h
///   model.save("model.safetensors");
///   auto loaded = LanguageModel<float>::load("model.safetensors");
///   Evaluation e = loaded.evaluate(corpus, part, team);
///   RecurrentPredictor predictor(loaded);                     // one symbol at a time
///
/// File (symbol_model.h): one tensor per parameter, by its name; format "unfold-language-model".
/// Loading executes nothing and checks every tensor against the circuit. Equal models give equal bytes.
/// A model may be moved, and read by several threads at once.

#include <memory>
#include <string>
#include <string_view>

#include "unfold/capabilities/symbol_model.h"
#include "unfold/circuit/parameters.h"
#include "unfold/data/alphabet.h"
#include "unfold/engine/stepper.h"
#include "unfold/losses/network.h"
#include "unfold/models/parameter_tensors.h"
#include "unfold/models/spec.h"

namespace unfold {

template <class T>
class LanguageModel final : public SymbolModel {
 public:
  static constexpr const char* kFormat = "unfold-language-model";

  /// Throws UsageError for a bad SPEC. Parameters are zero until initialised.
  LanguageModel(std::string_view spec, Alphabet alphabet);
  /// Throws ModelError: another format or version, a tensor missing, extra or of the wrong shape or type, a value that
  /// is not finite.
  explicit LanguageModel(const ModelFile& file);
  void initialise(std::uint64_t seed) { parameters_.initialise(seed); }

  const ModelSpec& spec() const { return spec_; }
  std::string spec_text() const override { return to_string(spec_); }
  const Circuit& circuit() const { return *circuit_; }
  std::shared_ptr<const Plan> plan() const { return plan_; }
  Signal symbols() const { return signals_.symbols; }
  Signal logits() const { return signals_.logits; }
  Parameters<T>& parameters() { return parameters_; }
  const Parameters<T>& parameters() const { return parameters_; }
  /// For the trainer and the evaluator; valid as long as the model.
  Network<T> network() const;

  std::unique_ptr<Predictor> predictor() const override;
  /// Many sequences or segments side by side; with the bits of the predictor, except that `segments` start anew.
  Evaluation evaluate(const Corpus& corpus, const Part& part, Team& team,
                      const EvaluateOptions& options = {}) const override;

  using SymbolModel::save;
  /// The same with other parameters of the same circuit.
  void save(const std::string& path, const Parameters<T>& parameters) const;
  /// Throws ModelError.
  static LanguageModel load(const std::string& path);
  static LanguageModel from_bytes(std::string bytes, std::string name);

 protected:
  std::string format() const override { return kFormat; }
  void add_tensors(SafetensorsWriter& writer) const override { unfold::add_tensors(writer, parameters_); }

 private:
  void build();
  void allocate();

  ModelSpec spec_;
  std::unique_ptr<Circuit> circuit_;  // signals and plan point to it
  ModelSignals signals_;
  std::shared_ptr<const Plan> plan_;
  Parameters<T> parameters_;
};

/// A language model one symbol at a time. Clones share the weights and one stepper, so a predictor and its clones must
/// be used from one thread; clones cost one state vector. The model must outlive them.
template <class T>
class RecurrentPredictor final : public Predictor {
 public:
  explicit RecurrentPredictor(const LanguageModel<T>& model);
  Index alphabet() const override;
  std::span<const float> log_probabilities() override;
  void observe(Symbol symbol) override;
  void reset() override;
  std::unique_ptr<Predictor> clone() const override;

 private:
  struct Engine;
  RecurrentPredictor(const RecurrentPredictor&) = default;
  void advance();

  std::shared_ptr<Engine> engine_;
  State<T> state_;              // after all symbols but the pending one
  Symbol pending_ = kNoSymbol;  // observed, but not yet read by the circuit
  bool current_ = false;        // log_probabilities_ are those after the pending symbol
  std::vector<float> log_probabilities_;
};

}  // namespace unfold
