#pragma once
/// What eval and score have in common: data read as a model reads it, a part of it, surprisals in order.

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "unfold/capabilities/symbol_model.h"
#include "unfold/cli/console.h"
#include "unfold/cli/options.h"
#include "unfold/data/split.h"

namespace unfold {

/// Data as the model was trained on: its alphabet, and lines as sequences if they were so in training.
/// With a mask: only the symbols that it says are to be predicted.
Corpus load_for(const SymbolModel& model, const std::vector<std::string>& files, UnknownPolicy unknown,
                const std::optional<std::string>& mask = {});

/// True if the model was trained on lines whose first column is a label, which it never reads.
bool has_label_column(const SymbolModel& model);

/// The symbol after which alone the model was trained to predict; kNoSymbol if it predicts everywhere.
Symbol predict_after(const SymbolModel& model);

/// --segments and --warmup: a long text read as segments side by side, instead of exactly.
class SegmentOptions {
 public:
  void add(VerbOptions& options);
  /// Throws UsageError for a warm-up of nothing.
  void check(const VerbOptions& options) const;
  bool exact() const { return segments_ == 0; }
  Index segments() const { return segments_; }
  Index warmup() const { return exact() ? 0 : warmup_; }
  /// What was done: "exact: each sequence from its first symbol", or how many segments, how warmed up.
  std::string describe(const Evaluation& evaluation) const;
  /// The keys "segments" (0: exact), "warmup" and "warmup_symbols" (read and not counted, in all).
  void describe(const Evaluation& evaluation, nlohmann::ordered_json& json) const;

 private:
  Index segments_ = 0, warmup_ = EvaluateOptions().warmup;
};

/// A progress line for `total` symbols; the function it returns is called for each of them.
std::function<void(Index, float)> count_symbols(Console& console, Index total, const std::string& what);

/// Surprisals in nats of all symbols of a part in their order, NaN for symbols that were not predicted.
class Surprisals {
 public:
  explicit Surprisals(const Part& part);
  void set(Index place, float nats) { nats_[static_cast<std::size_t>(place)] = nats; }
  std::span<const float> nats() const { return nats_; }

 private:
  std::vector<float> nats_;
};

/// Calls use(position within the part, symbol, nats) in order.
void for_each_symbol(const Corpus& corpus, const Part& part, const Surprisals& surprisals,
                     const std::function<void(Index, Symbol, float)>& use);

/// "position\tsymbol\tbits\n"; bits is `-` where nothing was predicted.
std::string symbol_line(const Alphabet& alphabet, Index position, Symbol symbol, float nats);
inline constexpr const char* kSymbolHeading = "position\tsymbol\tbits\n";

}  // namespace unfold
