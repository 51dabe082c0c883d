#pragma once
/// What a model says about data with fields, as a table: the data with columns added.
///
///   predict({.model = "chunker", .data = {"test.txt"}}, [](std::string_view text) { std::cout << text; }, reporter);

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "unfold/capabilities/model.h"
#include "unfold/runs/reporter.h"

namespace unfold {

enum class TableFormat { tsv, jsonl };

struct PredictRequest {
  std::string model;              ///< run folder or model file
  std::vector<std::string> data;  ///< files, in the format that the model was trained on
  TableFormat format = TableFormat::tsv;
  bool probabilities = false;  ///< of symbols: a column for each class
  /// Of models that predict what comes next: so many positions beyond the end of each sequence, instead of the
  /// positions that are there.
  Index ahead = 0;
  Index samples = 200;  ///< paths that positions beyond the next are sampled by
  std::uint64_t seed = 1;
  Index threads = 0;  ///< 0: every processor available
  /// One stream without end: each example is answered as soon as it is complete; a row of a table at once where the
  /// network reads in one direction.
  bool follow = false;
  /// Of models that read a source: targets kept at each step, so many of each written, samples instead of the best, and
  /// the weights of attention (JSON lines). `best` also of labels of whole sequences.
  Index beam = 1, best = 1;
  bool sampled = false, attention = false;
  /// "FIELD=VALUE" of what is given before a sequence begins, in place of what the data say (fields/given.h). Without
  /// data: of one example.
  std::vector<std::string> given = {};
  std::optional<std::string> constraint = {};  ///< of labels or targets (fields/constraint.h)
  const Model* loaded = nullptr;               ///< read already, in place of the file; `model` is what messages call it
};

/// Gives the table piece by piece. TSV: a header, then a row a position, or, where every head predicts once an example,
/// a row an example; texts with their tabs and line ends escaped. JSON lines: an object an example. Columns added: of
/// symbols FIELD.best and FIELD.probability; of numbers FIELD.mean, FIELD.q10 and FIELD.q90, of vectors FIELD.mean.1
/// and so on. With `best` above 1, of labels of whole sequences: FIELD.best.1 and so on, the labels of the n-th best,
/// and FIELD.sequence.1, the probability of all of them together. Of a model that reads a source, for each example:
/// FIELD.best and FIELD.probability, of the whole target, FIELD.best.2 and so on for further ones; with `sampled`,
/// `samples` of FIELD.sample.1 and so on; with `attention`, FIELD.attention, rows of one weight for each position of
/// the source. Throws UsageError, DataError, ModelError.
void predict(const PredictRequest& request, const std::function<void(std::string_view)>& write, Reporter& reporter);

/// Whether a run folder or model file holds a model of data with fields; false, too, when it cannot be read.
bool holds_field_model(const std::string& model);

}  // namespace unfold
