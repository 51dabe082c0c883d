#include <fmt/format.h>

#include <algorithm>

#include "unfold/base/error.h"
#include "unfold/model/network/language_model.h"

namespace unfold {
namespace {

/// Maximum number of logits per pass: with an alphabet of 10^6 words, 8,192 positions at once would take 32 GB.
constexpr Index kMostLogits = Index{1} << 26;

/// Limits the number of symbols of each stream per pass so that this maximum is not exceeded; the limit is at least
/// one.
Index fitting_window(Index window, Index streams, Index logits) {
  return std::clamp<Index>(kMostLogits / (streams * logits), 1, window);
}

/// A symbol outside the alphabet would never occur, and nothing would be predicted.
void check_predict_after(Symbol symbol, Index alphabet) {
  if (symbol != kNoSymbol && (symbol < 0 || symbol >= alphabet))
    throw UsageError(fmt::format("evaluation: predict_after {} is not in an alphabet of {}", symbol, alphabet));
}

}  // namespace

template <class T>
Evaluation LanguageModel<T>::evaluate(const Corpus& corpus, const Split& part, Team& team,
                                      const EvaluateOptions& options) const {
  check_alphabet(corpus);
  if (options.window < 1 || options.streams < 1 || options.segments < 0 || options.warmup < 0)
    throw UsageError(
        fmt::format("evaluation: window {}, streams {}, segments {}, warm-up {}: window and streams must be at "
                    "least 1, segments and warm-up at least 0",
                    options.window, options.streams, options.segments, options.warmup));
  check_predict_after(options.predict_after, corpus.alphabet().size());
  const Index size = logits().size();
  const Index parallel_for_each = std::clamp<Index>(kMostLogits / size, 1, options.streams);
  const Index window =
      fitting_window(options.window, options.segments > 0 ? options.segments : parallel_for_each, size);
  auto streams = options.segments > 0 ? scoring_streams(corpus, part, options.segments, options.warmup)
                                      : exact_streams(part, parallel_for_each);
  Evaluator<T> evaluator(network(), team);
  std::function<void(Index, T)> surprisal;
  if (options.surprisal) surprisal = [&](Index place, T nats) { options.surprisal(place, static_cast<float>(nats)); };
  return evaluator.run(parameters(), corpus, std::move(streams), window, options.predict_after, surprisal);
}

Evaluation evaluate(Predictor& predictor, const Corpus& corpus, const Split& part, Symbol predict_after,
                    const std::function<void(Index, float)>& surprisal) {
  if (corpus.alphabet().size() != predictor.alphabet())
    throw UsageError("evaluation: the alphabet of the text differs from that of the model");
  check_predict_after(predict_after, predictor.alphabet());
  Evaluation result;
  for (const Piece& piece : part.pieces) {
    predictor.reset();
    double nats = 0;
    Symbol previous = kNoSymbol;
    Index position = piece.range.begin;
    for_each_symbol(corpus, piece, [&](Symbol symbol) {
      const bool follows = predict_after == kNoSymbol || previous == predict_after;
      if (follows && corpus.is_predicted(piece.sequence, position)) {
        const double surprise = predictor.surprisal(symbol);
        nats += surprise;
        ++result.predicted;
        if (surprisal) surprisal(result.symbols, static_cast<float>(surprise));
      }
      ++result.symbols;
      ++position;
      predictor.observe(symbol);
      previous = symbol;
    });
    result.nats += nats;
    ++result.passages;
  }
  return result;
}

void for_each_symbol(const Corpus& corpus, const Piece& piece, const std::function<void(Symbol)>& use) {
  constexpr Index kBlock = 4096;
  std::vector<Symbol> block;
  for (Index begin = piece.range.begin; begin < piece.range.end; begin += kBlock) {
    block.resize(static_cast<std::size_t>(std::min(kBlock, piece.range.end - begin)));
    corpus.read(piece.sequence, begin, block);
    for (const Symbol symbol : block) use(symbol);
  }
}

template Evaluation LanguageModel<float>::evaluate(const Corpus&, const Split&, Team&, const EvaluateOptions&) const;
template Evaluation LanguageModel<double>::evaluate(const Corpus&, const Split&, Team&, const EvaluateOptions&) const;

}  // namespace unfold
