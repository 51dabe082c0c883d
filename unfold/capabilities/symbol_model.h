#pragma once
/// A model of symbol sequences of whatever kind: recurrent, n-gram, hidden Markov, context tree, mixture. Every verb of
/// the command for text is written once against it.
///
///   auto model = load_symbol_model("model.safetensors");           // models/registry.h
///   Evaluation e = model->evaluate(corpus, part, team);
///   auto predictor = model->predictor();                           // one symbol at a time
///

#include <atomic>
#include <functional>
#include <memory>
#include <string>

#include "unfold/capabilities/model.h"
#include "unfold/capabilities/predictor.h"
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
  Index streams = 64;  ///< sequences side by side (exact); no influence on the result
  Symbol predict_after = kNoSymbol;
  /// Surprisal in nats of every predicted symbol: (number of the symbol within the part, from 0; nats), in no
  /// particular order.
  std::function<void(Index, float)> surprisal = {};
};

class SymbolModel : public Model {
 public:
  static constexpr const char* kWhat = "a model of symbols";

  const Alphabet& alphabet() const { return *data().fields.front().alphabet; }

  /// Whether every line of the data, its line end included, is a sequence: `train --lines`, logs, FASTA of several
  /// records.
  bool reads_lines() const;
  /// The symbol after which the next sequence of the data begins; kNoSymbol where only files end sequences.
  Symbol sequence_end() const { return reads_lines() ? alphabet().line_end() : kNoSymbol; }

  /// A predictor before the first symbol of a sequence. After `sequence_end()` it begins the next one. The model must
  /// outlive it.
  std::unique_ptr<Predictor> predictor() const;
  /// The predictor that archives are coded with. It reads all symbols as one sequence, and its bits never change.
  std::unique_ptr<Predictor> archive_predictor() const;
  /// Nats of a part of a corpus of the model's alphabet (UsageError otherwise). Unless a model knows a faster way: its
  /// predictor, symbol by symbol.
  virtual Evaluation evaluate(const Corpus& corpus, const Split& part, Team& team,
                              const EvaluateOptions& options = {}) const;

 protected:
  explicit SymbolModel(const Alphabet& alphabet);
  explicit SymbolModel(const ModelFile& file);

  /// A predictor of one sequence, before its first symbol. It may learn or not: `predictor` and `archive_predictor`
  /// switch its learning off.
  virtual std::unique_ptr<Predictor> make_predictor() const = 0;

  /// Throws UsageError when the corpus was read with another alphabet.
  void check_alphabet(const Corpus& corpus) const;
};

struct FitOptions {
  std::uint64_t seed = 1;
  const std::atomic<bool>* stop = nullptr;  ///< polled now and then; then InterruptedError
  std::size_t memory_limit = 0;             ///< bytes, of models that have a use for one; 0: as they like
  /// That all fit: those models that can divide the work do; nullptr: this one alone. Only the first has the model.
  Processes* processes = nullptr;
  /// What is being done, and how much of it is done (0..1).
  std::function<void(const std::string&, double)> progress = {};

  /// Tells the progress; throws InterruptedError when a stop was asked for. Cheap enough for every thousandth symbol.
  void tick(const char* what, double fraction) const;
  /// The same for each step of a long loop: most of them cost nothing.
  void tick(const char* what, std::size_t step, std::size_t steps) const {
    constexpr std::size_t kEach = std::size_t{1} << 20;
    if (step % kEach == 0) tick(what, static_cast<double>(step) / static_cast<double>(steps > 0 ? steps : 1));
  }
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
Evaluation evaluate(Predictor& predictor, const Corpus& corpus, const Split& part, Symbol predict_after = kNoSymbol,
                    const std::function<void(Index, float)>& surprisal = {});

/// Calls use(symbol) for every symbol of a piece, in order, reading block by block.
void for_each_symbol(const Corpus& corpus, const Piece& piece, const std::function<void(Symbol)>& use);

}  // namespace unfold
