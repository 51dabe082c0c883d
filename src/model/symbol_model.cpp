#include "unfold/model/symbol_model.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

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
