#pragma once
/// Output of a command's results in a specific format: a file that is written atomically, or standard output for "-".
///
///   ResultFile file(out);
///   file.write(bytes);
///   file.commit();
///
/// Throws RuntimeFailure like AtomicFile and print_result.

#include <optional>
#include <string>
#include <string_view>

#include "cli/terminal/console.h"
#include "unfold/base/formats/file.h"

namespace unfold {

class ResultFile {
 public:
  explicit ResultFile(const std::string& path) {
    if (path != "-") file_.emplace(path);
  }
  void write(std::string_view bytes) { file_ ? file_->write(bytes) : print_result(bytes); }
  void commit() { file_ ? file_->commit() : flush_results(); }

 private:
  std::optional<AtomicFile> file_;
};

}  // namespace unfold
