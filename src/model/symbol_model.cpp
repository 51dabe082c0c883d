#include "unfold/model/symbol_model.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <utility>

#include "model/predictor_streams.h"
#include "model/sequence_predictor.h"
#include "unfold/base/error.h"

namespace unfold {

SymbolModel::SymbolModel(const Alphabet& alphabet) : Model(DataSpecification::text(alphabet)) {
  if (alphabet.size() < 1) throw UsageError("a model of symbols requires an alphabet with at least one symbol");
}

SymbolModel::SymbolModel(const ModelFile& file) : Model(file) {
  if (data().fields.size() != 1 || !data().fields.front().alphabet)
    file.fail("the card does not specify the alphabet of the model");
}

bool SymbolModel::reads_lines() const {
  const auto lines = configuration().find("lines");
  return lines != configuration().end() && lines->is_boolean() && lines->get<bool>();
}

std::unique_ptr<Predictor> SymbolModel::predictor() const {
  std::unique_ptr<Predictor> predictor = make_predictor();
  predictor->set_learning(false);
  predictor->reset();
  return restart_after(sequence_end(), std::move(predictor));
}

std::unique_ptr<Predictor> SymbolModel::archive_predictor() const {
  std::unique_ptr<Predictor> predictor = make_predictor();
  predictor->freeze_for_archive();
  predictor->reset();
  return predictor;
}

std::unique_ptr<Streams> SymbolModel::streams(Index count, Team& /*team*/) const {
  constexpr Index kMostWithTables = 64;
  std::vector<std::unique_ptr<Predictor>> predictors;
  predictors.push_back(predictor());
  if (count > kMostWithTables && predictors.front()->clones_are_large())
    throw UsageError(
        fmt::format("streams: {} needs tables for each stream, so at most {} streams are supported, not {}",
                    spec_text(), kMostWithTables, count));
  predictors.resize(at(std::max<Index>(count, 0)));
  for (Index i = 1; i < count; ++i) predictors[at(i)] = predictors.front()->clone();
  return std::make_unique<PredictorStreams>(std::move(predictors));
}

void SymbolModel::check_alphabet(const Corpus& corpus) const {
  if (!(corpus.alphabet() == alphabet()))
    throw UsageError("the text was read with a different alphabet; read it with the alphabet of the model");
}

Evaluation SymbolModel::evaluate(const Corpus& corpus, const Split& part, Team&, const EvaluateOptions& options) const {
  check_alphabet(corpus);
  if (options.segments > 0)
    throw UsageError(
        fmt::format("segments are supported only by recurrent models; {} is always evaluated exactly", spec_text()));
  return unfold::evaluate(*predictor(), corpus, part, options.predict_after, options.surprisal);
}

void FitOptions::tick(const char* what, double fraction) const {
  if (stop != nullptr && *stop) throw InterruptedError("interrupted");
  if (progress) progress(what, fraction);
}

}  // namespace unfold
