#include <fmt/format.h>

#include <cmath>

#include "unfold/cli/figures.h"
#include "unfold/cli/run_folder.h"
#include "unfold/cli/scoring.h"
#include "unfold/cli/verb.h"

namespace unfold {
namespace {

/// The surprisal of one line.
struct Line {
  Index number = 1, symbols = 0;
  double nats = 0;
  double bits_per_symbol() const { return symbols > 0 ? bits(nats) / static_cast<double>(symbols) : 0; }
};

class Score final : public Verb {
 public:
  Score();
  ExitCode run(Console& console) override;

 private:
  void by_symbol(const Corpus& corpus, const Part& part, const Surprisals& surprisals) const;
  void by_line(const Corpus& corpus, const Part& part, const Surprisals& surprisals) const;

  std::vector<std::string> inputs_;
  std::string by_ = "symbol", unknown_ = "error";
  std::optional<std::string> mask_;
};

Score::Score()
    : Verb(VerbOptions("score", "prints how surprising every symbol or line is, in bits (TSV)",
                       {"unfold score run today.log --by line | sort -t $'\\t' -k 4 -rg | head",
                        "unfold score run today.log --by symbol > surprisals.tsv"})) {
  options_.add_inputs({.name = "inputs",
                       .target = &inputs_,
                       .placeholder = "MODEL DATA",
                       .help = "a run folder or model file, then a text file",
                       .least = 2,
                       .most = 2});
  options_.add({.name = "by",
                .target = &by_,
                .placeholder = "UNIT",
                .help = "symbol (position, symbol, bits) or line (line, symbols, bits, bits per symbol)",
                .choices = {"symbol", "line"}});
  options_.add({.name = "mask",
                .target = &mask_,
                .placeholder = "FILE",
                .help = "a 0 or 1 for every symbol of DATA: which are to be predicted"});
  options_.add({.name = "unknown",
                .target = &unknown_,
                .placeholder = "error|skip",
                .help = "symbols that the model does not know: stop, or leave them out"});
  add_threads();
  add_common();
}

void Score::by_symbol(const Corpus& corpus, const Part& part, const Surprisals& surprisals) const {
  nlohmann::ordered_json scores = nlohmann::ordered_json::array();
  if (!json_) print_result(kSymbolHeading);
  for_each_symbol(corpus, part, surprisals, [&](Index position, Symbol symbol, float nats) {
    if (!json_) return print_result(symbol_line(corpus.alphabet(), position, symbol, nats));
    scores.push_back({{"position", position},
                      {"symbol", corpus.alphabet().name(symbol)},
                      {"bits", std::isnan(nats) ? nlohmann::ordered_json() : nlohmann::ordered_json(bits(nats))}});
  });
  if (json_) print_result(one_line({{"by", "symbol"}, {"scores", std::move(scores)}}));
}

void Score::by_line(const Corpus& corpus, const Part& part, const Surprisals& surprisals) const {
  nlohmann::ordered_json scores = nlohmann::ordered_json::array();
  if (!json_) print_result("line\tsymbols\tbits\tbits_per_symbol\n");
  const auto end_line = [&](Line& line) {
    if (json_)
      scores.push_back({{"line", line.number},
                        {"symbols", line.symbols},
                        {"bits", bits(line.nats)},
                        {"bits_per_symbol", line.bits_per_symbol()}});
    else
      print_result(
          fmt::format("{}\t{}\t{:.6f}\t{:.6f}\n", line.number, line.symbols, bits(line.nats), line.bits_per_symbol()));
    line = {.number = line.number + 1};
  };
  Line line;
  const Symbol line_end = corpus.alphabet().line_end();
  bool open = false;
  for_each_symbol(corpus, part, surprisals, [&](Index, Symbol symbol, float nats) {
    open = true;
    if (!std::isnan(nats)) {
      ++line.symbols;
      line.nats += nats;
    }
    if (symbol != line_end) return;
    end_line(line);
    open = false;
  });
  if (open) end_line(line);
  if (json_) print_result(one_line({{"by", "line"}, {"scores", std::move(scores)}}));
}

ExitCode Score::run(Console& console) {
  const UnknownPolicy unknown = parse_unknown_policy(unknown_);
  const std::unique_ptr<SymbolModel> loaded = load_model(inputs_[0]);
  const SymbolModel& model = *loaded;
  const Corpus corpus = load_for(model, {inputs_[1]}, unknown, mask_);
  if (by_ == "line" && model.alphabet().line_end() == kNoSymbol)
    throw UsageError("--by line: the alphabet of this model has no line end; use --by symbol");
  const Part part = whole_corpus(corpus, "all");
  Surprisals surprisals(part);
  const auto count = count_symbols(console, part.symbols(), "score");
  Team team(threads());
  model.evaluate(corpus, part, team, {.predict_after = predict_after(model), .surprisal = [&](Index place, float nats) {
                                        surprisals.set(place, nats);
                                        count(place, nats);
                                      }});
  if (by_ == "symbol")
    by_symbol(corpus, part, surprisals);
  else
    by_line(corpus, part, surprisals);
  if (corpus.unknown() > 0) console.remark(fmt::format("{} unknown symbols", corpus.unknown()));
  return ExitCode::success;
}

}  // namespace

std::unique_ptr<Verb> make_score() { return std::make_unique<Score>(); }

}  // namespace unfold
