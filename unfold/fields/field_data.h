#pragma once
/// Data with fields as training and its successors use them: how they are read, what a network reads of them and what
/// it predicts. How they are split: example_split.h.

#include <memory>
#include <string>
#include <vector>

#include "unfold/data/example_set.h"
#include "unfold/models/network_body.h"
#include "unfold/readers/example_reader.h"
#include "unfold/runs/reporter.h"
#include "unfold/runs/train_settings.h"

namespace unfold {

/// What kind of problem a choice of fields makes; settings that nobody gave follow from it.
enum class Problem {
  tagging,      ///< something at every position, from all of the sequence
  classifying,  ///< something once a sequence
  forecasting,  ///< what comes next
  transducing,  ///< a target of its own length, from a source
  generating    ///< whole sequences, from what is given once or from nothing
};

/// Which fields are read and predicted, and how.
struct FieldPlan {
  NetworkLayout layout;
  FieldChoice choice;
  Problem problem = Problem::tagging;
};

/// Reads files of one format, one after another. Throws DataError, also when their columns differ.
Examples read_fields(const std::vector<std::string>& files, const ReaderOptions& options);
/// The same, and tells what the reader remarks.
Examples read_fields(const std::vector<std::string>& files, const ReaderOptions& options, Reporter& reporter);
void tell_remarks(const Examples& examples, Reporter& reporter);
/// Tells what `part` predicts and training has never seen: it counts as wrong and has no likelihood. Throws DataError
/// where nothing else is predicted, so that nothing can be measured.
void tell_unseen(const ExampleSet& part, const std::vector<std::string>& predicts, const char* name,
                 Reporter& reporter);
/// Has columns read as what the data of a model hold, whatever they look like in other files.
void want_kinds(const DataSpecification& data, ReaderOptions& options);
ReaderOptions reader_options(const TrainSettings& settings);
/// How `--ends` is said of examples; `predicts`: the fields that are predicted. Throws UsageError.
WholeSequences whole_sequences(const std::string& ends, const std::vector<std::string>& reads,
                               const std::vector<std::string>& predicts);

/// Settles what a caller left open of `read`, `predict` and `ahead`, and makes the plan. Throws UsageError, DataError.
FieldPlan plan_fields(const Examples& examples, TrainSettings& settings);
Problem problem_of(const NetworkLayout& layout, const std::set<std::string, std::less<>>& once);
Problem problem_of(const NetworkLayout& layout, const DataSpecification& data);
/// Model, optimiser and budget for the problem, where nobody gave them; and, of labels of a network that reads whole
/// sequences, their loss (crf), which then stands in the plan and in `predict`.
void settle_for(FieldPlan& plan, const Examples& examples, const Given& given, TrainSettings& settings);
/// How running text became positions, as `--symbols` says it; of sources and targets both: "chars,words".
std::string found_symbols(const Examples& examples);

}  // namespace unfold
