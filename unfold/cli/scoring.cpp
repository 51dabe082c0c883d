#include "unfold/cli/scoring.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <nlohmann/json.hpp>

#include "unfold/cli/figures.h"
#include "unfold/app/machine.h"
#include "unfold/data/labels.h"

namespace unfold {

Corpus load_for(const SymbolModel& model, const std::vector<std::string>& files, UnknownPolicy unknown,
                const std::optional<std::string>& mask) {
  const nlohmann::json& configuration = model.configuration();
  const auto lines = configuration.find("lines");
  const bool by_lines = lines != configuration.end() && lines->is_boolean() && lines->get<bool>();
  Corpus corpus = Corpus::load(unlabelled(open_inputs(files), has_label_column(model)), model.alphabet(),
                               {.unknown = unknown, .lines = by_lines});
  if (mask) corpus.set_mask(Input::open(*mask));
  return corpus;
}

bool has_label_column(const SymbolModel& model) {
  const auto found = model.configuration().find("label-column");
  return found != model.configuration().end() && found->is_boolean() && found->get<bool>();
}

Symbol predict_after(const SymbolModel& model) {
  const auto found = model.configuration().find("predict-after");
  if (found == model.configuration().end() || !found->is_string()) return kNoSymbol;
  return model.alphabet().parse(found->get<std::string>());
}

void SegmentOptions::add(VerbOptions& options) {
  options.add({.name = "segments",
               .target = &segments_,
               .placeholder = "N",
               .help =
                   "recurrent models: cut the data into so many segments read side by side, faster than exactly; 0: "
                   "exact",
               .least = 0,
               .most = 1e6});
  options.add({.name = "warmup",
               .target = &warmup_,
               .placeholder = "N",
               .help = "with --segments: at most so many symbols are read before each segment, not counted",
               .least = 0});
}

void SegmentOptions::check(const VerbOptions& options) const {
  if (exact() && options.given("warmup"))
    throw UsageError("--warmup is for --segments: an exact reading needs none; add --segments 64");
}

std::string SegmentOptions::describe(const Evaluation& evaluation) const {
  if (exact()) return "exact: every sequence from its first symbol";
  return fmt::format("{} segments side by side, each after at most {} symbols of warm-up ({} in all, not counted)",
                     evaluation.runs, warmup_, evaluation.warmed);
}

void SegmentOptions::describe(const Evaluation& evaluation, nlohmann::ordered_json& json) const {
  json["segments"] = exact() ? 0 : evaluation.runs;
  json["warmup"] = warmup();
  json["warmup_symbols"] = evaluation.warmed;
}

std::function<void(Index, float)> count_symbols(Console& console, Index total, const std::string& what) {
  constexpr Index kBetween = 256;
  const double start = seconds_now();
  return [&console, total, what, start, done = Index{0}](Index, float) mutable {
    if (++done % kBetween != 0 || !console.due()) return;
    const double speed = static_cast<double>(done) / std::max(seconds_now() - start, 1e-9);
    console.progress(fmt::format("{}  {}/{} symbols  {} symbols/s  {} left", what, done, total, count_text(speed),
                                 duration_text(static_cast<double>(total - done) / speed)));
  };
}

Surprisals::Surprisals(const Part& part)
    : nats_(static_cast<std::size_t>(part.symbols()), std::numeric_limits<float>::quiet_NaN()) {}

void for_each_symbol(const Corpus& corpus, const Part& part, const Surprisals& surprisals,
                     const std::function<void(Index, Symbol, float)>& use) {
  constexpr Index kBlock = 4096;
  Index place = 0;
  for (const Piece& piece : part.pieces) {
    for (Index begin = piece.range.begin; begin < piece.range.end; begin += kBlock) {
      const Range block{begin, std::min(begin + kBlock, piece.range.end)};
      const std::vector<Symbol> symbols = corpus.read(piece.sequence, block);
      for (const Symbol symbol : symbols) {
        use(place, symbol, surprisals.nats()[static_cast<std::size_t>(place)]);
        ++place;
      }
    }
  }
}

std::string symbol_line(const Alphabet& alphabet, Index position, Symbol symbol, float nats) {
  const std::string value = std::isnan(nats) ? "-" : fmt::format("{:.6f}", bits(nats));
  return fmt::format("{}\t{}\t{}\n", position, alphabet.name(symbol), value);
}

}  // namespace unfold
