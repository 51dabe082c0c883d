#pragma once
/// How surprising every symbol or line of a text is, as one call.
///
///   const ScoredText text = score({.model = "run", .data = "today.log", .by = ScoreUnit::line});
///   for (const ScoredLine& line : text.lines()) use(line.bits());

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "unfold/app/reading.h"
#include "unfold/report/roc.h"

namespace unfold {

enum class ScoreUnit { symbol, line, state };

struct ScoreRequest {
  std::string model, data;  ///< run folder or model file; one text file
  /// What will be asked for. Lines need an alphabet with a line end, states a hidden Markov model.
  ScoreUnit by = ScoreUnit::symbol;
  std::optional<std::string> mask = {};  ///< file: which symbols are to be predicted
  std::string unknown = "error";         ///< symbols that the model does not know: "error" or "skip"
  ReadingSettings reading = {};
  Index threads = 0;  ///< 0: every processor available
};

struct ScoredSymbol {
  Index position;
  std::string name;
  float nats;  ///< NaN where nothing was to be predicted
};
struct ScoredState {
  ScoredSymbol symbol;
  Index state;       ///< of the most probable path
  double posterior;  ///< how sure that is, given the whole sequence
};
struct ScoredLine {
  Index number = 1, symbols = 0;
  double nats = 0;
  double bits() const;
  double bits_per_symbol() const;
};

/// A text with the surprisal of every symbol.
class ScoredText {
 public:
  ScoredText(std::unique_ptr<SymbolModel> model, std::string file, Corpus corpus);

  const Evaluation& evaluation() const { return evaluation_; }
  Index unknown() const { return corpus_.unknown(); }
  void for_each_symbol(const std::function<void(const ScoredSymbol&)>& use) const;
  void for_each_state(const std::function<void(const ScoredState&)>& use) const;
  std::vector<ScoredLine> lines() const;
  /// A label for each line: from a file, or from the first column where the model's data have their labels there; empty
  /// when there are none. Throws UsageError when both say so, DataError when they are not as many as the lines.
  std::vector<std::string> labels(const std::optional<std::string>& file, const std::vector<ScoredLine>& lines) const;

 private:
  friend ScoredText score(std::unique_ptr<SymbolModel> model, const ScoreRequest& request, Reporter& reporter);
  std::unique_ptr<SymbolModel> model_;
  std::string file_;
  Corpus corpus_;
  Split part_;
  Surprisals surprisals_;
  Evaluation evaluation_ = {};
};

/// Throws UsageError, DataError, ModelError (also for predictions that are not finite).
ScoredText score(const ScoreRequest& request, Reporter& reporter);
ScoredText score(const ScoreRequest& request);
/// The same with the model that `request.model` names already loaded.
ScoredText score(std::unique_ptr<SymbolModel> model, const ScoreRequest& request, Reporter& reporter);

/// How well the scores of lines tell those with another label than `normal` from the others. One label per line.
struct LineJudgement {
  Roc by_bits_per_symbol, by_bits;
};
LineJudgement judge(const std::vector<ScoredLine>& lines, const std::vector<std::string>& labels,
                    const std::string& normal);

}  // namespace unfold
