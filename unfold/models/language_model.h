#pragma once
/// The recurrent language model: a circuit from a SPEC, an alphabet, parameters, and a card that says where it comes
/// from.
///
///   LanguageModel<float> model("lstm:512", alphabet);
///   model.initialise(seed);
///   train(model, data, options, team, ...);                   // models/train.h
///   model.save("model.safetensors");
///   auto loaded = LanguageModel<float>::load("model.safetensors");
///   Evaluation e = evaluate(loaded, corpus, part, team);
///   RecurrentPredictor predictor(loaded);                     // one symbol at a time
///
/// File: safetensors; one tensor per parameter, by its name; metadata "card": a JSON object with the keys
///   format "unfold-language-model", format_version, model (SPEC), alphabet, configuration, history.
/// Loading executes nothing and checks every tensor against the circuit. Equal models give equal bytes.
/// A model may be moved, and read by several threads at once.

#include <functional>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "unfold/circuit/parameters.h"
#include "unfold/data/alphabet.h"
#include "unfold/engine/stepper.h"
#include "unfold/models/predictor.h"
#include "unfold/models/spec.h"
#include "unfold/training/evaluate.h"
#include "unfold/training/network.h"

namespace unfold {

class SafetensorsFile;
class SafetensorsWriter;

template <class T>
class LanguageModel {
 public:
  /// Throws UsageError for a bad SPEC. Parameters are zero until initialised.
  LanguageModel(std::string_view spec, Alphabet alphabet);
  void initialise(std::uint64_t seed) { parameters_.initialise(seed); }

  const ModelSpec& spec() const { return spec_; }
  const Alphabet& alphabet() const { return alphabet_; }
  const Circuit& circuit() const { return *circuit_; }
  std::shared_ptr<const Plan> plan() const { return plan_; }
  Signal symbols() const { return signals_.symbols; }
  Signal logits() const { return signals_.logits; }
  Parameters<T>& parameters() { return parameters_; }
  const Parameters<T>& parameters() const { return parameters_; }
  /// For the trainer and the evaluator; valid as long as the model.
  Network<T> network() const;

  /// What the card tells about training. Anything that depends on the clock, the threads or the names of folders does
  /// not belong here: equal training shall give equal files. Both are JSON values of the caller's choice.
  nlohmann::json& configuration() { return configuration_; }
  const nlohmann::json& configuration() const { return configuration_; }
  nlohmann::json& history() { return history_; }  ///< an array, one object per training run
  const nlohmann::json& history() const { return history_; }
  nlohmann::json card() const;

  void save(const std::string& path) const { save(path, parameters_); }  ///< atomically; throws RuntimeFailure
  /// The same with other parameters of the same circuit.
  void save(const std::string& path, const Parameters<T>& parameters) const;
  std::string bytes() const;  ///< what `save` writes
  /// Throws ModelError: missing, damaged, another format or version, a tensor missing, extra or of the wrong shape or
  /// type, a value that is not finite.
  static LanguageModel load(const std::string& path);
  static LanguageModel from_bytes(std::string bytes, std::string name);

 private:
  LanguageModel(const ModelSpec& spec, Alphabet alphabet);  // the circuit only
  void allocate();
  void fill(SafetensorsWriter& writer, const Parameters<T>& parameters) const;
  static LanguageModel read(const SafetensorsFile& file);

  ModelSpec spec_;
  Alphabet alphabet_;
  std::unique_ptr<Circuit> circuit_;  // signals and plan point to it
  ModelSignals signals_;
  std::shared_ptr<const Plan> plan_;
  Parameters<T> parameters_;
  nlohmann::json configuration_ = nlohmann::json::object(), history_ = nlohmann::json::array();
};

/// A language model one symbol at a time. Clones share the weights and one stepper, so a predictor and its clones must
/// be used from one thread; clones cost one state vector. The model must outlive them.
class RecurrentPredictor final : public Predictor {
 public:
  explicit RecurrentPredictor(const LanguageModel<float>& model);
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
  State<float> state_;          // after all symbols but the pending one
  Symbol pending_ = kNoSymbol;  // observed, but not yet read by the circuit
  bool current_ = false;        // log_probabilities_ are those after the pending symbol
  std::vector<float> log_probabilities_;
};

struct EvaluateOptions {
  /// 0: exact, every sequence read from its first symbol on as one chain: the numbers of the predictor bit for bit.
  /// Otherwise each sequence is cut so that there are about so many segments side by side (much faster on one long
  /// sequence), each warmed up on the `warmup` symbols before it, every symbol scored once.
  Index segments = 0;
  Index warmup = 512;
  Index window = 128;  ///< symbols per pass; no influence on the result
  Index lanes = 64;    ///< sequences side by side (exact); no influence on the result
  Symbol predict_after = kNoSymbol;
  /// Surprisal in nats of every predicted symbol: (number of the symbol within the part, from 0; nats), in no
  /// particular order.
  std::function<void(Index, float)> surprisal = {};
};

/// Nats of a part of a corpus of the model's alphabet (UsageError otherwise).
template <class T>
Evaluation evaluate(const LanguageModel<T>& model, const Corpus& corpus, const Part& part, Team& team,
                    const EvaluateOptions& options = {});

/// Nats of a part with any predictor, symbol by symbol; the same counting.
Evaluation evaluate(Predictor& predictor, const Corpus& corpus, const Part& part, Symbol predict_after = kNoSymbol,
                    const std::function<void(Index, float)>& surprisal = {});

}  // namespace unfold
