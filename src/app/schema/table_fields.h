#pragma once
/// Applies the schema of a table to a model: determines the fields that are read and predicted by default, and stores
/// the information that is needed to read further files like the training data.

#include <string>
#include <string_view>
#include <vector>

#include "app/settings/train_settings.h"
#include "data/readers/example_reader.h"
#include "data/readers/memory_data.h"
#include "unfold/data/examples/specification.h"

namespace unfold {

/// Returns the schema options that the settings specify for a table. Throws UsageError.
SchemaOptions stated_schema(const TrainSettings& settings);
/// Returns the columns of a table for `--read` and `--predict` from the first rows of `input`; empty for other formats.
std::vector<std::string> column_names_of(const Input& input, const ReaderOptions& options);
std::vector<std::string> column_names_of(const MemoryData& data, const ReaderOptions& options);

/// Returns the field that the schema predicts, or several as a list of --predict; empty: there is none.
std::string schema_target(const Examples& examples);
/// Returns whether the field that the schema predicts has the name of a typical target: label, class, value, ...
bool names_target(const Examples& examples);
/// Throws a DataError that names the commands to use instead, for a table with one series in each row: the names of
/// columns are years or dates, and one of these columns would be predicted.
void refuse_rows_of_periods(const TableSchema& schema);
/// Throws DataError for a table of one row that is read as data but seems to contain the names of the columns.
void refuse_header_only(const TableSchema& schema);
/// Returns the fields that the schema reads, with the parts of dates. `own_past`: the predicted fields are read as
/// well.
std::vector<std::string> schema_reads(const Examples& examples, const std::vector<std::string>& predicts,
                                      bool own_past);
/// Replaces names of dates with the names of their parts.
std::vector<std::string> with_date_parts(const Examples& examples, const std::vector<std::string>& reads);
/// Returns whether a field is computed from a date, which is known in advance.
bool is_part_of_date(const Examples& examples, std::string_view field);

/// Stores the group and the order that the reader chose, so that further files are read in the same way.
void settle_sequences(const Examples& examples, TrainSettings& settings);
/// Makes the reader of a model treat a table as specified, if the file is written differently from the training data;
/// everything else remains as stored. Throws UsageError if the data is not a table.
void restate(const SchemaOptions& stated, ReaderOptions& options);
/// Makes the reader interpret further files like these: with the same types, group and order.
void read_like(const Examples& examples, ReaderOptions& options);
/// Makes the reader find the fields of a model in a table: the columns of its fields are read, others are left out.
void request_columns(const DataSpecification& data, SchemaOptions& options);

}  // namespace unfold
