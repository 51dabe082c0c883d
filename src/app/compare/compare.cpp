#include "app/compare/compare.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <optional>

#include "app/common/perplexity.h"
#include "app/compare/evaluation_data.h"
#include "app/compare/evaluation_examples.h"
#include "app/evaluate/reading.h"
#include "app/evaluate/task_evaluation.h"
#include "app/fields/evaluation/field_metrics.h"
#include "app/fields/field_model.h"
#include "app/predict/predict.h"
#include "model/finite.h"

namespace unfold {
namespace {

/// With at least this number of sequences, each sequence is a block.
constexpr std::size_t kManySequences = 50;
constexpr std::size_t kFewBlocks = 10;

/// The code length of a data set under a model: bits of every symbol in order, NaN where nothing was predicted.
struct Costs {
  std::string model, unit, data;
  std::string alike;                   ///< description of what must also be equal for bits to be comparable
  std::optional<Alphabet> words = {};  ///< set if the model has <unk>; bits are comparable only for equal vocabularies
  bool validation = false;
  std::vector<double> bits;
  std::vector<Index> ends;  ///< ends of the sequences
};

std::string unit_of(const SymbolModel& model) {
  switch (model.alphabet().kind()) {
    case SymbolKind::bytes: return "byte";
    case SymbolKind::chars: return "character";
    case SymbolKind::words: return "word";
    default: return "symbol";
  }
}

Costs costs_of_text(const std::string& name, const CompareRequest& request, Reporter& reporter) {
  const std::unique_ptr<SymbolModel> model = load_model(name);
  const EvaluationFiles judged = evaluation_files(name, request.data);
  const EvaluationText text = load_evaluation(*model, judged, request.unknown);
  const Symbol after = predict_after(*model);
  Costs costs{
      .model = model->spec_text(),
      .unit = unit_of(*model),
      .data = judged.text(),
      .alike = after == kNoSymbol ? "every symbol" : fmt::format("symbols after {}", model->alphabet().name(after)),
      .validation = judged.part == "validation",
      .bits = {},
      .ends = {}};
  if (model->alphabet().unknown() != kNoSymbol) costs.words = model->alphabet();
  Surprisals surprisals(text.part);
  SurprisalCheck check;
  const auto count = count_symbols(reporter, text.part.symbols(), "compare");
  evaluate(*model, text.corpus, text.part, {}, thread_count(request.threads), [&](Index place, float nats) {
    surprisals.set(place, nats);
    check.see(place, nats);
    count(place, nats);
  });
  check.require(*model, name, false);
  for (const float nats : surprisals.nats()) costs.bits.push_back(bits(static_cast<double>(nats)));
  Index end = 0;
  for (const Piece& piece : text.part.pieces) costs.ends.push_back(end += piece.range.size());
  return costs;
}

Costs costs_of_fields(const std::string& name, const CompareRequest& request) {
  return with_network_model(name, [&]<class T>(const NetworkModel<T>& model) {
    const EvaluationFiles judged = evaluation_files(name, request.data);
    const ExampleSet examples = judged_examples(model, model.layout(), judged, request.unknown);
    Team team(thread_count(request.threads));
    const std::vector<HeadScores> scores = score_heads(model, examples, team);
    if (scores.size() != 1)
      throw UsageError(
          fmt::format("{} predicts {} fields; compare supports only models with one field", name, scores.size()));
    const HeadScores& head = scores.front();
    Costs costs{.model = model.spec_text(),
                .unit = fmt::format("{} of {}", head.once ? "example" : "position", head.field),
                .data = judged.text(),
                .alike = "every one that is present",
                .validation = judged.part == "validation",
                .bits = {},
                .ends = {}};
    for (const double nats : head.nats) costs.bits.push_back(bits(nats));
    for (Index e = 0; e < examples.count(); ++e)
      costs.ends.push_back(head.once ? e + 1 : examples.begin(e) + examples.length(e));
    return costs;
  });
}

Costs costs_of(const std::string& name, const CompareRequest& request, Reporter& reporter) {
  if (holds_task_model(name))
    throw UsageError(fmt::format("{} is a model of a generated task; compare supports only models of data", name));
  if (holds_field_model(name)) return costs_of_fields(name, request);
  return costs_of_text(name, request, reporter);
}

/// Throws UsageError unless the bits of two models are comparable.
void require_comparable(const std::string& first, const Costs& a, const std::string& second, const Costs& b) {
  if (a.unit != b.unit)
    throw UsageError(fmt::format(
        "{} measures bits per {}, but {} measures bits per {}, so they are not comparable; train both with the same "
        "--symbols, or compare `bits_per_byte` of eval",
        first, a.unit, second, b.unit));
  if (a.alike != b.alike)
    throw UsageError(fmt::format("{} predicts {}, but {} predicts {}; their bits are not comparable", first, a.alike,
                                 second, b.alike));
  if (a.words != b.words)
    throw UsageError(
        fmt::format("{} and {} have different vocabularies and read different words as <unk>: their bits are not "
                    "comparable; train both on the same data with the same --vocabulary",
                    first, second));
  if (a.data != b.data)
    throw UsageError(
        fmt::format("{} is evaluated on {}, but {} is evaluated on {}; specify the same data for both with --data FILE",
                    first, a.data, second, b.data));
  bool same = a.bits.size() == b.bits.size();
  for (std::size_t i = 0; i < a.bits.size() && same; ++i) same = std::isnan(a.bits[i]) == std::isnan(b.bits[i]);
  if (!same)
    throw UsageError(
        fmt::format("{} and {} do not predict the same symbols of {}: symbols unknown to one of them were skipped; "
                    "train both with the same alphabet",
                    first, second, a.data));
}

std::vector<DifferenceBlock> blocks_of(const std::vector<double>& differences, const std::vector<Index>& ends,
                                       Index block) {
  if (block > 0) return cut_into_blocks(differences, block);
  std::vector<DifferenceBlock> blocks;
  Index begin = 0;
  for (const Index end : ends) {
    const std::span all(differences);
    for (const DifferenceBlock& one : cut_into_blocks(all.subspan(at(begin), at(end - begin)), end - begin + 1))
      blocks.push_back(one);
    begin = end;
  }
  return blocks;
}

double mean_of(const std::vector<double>& all, Index& count) {
  double sum = 0;
  count = 0;
  for (const double x : all)
    if (!std::isnan(x)) sum += x, ++count;
  return count > 0 ? sum / static_cast<double>(count) : 0;
}

}  // namespace

std::string ComparedPair::verdict(const std::vector<ComparedModel>& models) const {
  if (!difference.differs()) return "no difference";
  return fmt::format("{} is better", models[difference.mean > 0 ? b : a].name);
}

Index choose_block(Index symbols) {
  constexpr Index kBlocks = 400, kShortest = 32;
  return std::max(kShortest, (symbols + kBlocks - 1) / kBlocks);
}

Comparison compare(const CompareRequest& request, Reporter& reporter) {
  if (request.models.size() < 2) throw UsageError("compare needs at least two models; name them one after another");
  std::vector<Costs> costs;
  for (const std::string& name : request.models) {
    costs.push_back(costs_of(name, request, reporter));
    if (costs.size() > 1) require_comparable(request.models.front(), costs.front(), name, costs.back());
  }
  const Costs& first = costs.front();
  Comparison result{.unit = first.unit, .data = first.data, .validation = first.validation, .level = request.level};
  for (std::size_t i = 0; i < costs.size(); ++i)
    result.models.push_back(
        {.name = request.models[i], .model = costs[i].model, .bits = mean_of(costs[i].bits, result.symbols)});
  const bool by_sequence = request.block == 0 && first.ends.size() >= kManySequences;
  result.block = by_sequence ? 0 : request.block > 0 ? request.block : choose_block(result.symbols);
  for (std::size_t a = 0; a < costs.size(); ++a)
    for (std::size_t b = a + 1; b < costs.size(); ++b) {
      std::vector<double> differences(first.bits.size());
      for (std::size_t i = 0; i < differences.size(); ++i) differences[i] = costs[a].bits[i] - costs[b].bits[i];
      const std::vector<DifferenceBlock> blocks = blocks_of(differences, first.ends, result.block);
      if (blocks.size() < kFewBlocks)
        throw UsageError(
            fmt::format("{} {} make {} block{}, too few to detect a difference; use more data, or a smaller --block",
                        result.symbols, result.entries(), blocks.size(), blocks.size() == 1 ? "" : "s"));
      result.pairs.push_back({a, b, paired_bootstrap(blocks, request.samples, request.level, request.seed)});
    }
  return result;
}

std::string Comparison::entries() const {
  const std::size_t of = unit.find(" of ");
  return of == std::string::npos ? "symbols" : unit.substr(0, of) + "s";
}

std::string Comparison::units() const {
  const std::size_t of = std::min(unit.find(" of "), unit.size());
  return unit.substr(0, of) + "s" + unit.substr(of);
}

Comparison compare(const CompareRequest& request) {
  Reporter silent;
  return compare(request, silent);
}

}  // namespace unfold
