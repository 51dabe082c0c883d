#pragma once
/// Formats determined by the file extension, and formats that running text resembles. The extension decides how a file
/// is read; content that does not match it is an error and never causes the file to be read in another format.

#include <span>
#include <string>
#include <string_view>

#include "data/readers/example_reader.h"

namespace unfold {

/// Returns the formats that a file extension allows, the usual one first: "table" for .csv, "fasta" for .fa, "log" for
/// .log. Empty: the format depends on the content. The extensions of compressed files are ignored.
std::span<const std::string_view> formats_of_name(std::string_view name);

/// For a text that no reader recognizes: the format that it resembles (a table, a log, JSON lines, columns or trees)
/// and the first line that does not match this format. Empty if the text looks like running text.
struct Resemblance {
  std::string format = {};  ///< name of the format
  std::string why = {};     ///< "97 of 100 lines are JSON objects, but line 3 is not"
  std::string remedy = {};  ///< for formats that cannot be read: how to convert the file
};
Resemblance resemblance_of(const DataSample& sample);

}  // namespace unfold
