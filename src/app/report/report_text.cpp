#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "app/common/perplexity.h"
#include "app/compare/evaluation_data.h"
#include "app/evaluate/reading.h"
#include "app/explain/explain.h"
#include "app/explain/label_probabilities.h"
#include "app/report/activations.h"
#include "app/report/report_parts.h"
#include "app/settings/evaluation_split.h"
#include "model/registry/run_folder.h"
#include "numerics/functions.h"
#include "unfold/data/text/text_batches.h"
#include "unfold/model/decoding/sampling.h"
#include "unfold/model/network/language_model.h"
#include "unfold/model/registry/registry.h"

namespace unfold {
namespace {

constexpr Index kShownText = 3000;   // symbols colored by surprisal
constexpr Index kNeuronText = 2000;  // symbols over which neurons are shown
constexpr Index kGuesses = 5, kLagText = 600, kLags = 100, kLagPositions = 16;
constexpr std::size_t kWorst = 24;
constexpr Index kContext = 40;
constexpr Index kSampleSymbols = 400;
constexpr Index kMostFitted = 2'000'000;  // symbols used to fit a baseline

/// Predictions of a model at every inspected symbol.
struct Said {
  std::vector<Symbol> symbols;
  std::vector<double> bits;  // NaN where nothing was predicted
  std::vector<Symbol> best;
  std::vector<double> best_probability;
  std::vector<std::vector<std::pair<Symbol, double>>> guesses;  // guesses for the first symbols
};

double probability_of(float log_p) {
  auto p = static_cast<double>(log_p);
  vector_exp(&p, &p, 1);
  return p;
}

std::vector<std::pair<Symbol, double>> first_guesses(std::span<const float> log_p) {
  std::vector<std::pair<Symbol, double>> guesses;
  for (const Symbol x : most_probable(log_p, kGuesses)) guesses.emplace_back(x, probability_of(log_p[at(x)]));
  return guesses;
}

/// Evaluates the first pieces of a part, each from the initial state.
Said listen(const SymbolModel& model, const EvaluationText& text, Index most, Reporter& reporter) {
  Said said;
  const std::unique_ptr<Predictor> predictor = model.predictor();
  const Symbol after = predict_after(model);
  const Index total = std::min(most, text.part.symbols());
  for (const Piece& piece : text.part.pieces) {
    if (static_cast<Index>(said.symbols.size()) >= total) break;
    predictor->reset();
    Symbol previous = kNoSymbol;
    const Index left = total - static_cast<Index>(said.symbols.size());
    const Range range{piece.range.begin, std::min(piece.range.end, piece.range.begin + left)};
    for (const Symbol symbol : text.corpus.read(piece.sequence, range)) {
      const std::span<const float> log_p = predictor->log_probabilities();
      const auto best = static_cast<Symbol>(std::ranges::max_element(log_p) - log_p.begin());
      const bool predicted = after == kNoSymbol || previous == after;
      said.symbols.push_back(symbol);
      said.bits.push_back(predicted ? bits(-static_cast<double>(log_p[at(symbol)])) : std::nan(""));
      said.best.push_back(best);
      said.best_probability.push_back(probability_of(log_p[at(best)]));
      if (static_cast<Index>(said.guesses.size()) < kShownText) said.guesses.push_back(first_guesses(log_p));
      predictor->observe(symbol);
      previous = symbol;
      if (const auto done = static_cast<double>(said.symbols.size()); said.symbols.size() % 256 == 0)
        reporter.progress({.what = "report", .done = done, .total = static_cast<double>(total), .unit = "symbols"});
    }
  }
  return said;
}

std::vector<std::string> names_of(const Alphabet& alphabet) {
  std::vector<std::string> names;
  names.reserve(at(alphabet.size()));
  for (Symbol x = 0; x < alphabet.size(); ++x) names.push_back(alphabet.name(x));
  return names;
}

/// Returns a symbol as shown in running text.
std::string shown_text(const Alphabet& alphabet, Symbol symbol) {
  std::string text(alphabet.text(symbol));
  const bool printable = alphabet.kind() != SymbolKind::bytes || (text.size() == 1 && text[0] >= ' ' && text[0] < 127);
  if (text == "\n") return text;
  return printable ? text : alphabet.name(symbol);
}

/// Symbols that occur in the text, numbered by first occurrence. Large alphabets are therefore not stored as a whole.
struct Shown {
  PageJson texts = PageJson::array(), names = PageJson::array();
  std::vector<Index> place;
  explicit Shown(const Alphabet& alphabet) : place(at(alphabet.size()), -1), alphabet_(alphabet) {}
  Index operator()(Symbol x) {
    if (place[at(x)] < 0) {
      place[at(x)] = static_cast<Index>(texts.size());
      texts.push_back(shown_text(alphabet_, x));
      names.push_back(alphabet_.name(x));
    }
    return place[at(x)];
  }

 private:
  const Alphabet& alphabet_;
};

PageSection text_section(const Alphabet& alphabet, const Said& said, const std::string& what) {
  PageSection section{.id = "text",
                      .title = "Text colored by surprisal",
                      .note = fmt::format("The beginning of {}. Redder symbols have higher surprisal (bits); hover "
                                          "over a symbol to see the predicted alternatives.",
                                          what)};
  Shown shown(alphabet);
  PageJson symbols = PageJson::array();
  const auto count = std::min<std::size_t>(said.symbols.size(), at(kShownText));
  for (std::size_t i = 0; i < count; ++i) {
    PageJson guesses = PageJson::array();
    for (const auto& [symbol, p] : said.guesses[i]) {
      guesses.push_back(shown(symbol));
      guesses.push_back(static_cast<int>(std::lround(1000 * p)));
    }
    PageJson entry = {shown(said.symbols[i]),
                      std::isnan(said.bits[i]) ? PageJson() : PageJson(rounded(said.bits[i], 0.01)),
                      std::move(guesses)};
    symbols.push_back(std::move(entry));
  }
  section.blocks.push_back({{"kind", "surprise"},
                            {"words", alphabet.kind() == SymbolKind::words},
                            {"texts", std::move(shown.texts)},
                            {"names", std::move(shown.names)},
                            {"symbols", std::move(symbols)}});
  return section;
}

PageSection worst_section(const Alphabet& alphabet, const Said& said) {
  PageSection section{
      .id = "worst", .title = "Worst predictions", .note = "The predictions with the highest surprisal."};
  std::vector<std::size_t> order;
  for (std::size_t i = 0; i < said.bits.size(); ++i)
    if (!std::isnan(said.bits[i])) order.push_back(i);
  const std::size_t shown = std::min(kWorst, order.size());
  std::partial_sort(order.begin(), order.begin() + static_cast<std::ptrdiff_t>(shown), order.end(),
                    [&](std::size_t a, std::size_t b) { return said.bits[a] > said.bits[b]; });
  PageJson contexts = PageJson::array();
  for (std::size_t k = 0; k < shown; ++k) {
    const auto i = static_cast<Index>(order[k]);
    const Index span = alphabet.kind() == SymbolKind::words ? kContext / 4 : kContext;
    const auto text = [&](Index from, Index to) {
      std::string result;
      for (Index t = std::max<Index>(0, from); t < std::min(to, static_cast<Index>(said.symbols.size())); ++t) {
        const std::string one = shown_text(alphabet, said.symbols[at(t)]);
        if (alphabet.kind() == SymbolKind::words && !result.empty()) result += ' ';
        result += one == "\n" ? "⏎" : one;
      }
      return result;
    };
    contexts.push_back({{"before", text(i - span, i)},
                        {"symbol", text(i, i + 1)},
                        {"after", text(i + 1, i + 1 + span / 3)},
                        {"bits", rounded(said.bits[at(i)], 0.01)},
                        {"guess", alphabet.name(said.best[at(i)])},
                        {"p", rounded(said.best_probability[at(i)], 0.001)}});
  }
  section.missing = "The inspected data contains no predictions.";
  if (!contexts.empty()) section.blocks.push_back({{"kind", "contexts"}, {"contexts", std::move(contexts)}});
  return section;
}

/// A text as a network reads it: a chain for each sequence that ends with `end` (kNoSymbol: one chain).
struct ReadText {
  Batch batch;
  ShownPlaces places;  ///< for each symbol shown below the units: the row after the symbol was read
};

ReadText read_text(const Alphabet& alphabet, const std::vector<Symbol>& text, Symbol end) {
  std::vector<Index> lengths(1, 0);
  for (std::size_t t = 0; t < text.size(); ++t) {
    ++lengths.back();
    if (text[t] == end && t + 1 < text.size()) lengths.push_back(0);
  }
  ReadText result{.batch = {}, .places = {.words = alphabet.kind() == SymbolKind::words}};
  const Structure structure = Structure::chains(lengths);
  SymbolRows& read = result.batch.symbol_field(kPreviousSymbol);
  SymbolRows& next = result.batch.symbol_field(kSymbol);
  read.clear(static_cast<Index>(text.size()));
  next.clear(static_cast<Index>(text.size()));
  std::size_t at_text = 0;
  for (std::size_t s = 0; s < lengths.size(); ++s) {
    for (Index t = 0; t < lengths[s]; ++t, ++at_text) {
      const auto sequence = static_cast<Index>(s), row = structure.row(sequence, t);
      read.symbols[at(row)] = t > 0 ? text[at_text - 1] : kNoSymbol;
      next.symbols[at(row)] = text[at_text];
      if (at_text + 1 == text.size()) continue;  // the last symbol is not read
      result.places.texts.push_back(shown_text(alphabet, text[at_text]));
      result.places.rows.push_back(t + 1 < lengths[s] ? structure.row(sequence, t + 1) : -1);
    }
  }
  result.batch.structure = structure;
  return result;
}

void add_activity(const SymbolModel& model, const Said& said, const ReportRequest& request, Looked& looked) {
  const std::vector<Symbol> text(
      said.symbols.begin(), said.symbols.begin() + std::min<std::ptrdiff_t>(kNeuronText, std::ssize(said.symbols)));
  const auto add = [&]<class T>(const LanguageModel<T>& network) {
    Team team(thread_count(request.threads));
    const Watched<T> watched(network.spec(), network.data(), NetworkLayout::language_model(), network.parameters());
    Gradients<T> pass(watched, team);
    const ReadText read = text.empty() ? ReadText() : read_text(model.alphabet(), text, model.sequence_end());
    if (!text.empty()) pass.read(read.batch);
    const Activity<T> activity(watched, pass, read.places);
    looked.sections.push_back(activity.neurons());
    looked.sections.push_back(activity.gates());
  };
  if (const auto* single = model.as<LanguageModel<float>>()) return add(*single);
  if (const auto* exact = model.as<LanguageModel<double>>()) return add(*exact);
  for (const auto& [id, title] : {std::pair{"neurons", "Neurons"}, std::pair{"gates", "Gates"}})
    looked.sections.push_back(
        {.id = id, .title = title, .missing = "This model is not a network, so it has no units."});
}

PageSection lags_section(const SymbolModel& model, const Said& said, const ReportRequest& request) {
  PageSection section{
      .id = "lags",
      .title = "Influence of earlier inputs",
      .note = "The mean norm of the gradient of the state with respect to the input a given number of steps earlier."};
  const std::vector<Symbol> text(said.symbols.begin(),
                                 said.symbols.begin() + std::min<std::ptrdiff_t>(kLagText, std::ssize(said.symbols)));
  const MeanLags lags = mean_lags(model, text, kLags, kLagPositions, request.threads);
  section.missing = fmt::format("No gradients: {}.", lags.none);
  if (!lags.none.empty()) return section;
  Curve curve{.label = "gradient", .points = {}};
  for (std::size_t k = 0; k < lags.norms.size(); ++k)
    curve.points.push_back({static_cast<double>(k + 1), {lags.norms[k], lags.norms[k], lags.norms[k]}});
  add_lags(section, "symbols back", {{.curve = curve}}, fmt::format("{} positions", lags.positions), lags.estimated);
  return section;
}

/// Adds baselines evaluated on the run's validation data: uniform, by symbol frequency and by a short context.
void add_levels(const SymbolModel& model, const ReportRequest& request, Looked& looked, Reporter& reporter) {
  if (!request.baselines) return;
  const TrainSettings settings = settings_of_run(request.runs.front());
  if (!request.data.empty() || settings.data.empty() || settings.valid || predict_after(model) != kNoSymbol) {
    looked.no_levels =
        "they require a model that predicts every symbol, and a run with --split; they are fitted to its training "
        "part.";
    return;
  }
  try {
    const Corpus corpus = load_for(model, settings.data, UnknownPolicy::skip, {}, only_label(model));
    auto parts = split_corpus(corpus, parse_split(settings.split.value_or(kDefaultSplit)), split_order(settings));
    if (parts[1].empty()) throw DataError("there is no validation data");
    Index kept = 0;
    for (Piece& piece : parts[0].pieces) {
      piece.range.end = std::min(piece.range.end, piece.range.begin + std::max<Index>(0, kMostFitted - kept));
      kept += piece.range.size();
    }
    std::erase_if(parts[0].pieces, [](const Piece& piece) { return piece.range.empty(); });
    Team team(thread_count(request.threads));
    for (const auto& [name, spec] : {std::pair{"symbol frequencies", "ngram:1"}, std::pair{"two before", "ngram:3"}}) {
      reporter.remark(fmt::format("baseline {}", spec));
      const auto baseline = make_fitted_model(spec, model.alphabet());
      baseline->fit({.corpus = corpus, .training = parts[0]}, {}, team);
      const Evaluation found = baseline->evaluate(corpus, parts[1], team);
      looked.levels.push_back({name, bits(found.nats_per_symbol())});
    }
  } catch (const Error& error) {
    looked.levels.clear();
    looked.no_levels = fmt::format("{}.", error.what());
  }
}

/// Returns the results of the unigram model of the training text on the predicted symbols.
std::vector<ComparedBaseline> compared_with_unigram(const SymbolModel& model, const Said& said) {
  const std::optional<FieldStatistics> known = stored_statistics(model, kSymbol);
  if (!known) return {};
  FieldStatistics seen{.counts = std::vector<Index>(at(model.alphabet().size()))};
  double sum = 0, count = 0;
  for (std::size_t i = 0; i < said.symbols.size(); ++i) {
    if (std::isnan(said.bits[i])) continue;
    ++seen.counts[at(said.symbols[i])];
    sum += said.bits[i];
    ++count;
  }
  if (count == 0) return {};
  return {{.of = {},
           .baseline = {.name = "unigram", .measure = "bits_per_symbol", .value = bits(constant_nats(*known, seen))},
           .result = sum / count}};
}

std::string sample_of(const SymbolModel& model) {
  const auto predictor = model.predictor();
  const std::vector<Symbol> symbols =
      sample(*predictor, model.alphabet(), SamplingOptions{.length = kSampleSymbols, .seed = 1});
  return model.alphabet().decode(symbols);
}

}  // namespace

Looked inspect_text(const ReportRequest& request, Reporter& reporter) {
  Looked looked;
  const std::string& run = request.runs.front();
  const std::unique_ptr<SymbolModel> model = load_model(run);
  looked.sample = sample_of(*model);
  std::string why;
  try {
    const EvaluationFiles judged = evaluation_files(run, request.data);
    const EvaluationText text = load_evaluation(*model, judged, request.unknown);
    const Said said = listen(*model, text, request.symbols, reporter);
    looked.sections.push_back(baselines_section(compared_with_unigram(*model, said)));
    looked.sections.push_back(text_section(model->alphabet(), said, judged.text()));
    add_activity(*model, said, request, looked);
    looked.sections.push_back(lags_section(*model, said, request));
    Calibration calibration;
    Confusion confusion(names_of(model->alphabet()));
    for (std::size_t i = 0; i < said.symbols.size(); ++i) {
      if (std::isnan(said.bits[i])) continue;
      calibration.see(said.best_probability[i], said.best[i] == said.symbols[i]);
      if (model->alphabet().size() <= 4096) confusion.see(said.symbols[i], said.best[i]);
    }
    looked.sections.push_back(calibration.section());
    looked.sections.push_back(confusion.section());
    looked.sections.push_back(worst_section(model->alphabet(), said));
    add_levels(*model, request, looked, reporter);
  } catch (const Error& error) {
    if (error.code() == ExitCode::bad_data && !request.data.empty())
      throw;  // files named by the caller must be
              // readable
    why = error.what();
    looked.no_levels = fmt::format("{}.", why);
  }
  looked.sections.push_back(radius_section(run));
  for (const auto& [id, title] :
       {std::pair{"text", "Text colored by surprisal"}, std::pair{"neurons", "Neurons"}, std::pair{"gates", "Gates"},
        std::pair{"lags", "Influence of earlier inputs"}, std::pair{"calibration", "Calibration"},
        std::pair{"confusion", "Confusion"}, std::pair{"worst", "Worst predictions"}}) {
    const bool there = std::ranges::find(looked.sections, std::string(id), &PageSection::id) != looked.sections.end();
    if (!there)
      looked.sections.push_back({.id = id, .title = title, .missing = fmt::format("No data available: {}", why)});
  }
  for (const auto& [id, title, what] :
       {std::tuple{"forecasts", "Forecasts", "numbers"}, std::tuple{"attention", "Attention", "a source and a target"},
        std::tuple{"trees", "Trees", "trees"}, std::tuple{"rolls", "Piano rolls", "notes"}})
    looked.sections.push_back(
        {.id = id, .title = title, .missing = fmt::format("The model reads running text, not {}.", what)});
  return looked;
}

}  // namespace unfold
