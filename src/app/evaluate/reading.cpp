#include "app/evaluate/reading.h"

#include <algorithm>
#include <limits>
#include <nlohmann/json.hpp>

#include "app/fasta/fasta_data.h"
#include "app/logs/log_data.h"
#include "app/settings/train_settings.h"
#include "data/text/labels.h"

namespace unfold {

Corpus load_for(const SymbolModel& model, const std::vector<std::string>& files, UnknownPolicy unknown,
                const std::optional<std::string>& mask, const std::optional<std::string>& only) {
  Corpus corpus = load_for(model, open_inputs(files), unknown, only);
  if (mask) corpus.set_mask(Input::open(*mask));
  return corpus;
}

Corpus load_for(const SymbolModel& model, std::vector<Input> inputs, UnknownPolicy unknown,
                const std::optional<std::string>& only) {
  const bool by_lines = model.reads_lines();
  const std::optional<LogCard> log = log_card(model);
  inputs = log ? log_shapes(*log, inputs, only)
           : is_fasta(model)
               ? fasta_inputs(inputs, by_lines, unknown == UnknownPolicy::error ? &model.alphabet() : nullptr)
               : unlabeled(std::move(inputs), has_label_column(model), only);
  return Corpus::load(std::move(inputs), model.alphabet(), {.unknown = unknown, .lines = by_lines});
}

bool has_label_column(const SymbolModel& model) {
  const auto found = model.configuration().find(name_of(&TrainSettings::label_column));
  return found != model.configuration().end() && found->is_boolean() && found->get<bool>();
}

std::optional<std::string> only_label(const SymbolModel& model) {
  const auto found = model.configuration().find(name_of(&TrainSettings::only_label));
  if (found == model.configuration().end() || !found->is_string()) return std::nullopt;
  return found->get<std::string>();
}

Symbol predict_after(const SymbolModel& model) {
  const auto found = model.configuration().find(name_of(&TrainSettings::predict_after));
  if (found == model.configuration().end() || !found->is_string()) return kNoSymbol;
  return model.alphabet().parse(found->get<std::string>());
}

Evaluation evaluate(const SymbolModel& model, const Corpus& corpus, const Split& part, const ReadingSettings& reading,
                    int threads, const std::function<void(Index, float)>& surprisal) {
  Team team(threads);
  return model.evaluate(corpus, part, team,
                        {.segments = reading.segments,
                         .warmup = reading.exact() ? 0 : reading.warmup,
                         .predict_after = predict_after(model),
                         .surprisal = surprisal});
}

std::function<void(Index, float)> count_symbols(Reporter& reporter, Index total, const char* what) {
  constexpr Index kBetween = 256;
  return [&reporter, total, what, done = Index{0}](Index, float) mutable {
    if (++done % kBetween == 0)
      reporter.progress(
          {.what = what, .done = static_cast<double>(done), .total = static_cast<double>(total), .unit = "symbols"});
  };
}

Surprisals::Surprisals(const Split& part)
    : nats_(static_cast<std::size_t>(part.symbols()), std::numeric_limits<float>::quiet_NaN()) {}

void for_each_symbol(const Corpus& corpus, const Split& part, const Surprisals& surprisals,
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

}  // namespace unfold
