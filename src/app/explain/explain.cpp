#include "app/explain/explain.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "app/common/perplexity.h"
#include "app/evaluate/reading.h"
#include "app/explain/input_gradients.h"
#include "app/explain/label_probabilities.h"
#include "app/settings/train_settings.h"
#include "model/registry/run_folder.h"
#include "numerics/functions.h"
#include "unfold/data/text/text_batches.h"
#include "unfold/model/network/language_model.h"

namespace unfold {
namespace {

/// Maximum number of rows in one pass, which processes several copies of a segment in parallel.
constexpr Index kMostRows = Index{1} << 14;

std::vector<Guess> best_guesses(std::span<const float> log_probabilities, const Alphabet& alphabet, Index count) {
  std::vector<Guess> guesses;
  for (const Symbol x : most_probable(log_probabilities, count)) {
    auto probability = static_cast<double>(log_probabilities[at(x)]);
    vector_exp(&probability, &probability, 1);
    guesses.push_back({alphabet.name(x), probability});
  }
  return guesses;
}

std::vector<ExplainedSymbol> explain_symbols(const SymbolModel& model, const std::vector<Symbol>& text, Index guesses) {
  const std::unique_ptr<Predictor> predictor = model.predictor();
  const Symbol after = predict_after(model);
  Symbol previous = kNoSymbol;
  std::vector<ExplainedSymbol> all;
  all.reserve(text.size());
  for (std::size_t t = 0; t < text.size(); ++t) {
    ExplainedSymbol symbol{.position = static_cast<Index>(t) + 1, .name = model.alphabet().name(text[t])};
    const bool predicted = after == kNoSymbol || previous == after;
    symbol.bits = std::numeric_limits<double>::quiet_NaN();
    if (predicted) {
      const std::span<const float> log_p = predictor->log_probabilities();
      symbol.bits = bits(-static_cast<double>(log_p[at(text[t])]));
      symbol.guesses = best_guesses(log_p, model.alphabet(), guesses);
    }
    all.push_back(std::move(symbol));
    predictor->observe(text[t]);
    previous = text[t];
  }
  return all;
}

/// Returns a batch with `copies` copies of positions [begin, end] of a text.
Batch stretch_of(const std::vector<Symbol>& text, Index begin, Index end, Index copies) {
  Batch batch;
  const Index length = end - begin + 1;
  batch.structure = Structure::chains(copies, length);
  SymbolRows& read = batch.symbol_field(kPreviousSymbol);
  SymbolRows& next = batch.symbol_field(kSymbol);
  read.clear(copies * length);
  next.clear(copies * length);
  for (Index c = 0; c < copies; ++c)
    for (Index t = 0; t < length; ++t) {
      const Index row = batch.structure.row(c, t), position = begin + t;
      read.symbols[at(row)] = position > 0 ? text[at(position - 1)] : kNoSymbol;
      next.symbols[at(row)] = text[at(position)];
    }
  return batch;
}

/// Computes gradients of a language model with respect to its inputs.
template <class T>
class Followed {
 public:
  Followed(const LanguageModel<T>& model, Index threads)
      : team_(thread_count(threads)),
        watched_(model.spec(), model.data(), NetworkLayout::language_model(), model.parameters()),
        gradients_(watched_, team_) {}

  bool has_state() const { return !watched_.hidden().empty() && !watched_.readers().empty(); }
  bool estimated() const { return watched_.hidden().back().size() > kStateSeeds; }

  /// Squared gradient norms, at positions [begin, position], of the state that predicts `position` (0-based).
  std::vector<double> state(const std::vector<Symbol>& text, Index begin, Index position) {
    const Signal hidden = watched_.hidden().back();
    const auto seeds = state_seeds<T>(hidden.size(), 1);
    const Index length = position - begin + 1, side = std::max<Index>(1, kMostRows / length);
    std::vector<double> sum(at(length), 0.0);
    for (std::size_t first = 0; first < seeds.size(); first += at(side)) {
      const Index copies = std::min<Index>(side, static_cast<Index>(seeds.size() - first));
      read(text, begin, position, copies);
      for (Index c = 0; c < copies; ++c)
        std::ranges::copy(seeds[first + at(c)], gradients_.adjoint(hidden).row(batch_.structure.row(c, length - 1)));
      for (const std::vector<double>& chain : gradients_.squares())
        for (std::size_t t = 0; t < chain.size(); ++t) sum[t] += chain[t];
    }
    return sum;
  }

  /// Squared gradient norms of the surprisal at `position`, in nats.
  std::vector<double> surprise(const std::vector<Symbol>& text, Index begin, Index position) {
    read(text, begin, position, 1);
    const Head<T>& head = watched_.network().heads.front();
    const Matrix<const T> output = gradients_.value(head.signal);
    std::vector<T> nats(at(output.rows));
    std::vector<T> own(at(watched_.parameters().size()));
    Buffer<T> all(output.rows * output.cols);
    const Matrix<T> adjoint{all.data(), output.rows, output.cols, output.cols};
    head.loss->gradient({.structure = batch_.structure,
                         .signal = output,
                         .targets = targets_of<T>(batch_.field(kSymbol), 0, output.rows),
                         .parameters = watched_.parameters().flat()},
                        T{1}, team_, nats.data(), adjoint, own);
    const Index row = batch_.structure.row(0, position - begin);
    std::copy_n(adjoint.row(row), output.cols, gradients_.adjoint(head.signal).row(row));
    return gradients_.squares().front();
  }

 private:
  /// Runs copies of [begin, position], starting from the state after the preceding text.
  void read(const std::vector<Symbol>& text, Index begin, Index position, Index copies) {
    const Plan& plan = *watched_.network().plan;
    State<T> state(plan, copies);
    state.reset_all();
    if (begin > 0) {
      State<T> before(plan, 1);
      before.reset_all();
      gradients_.read(stretch_of(text, 0, begin - 1, 1), &before);
      for (Index c = 0; c < copies; ++c) state.copy_slot(before, 0, c);
    }
    batch_ = stretch_of(text, begin, position, copies);
    gradients_.read(batch_, &state);
  }

  Team team_;
  Watched<T> watched_;
  Gradients<T> gradients_;
  Batch batch_;
};

/// Returns the position at which the sequence that contains `position` begins.
Index begin_of_sequence(const SymbolModel& model, const std::vector<Symbol>& text, Index position) {
  const Symbol end = model.sequence_end();
  Index begin = end == kNoSymbol ? 0 : position;
  while (begin > 0 && text[at(begin - 1)] != end) --begin;
  return begin;
}

constexpr const char* kNoGradient = "the model is not a network, so there are no gradients";
constexpr const char* kNoLayers = "the model has no state";

/// Calls use(followed) if the model is a network and returns an empty string; otherwise returns the reason.
template <class Use>
std::string with_input_gradients(const SymbolModel& model, Index threads, const Use& use) {
  const auto run = [&]<class T>(const LanguageModel<T>& network) -> std::string {
    Followed<T> followed(network, threads);
    if (!followed.has_state()) return kNoLayers;
    use(followed);
    return {};
  };
  if (const auto* single = model.as<LanguageModel<float>>()) return run(*single);
  if (const auto* exact = model.as<LanguageModel<double>>()) return run(*exact);
  return kNoGradient;
}

/// Returns the position to explain (0-based).
Index position_of(const std::vector<ExplainedSymbol>& symbols, const std::optional<Index>& asked) {
  const auto count = static_cast<Index>(symbols.size());
  if (asked) {
    if (*asked < 1 || *asked > count)
      throw UsageError(fmt::format("--at {}: the text has positions 1 to {}", *asked, count));
    return *asked - 1;
  }
  Index best = count - 1;
  double most = -1;
  for (const ExplainedSymbol& s : symbols)
    if (s.position > 1 && s.bits > most) most = s.bits, best = s.position - 1;
  return best;
}

}  // namespace

Explanation explain_text(const SymbolModel& model, const std::vector<Symbol>& text, const ExplainRequest& request) {
  if (text.empty()) throw UsageError("explain needs a text, for example: unfold explain run 'To be or not'");
  Explanation result{.model = model.spec_text(),
                     .symbols = explain_symbols(model, text, request.guesses),
                     .at = 0,
                     .lags = {},
                     .no_lags = {}};
  const Index position = position_of(result.symbols, request.at);
  result.at = position + 1;
  const Index first = begin_of_sequence(model, text, position);
  if (position == first) {
    result.no_lags = "it is the first symbol";
    return result;
  }
  const std::vector<Symbol> sequence(text.begin() + first, text.begin() + position + 1);
  const Index begin = std::max(first, position + 1 - request.reach);
  result.no_lags = with_input_gradients(model, request.threads, [&](auto& followed) {
    const std::vector<double> state = followed.state(sequence, begin - first, position - first);
    const bool predicted = !std::isnan(result.symbols[at(position)].bits);
    const std::vector<double> surprise =
        predicted ? followed.surprise(sequence, begin - first, position - first) : std::vector<double>(state.size());
    result.estimated = followed.estimated();
    // Row s + 1 reads the symbol at position s.
    for (Index row = position; row >= begin && row > first; --row)
      result.lags.push_back({.lag = position - row + 1,
                             .position = row,
                             .name = result.symbols[at(row - 1)].name,
                             .state = std::sqrt(state[at(row - begin)]),
                             .surprise = bits(std::sqrt(surprise[at(row - begin)]))});
  });
  return result;
}

Explanation explain_text(const ExplainRequest& request) {
  const std::unique_ptr<SymbolModel> model = load_model(request.model);
  if (request.text.empty()) throw UsageError("explain needs a text, for example: unfold explain run 'To be or not'");
  std::vector<Input> inputs;
  inputs.push_back(Input::from_bytes("the text", request.text));
  const Corpus corpus = load_for(*model, std::move(inputs), parse_unknown_policy(request.unknown));
  std::vector<Symbol> text;
  for (Index s = 0; s < corpus.sequences(); ++s)
    for (const Symbol symbol : corpus.read(s, {0, corpus.length(s)})) text.push_back(symbol);
  return explain_text(*model, text, request);
}

MeanLags mean_lags(const SymbolModel& model, const std::vector<Symbol>& text, Index lags, Index count, Index threads) {
  MeanLags result;
  const auto length = static_cast<Index>(text.size());
  lags = std::min(lags, length - 1);
  if (lags < 1) {
    result.none = "the text is too short";
    return result;
  }
  result.none = with_input_gradients(model, threads, [&](auto& followed) {
    result.norms.assign(at(lags), 0.0);
    const Index free = length - lags;  // number of positions with enough predecessors: [lags, length)
    result.positions = std::min(count, free);
    for (Index i = 0; i < result.positions; ++i) {
      const Index position = lags + free * i / result.positions;
      // Symbols of earlier sequences contribute nothing, and neither does the first row of a sequence, which reads no
      // symbol.
      const Index first = begin_of_sequence(model, text, position);
      const std::vector<Symbol> sequence(text.begin() + first, text.begin() + position + 1);
      const std::vector<double> state =
          followed.state(sequence, std::max<Index>(0, position - first - lags + 1), position - first);
      for (Index k = 0; k < std::min(lags, position - first); ++k)
        result.norms[at(k)] += std::sqrt(state[state.size() - 1 - at(k)]) / static_cast<double>(result.positions);
    }
    result.estimated = followed.estimated();
  });
  return result;
}

}  // namespace unfold
