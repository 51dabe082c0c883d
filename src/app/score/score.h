#pragma once
/// Surprisal of every symbol or line of a text.
///
///   const ScoredText text = score({.model = "run", .data = "today.log", .by = ScoreUnit::line});
///   for (const ScoredLine& line : text.lines()) use(line.bits());

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "app/evaluate/reading.h"
#include "app/plots/roc.h"

namespace unfold {

enum class ScoreUnit { symbol, line, state };

struct ScoreRequest {
  std::string model, data;  ///< run folder or model file; one text file
  /// The unit of the requested results. Lines require an alphabet with a line ending; states require a hidden Markov
  /// model.
  ScoreUnit by = ScoreUnit::symbol;
  std::optional<std::string> mask = {};  ///< file that marks the symbols to be predicted
  std::string unknown = "error";         ///< handling of symbols that are not in the alphabet: "error" or "skip"
  ReadingSettings reading = {};
  Index threads = 0;  ///< 0: all available processors
};

struct ScoredSymbol {
  Index position;
  std::string name;
  float nats;  ///< NaN: not predicted
};
struct ScoredState {
  ScoredSymbol symbol;
  Index state;       ///< state on the most probable path
  double posterior;  ///< posterior probability of the state, given the whole sequence
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
  /// Returns one label per line, from a file, or from the first column if the training data of the model had labels
  /// there. Empty if there are none. Throws UsageError if there are labels in both, and DataError if the number of
  /// labels differs from the number of lines.
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

/// Throws UsageError, DataError, and ModelError (including for non-finite predictions).
ScoredText score(const ScoreRequest& request, Reporter& reporter);
ScoredText score(const ScoreRequest& request);
/// Like the function above, for a model that is already loaded; `request.model` is its name.
ScoredText score(std::unique_ptr<SymbolModel> model, const ScoreRequest& request, Reporter& reporter);

/// Returns how well line scores separate lines with the label `normal` from all other lines. REQUIRES one label per
/// line.
struct RocResults {
  Roc by_bits_per_symbol, by_bits;
};
RocResults judge(const std::vector<ScoredLine>& lines, const std::vector<std::string>& labels,
                 const std::string& normal);

}  // namespace unfold
