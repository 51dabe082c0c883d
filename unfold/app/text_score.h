#pragma once
/// How surprising the lines of a text are, as they come: of a file, of standard input, of a pipe without end.
///
///   TextScorer scorer(*model, "run");
///   for (std::string_view line; source.next(line);) scorer.score({{std::string(line), true}}, print);
///
/// The numbers are those of `SymbolModel::evaluate` bit for bit: a model that was trained on lines begins anew with
/// each line, another one reads on.

#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "unfold/app/reading.h"
#include "unfold/base/team.h"
#include "unfold/capabilities/finite.h"

namespace unfold {

/// What a symbol that the model does not know does to the score of its line.
enum class UnknownScore {
  error,    ///< DataError
  skip,     ///< nothing
  surprise  ///< kUnknownNats for each of its characters; the model reads on as if it was not there
};
/// "error", "skip", "surprise". Throws UsageError suggesting the nearest name.
UnknownScore parse_unknown_score(const std::string& name);

/// ln 1,112,064: to name one of the characters that Unicode has room for.
inline constexpr double kUnknownNats = 13.921728;

struct TextLine {
  std::string text;   ///< without its line end
  bool ended = true;  ///< whether it had one
};

struct ScoredTextLine {
  Index number = 0;   ///< from 1
  Index symbols = 0;  ///< predicted ones, and the unknown ones that count
  double nats = 0;
  std::optional<std::string_view> label = {};
  std::string_view text = {};  ///< without the label; lives as long as the TextLine
};

class TextScorer {
 public:
  /// The model must outlive the scorer; `name` is for messages. Throws UsageError for an alphabet without a line end.
  TextScorer(const SymbolModel& model, std::string name, UnknownScore unknown = UnknownScore::error, int threads = 1);

  /// Scores the next lines of one text, in order. More than one at once are faster where lines are sequences of their
  /// own. Throws DataError naming the line: an unknown symbol, invalid UTF-8, no label where the model's data have
  /// them; ModelError for a model that predicts no numbers.
  void score(std::span<const TextLine> lines, const std::string& source,
             const std::function<void(const ScoredTextLine&)>& use);

  bool has_labels() const { return labelled_; }
  Index unknown() const { return unknown_seen_; }  ///< symbols so far that the model does not know

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
  bool by_lines_, labelled_;
  Symbol after_, previous_ = kNoSymbol;
  Team team_;
  std::unique_ptr<Predictor> predictor_ = nullptr;  // null: lines are evaluated side by side
  SurprisalCheck check_ = {};
  Index lines_ = 0, symbols_ = 0, unknown_seen_ = 0;
};

}  // namespace unfold
