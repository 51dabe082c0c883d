#pragma once
/// Readers for data with fields. A reader parses one of many file formats into Examples.
///
///   const Input input = Input::open("train.txt");
///   const FormatGuess guess = guess_format(input);     // columns, "3 columns between blanks, examples apart by ..."
///   const Examples examples = read_examples(input, {.format = guess.format});
///
/// Each reader is one file (read_*.cpp) and one line in readers.def. Reading takes linear time and memory. Malformed
/// input, such as an empty example or an invalid number, throws DataError with the file, the line and the remedy.

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "data/examples/transformations/sequence_ends.h"
#include "data/examples/transformations/tree_shapes.h"
#include "data/examples/transformations/vector_rows.h"
#include "data/schema/table_schema.h"
#include "unfold/base/formats/file.h"
#include "unfold/base/options/registry.h"
#include "unfold/data/examples/examples.h"
#include "unfold/data/text/alphabet.h"

namespace unfold {

struct ReaderOptions {
  std::string format = {};  ///< a name in readers(); empty: detected
  /// How running text is split into positions: words separated by blanks, characters, or bytes.
  SymbolKind text = SymbolKind::words;
  std::optional<SymbolKind> target_text = {};  ///< for `pairs`: the kind of symbols of targets; empty: the same as
                                               ///< `text`
  /// For `pairs`: targets end with a separate field "target.stop", which is kGo before each symbol and kStop after the
  /// last one, where the target is missing. Otherwise they end with the symbol kTargetEnd.
  bool stops = false;
  bool text_kind_set = false;  ///< false: characters if texts have fewer than 1.5 words on average, otherwise words
  /// For a table: rows with the same value form one example; empty: the schema decides.
  std::string sequence_column = {};
  SchemaOptions schema = {};  ///< for a table: options that describe it
  bool date_parts = true;     ///< for a table: adds columns derived from dates (calendar_columns.h)
  bool headed = false;        ///< for a table: the first row holds the column names, regardless of its contents
  /// Columns of `columns` and `table` that are always read as strings, or as numbers. The types of all other columns
  /// are detected.
  std::vector<std::string> texts = {}, numbers = {};
  SequenceEndOptions whole = {};  ///< sequence ends and sources, added to the examples after reading
  std::string weights = {};  ///< the column with the weights of examples (data/examples/weight_column.h); empty: none
  TreeShape trees = TreeShape::given;
  VectorRows rows = {};  ///< conversion to vectors
};

/// The beginning of an input, used to detect the format.
struct DataSample {
  std::string_view name = {};   ///< name of the file without .gz, .xz, .zst
  std::string_view bytes = {};  ///< the first bytes, at most 64 KiB
  bool whole = false;           ///< the sample is the whole input
  /// Complete lines, without their line endings; empty if the bytes are not text.
  std::vector<std::string_view> lines = {};
};

struct ReaderEntry {
  const char *name, *help;
  /// Returns the evidence for the format in the sample, such as "3 columns between blanks"; empty: no match.
  std::string (*guess)(const DataSample& sample);
  Examples (*read)(const Input& input, const ReaderOptions& options);
  bool has_texts = false;            ///< reads text that is split into positions as specified by ReaderOptions::text
  bool has_sequence_column = false;  ///< uses ReaderOptions::sequence_column
};

/// Returns the list of readers, readers.def, in the order in which detection tries them.
const Registry<ReaderEntry>& readers();

inline constexpr std::string_view kRecords = "records";  ///< rows of a table as JSON Lines
/// Returns whether a format is one of tables with consecutive rows: `table` or `records`.
bool has_rows(std::string_view format);

struct FormatGuess {
  std::string format;  ///< "text" if no format matches
  std::string why;
};
/// Guesses the format from the file extension if it is known (file_formats.h), otherwise from the first lines.
FormatGuess guess_format(const Input& input);
/// Returns the evidence that a file is a log, whose name shows nothing else: it has no extension or a number as its
/// extension, or is standard input, and most of its first lines begin with a time; empty: no match. Does not throw if
/// the file cannot be read.
std::string guess_log(const std::string& path);
/// Returns a sentence that names the format that an input read as running text resembles; empty if there is none.
std::string resembles(const Input& input);

/// Throws DataError; UsageError for an unknown format.
Examples read_examples(const Input& input, const ReaderOptions& options);

}  // namespace unfold
