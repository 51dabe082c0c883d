#pragma once
/// Formats that follow from the ending of a file name, and formats that running text resembles. The ending decides how
/// a file is read: content that does not fit is then an error, and never a reason to read the file differently.

#include <span>
#include <string>
#include <string_view>

#include "data/readers/example_reader.h"

namespace unfold {

/// The formats that the ending of a name allows, the usual one first: "table" for .csv, "fasta" for .fa, "log" for
/// .log. Empty: the ending does not decide, and the content does. An ending of a compressed file is ignored.
std::span<const std::string_view> formats_of_name(std::string_view name);

/// What a text that no reader recognizes resembles, with the first line that does not fit: a table, a log, JSON lines,
/// columns or trees. Empty if it looks like running text.
struct Resemblance {
  std::string format = {};  ///< a name of a format
  std::string why = {};     ///< "97 of 100 lines are JSON objects, but line 3 is not"
};
Resemblance resemblance_of(const DataSample& sample);

}  // namespace unfold
