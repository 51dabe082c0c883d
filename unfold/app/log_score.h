#pragma once
/// How strange the lines of a log are, one after another, with constant work and memory for each.
///
///   LogScorer scorer(*model);
///   while (source.next(line)) use(scorer.score(line));
///
/// With x the shape of a line (readers/log_lines.h) of n tokens, its end counted, P(x) its probability under the model,
/// N lines and D different shapes in training, and, among the m lines scored so far, c(x) of this shape and d shapes
/// that stood there,
///
///   surprise(x) = - log2 [ (c(x) + N P(x) + (D + d) P(x)^(1/n)) / (m + N + D + d) ].
///
/// This is the n-gram's own Witten-Bell rule one storey higher, on lines: what was seen counts, the model standing for
/// the lines of training, and what was not has a share of the number of different shapes so far, of which it gets as
/// much as one of its tokens is probable on (geometric) average. So a line that keeps coming loses its surprise, and a
/// long line is no stranger for being long.

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "unfold/app/log_data.h"
#include "unfold/runs/line_source.h"

namespace unfold {

struct LogScoreOptions {
  /// Whether lines scored before count: c, m, d above. Otherwise equal lines have equal scores.
  bool adapt = true;
  /// The name of a placeholder, such as host or pid: the line before with the same value there is context. With c(y, x)
  /// the lines x that followed y so, the probability above is mixed with their share by the same rule. Empty: none.
  std::string context = {};
  std::string name = "the log";  ///< for messages
};

struct ScoredLogLine {
  Index number = 0;   ///< from 1
  Index symbols = 0;  ///< tokens and the line end
  double nats = 0;    ///< of all of them, -ln P(x)
  double surprise = 0;
  std::string token = {};  ///< that surprised most: as the model reads it, `<eos>` for the line end
  double token_nats = 0;
  std::optional<std::string> label = {};
  double bits() const;
  double bits_per_symbol() const;
  double surprise_bits() const;
  double token_bits() const;
};

/// Takes the lines of a log apart: label, text, shape and what is masked in it.
class LogLineReader {
 public:
  /// `name`: for messages.
  LogLineReader(const LogCard& card, std::string name)
      : name_(std::move(name)), label_column_(card.label_column), scanner_(card.rules) {}
  /// REQUIRES that the line lives as long as its parts are used. Throws DataError for a line without label where the
  /// first that is not empty had one, and for UTF-16.
  void read(std::string_view line);
  Index number() const { return lines_; }  ///< from 1
  const std::optional<std::string>& label() const { return label_; }
  std::string_view text() const { return text_; }  ///< without the label
  const LogLine& parts() const { return parts_; }

 private:
  std::string name_;
  bool label_column_;
  LogScanner scanner_;
  std::optional<bool> labelled_ = {};
  Index lines_ = 0, unlabelled_ = 0;  // unlabelled: the first line that begins with no word; 0: none yet
  std::optional<std::string> label_ = {};
  std::string_view text_;
  LogLine parts_;
};

/// How rare each masked value of a log's lines is (log_values.h).
class LogValueScorer {
 public:
  /// With `adapt` the values of lines scored before count. Throws as LogScorer.
  LogValueScorer(const SymbolModel& model, bool adapt, std::string name = "the log");

  struct Scored {
    MaskedValue value;
    double surprise = 0;  ///< in nats
  };
  /// The values of a line, in their order. As LogLineReader::read.
  const std::vector<Scored>& score(std::string_view line);
  const LogLineReader& line() const { return reader_; }

 private:
  LogCard card_;
  LogLineReader reader_;
  bool adapt_;
  std::vector<Scored> scored_;
};

class LogScorer {
 public:
  /// The model must outlive the scorer. Throws UsageError for a model of other data and for a context that no rule is
  /// named after; ModelError.
  explicit LogScorer(const SymbolModel& model, LogScoreOptions options = {});

  /// Scores a line without its line end. Throws as LogLineReader::read, and ModelError for a model that predicts no
  /// numbers.
  ScoredLogLine score(std::string_view line);
  const LogLineReader& line() const { return reader_; }  ///< the last

 private:
  struct Shape {
    Index number = 0, symbols = 0, seen = 0;
    double nats = 0, token_nats = 0;
    std::string token = {};
  };
  struct Context {
    Index lines = 0, different = 0;
  };
  Shape& shape_of_line();
  Shape measured() const;
  double surprise(const Shape& shape);
  double mixed_with_context(double log_probability, const Shape& shape);
  void forget_rare();

  const SymbolModel& model_;
  LogScoreOptions options_;
  LogCard card_;
  LogLineReader reader_;
  std::unique_ptr<Predictor> predictor_;
  std::unordered_map<std::string, Shape> shapes_;
  std::unordered_map<std::string, Index> previous_;  // number of the last shape, by the value of the context
  std::unordered_map<Index, Context> followed_;      // by the number of a shape
  std::unordered_map<std::string, Index> pairs_;     // "number number": lines of the second after the first
  Index shapes_made_ = 0, shapes_seen_ = 0;
};

}  // namespace unfold
