#pragma once
/// The lines of a file, of standard input or of a pipe, as they come.

#include <optional>
#include <string>
#include <string_view>

#include "unfold/base/file.h"

namespace unfold {

class LineSource {
 public:
  /// "-" is standard input. Compressed files are unpacked at once. Throws DataError.
  explicit LineSource(const std::string& path);
  /// Lines of what was read already.
  explicit LineSource(Input input);
  ~LineSource();
  LineSource(const LineSource&) = delete;
  LineSource& operator=(const LineSource&) = delete;

  /// The next line without its line end; false at the end. `line` lives until the next call. Throws DataError: nothing
  /// there at all, a read that fails.
  bool next(std::string_view& line);
  /// Whether the line that `next` gave last had a line end; the last one of a file may have none.
  bool line_ended() const { return line_ended_; }
  /// Whether the next line is here already, so that `next` waits for nobody.
  bool ready() const;
  const std::string& name() const { return name_; }

 private:
  bool fill();

  std::string name_;
  std::optional<Input> whole_;
  std::string_view rest_;  // of `whole_` or of `buffer_`
  std::string buffer_;
  int descriptor_ = -1;
  bool ended_ = false, any_ = false, line_ended_ = true;
};

}  // namespace unfold
