#pragma once
/// Synthetic sequences, with what a perfect model of their source would score.

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>

#include "unfold/data/text_sources.h"

namespace unfold {

struct GenerateRequest {
  std::string task;  ///< SPEC of a text source, or of a task of examples, pairs, trees or grids
  std::optional<Index> count =
      {};  ///< lines, bars, blocks, examples, pairs, trees or grids; 1000 when `size` is not given either
  std::optional<Index> size = {};  ///< texts, instead: whole units until there are so many symbols
  std::uint64_t seed = 1;
};

struct GenerateOutcome {
  std::string name;       ///< of the task
  std::string text;       ///< of a task of examples: a table (task_figures.h); of pairs, trees and grids: a file
  std::string mask = {};  ///< of a text: '1' for each symbol to be predicted, '0' for the others
  std::string unit;       ///< "line", "bar", "block", "example", "pair", "tree", "grid"
  Index units = 0, symbols = 0, predicted = 0;  ///< predicted: of a text; of trees: those with a label; of targets
  Index steps = 0;                              ///< of an example
  /// Bits a symbol (of a text) and bits a predicted symbol that a perfect model needs on average, and what the source
  /// itself scores on this very text.
  double entropy = 0, entropy_of_predicted = 0, source_bits_per_symbol = 0;
  bool is_labelled() const { return unit == "tree" || unit == "grid"; }  ///< of trees or grids
  bool is_pairs() const { return unit == "pair"; }
  bool is_text() const { return steps == 0 && !is_labelled() && !is_pairs(); }
};
/// Throws UsageError: an unknown task (with the nearest name), settings that have no meaning for it.
GenerateOutcome generate(const GenerateRequest& request);
/// What `unfold generate --json` prints.
nlohmann::ordered_json to_json(const GenerateOutcome& outcome);

}  // namespace unfold
