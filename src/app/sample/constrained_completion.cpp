#include "app/sample/constrained_completion.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "app/common/perplexity.h"
#include "base/decimals.h"
#include "base/printable.h"
#include "model/decoding/expression.h"
#include "model/decoding/lexicon.h"
#include "model/finite.h"
#include "model/hmm/hmm.h"
#include "model/markov.h"
#include "model/registry/run_folder.h"
#include "numerics/functions.h"

namespace unfold {
namespace {

/// A model and a query for it: the prime and the automaton of the allowed continuations.
struct Matching {
  std::unique_ptr<SymbolModel> model;
  std::vector<Symbol> prime;
  Automaton allowed;
};

Automaton allowed_texts(const AllowedTexts& texts, const Alphabet& alphabet, std::span<const Symbol> prime,
                        Index length, const Warn& warn) {
  const bool any = !texts.match && !texts.words;
  Automaton allowed = Automaton::of_length(alphabet.size(), any ? std::max(texts.least, length) : texts.least);
  if (texts.match) allowed = intersection(allowed, compile_expression(*texts.match, alphabet));
  if (texts.words) {
    const WordList list = WordList::read(*texts.words);
    const Lexicon lexicon = lexicon_of(list, alphabet);
    if (lexicon.left_out > 0)
      warn(fmt::format("{}: {} of {} words contain symbols that are not in the alphabet of the model and are skipped",
                       *texts.words, lexicon.left_out, list.words.size()));
    allowed = intersection(allowed, continue_lexicon(lexicon.automaton, prime));
  }
  return allowed;
}

Matching prepare(const MatchRequest& request, const Warn& warn) {
  std::unique_ptr<SymbolModel> model = load_model(request.model);
  std::vector<Symbol> prime;
  if (!request.prime.empty()) prime = encode_prime(model->alphabet(), request.prime);
  Automaton allowed = allowed_texts(request.allowed, model->alphabet(), prime, request.beam.length, warn);
  return {std::move(model), std::move(prime), std::move(allowed)};
}

/// The predictor is not wrapped, because a wrapper would hide its Markov interface (model/markov.h).
std::unique_ptr<Predictor> predictor_of(const SymbolModel& model, const std::string& name) {
  std::unique_ptr<Predictor> predictor = model.predictor();
  if (dynamic_cast<const MarkovContext*>(predictor.get()) != nullptr) return predictor;
  return finite_predictor(model, name);
}

/// Returns log max_j b(j, x): for any history, a symbol is at most as probable as in its best state.
std::vector<double> symbol_bounds(const HmmParameters& hmm) {
  std::vector<double> bounds(at(hmm.alphabet));
  for (Index j = 0; j < hmm.states; ++j)
    for (Index x = 0; x < hmm.alphabet; ++x)
      bounds[at(x)] = std::max(bounds[at(x)], hmm.emissions[at(j * hmm.alphabet + x)]);
  vector_log(bounds.data(), bounds.data(), hmm.alphabet);
  constexpr double kRounding = 1e-6;  // predictors return floats
  for (double& x : bounds) x = std::min(0.0, x + kRounding);
  return bounds;
}

}  // namespace

std::vector<CompletedText> complete(const MatchRequest& request, const Warn& warn) {
  const Matching matching = prepare(request, warn);
  const Alphabet& alphabet = matching.model->alphabet();
  DecodeOptions options = request.search;
  options.length = request.beam.length;
  options.beam = std::max(request.beam.beam, options.groups);
  options.count = request.beam.count;
  options.normalization = request.beam.normalization;
  if (request.expansions) options.expansions = *request.expansions;
  options.prime = matching.prime;
  if (const auto* hmm = matching.model->as<HmmModel>()) options.symbol_bounds = symbol_bounds(hmm->parameters());
  const Symbol last = matching.prime.empty() ? kNoSymbol : matching.prime.back();
  std::vector<CompletedText> result;
  for (FoundSequence& found : decode(*predictor_of(*matching.model, request.model), matching.allowed, options).found) {
    CompletedText text{
        .completion = {}, .text = alphabet.decode(found.symbols, last), .names = {}, .proved = found.proved};
    for (const Symbol symbol : found.symbols) text.names.push_back(alphabet.name(symbol));
    text.completion = {.symbols = std::move(found.symbols),
                       .log_probabilities = std::move(found.log_probabilities),
                       .log_probability = found.log_probability,
                       .score = found.score};
    result.push_back(std::move(text));
  }
  return result;
}

MatchProbability match_probability(const MatchRequest& request, const Warn& warn) {
  if (!request.allowed.match && !request.allowed.words) throw UsageError("--probability requires --match or --words");
  const Matching matching = prepare(request, warn);
  if (const auto* model = matching.model->as<HmmModel>()) {
    const HmmParameters& hmm = model->parameters();
    const HiddenChain chain{hmm.states,      hmm.alphabet,  hmm.initial,
                            hmm.transitions, hmm.emissions, matching.model->sequence_end()};
    const double p = match_probability(chain, matching.allowed, request.beam.length, matching.prime);
    return {.probability = p, .low = p, .high = p, .exact = true};
  }
  MatchOptions options = request.probability;
  options.prime = matching.prime;
  options.length = request.beam.length;
  if (request.expansions) options.expansions = *request.expansions;
  return match_probability(*predictor_of(*matching.model, request.model), matching.allowed, options);
}

namespace {

const char* answer_of(const CompletedText& text) { return *text.proved ? "proved best" : "best found"; }

/// Formats a completion on one line.
std::string completion_line(const CompletedText& text) {
  const std::string answer = text.proved ? fmt::format("{}\t", answer_of(text)) : "";
  return fmt::format("{}\t{}\t{}\t{}{}\n", decimals(text.bits()), text.names.size(), decimals(text.completion.score),
                     answer, escape_cell(text.text));
}

nlohmann::ordered_json completion_json(const CompletedText& text) {
  const Completion& completion = text.completion;
  nlohmann::ordered_json symbols = nlohmann::ordered_json::array();
  for (std::size_t i = 0; i < text.names.size(); ++i)
    symbols.push_back(
        {{"symbol", text.names[i]}, {"bits", bits(-static_cast<double>(completion.log_probabilities[i]))}});
  nlohmann::ordered_json json{{"text", text.text},
                              {"probability", text.probability()},
                              {"bits", text.bits()},
                              {"score", completion.score},
                              {"stopped", completion.stopped}};
  if (text.proved) json["answer"] = answer_of(text);
  json["symbols"] = std::move(symbols);
  return json;
}

}  // namespace

std::string completions_text(const std::vector<CompletedText>& found) {
  const bool answers = !found.empty() && found.front().proved;
  std::string all = fmt::format("bits\tsymbols\tscore\t{}text\n", answers ? "answer\t" : "");
  for (const CompletedText& text : found) all += completion_line(text);
  return all;
}

nlohmann::ordered_json completions_json(const std::vector<CompletedText>& found) {
  nlohmann::ordered_json completions = nlohmann::ordered_json::array();
  for (const CompletedText& text : found) completions.push_back(completion_json(text));
  return {{"completions", std::move(completions)}};
}

namespace {

std::string match_text(const MatchProbability& found) {
  return fmt::format("probability\tlow\thigh\tstandard_error\tanswer\n{:.6g}\t{:.6g}\t{:.6g}\t{:.6g}\t{}\n",
                     found.probability, found.low, found.high, found.standard_error,
                     found.exact         ? "exact"
                     : found.samples > 0 ? "drawn"
                                         : "bounded");
}

nlohmann::ordered_json match_json(const MatchProbability& found) {
  return {{"probability", found.probability},
          {"low", found.low},
          {"high", found.high},
          {"standard_error", found.standard_error},
          {"exact", found.exact},
          {"samples", found.samples},
          {"expanded", found.expanded}};
}

}  // namespace

std::string answer_text(const MatchRequest& request, const Warn& warn) {
  return request.wants_probability ? match_text(match_probability(request, warn))
                                   : completions_text(complete(request, warn));
}

nlohmann::ordered_json answer_json(const MatchRequest& request, const Warn& warn) {
  return request.wants_probability ? match_json(match_probability(request, warn))
                                   : completions_json(complete(request, warn));
}

}  // namespace unfold
