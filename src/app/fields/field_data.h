#pragma once
/// Reading of data with named fields, and the choice of the fields that a network reads and predicts. Splits are in
/// example_split.h.

#include <memory>
#include <string>
#include <vector>

#include "app/common/reporter.h"
#include "app/settings/train_settings.h"
#include "data/readers/example_reader.h"
#include "unfold/data/examples/example_set.h"
#include "unfold/model/network/network_body.h"

namespace unfold {

/// The kind of problem that follows from the chosen fields. It determines the defaults of other settings.
enum class Problem {
  tagging,      ///< predicts at every position, from the whole sequence
  classifying,  ///< predicts once per sequence
  forecasting,  ///< predicts the following positions
  transducing,  ///< predicts a target of a different length from a source
  generating    ///< predicts whole sequences, from condition fields or unconditionally
};

/// The fields that are read and predicted, and how.
struct FieldPlan {
  NetworkLayout layout;
  FieldChoice choice;
  Problem problem = Problem::tagging;
};

/// Reads and concatenates files of one format. Throws DataError, also if their columns differ.
Examples read_fields(const std::vector<std::string>& files, const ReaderOptions& options);
/// Same as above, but copies data in memory, which read_fields moves out.
Examples peek_fields(const std::vector<std::string>& files, const ReaderOptions& options);
/// Same as read_fields, and reports the notes of the reader.
Examples read_fields(const std::vector<std::string>& files, const ReaderOptions& options, Reporter& reporter);
/// Reads the training data and reports the decisions of the schema of a table. Sets the group and the order.
Examples read_training_fields(TrainSettings& settings, Reporter& reporter);
void report_reader_notes(const Examples& examples, Reporter& reporter);
/// Reports predicted values in `part` that do not occur in training. They count as errors and have no likelihood.
/// Throws DataError if `part` has no other predicted values, so that nothing can be measured.
void report_unseen_values(const ExampleSet& part, const std::vector<std::string>& predicts, const char* name,
                          Reporter& reporter);
/// Makes the reader interpret columns with the types stored in the model, instead of inferring them from the file.
void request_types(const DataSpecification& data, ReaderOptions& options);
ReaderOptions reader_options(const TrainSettings& settings);
/// Returns how `--ends` applies to examples; `predicts` are the predicted fields. Throws UsageError.
SequenceEndOptions whole_sequences(const std::string& ends, const std::vector<std::string>& reads,
                                   const std::vector<std::string>& predicts);

/// Returns the field that is predicted if none was named: the label of labeled data, the only column of numbers. Empty:
/// there is no such field.
std::string obvious_target(const Examples& examples);

/// Fills in `read`, `predict` and `ahead` where they are not set, and returns the plan. Throws UsageError, DataError.
FieldPlan plan_fields(const Examples& examples, TrainSettings& settings);
Problem problem_of(const NetworkLayout& layout, const std::set<std::string, std::less<>>& once);
Problem problem_of(const NetworkLayout& layout, const DataSpecification& data);
/// Sets model, optimizer and budget for the problem unless they were set explicitly. For labels predicted from whole
/// sequences it also sets the loss (crf), in the plan and in `predict`.
void set_problem_defaults(FieldPlan& plan, const Examples& examples, const Given& given, TrainSettings& settings);
/// Throws UsageError if the model reads what it predicts, and DataError for numbers that a loss cannot predict.
void check_fields(const FieldPlan& plan, const Examples& examples, const TrainSettings& settings);
/// Returns how running text was tokenized, in the syntax of `--symbols`; for sources and targets both: "chars,words".
std::string tokenization_of(const Examples& examples);

}  // namespace unfold
