#include "unfold/models/language_model.h"
#include "unfold/numerics/error.h"

namespace unfold {

template <class T>
Evaluation evaluate(const LanguageModel<T>& model, const Corpus& corpus, const Part& part, Team& team,
                    const EvaluateOptions& options) {
  if (!(corpus.alphabet() == model.alphabet()))
    throw UsageError("evaluation: the text was read with another alphabet than the model's");
  if (options.window < 1 || options.lanes < 1 || options.segments < 0 || options.warmup < 0)
    throw UsageError("evaluation: window and lanes must be at least 1, segments and warm-up at least 0");
  auto lanes =
      options.segments > 0 ? scoring_lanes(part, options.segments, options.warmup) : exact_lanes(part, options.lanes);
  Evaluator<T> evaluator(model.network(), team);
  std::function<void(Index, T)> surprisal;
  if (options.surprisal) surprisal = [&](Index place, T nats) { options.surprisal(place, static_cast<float>(nats)); };
  return evaluator.run(model.parameters(), corpus, std::move(lanes), options.window, options.predict_after, surprisal);
}

Evaluation evaluate(Predictor& predictor, const Corpus& corpus, const Part& part, Symbol predict_after,
                    const std::function<void(Index, float)>& surprisal) {
  if (corpus.alphabet().size() != predictor.alphabet())
    throw UsageError("evaluation: the text was read with another alphabet than the model's");
  Evaluation result;
  constexpr Index kBlock = 4096;
  std::vector<Symbol> block;
  for (const Piece& piece : part.pieces) {
    predictor.reset();
    double nats = 0;
    Symbol previous = kNoSymbol;
    for (Index begin = piece.range.begin; begin < piece.range.end; begin += kBlock) {
      block.resize(static_cast<std::size_t>(std::min(kBlock, piece.range.end - begin)));
      corpus.read(piece.sequence, begin, block);
      for (const Symbol symbol : block) {
        if (predict_after == kNoSymbol || previous == predict_after) {
          const float surprise = -predictor.log_probability(symbol);
          nats += static_cast<double>(surprise);
          ++result.predicted;
          if (surprisal) surprisal(result.symbols, surprise);
        }
        ++result.symbols;
        predictor.observe(symbol);
        previous = symbol;
      }
    }
    result.nats += nats;
  }
  return result;
}

template Evaluation evaluate(const LanguageModel<float>&, const Corpus&, const Part&, Team&, const EvaluateOptions&);
template Evaluation evaluate(const LanguageModel<double>&, const Corpus&, const Part&, Team&, const EvaluateOptions&);

}  // namespace unfold
