#pragma once
/// The lines of CoNLL-U files that are not positions: comments (`# text = ...`), words of several tokens (`3-4`) and
/// empty nodes (`3.1`). The reader ignores them; they are kept when the data is written with predictions.
///
///   ConlluLines lines(inputs);
///   for each position, in order: lines.before_position(use);     // use(line)
///   at the end of a sentence: lines.end_sentence(use);
///   at the end: lines.end(use);

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "unfold/base/formats/file.h"

namespace unfold {

class ConlluLines {
 public:
  using Use = std::function<void(std::string_view line)>;

  /// Keeps no lines if a file has a different format. Throws DataError for a file that is not text.
  explicit ConlluLines(const std::vector<Input>& files);

  bool empty() const { return others_.empty(); }
  Index positions() const { return positions_; }  ///< of all files

  /// Passes the lines before the next position.
  void before_position(const Use& use);
  /// Passes the lines that follow the last position of a sentence, up to the next empty line.
  void end_sentence(const Use& use);
  /// Passes all remaining lines.
  void end(const Use& use);

 private:
  /// A line that is not a position, or an empty line.
  struct Other {
    Index after;  ///< number of positions before the line
    std::string text;
  };
  bool read(std::string_view text);

  std::vector<Other> others_;
  Index positions_ = 0, seen_ = 0;
  std::size_t next_ = 0;
};

}  // namespace unfold
