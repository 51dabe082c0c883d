#pragma once
/// Readers of data with fields: what a file of one of many formats holds, as Examples.
///
///   const Input input = Input::open("train.txt");
///   const FormatGuess guess = guess_format(input);     // columns, "3 columns between blanks, examples apart by ..."
///   const Examples examples = read_examples(input, {.format = guess.format});
///
/// A reader is one file (read_*.cpp) and one line in readers.def. Reading takes time and memory in proportion to the
/// input. What is not as its format wants, an empty example, a number that is none: DataError naming file, line,
/// remedy.

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "unfold/base/file.h"
#include "unfold/base/registry.h"
#include "unfold/data/alphabet.h"
#include "unfold/data/examples.h"
#include "unfold/readers/sequence_ends.h"
#include "unfold/readers/tree_shapes.h"
#include "unfold/readers/vector_rows.h"

namespace unfold {

struct ReaderOptions {
  std::string format = {};              ///< of readers(); empty: guessed
  SymbolKind text = SymbolKind::words;  ///< how running text becomes positions: words between blanks, characters, bytes
  std::optional<SymbolKind> target_text = {};  ///< of `pairs`: the same of targets; empty: as `text`
  /// Of `pairs`: targets end by a field of their own, "target.stop", which is kStop behind the last symbol and kGo
  /// before; the target is missing there. Otherwise by the symbol kTargetEnd.
  bool stops = false;
  bool text_given = false;  ///< false: characters when texts have fewer than 1.5 words in the mean, else words
  std::string sequence_column =
      {};               ///< of a table: neighbouring rows that agree there are one example; empty: all rows are
  bool headed = false;  ///< of a table: its first row names the columns, whatever it looks like
  /// Columns of `columns` and `table` that hold texts, or numbers, whatever their entries look like. Others: as they
  /// look.
  std::vector<std::string> texts = {}, numbers = {};
  WholeSequences whole = {};  ///< what is added to what was read
  TreeShape trees = TreeShape::given;
  VectorRows rows = {};  ///< what becomes of it
};

/// The beginning of an input, which guesses go by.
struct DataSample {
  std::string_view name = {};                ///< without .gz, .xz, .zst
  std::string_view bytes = {};               ///< at most 64 KiB
  bool whole = false;                        ///< these are all
  std::vector<std::string_view> lines = {};  ///< the complete ones, without their ends; empty where bytes are no text
};

struct ReaderEntry {
  const char *name, *help;
  /// What in the sample shows the format, as in "3 columns between blanks"; empty: nothing.
  std::string (*guess)(const DataSample& sample);
  Examples (*read)(const Input& input, const ReaderOptions& options);
  bool has_texts = false;            ///< that become positions as ReaderOptions::text says
  bool has_sequence_column = false;  ///< reads ReaderOptions::sequence_column
};

/// The explicit list, readers.def, in the order of guesses.
const Registry<ReaderEntry>& readers();

struct FormatGuess {
  std::string format;  ///< "text" when nothing else fits
  std::string why;
};
FormatGuess guess_format(const Input& input);

/// Throws DataError, and UsageError for a format that there is none of.
Examples read_examples(const Input& input, const ReaderOptions& options);

}  // namespace unfold
