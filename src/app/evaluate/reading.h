#pragma once
/// What evaluate and score have in common: data read as a model reads it, surprisals in order.

#include <functional>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "app/common/reporter.h"
#include "data/text/split.h"
#include "model/symbol_model.h"

namespace unfold {

/// Data as the model was trained on: its alphabet, and lines as sequences if they were so in training.
/// With a mask: only the symbols that it says are to be predicted. `only`: only the lines with this label.
Corpus load_for(const SymbolModel& model, const std::vector<std::string>& files, UnknownPolicy unknown,
                const std::optional<std::string>& mask = {}, const std::optional<std::string>& only = {});

/// The same of inputs that are open already: texts in memory (Input::from_bytes).
Corpus load_for(const SymbolModel& model, std::vector<Input> inputs, UnknownPolicy unknown,
                const std::optional<std::string>& only = {});

/// The label of the lines that the model was trained on (train --only-label); empty: it was trained on all lines.
std::optional<std::string> only_label(const SymbolModel& model);

/// True if the model was trained on lines whose first column is a label, which it never reads.
bool has_label_column(const SymbolModel& model);

/// The symbol after which alone the model was trained to predict; kNoSymbol if it predicts everywhere.
Symbol predict_after(const SymbolModel& model);

/// How a text is read by a recurrent model: exactly, or as segments side by side, which is faster.
struct ReadingSettings {
  Index segments = 0;                       ///< 0: exact, every sequence from its first symbol
  Index warmup = EvaluateOptions().warmup;  ///< symbols read before each segment at most, not counted
  bool exact() const { return segments == 0; }
};

/// A model's own evaluation, with its surprisals and progress.
Evaluation evaluate(const SymbolModel& model, const Corpus& corpus, const Split& part, const ReadingSettings& reading,
                    int threads, const std::function<void(Index, float)>& surprisal);

/// Tells `reporter` about `total` symbols; the function it returns is called for each of them.
std::function<void(Index, float)> count_symbols(Reporter& reporter, Index total, const char* what);

/// Surprisals in nats of all symbols of a part in their order, NaN for symbols that were not predicted.
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
