#include "cli/reading_options.h"

#include <fmt/format.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "app/common/perplexity.h"
#include "base/decimals.h"

namespace unfold {

void add_reading_options(CommandOptions& options, ReadingSettings& reading) {
  options.add({.name = "segments",
               .target = &reading.segments,
               .placeholder = "N",
               .help = "recurrent models: split the data into this number of segments read in parallel, which is "
                       "faster but not exact; 0: exact",
               .least = 0,
               .most = 1e6,
               .group = OptionGroup::execution,
               .kinds = Kind::text});
  options.add({.name = "warmup",
               .target = &reading.warmup,
               .placeholder = "N",
               .help = "with --segments: number of symbols read before each segment without being scored",
               .least = 0,
               .group = OptionGroup::execution,
               .kinds = Kind::text});
}

void check_reading_options(const CommandOptions& options, const ReadingSettings& reading) {
  if (reading.exact() && options.is_given(reading.warmup))
    throw UsageError("--warmup requires --segments; add, for example, --segments 64");
}

std::string describe_reading(const ReadingSettings& reading, const Evaluation& evaluation) {
  if (reading.exact()) return "exact: every sequence from its first symbol";
  return fmt::format("{} parallel segments, each after at most {} symbols of warm-up ({} in total, not scored)",
                     evaluation.passages, reading.warmup, evaluation.warmed);
}

void describe_reading(const ReadingSettings& reading, const Evaluation& evaluation, nlohmann::ordered_json& json) {
  json["segments"] = reading.exact() ? 0 : evaluation.passages;
  json["warmup"] = reading.exact() ? 0 : reading.warmup;
  json["warmup_symbols"] = evaluation.warmed;
}

std::string bits_text(float nats) { return std::isnan(nats) ? "-" : decimals(bits(nats)); }

std::string symbol_line(Index position, std::string_view symbol, float nats) {
  return fmt::format("{}\t{}\t{}\n", position, symbol, bits_text(nats));
}

}  // namespace unfold
