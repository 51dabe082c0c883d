#pragma once
/// Conversion of tables to examples: columns are read as their types specify, and rows are divided into examples as the
/// schema and the options specify (data/schema/infer_schema.h).

#include "data/readers/example_reader.h"
#include "data/readers/reader_text.h"
#include "unfold/data/examples/examples.h"

namespace unfold {

/// Returns the properties of a table that the options of a reader and of the command specify.
SchemaOptions table_schema_options(const ReaderOptions& options);
/// Throws DataError, and UsageError for options that name unknown columns.
Examples examples_of_table(const ReaderText& text, const ReaderOptions& options);
/// Returns the examples of a table whose columns have one string or number per row: the reader `table` for data in
/// memory. Numbers stay numbers, and strings become categories, text, dates or identifiers, but never numbers. The
/// cells of a column of numbers, if there are any, must be the shortest texts of its numbers. Throws DataError, and
/// UsageError for options that name unknown columns.
Examples table_of_columns(Examples columns, const ReaderOptions& options);

}  // namespace unfold
