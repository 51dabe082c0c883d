#pragma once
/// Explanation of a model's predictions. For a text: the surprisal of each symbol, the most probable alternatives, and
/// the influence of earlier symbols on the state. For data with fields: the predicted labels, and the influence of
/// positions or features on one of these labels.
///
///   const Explanation why = explain_text({.model = "run", .text = "The cat sat"});
///   for (const ExplainedSymbol& s : why.symbols) use(s.name, s.bits, s.guesses);

#include <optional>
#include <string>
#include <vector>

#include "app/common/reporter.h"
#include "unfold/base/types.h"
#include "unfold/model/symbol_model.h"

namespace unfold {

struct ExplainRequest {
  std::string model;                   ///< run folder or model file
  std::string text = {};               ///< text to explain, for language models
  std::vector<std::string> data = {};  ///< files to explain, for models that read data with fields
  std::string unknown = "error";       ///< handling of symbols that the model does not know: "error" or "skip"
  Index guesses = 5;
  /// The position whose state or label is explained, from 1. Default: the symbol or label with the highest surprisal,
  /// or, if the labels are not observed, the least certain prediction.
  std::optional<Index> at = {};
  Index example = 1;             ///< number of the example, from 1, for data with fields
  Index reach = 256;             ///< maximum number of earlier positions; the text before them determines the initial
                                 ///< state
  Index threads = 0;             ///< 0: all available processors
  Reporter* reporter = nullptr;  ///< receives notes from the reader for data with fields
};

struct Guess {
  std::string name;
  double probability = 0;
};
struct ExplainedSymbol {
  Index position = 0;               ///< from 1
  std::string name = {};            ///< printable
  double bits = 0;                  ///< NaN where the model was not trained to predict
  std::vector<Guess> guesses = {};  ///< the most probable symbols, in descending order
};
/// The influence of one earlier symbol.
struct Lag {
  Index lag = 0;       ///< 1: the preceding symbol
  Index position = 0;  ///< position of the earlier symbol, from 1
  std::string name = {};
  double state = 0;     ///< norm of the gradient of the state with respect to the symbol's contribution to the network
  double surprise = 0;  ///< norm of the gradient of the surprisal, in bits, of the explained symbol
};
struct Explanation {
  std::string model;
  std::vector<ExplainedSymbol> symbols = {};
  Index at = 0;  ///< from 1
  std::vector<Lag> lags = {};
  bool estimated = false;    ///< the norms of the state are estimates (app/explain/input_gradients.h)
  std::string no_lags = {};  ///< the reason if there are no lags, otherwise empty
};

/// Throws UsageError for an empty text or a position outside it; DataError, ModelError.
Explanation explain_text(const ExplainRequest& request);
Explanation explain_text(const SymbolModel& model, const std::vector<Symbol>& text, const ExplainRequest& request);

/// The contribution of one position or feature to a predicted label.
struct Vote {
  Index position = 0;  ///< from 1
  std::string what;    ///< the value at the position, or a feature such as "word=the"
  double weight = 0;   ///< norm of the gradient of the label's log odds; for features, their weight for the label
};
struct ExplainedLabel {
  Index position = 0;  ///< from 1
  std::string read = {}, observed = {},
              best = {};   ///< the value at the position; the observed label, if known; the predicted label
  double probability = 0;  ///< probability of the predicted label
  double bits = 0;         ///< surprisal of the observed label; NaN if there is none
};
struct FieldExplanation {
  std::string model, field;
  std::vector<ExplainedLabel> labels;  ///< one label per position, or one per example if the label is predicted once
  Index at = 0;
  std::string label;        ///< the explained label
  std::vector<Vote> votes;  ///< features by decreasing |weight|, positions in order
  bool features = false;    ///< the votes are weights of features
};

/// Explains the first head that predicts symbols. Throws UsageError for models of a source and a target, models that
/// predict only numbers, and an example or position that does not exist; DataError, ModelError.
FieldExplanation explain_fields(const ExplainRequest& request);

/// Mean norm of the gradient of the state by lag, over several positions: a measure of how far back a network
/// remembers.
struct MeanLags {
  std::vector<double> norms;  ///< norms[k] belongs to lag k + 1
  Index positions = 0;        ///< number of positions averaged over
  bool estimated = false;
  std::string none;  ///< the reason if there are no norms
};
/// Reads a text from the initial state and averages over at most `count` evenly spaced positions with at least `lags`
/// predecessors.
MeanLags mean_lags(const SymbolModel& model, const std::vector<Symbol>& text, Index lags, Index count, Index threads);

}  // namespace unfold
