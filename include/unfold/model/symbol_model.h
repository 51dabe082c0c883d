#pragma once
/// The interface of models for symbol sequences: recurrent, n-gram, hidden Markov, context tree, mixture. Every command
/// for text is written against it.
///
///   auto model = load_symbol_model("model.safetensors");           // model/registry/registry.h
///   Evaluation e = model->evaluate(corpus, part, team);
///   auto predictor = model->predictor();                           // one symbol at a time

#include <atomic>
#include <functional>
#include <memory>
#include <string>

#include "unfold/model/model.h"
#include "unfold/model/predictor.h"
#include "unfold/model/streams.h"
#include "unfold/train/evaluate.h"
#include "unfold/train/trainer.h"

namespace unfold {

struct EvaluateOptions {
  /// 0: exact; every sequence is read from its first symbol as one chain, and the results are bit-identical to those of
  /// the predictor. Otherwise each sequence is cut into about `segments` segments that are processed in parallel (much
  /// faster on one long sequence); each segment is warmed up on the `warmup` symbols before it, and every symbol is
  /// scored once. Only for recurrent models.
  Index segments = 0;
  Index warmup = 512;
  Index window = 128;  ///< symbols per pass; does not affect the result
  Index streams = 64;  ///< sequences in parallel (exact mode); does not affect the result
  Symbol predict_after = kNoSymbol;
  /// Called with the surprisal of every predicted symbol in nats: (index of the symbol within the part, from 0; nats),
  /// in no particular order.
  std::function<void(Index, float)> surprisal = {};
};

class SymbolModel : public Model {
 public:
  static constexpr const char* kWhat = "a model of symbols";

  const Alphabet& alphabet() const { return *data().fields.front().alphabet; }

  /// Returns whether every line of the data, including its line ending, is a separate sequence; this is so for `train
  /// --lines`, logs, and FASTA files with several records.
  bool reads_lines() const;
  /// Returns the symbol after which the next sequence of the data begins, or kNoSymbol if only the end of a file ends a
  /// sequence.
  Symbol sequence_end() const { return reads_lines() ? alphabet().line_end() : kNoSymbol; }

  /// Returns a predictor before the first symbol of a sequence. After `sequence_end()` it begins the next sequence. The
  /// model must outlive it.
  std::unique_ptr<Predictor> predictor() const;
  /// Returns the predictor used to code archives. It reads all symbols as one sequence, and its results must stay
  /// bit-identical in future versions.
  std::unique_ptr<Predictor> archive_predictor() const;
  /// Returns streams that are read side by side, each before the first symbol of a sequence. The model and the team
  /// must outlive them. Throws UsageError if count < 1, and for more than 64 streams of models that keep tables for
  /// each stream (ppm, ctw, cm).
  virtual std::unique_ptr<Streams> streams(Index count, Team& team) const;
  /// Returns the total surprisal of a part of a corpus in nats. The corpus must be over the model's alphabet
  /// (UsageError otherwise). By default, runs the predictor symbol by symbol; models with a faster method override
  /// this.
  virtual Evaluation evaluate(const Corpus& corpus, const Split& part, Team& team,
                              const EvaluateOptions& options = {}) const;

 protected:
  explicit SymbolModel(const Alphabet& alphabet);
  explicit SymbolModel(const ModelFile& file);

  /// Returns a predictor for one sequence, before its first symbol. It may learn; `predictor` and `archive_predictor`
  /// switch learning off.
  virtual std::unique_ptr<Predictor> make_predictor() const = 0;

  /// Throws UsageError if the corpus was read with a different alphabet.
  void check_alphabet(const Corpus& corpus) const;
};

struct FitOptions {
  std::uint64_t seed = 1;
  const std::atomic<bool>* stop = nullptr;  ///< polled regularly; if set, InterruptedError is thrown
  std::size_t memory_limit = 0;             ///< bytes, for models that support a limit; 0: no limit
  /// Processes that all fit the model; models that can divide the work do so. nullptr: only the current process. Only
  /// the first process holds the model.
  Processes* processes = nullptr;
  /// Called with the name of the current stage and the completed fraction (0..1).
  std::function<void(const std::string&, double)> progress = {};

  /// Reports the progress; throws InterruptedError if a stop was requested. Cheap enough to call every 1000 symbols.
  void tick(const char* what, double fraction) const;
  /// Like tick above, for each step of a long loop; most calls return immediately.
  void tick(const char* what, std::size_t step, std::size_t steps) const {
    constexpr std::size_t kEach = std::size_t{1} << 20;
    if (step % kEach == 0) tick(what, static_cast<double>(step) / static_cast<double>(steps > 0 ? steps : 1));
  }
};

/// A model that is fitted to a part as a whole instead of being trained by gradient descent.
class FittedModel : public SymbolModel {
 public:
  /// Fits the model to `data.training`, discarding any earlier fit. The validation part, if there is one, may decide
  /// when to stop. Returns a JSON object for the history. Results do not depend on the size of the team. Throws
  /// InterruptedError; UsageError for a corpus with a different alphabet.
  virtual nlohmann::json fit(const TrainingData& data, const FitOptions& options, Team& team) = 0;

 protected:
  using SymbolModel::SymbolModel;
};

/// Returns the total surprisal of a part in nats with any predictor, symbol by symbol. Symbols are counted as in
/// `SymbolModel::evaluate`.
Evaluation evaluate(Predictor& predictor, const Corpus& corpus, const Split& part, Symbol predict_after = kNoSymbol,
                    const std::function<void(Index, float)>& surprisal = {});

/// Calls use(symbol) for every symbol of a piece in order, reading block by block.
void for_each_symbol(const Corpus& corpus, const Piece& piece, const std::function<void(Symbol)>& use);

}  // namespace unfold
