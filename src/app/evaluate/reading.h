#pragma once
/// Functions common to evaluate and score: reading data as a model reads it, and computing surprisals in order.

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "app/common/reporter.h"
#include "unfold/data/text/split.h"
#include "unfold/model/symbol_model.h"

namespace unfold {

/// Reads data in the same way as in training: with the alphabet of the model, and with lines as sequences if they were
/// sequences in training. With a mask, only the symbols that it marks are predicted. `only`: reads only the lines with
/// this label.
Corpus load_for(const SymbolModel& model, const std::vector<std::string>& files, UnknownPolicy unknown,
                const std::optional<std::string>& mask = {}, const std::optional<std::string>& only = {});

/// Like the function above, for inputs that are already open, such as text in memory (Input::from_bytes).
Corpus load_for(const SymbolModel& model, std::vector<Input> inputs, UnknownPolicy unknown,
                const std::optional<std::string>& only = {});

/// Returns the label of the lines that the model was trained on (train --only-label); empty if it was trained on all
/// lines.
std::optional<std::string> only_label(const SymbolModel& model);

/// Returns whether the model was trained on lines whose first column is a label, which it never reads.
bool has_label_column(const SymbolModel& model);

/// Returns the symbol if the model was trained to predict only after this symbol; kNoSymbol if it predicts everywhere.
Symbol predict_after(const SymbolModel& model);

/// How a recurrent model reads a text: exactly, or as parallel segments, which is faster.
struct ReadingSettings {
  Index segments = 0;                       ///< 0: exact, every sequence from its first symbol
  Index warmup = EvaluateOptions().warmup;  ///< maximum number of symbols read before each segment, not counted
  bool exact() const { return segments == 0; }
};

/// Evaluates with the model's own method and reports surprisals and progress.
Evaluation evaluate(const SymbolModel& model, const Corpus& corpus, const Split& part, const ReadingSettings& reading,
                    int threads, const std::function<void(Index, float)>& surprisal);

/// Starts progress over `total` symbols; the returned function must be called for each of them.
std::function<void(Index, float)> count_symbols(Reporter& reporter, Index total, const char* what);

/// Returns the surprisals in nats of all symbols of a part, in order; NaN for symbols that were not predicted.
class Surprisals {
 public:
  explicit Surprisals(const Split& part);
  void set(Index place, float nats) { nats_[static_cast<std::size_t>(place)] = nats; }
  std::span<const float> nats() const { return nats_; }

 private:
  std::vector<float> nats_;
};

/// Calls use(position within the part, symbol, nats) in order.
void for_each_symbol(const Corpus& corpus, const Split& part, const Surprisals& surprisals,
                     const std::function<void(Index, Symbol, float)>& use);

}  // namespace unfold
