#pragma once
/// Options common to eval and score: reading a text in parallel segments, and the output of per-symbol results.

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

#include "app/evaluate/reading.h"
#include "cli/terminal/options.h"

namespace unfold {

/// Adds --segments and --warmup.
void add_reading_options(CommandOptions& options, ReadingSettings& reading);
/// Throws UsageError for a warm-up without segments.
void check_reading_options(const CommandOptions& options, const ReadingSettings& reading);

/// Describes how the text was read: "exact: every sequence from its first symbol", or the number of segments and the
/// warm-up.
std::string describe_reading(const ReadingSettings& reading, const Evaluation& evaluation);
/// Adds the keys "segments" (0: exact), "warmup" and "warmup_symbols" (the total number of symbols read without being
/// scored).
void describe_reading(const ReadingSettings& reading, const Evaluation& evaluation, nlohmann::ordered_json& json);

/// Returns "position\tsymbol\tbits\n"; bits is `-` if the symbol was not predicted.
std::string symbol_line(Index position, std::string_view symbol, float nats);
inline constexpr const char* kSymbolHeading = "position\tsymbol\tbits\n";
/// Returns "1.234567", or "-" if nothing was predicted.
std::string bits_text(float nats);

}  // namespace unfold
