#include "app/score/text_score.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <exception>
#include <nlohmann/json.hpp>

#include "base/formats/text_encoding.h"
#include "base/options/suggestions.h"
#include "base/utf8.h"
#include "unfold/base/error.h"
#include "unfold/model/network/language_model.h"

namespace unfold {
namespace {

/// Returns whether the model computes in double. Surprisals that are computed for many symbols at once are rounded to
/// float; a predictor keeps the precision of the model.
bool is_double(const SymbolModel& model) { return model.as<LanguageModel<double>>() != nullptr; }

/// Recurrent models are faster with many lines at once; fitted ones may learn from line to line.
bool gains_from_lines_at_once(const SymbolModel& model) {
  return model.reads_lines() && !is_double(model) && dynamic_cast<const FittedModel*>(&model) == nullptr;
}

double characters_of(std::string_view text, SymbolKind kind) {
  if (kind == SymbolKind::bytes) return 1;
  return static_cast<double>(std::count_if(text.begin(), text.end(), [](char c) { return (c & 0xC0) != 0x80; }));
}

}  // namespace

UnknownScore parse_unknown_score(const std::string& name) {
  if (name == "surprise") return UnknownScore::surprise;
  if (name == "skip") return UnknownScore::skip;
  if (name == "error") return UnknownScore::error;
  const std::vector<std::string> names{"error", "skip", "surprise"};
  throw UsageError(
      fmt::format("--unknown {}: choose error, skip or, by line, surprise{}", name, did_you_mean(name, names)));
}

TextScorer::TextScorer(const SymbolModel& model, std::string name, UnknownScore unknown, int threads)
    : model_(model),
      name_(std::move(name)),
      policy_(unknown),
      by_lines_(model.reads_lines()),
      labeled_(has_label_column(model)),
      after_(predict_after(model)),
      team_(threads) {
  if (model.alphabet().line_end() == kNoSymbol)
    throw UsageError("--by line: the alphabet of this model has no line ending; use --by symbol");
  if (!gains_from_lines_at_once(model)) predictor_ = model.predictor();
}

void TextScorer::count_unknown(const Alphabet::Token& token, Line& line, const std::string& source) {
  const Alphabet& alphabet = model_.alphabet();
  ++unknown_seen_;
  if (token.symbol != kNoSymbol || policy_ == UnknownScore::skip) return;  // <unk> is predicted like any other
  if (policy_ == UnknownScore::error)
    throw DataError(
        fmt::format("{}, line {}: \"{}\" at offset {} of the line is not in the alphabet of {} {}; skip such symbols "
                    "(--unknown skip), count them (--unknown surprise) or train on data that contains them",
                    source, line.scored.number, alphabet.shown(token), token.text.data() - line.scored.text.data(),
                    alphabet.size(), to_string(alphabet.kind())));
  ++line.scored.symbols;
  line.scored.nats += kUnknownNats * characters_of(token.text, alphabet.kind());
}

TextScorer::Line TextScorer::read(const TextLine& from, const std::string& source) {
  Line line{.scored = {.number = ++lines_, .text = from.text}};
  std::string_view& text = line.scored.text;
  if (labeled_) {
    if (lines_ == 1) text = strip_bom(text);  // the same as in split_labels
    const std::size_t length = std::min(text.find_first_of(" \t\r"), text.size());
    if (length == 0)
      throw DataError(
          fmt::format("{}: line {} does not begin with a label; add one, or remove the line", source, lines_));
    line.scored.label = text.substr(0, length);
    text.remove_prefix(std::min(text.find_first_not_of(" \t", length), text.size()));
  }
  const Alphabet& alphabet = model_.alphabet();
  if (alphabet.kind() != SymbolKind::bytes)
    if (const Index invalid = find_invalid_utf8(text); invalid >= 0)
      throw DataError(
          fmt::format("{}, line {}: the byte at offset {} is not valid UTF-8; convert the text, or train "
                      "with --symbols bytes",
                      source, lines_, invalid));
  for (Index position = 0; position < static_cast<Index>(text.size());) {
    const Alphabet::Token token = alphabet.next_token(text, position);
    if (token.text.empty()) break;  // blanks at the end
    if (!token.known) count_unknown(token, line, source);
    if (token.symbol != kNoSymbol) line.symbols.push_back(token.symbol);
  }
  if (from.ended || (alphabet.kind() == SymbolKind::words && !line.symbols.empty()))
    line.symbols.push_back(alphabet.line_end());
  return line;
}

void TextScorer::add(Line& line, double nats) {
  ++line.scored.symbols;
  line.scored.nats += nats;
}

/// Scores one symbol after another.
void TextScorer::follow(Line& line) {
  if (by_lines_) {
    predictor_->reset();
    previous_ = kNoSymbol;
  }
  const bool exact = is_double(model_);
  for (const Symbol symbol : line.symbols) {
    if (after_ == kNoSymbol || previous_ == after_) {
      const double nats =
          exact ? predictor_->surprisal(symbol) : -static_cast<double>(predictor_->log_probability(symbol));
      check_.see(symbols_, static_cast<float>(nats));
      add(line, nats);
    }
    ++symbols_;
    predictor_->observe(symbol);
    previous_ = symbol;
  }
  check_.require(model_, name_, false);
}

void TextScorer::evaluate_side_by_side(std::span<Line> lines) {
  std::vector<Symbol> all;
  for (const Line& line : lines) all.insert(all.end(), line.symbols.begin(), line.symbols.end());
  if (all.empty()) return;
  const Corpus corpus =
      Corpus::load({Input::from_bytes(name_, model_.alphabet().decode(all))}, model_.alphabet(), {.lines = true});
  const Split part = whole_corpus(corpus, "lines");
  Surprisals surprisals(part);
  model_.evaluate(corpus, part, team_, {.predict_after = after_, .surprisal = [&](Index place, float nats) {
                                          check_.see(symbols_ + place, nats);
                                          surprisals.set(place, nats);
                                        }});
  check_.require(model_, name_, false);
  symbols_ += static_cast<Index>(all.size());
  auto next = surprisals.nats().begin();
  for (Line& line : lines)
    for (std::size_t i = 0; i < line.symbols.size(); ++i, ++next)
      if (!std::isnan(*next)) add(line, static_cast<double>(*next));
}

void TextScorer::score(std::span<const TextLine> lines, const std::string& source,
                       const std::function<void(const ScoredTextLine&)>& use) {
  std::vector<Line> scored;
  scored.reserve(lines.size());
  // A line that cannot be read ends the text, after all preceding lines have been scored.
  std::exception_ptr failure;
  for (const TextLine& line : lines) {
    try {
      scored.push_back(read(line, source));
    } catch (const DataError&) {
      failure = std::current_exception();
      break;
    }
    if (predictor_) {
      follow(scored.back());
      use(scored.back().scored);
    }
  }
  if (!predictor_) {
    evaluate_side_by_side(scored);
    for (const Line& line : scored) use(line.scored);
  }
  if (failure) std::rethrow_exception(failure);
}

}  // namespace unfold
