#pragma once
/// Reads data with named fields as the settings specify, from files and from memory.
///
///   Examples examples = read_training_fields(settings, reporter);   // with the decisions of the schema of a table

#include <string>
#include <vector>

#include "app/common/reporter.h"
#include "app/settings/train_settings.h"
#include "data/readers/example_reader.h"
#include "unfold/data/examples/example_set.h"

namespace unfold {

/// Reads and concatenates files of one format. Throws DataError, including for files with different columns.
Examples read_fields(const std::vector<std::string>& files, const ReaderOptions& options);
/// Like read_fields, but copies data in memory instead of moving it.
Examples peek_fields(const std::vector<std::string>& files, const ReaderOptions& options);
/// Like read_fields; also reports the notes of the reader.
Examples read_fields(const std::vector<std::string>& files, const ReaderOptions& options, Reporter& reporter);
/// Reads the training data and reports the decisions of the schema of a table. Sets the group and the order.
Examples read_training_fields(TrainSettings& settings, Reporter& reporter);
void report_reader_notes(const Examples& examples, Reporter& reporter);
/// Reports predicted values in `part` that do not occur in training. They count as errors and have no likelihood.
/// Throws DataError if `part` has no other predicted values, because nothing could then be measured.
void report_unseen_values(const ExampleSet& part, const std::vector<std::string>& predicts, const char* name,
                          Reporter& reporter);
/// Makes the reader interpret columns with the types stored in the model, instead of inferring them from the file.
void request_types(const DataSpecification& data, ReaderOptions& options);
ReaderOptions reader_options(const TrainSettings& settings);
/// Returns the options for training data, which also specify the roles and types that follow from --read, --predict,
/// --ahead and the model. `columns`: the names of the columns of a table; empty for other formats.
ReaderOptions training_reader_options(const TrainSettings& settings, const std::vector<std::string>& columns);
/// Returns how `--ends` applies to examples; `predicts` are the predicted fields. Throws UsageError.
SequenceEndOptions whole_sequences(const std::string& ends, const std::vector<std::string>& reads,
                                   const std::vector<std::string>& predicts);

/// Returns whether the examples have a source sequence with its own length, as opposed to a value given once.
bool has_source(const Examples& examples);
/// Returns whether each row of a table is an example.
bool has_independent_rows(const Examples& examples);
std::vector<std::string> column_names(const Examples& examples);
/// Returns how running text was tokenized, in the syntax of `--symbols`; if there are sources and targets, the kinds of
/// both: "chars,words".
std::string tokenization_of(const Examples& examples);

}  // namespace unfold
