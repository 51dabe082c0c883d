#pragma once
/// Reads tables that other libraries hold in memory, through the Arrow C stream interface: pyarrow, polars, DuckDB,
/// pandas, and Parquet files through them. The values are copied; strings and dates are converted to the strings in a
/// CSV file of the same table, so models trained on either are identical.
///
/// | Arrow | becomes |
/// | --- | --- |
/// | integers, floating-point numbers, decimals, durations in seconds | numbers; a column with an integer beyond
///     2^53 keeps all digits as strings |
/// | strings, large strings, string views, binary data in UTF-8 | strings |
/// | Boolean | the strings True and False |
/// | date, timestamp, time | 2024-01-31, 2024-01-31 10:30:00, 10:30:00; with fractions of a second if a cell has them,
///     and Z if the column has a time zone |
/// | dictionaries | their values |
/// | structures | a column for each member, NAME.MEMBER |
/// | lists | one entry per position; then each row is an example, as in JSON Lines |

#include <string>

#include "data/arrow/arrow_abi.h"
#include "unfold/data/examples/examples.h"

namespace unfold {

struct ArrowTable {
  std::string format;  ///< "table", or "jsonl" if a column has lists
  Examples examples;   ///< the examples; for a table, one example with one entry per row
};

/// Takes the stream, which is released at the end. Throws DataError if the stream fails or there are no rows, and for
/// unsupported types, numbers that are not finite, empty lists, and lists of different lengths in one row.
ArrowTable read_arrow_stream(const std::string& source, ArrowArrayStream* stream);

}  // namespace unfold
