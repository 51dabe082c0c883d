#pragma once
/// Logs as training and verbs read them: shapes of lines (data/readers/log_lines.h) in the place of the lines. The
/// rules, and what is needed to score lines, stand in the card of the model, under `configuration.log`.

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "app/common/reporter.h"
#include "app/logs/log_value_surprisal.h"
#include "app/settings/train_settings.h"
#include "data/readers/log_lines.h"
#include "model/symbol_model.h"

namespace unfold {

/// What a card says of the log that a model was trained on.
struct LogCard {
  LogRules rules;
  bool label_column = false;
  Index lines = 0, shapes = 0;  ///< in training: lines, and different shapes among them
  /// Number of different words that training read as `<unk>`, or 1. They share the probability of `<unk>`.
  Index unknown_words = 1;
  LogValues values = {};  ///< that stood in the places of each rule
};
nlohmann::json to_json(const LogCard& card);
/// Nothing for a model of other data. Throws ModelError for a card that is damaged.
std::optional<LogCard> log_card(const SymbolModel& model);

/// Reads the logs of one training.
class LogTraining {
 public:
  /// Reads the rules. Throws UsageError, DataError.
  explicit LogTraining(const TrainSettings& settings);
  /// The logs of DATA as shapes, and what is found out about them: whether the first column holds labels, which goes to
  /// the settings together with the label that is trained on. Throws DataError.
  std::vector<Input> read_data(std::vector<Input> inputs, TrainSettings& settings, Reporter& reporter);
  /// Another log (--valid), read in the same way. REQUIRES read_data.
  std::vector<Input> read_more(const std::vector<Input>& inputs, const TrainSettings& settings) const;
  const LogCard& card() const { return card_; }

 private:
  LogCard card_;
  LogScanner scanner_;
};

/// Inputs as a model of a log reads them.
std::vector<Input> log_shapes(const LogCard& card, const std::vector<Input>& inputs,
                              const std::optional<std::string>& only = {});

}  // namespace unfold
