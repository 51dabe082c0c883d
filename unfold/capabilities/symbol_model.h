#pragma once
/// A model of symbol sequences of whatever kind: recurrent, n-gram, hidden Markov, context tree, mixture. Every verb of
/// the command is written once against it.
///
///   auto model = load_symbol_model("model.safetensors");           // models/registry.h
///   Evaluation e = model->evaluate(corpus, part, team);
///   auto predictor = model->predictor();                           // one symbol at a time
///
/// File: safetensors with the model's tensors and metadata "card": a JSON object with the keys
///   format (the kind of model), format_version, model (SPEC), alphabet, configuration, history.
/// Loading executes nothing and checks every tensor. Equal models give equal bytes. A model may be read by several
/// threads at once.

#include <atomic>
#include <functional>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <string>

#include "unfold/base/json.h"
#include "unfold/capabilities/predictor.h"
#include "unfold/data/alphabet.h"
#include "unfold/data/safetensors.h"
#include "unfold/training/evaluate.h"
#include "unfold/training/trainer.h"

namespace unfold {

struct EvaluateOptions {
  /// 0: exact, every sequence read from its first symbol on as one chain: the numbers of the predictor bit for bit.
  /// Otherwise each sequence is cut so that there are about so many segments side by side (much faster on one long
  /// sequence), each warmed up on the `warmup` symbols before it, every symbol scored once. Recurrent models only.
  Index segments = 0;
  Index warmup = 512;
  Index window = 128;  ///< symbols per pass; no influence on the result
  Index lanes = 64;    ///< sequences side by side (exact); no influence on the result
  Symbol predict_after = kNoSymbol;
  /// Surprisal in nats of every predicted symbol: (number of the symbol within the part, from 0; nats), in no
  /// particular order.
  std::function<void(Index, float)> surprisal = {};
};

/// A model file that is open and whose card was read; what the models make themselves from.
class ModelFile {
 public:
  /// Throws ModelError: missing, damaged, without a card.
  static ModelFile open(const std::string& path);
  static ModelFile from_bytes(std::string bytes, std::string name);

  const std::string& name() const { return tensors_.name(); }
  const SafetensorsFile& tensors() const { return tensors_; }
  std::string format() const { return value<std::string>("format"); }
  /// Throws ModelError when the file is of another format or version.
  void expect(std::string_view format, int version) const;
  /// Throws ModelError unless the file holds exactly these tensors.
  void expect_tensors(const std::vector<std::string>& names) const;
  /// A key of the card; ModelError when it is missing or of another type.
  template <class Value>
  Value value(const char* key) const;
  [[noreturn]] void fail(const std::string& what) const;  ///< ModelError naming the file

 private:
  explicit ModelFile(SafetensorsFile tensors);
  SafetensorsFile tensors_;
  JsonBox card_;
};

struct TensorShape {
  std::string name;
  Index rows, cols;
};

class SymbolModel {
 public:
  virtual ~SymbolModel() = default;
  virtual std::string spec_text() const = 0;  ///< canonical
  const Alphabet& alphabet() const { return alphabet_; }

  /// A predictor before the first symbol. The model must outlive it.
  virtual std::unique_ptr<Predictor> predictor() const = 0;
  /// Nats of a part of a corpus of the model's alphabet (UsageError otherwise). Unless a model knows a faster way: its
  /// predictor, symbol by symbol.
  virtual Evaluation evaluate(const Corpus& corpus, const Part& part, Team& team,
                              const EvaluateOptions& options = {}) const;

  /// What the card tells about training. Anything that depends on the clock, the threads or the names of folders does
  /// not belong here: equal training shall give equal files. Both are JSON values of the caller's choice.
  nlohmann::json& configuration() { return *configuration_; }
  const nlohmann::json& configuration() const { return *configuration_; }
  nlohmann::json& history() { return *history_; }  ///< an array, one object per training run
  const nlohmann::json& history() const { return *history_; }
  nlohmann::json card() const;

  void save(const std::string& path) const;  ///< atomically; throws RuntimeFailure
  std::string bytes() const;                 ///< what `save` writes
  std::vector<TensorShape> tensors() const;  ///< of the file, by name
  Index parameter_count() const;             ///< numbers in all tensors together

 protected:
  explicit SymbolModel(Alphabet alphabet);
  /// Alphabet, configuration and history of a file. Throws ModelError.
  explicit SymbolModel(const ModelFile& file);
  SymbolModel(const SymbolModel&) = default;
  SymbolModel(SymbolModel&&) = default;
  SymbolModel& operator=(const SymbolModel&) = default;
  SymbolModel& operator=(SymbolModel&&) = default;

  virtual std::string format() const = 0;
  virtual int format_version() const { return 1; }
  /// Tensors of rank 1 or 2. What they refer to must live until they are written: in the model.
  virtual void add_tensors(SafetensorsWriter& writer) const = 0;
  /// Throws UsageError when the corpus was read with another alphabet.
  void check_alphabet(const Corpus& corpus) const;

 private:
  Alphabet alphabet_;
  JsonBox configuration_, history_;
};

struct FitOptions {
  std::uint64_t seed = 1;
  const std::atomic<bool>* stop = nullptr;  ///< polled now and then; then InterruptedError
  /// What is being done, and how much of it is done (0..1).
  std::function<void(const std::string&, double)> progress = {};

  /// Tells the progress; throws InterruptedError when a stop was asked for. Cheap enough for every thousandth symbol.
  void tick(const char* what, double fraction) const;
};

/// A model that is not trained by gradient but fitted to a part as a whole.
class FittedModel : public SymbolModel {
 public:
  /// Fits to `data.training` and forgets what it was fitted to before. The validation part, if there is one, may decide
  /// when to stop. Returns what the history shall tell (an object). Results do not depend on the size of the team.
  /// Throws InterruptedError, UsageError for a corpus of another alphabet.
  virtual nlohmann::json fit(const TrainingData& data, const FitOptions& options, Team& team) = 0;

 protected:
  using SymbolModel::SymbolModel;
};

/// Nats of a part with any predictor, symbol by symbol; the counting of `SymbolModel::evaluate`.
Evaluation evaluate(Predictor& predictor, const Corpus& corpus, const Part& part, Symbol predict_after = kNoSymbol,
                    const std::function<void(Index, float)>& surprisal = {});

/// Calls use(symbol) for every symbol of a piece, in order, reading block by block.
void for_each_symbol(const Corpus& corpus, const Piece& piece, const std::function<void(Symbol)>& use);

}  // namespace unfold
