#pragma once
/// How eval and score let a text be read, and how they show what was read.

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

#include "unfold/app/reading.h"
#include "unfold/terminal/options.h"

namespace unfold {

/// --segments and --warmup.
void add_reading_options(VerbOptions& options, ReadingSettings& reading);
/// Throws UsageError for a warm-up of nothing.
void check_reading_options(const VerbOptions& options, const ReadingSettings& reading);

/// What was done: "exact: every sequence from its first symbol", or how many segments, how warmed up.
std::string describe_reading(const ReadingSettings& reading, const Evaluation& evaluation);
/// The keys "segments" (0: exact), "warmup" and "warmup_symbols" (read and not counted, in all).
void describe_reading(const ReadingSettings& reading, const Evaluation& evaluation, nlohmann::ordered_json& json);

/// "position\tsymbol\tbits\n"; bits is `-` where nothing was predicted.
std::string symbol_line(Index position, std::string_view symbol, float nats);
inline constexpr const char* kSymbolHeading = "position\tsymbol\tbits\n";
/// "1.234567", or "-" where nothing was predicted.
std::string bits_text(float nats);

}  // namespace unfold
