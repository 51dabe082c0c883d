#include "app/evaluate/evaluate.h"

#include <fmt/format.h>

#include "app/settings/evaluation_split.h"
#include "app/settings/train_settings.h"
#include "model/finite.h"
#include "model/registry/run_folder.h"
#include "unfold/data/text/text_batches.h"

namespace unfold {
namespace {

void check_request(const EvaluateRequest& r) {
  if (r.dynamic && (!r.reading.exact() || r.use_stepper))
    throw UsageError(
        "--dynamic reads the symbols sequentially and cannot be combined with --segments or --method "
        "stepper; leave them out");
  if (r.use_stepper && !r.reading.exact())
    throw UsageError("--segments cannot be combined with --method stepper; leave one of them out");
}

Split choose_part(const EvaluateRequest& r, const std::optional<std::string>& split, const SymbolModel& model,
                  const Corpus& corpus) {
  if (!split) return whole_corpus(corpus, "all");
  const std::string name = r.part.value_or("valid");
  Split part = split_corpus(corpus, parse_split(*split), split_order(model))[name == "train"   ? 0
                                                                             : name == "valid" ? 1
                                                                                               : 2];
  if (part.empty())
    throw DataError(fmt::format("--part {1} is empty in the split {0}; increase its share", *split, name));
  return part;
}

Evaluation measure(const EvaluateRequest& r, const SymbolModel& model, const Corpus& corpus, const Split& part,
                   const std::function<void(Index, float)>& surprisal) {
  if (r.dynamic) {
    LearningOptions learning = *r.dynamic;
    learning.ends = true;  // lines of a log have fewer symbols than a window
    return evaluate(*learning_predictor(model, learning), corpus, part, predict_after(model), surprisal);
  }
  if (r.use_stepper) return evaluate(*model.predictor(), corpus, part, predict_after(model), surprisal);
  return evaluate(model, corpus, part, r.reading, thread_count(r.threads), surprisal);
}

}  // namespace

EvaluateOutcome evaluate(const EvaluateRequest& request, Reporter& reporter) {
  check_request(request);
  const UnknownPolicy unknown = parse_unknown_policy(request.unknown);
  if (request.split) parse_split(*request.split);
  const std::unique_ptr<SymbolModel> read = request.loaded != nullptr ? nullptr : load_model(request.model);
  const SymbolModel* model = request.loaded != nullptr ? request.loaded : read.get();
  const std::optional<std::string> split = measured_split(request.split, request.part, *model);
  // The training split divides only the lines that were used for training.
  const bool as_in_training = !request.split && split;
  const Corpus corpus = load_for(*model, request.data, unknown, request.mask,
                                 as_in_training ? only_label(*model) : std::optional<std::string>());
  const Split part = choose_part(request, split, *model, corpus);
  Surprisals surprisals(request.symbol ? part : Split());
  const auto count = count_symbols(reporter, part.symbols(), "eval");
  SurprisalCheck check;
  const Evaluation result = measure(request, *model, corpus, part, [&](Index place, float nats) {
    if (request.symbol) surprisals.set(place, nats);
    check.see(place, nats);
    count(place, nats);
  });
  check.require(*model, request.model, request.dynamic.has_value());
  if (result.predicted == 0) throw DataError("the data contains no symbol that this model predicts");
  if (request.symbol)
    for_each_symbol(corpus, part, surprisals, [&](Index position, Symbol symbol, float nats) {
      request.symbol(position, corpus.alphabet().name(symbol), nats);
    });
  std::vector<ComparedBaseline> baselines;
  if (const auto known = stored_statistics(*model, kSymbol))
    for (Baseline& each : text_baselines(*known, corpus, part, predict_after(*model)))
      baselines.push_back({.of = {}, .baseline = std::move(each), .result = result.nats_per_symbol()});
  return {.figures = {.nats_per_symbol = result.nats_per_symbol(),
                      .symbols = result.predicted,
                      .bytes = part.bytes(corpus)},
          .evaluation = result,
          .part = part.name,
          .unknown = corpus.unknown(),
          .unknown_is_read = model->alphabet().unknown() != kNoSymbol,
          .baselines = std::move(baselines)};
}

EvaluateOutcome evaluate(const EvaluateRequest& request) {
  Reporter silent;
  return evaluate(request, silent);
}

}  // namespace unfold
