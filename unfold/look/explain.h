#pragma once
/// Why a model says what it says: of a text, how surprising each symbol was, what the model would have guessed, and
/// what its state goes back to; of data with fields, what was predicted and which positions, or features, voted for it.
///
///   const Explanation why = explain_text({.model = "run", .text = "The cat sat"});
///   for (const ExplainedSymbol& s : why.symbols) use(s.name, s.bits, s.guesses);

#include <optional>
#include <string>
#include <vector>

#include "unfold/base/types.h"
#include "unfold/capabilities/symbol_model.h"
#include "unfold/runs/reporter.h"

namespace unfold {

struct ExplainRequest {
  std::string model;                   ///< run folder or model file
  std::string text = {};               ///< of models of running text: what is explained
  std::vector<std::string> data = {};  ///< of models of data with fields: files
  std::string unknown = "error";       ///< symbols that the model does not know: "error" or "skip"
  Index guesses = 5;
  /// From 1: the position whose state, or label, is followed back; without it the most surprising symbol, or the label
  /// that was most surprising, or where none is known the least certain one.
  std::optional<Index> at = {};
  Index example = 1;             ///< of data with fields, from 1
  Index reach = 256;             ///< positions looked back at most; texts before them count as the state that they left
  Index threads = 0;             ///< 0: every processor available
  Reporter* reporter = nullptr;  ///< told what the reader of data with fields remarks
};

struct Guess {
  std::string name;
  double probability = 0;
};
struct ExplainedSymbol {
  Index position = 0;               ///< from 1
  std::string name = {};            ///< printable
  double bits = 0;                  ///< NaN where the model was not trained to predict
  std::vector<Guess> guesses = {};  ///< the most probable symbols, falling
};
/// What one earlier symbol counts for.
struct Lag {
  Index lag = 0;       ///< 1: the symbol before
  Index position = 0;  ///< from 1, of the symbol
  std::string name = {};
  double state = 0;     ///< norm of the gradient of the state in what the symbol added to the network
  double surprise = 0;  ///< the same of the surprise, in bits, of the symbol explained
};
struct Explanation {
  std::string model;
  std::vector<ExplainedSymbol> symbols = {};
  Index at = 0;  ///< from 1
  std::vector<Lag> lags = {};
  bool estimated = false;    ///< the norms of the state are estimates (look/gradients.h)
  std::string no_lags = {};  ///< why there are none; empty where there are
};

/// Throws UsageError (no text, a position that it does not have), DataError, ModelError.
Explanation explain_text(const ExplainRequest& request);
Explanation explain_text(const SymbolModel& model, const std::vector<Symbol>& text, const ExplainRequest& request);

/// What voted for a label.
struct Vote {
  Index position = 0;  ///< from 1
  std::string what;    ///< what stands there, or "word=the": the feature
  double weight = 0;   ///< norm of the gradient of the label's log odds; of features their weight for the label
};
struct ExplainedLabel {
  Index position = 0;  ///< from 1
  std::string read = {}, observed = {},
              best = {};   ///< what stands there; the label that was there, if it is known; the predicted one
  double probability = 0;  ///< of the predicted one
  double bits = 0;         ///< surprise of the observed one; NaN where none was observed
};
struct FieldExplanation {
  std::string model, field;
  std::vector<ExplainedLabel> labels;  ///< one a position, or one in all where it is predicted once
  Index at = 0;
  std::string label;        ///< whose votes these are
  std::vector<Vote> votes;  ///< the strongest first where they are features, else by position
  bool features = false;    ///< votes are weights of features
};

/// Of the first head that predicts symbols. Throws UsageError (models of a source and a target, of numbers alone, an
/// example or position that is not there), DataError, ModelError.
FieldExplanation explain_fields(const ExplainRequest& request);

/// Mean over positions of the norm of the state's gradient, by lag from 1: how far back a network remembers, on
/// average.
struct MeanLags {
  std::vector<double> norms;  ///< norms[k]: lag k + 1
  Index positions = 0;        ///< that were averaged over
  bool estimated = false;
  std::string none;  ///< why there are none
};
/// Of a text that is read from a fresh state, at up to `count` positions spread over it which have `lags` before them.
/// Symbols before the begin of a sequence (SymbolModel::sequence_end) count as 0.
MeanLags mean_lags(const SymbolModel& model, const std::vector<Symbol>& text, Index lags, Index count, Index threads);

}  // namespace unfold
