#pragma once
/// Generates synthetic sequences, with the score that a perfect model of their source would reach.

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>

#include "unfold/data/tasks/text_generators.h"

namespace unfold {

struct GenerateRequest {
  std::string task;  ///< SPEC of a text source, or of a task with examples, pairs, trees or grids
  std::optional<Index> count =
      {};  ///< lines, bars, blocks, examples, pairs, trees or grids; 1000 if `size` is not set either
  std::optional<Index> size =
      {};  ///< for texts, instead of `count`: whole units until this number of symbols is reached
  std::uint64_t seed = 1;
};

struct GenerateOutcome {
  std::string name;       ///< name of the task
  std::string text;       ///< for tasks with examples, a table (task_evaluation.h); for pairs, trees and grids, a file
  std::string mask = {};  ///< for texts: '1' for each symbol to be predicted, '0' for the others
  std::string unit;       ///< "line", "bar", "block", "example", "pair", "tree", "grid"
  Index units = 0, symbols = 0, predicted = 0;  ///< predicted: symbols of a text or of targets, labeled nodes of trees
  Index steps = 0;                              ///< steps per example
  /// The bits per symbol (of a text) and per predicted symbol that a perfect model needs on average, and the score of
  /// the source itself on this text.
  double entropy = 0, entropy_of_predicted = 0, source_bits_per_symbol = 0;
  bool is_labeled() const { return unit == "tree" || unit == "grid"; }  ///< trees or grids
  bool is_pairs() const { return unit == "pair"; }
  bool is_text() const { return steps == 0 && !is_labeled() && !is_pairs(); }
};
/// Throws UsageError for an unknown task (suggesting the nearest name) and for settings that do not apply to the task.
GenerateOutcome generate(const GenerateRequest& request);
/// Returns the output of `unfold generate --json`.
nlohmann::ordered_json to_json(const GenerateOutcome& outcome);

}  // namespace unfold
