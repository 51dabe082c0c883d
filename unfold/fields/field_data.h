#pragma once
/// Data with fields as training and its successors use them: how they are read, what a network reads of them and what
/// it predicts, and how they are split.

#include <memory>
#include <string>
#include <vector>

#include "unfold/data/example_set.h"
#include "unfold/data/split.h"
#include "unfold/models/network_body.h"
#include "unfold/readers/example_reader.h"
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
/// How running text became positions, as `--symbols` says it: characters where each is one, else words; of sources and
/// targets both: "chars,words".
std::string found_symbols(const Examples& examples);

/// How examples are split into training, validation and test: one after another in the order of the file, or, where
/// one thing is predicted for each, each part spread over all of it, because such files are often sorted. Sources are
/// drawn at random, with the seed kSplitSeed, and all examples of one source are of one part. Whole sequences are
/// spread as what is predicted once is. A single example is cut by positions.
inline constexpr std::uint64_t kSplitSeed = 1;
class ExampleSplit {
 public:
  /// Throws DataError: one example alone, which has a source or is a whole sequence.
  ExampleSplit(const Examples& examples, const SplitShares& shares, Problem problem);

  /// What alphabets and constants are made of.
  Examples training(const Examples& all) const;
  /// All three. A part that starts inside an example reads up to `warmup` positions before its first without predicting
  /// them.
  std::array<ExampleSet, 3> parts(const ExampleSet& all, Index warmup) const;

 private:
  void split_by_source(const Examples& examples, const SplitShares& shares);

  std::array<std::vector<Index>, 3> examples_;
  std::array<Index, 4> bounds_{};  // of positions, where there is one example
  bool single_;
};

}  // namespace unfold
