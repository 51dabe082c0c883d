#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "unfold/capabilities/finite.h"
#include "unfold/cli/figures.h"
#include "unfold/cli/run_folder.h"
#include "unfold/cli/verb.h"
#include "unfold/models/beam.h"
#include "unfold/numerics/functions.h"

namespace unfold {
namespace {

class Complete final : public Verb {
 public:
  Complete();
  ExitCode run(Console& console) override;

 private:
  nlohmann::ordered_json to_json(const Completion& completion, const Alphabet& alphabet, const std::string& text) const;

  std::vector<std::string> model_;
  BeamOptions beam_;
  std::string prime_;
};

Complete::Complete()
    : Verb(VerbOptions("complete", "finds the most probable continuations of a text by beam search",
                       {"unfold complete run --prime 'To be' --length 20",
                        "unfold complete run --prime 'the cat' --stop $'\\n' --beam 32 --json"})) {
  options_.add_inputs(
      {.name = "model", .target = &model_, .placeholder = "MODEL", .help = "a run folder or model file"});
  options_.add({.name = "prime", .target = &prime_, .placeholder = "TEXT", .help = "what is continued"});
  options_.add({.name = "length",
                .target = &beam_.length,
                .placeholder = "N",
                .help = "symbols at most",
                .least = 1,
                .most = 1e6});
  options_.add({.name = "beam",
                .target = &beam_.beam,
                .placeholder = "N",
                .help = "continuations kept at every length",
                .least = 1,
                .most = 1e6});
  options_.add(
      {.name = "count", .target = &beam_.count, .placeholder = "N", .help = "continuations shown", .least = 1});
  options_.add({.name = "normalisation",
                .target = &beam_.normalisation,
                .placeholder = "A",
                .help = "rank by log p / length^A: 0 by probability, 1 by probability per symbol",
                .least = 0});
  options_.add({.name = "stop",
                .target = &beam_.stop,
                .placeholder = "TEXT",
                .help = "a continuation is finished when it ends with this"});
  add_common();
}

nlohmann::ordered_json Complete::to_json(const Completion& completion, const Alphabet& alphabet,
                                         const std::string& text) const {
  double probability = completion.log_probability;
  vector_exp(&probability, &probability, 1);
  nlohmann::ordered_json symbols = nlohmann::ordered_json::array();
  for (std::size_t i = 0; i < completion.symbols.size(); ++i)
    symbols.push_back({{"symbol", alphabet.name(completion.symbols[i])},
                       {"bits", bits(-static_cast<double>(completion.log_probabilities[i]))}});
  return {{"text", text},
          {"probability", probability},
          {"bits", bits(-completion.log_probability)},
          {"score", completion.score},
          {"stopped", completion.stopped},
          {"symbols", std::move(symbols)}};
}

ExitCode Complete::run(Console&) {
  validate(beam_);
  const std::unique_ptr<SymbolModel> model = load_model(model_.front());
  const Alphabet& alphabet = model->alphabet();
  if (!prime_.empty()) beam_.prime = alphabet.encode(prime_);
  nlohmann::ordered_json completions = nlohmann::ordered_json::array();
  if (!json_) print_result("bits\tsymbols\ttext\n");
  for (const Completion& completion : complete(*finite_predictor(*model, model_.front()), alphabet, beam_)) {
    const std::string text = alphabet.decode(completion.symbols, beam_.prime.empty() ? kNoSymbol : beam_.prime.back());
    if (json_) {
      completions.push_back(to_json(completion, alphabet, text));
      continue;
    }
    std::string shown;  // on one line
    for (const char c : text) shown += c == '\n' ? "\\n" : c == '\t' ? "\\t" : c == '\\' ? "\\\\" : std::string(1, c);
    print_result(fmt::format("{:.6f}\t{}\t{}\n", bits(-completion.log_probability), completion.symbols.size(), shown));
  }
  if (json_) print_result(one_line({{"completions", std::move(completions)}}));
  return ExitCode::success;
}

}  // namespace

std::unique_ptr<Verb> make_complete() { return std::make_unique<Complete>(); }

}  // namespace unfold
