#pragma once
/// Data in memory that takes the place of files: examples with fields, or running text.
///
///   const MemoryFiles files({{"data", std::make_shared<MemoryData>(std::move(data))}});
///   request.settings.data = {"data"};            // names that stand for the data while `files` exists
///
/// The examples are those that the reader `format` returns for a file with the same contents, so models trained on
/// either are identical.

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "data/readers/example_reader.h"
#include "unfold/base/formats/file.h"
#include "unfold/data/examples/examples.h"

namespace unfold {

struct MemoryData {
  std::string format = {};  ///< the name of a reader; empty: running text
  /// For data with fields; for a table, one example with one string or number per column and row.
  Examples examples = {};
  std::vector<Input> texts = {};  ///< running text, or the contents of files with fields
};

/// Makes data in memory available to the functions that the calling thread calls, under the names of files. Objects are
/// destroyed in the reverse order of their construction.
class MemoryFiles {
 public:
  explicit MemoryFiles(std::map<std::string, std::shared_ptr<MemoryData>, std::less<>> files);
  ~MemoryFiles();
  MemoryFiles(const MemoryFiles&) = delete;
  MemoryFiles& operator=(const MemoryFiles&) = delete;

  /// Returns the data with this name; null if there is none, in which case the name is a file name.
  static MemoryData* find(std::string_view name);

 private:
  std::map<std::string, std::shared_ptr<MemoryData>, std::less<>> files_;
  MemoryFiles* outer_;
};

/// Moves the examples out and processes them as read_examples does: tables through their schema, other data with the
/// types that the options request, then trees, ends and vectors. Throws DataError.
/// REQUIRES data.texts.empty(): texts are inputs like files.
Examples take_examples(MemoryData& data, const ReaderOptions& options);

/// Checks examples and processes them as the options specify: trees, sequence ends, vectors. Throws DataError.
void finish_examples(const ReaderOptions& options, Examples& examples);

}  // namespace unfold
