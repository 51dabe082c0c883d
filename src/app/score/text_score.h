#pragma once
/// Surprisal of the lines of a text in streaming mode, from a file, standard input or an endless pipe.
///
///   TextScorer scorer(*model, "run");
///   for (std::string_view line; source.next(line);) scorer.score({{std::string(line), true}}, print);
///
/// The results are bit-identical to those of `SymbolModel::evaluate`. A model that was trained on lines is reset at
/// each line; other models carry their state over.

#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "app/evaluate/reading.h"
#include "model/finite.h"
#include "unfold/base/threads/team.h"

namespace unfold {

/// How symbols that are not in the alphabet affect the score of their line.
enum class UnknownScore {
  error,    ///< throws DataError
  skip,     ///< unknown symbols do not count
  surprise  ///< adds kUnknownNats per character; the model does not read them
};
/// Parses "error", "skip" or "surprise". Throws a UsageError that suggests the nearest name.
UnknownScore parse_unknown_score(const std::string& name);

/// ln 1,112,064: the surprisal of a Unicode code point if all code points are equally probable.
inline constexpr double kUnknownNats = 13.921728;

struct TextLine {
  std::string text;   ///< the line without its line ending
  bool ended = true;  ///< whether the line had a line ending
};

struct ScoredTextLine {
  Index number = 0;   ///< from 1
  Index symbols = 0;  ///< predicted symbols, and unknown symbols that count
  double nats = 0;
  std::optional<std::string_view> label = {};
  std::string_view text = {};  ///< text without the label; valid as long as the TextLine
};

class TextScorer {
 public:
  /// The model must outlive the scorer; `name` is used in messages. Throws UsageError for an alphabet without a line
  /// ending.
  TextScorer(const SymbolModel& model, std::string name, UnknownScore unknown = UnknownScore::error, int threads = 1);

  /// Scores the next lines of one text, in order. Passing several lines at once is faster if each line is a separate
  /// sequence. Throws a DataError that names the line (an unknown symbol, invalid UTF-8, or no label although the
  /// training data had labels), and ModelError if a prediction is not finite.
  void score(std::span<const TextLine> lines, const std::string& source,
             const std::function<void(const ScoredTextLine&)>& use);

  bool has_labels() const { return labeled_; }
  Index unknown() const { return unknown_seen_; }  ///< symbols so far that are not in the alphabet

 private:
  struct Line {
    ScoredTextLine scored;
    std::vector<Symbol> symbols = {};
  };
  Line read(const TextLine& line, const std::string& source);
  void count_unknown(const Alphabet::Token& token, Line& line, const std::string& source);
  void follow(Line& line);
  void evaluate_side_by_side(std::span<Line> lines);
  void add(Line& line, double nats);

  const SymbolModel& model_;
  std::string name_;
  UnknownScore policy_;
  bool by_lines_, labeled_;
  Symbol after_, previous_ = kNoSymbol;
  Team team_;
  std::unique_ptr<Predictor> predictor_ = nullptr;  // null: lines are evaluated as a batch
  SurprisalCheck check_ = {};
  Index lines_ = 0, symbols_ = 0, unknown_seen_ = 0;
};

}  // namespace unfold
