#pragma once
/// Data with fields as training and its successors use them: how they are read, what a network reads of them and what
/// it predicts, and how they are split.

#include <memory>
#include <string>
#include <vector>

#include "unfold/app/train_settings.h"
#include "unfold/data/example_reader.h"
#include "unfold/data/example_set.h"
#include "unfold/data/split.h"
#include "unfold/models/network_body.h"

namespace unfold {

/// What kind of problem a choice of fields makes; settings that nobody gave follow from it.
enum class Problem {
  tagging,      ///< something at every position, from all of the sequence
  classifying,  ///< something once a sequence
  forecasting   ///< what comes next
};

/// Which fields are read and predicted, and how.
struct FieldPlan {
  NetworkLayout layout;
  FieldChoice choice;
  Problem problem = Problem::tagging;
};

/// Reads files of one format, one after another. Throws DataError, also when their columns differ.
Examples read_fields(const std::vector<std::string>& files, const ReaderOptions& options);
ReaderOptions reader_options(const TrainSettings& settings);

/// Settles what a caller left open of `read`, `predict` and `ahead`, and makes the plan. Throws UsageError, DataError.
FieldPlan plan_fields(const Examples& examples, TrainSettings& settings);
Problem problem_of(const NetworkLayout& layout, const std::set<std::string, std::less<>>& once);
Problem problem_of(const NetworkLayout& layout, const DataSpecification& data);
/// Model, optimiser and budget for the problem, where nobody gave them.
void settle_for(const FieldPlan& plan, const Given& given, TrainSettings& settings);
/// How running text became positions: characters where each is one, else words.
SymbolKind text_kind(const Examples& examples);

/// Training, validation and test. Examples: one after another in the order of the file, or, where one thing is predicted
/// for each, each part spread over all of it, because such files are often sorted. A single example is cut by
/// positions; a part that starts inside of it reads up to `warmup` positions before its first without predicting them.
std::array<ExampleSet, 3> split_examples(const ExampleSet& all, const SplitShares& shares, Problem problem,
                                         Index warmup);

}  // namespace unfold
