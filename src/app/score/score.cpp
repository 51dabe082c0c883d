#include "app/score/score.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "app/common/perplexity.h"
#include "app/settings/train_settings.h"
#include "base/printable.h"
#include "data/text/labels.h"
#include "model/finite.h"
#include "model/hmm/hmm.h"
#include "model/registry/run_folder.h"

namespace unfold {

double ScoredLine::bits() const { return unfold::bits(nats); }

double ScoredLine::bits_per_symbol() const {
  return symbols > 0 ? unfold::bits(nats) / static_cast<double>(symbols) : 0;
}

ScoredText::ScoredText(std::unique_ptr<SymbolModel> model, std::string file, Corpus corpus)
    : model_(std::move(model)),
      file_(std::move(file)),
      corpus_(std::move(corpus)),
      part_(whole_corpus(corpus_, "all")),
      surprisals_(part_) {}

void ScoredText::for_each_symbol(const std::function<void(const ScoredSymbol&)>& use) const {
  unfold::for_each_symbol(corpus_, part_, surprisals_, [&](Index position, Symbol symbol, float nats) {
    use({position, std::string(corpus_.alphabet().name(symbol)), nats});
  });
}

void ScoredText::for_each_state(const std::function<void(const ScoredState&)>& use) const {
  const HmmParameters& hmm = dynamic_cast<const HmmModel&>(*model_).parameters();
  Index position = 0;
  for (const Piece& piece : part_.pieces) {
    const std::vector<Symbol> symbols = corpus_.read(piece.sequence, piece.range);
    const std::vector<Index> path = most_probable_states(hmm, symbols);
    const std::vector<double> posteriors = state_posteriors(hmm, symbols);
    for (std::size_t t = 0; t < symbols.size(); ++t, ++position)
      use({{position, std::string(corpus_.alphabet().name(symbols[t])),
            surprisals_.nats()[static_cast<std::size_t>(position)]},
           path[t],
           posteriors[t * static_cast<std::size_t>(hmm.states) + static_cast<std::size_t>(path[t])]});
  }
}

std::vector<ScoredLine> ScoredText::lines() const {
  std::vector<ScoredLine> lines;
  const Symbol line_end = corpus_.alphabet().line_end();
  bool open = false;
  unfold::for_each_symbol(corpus_, part_, surprisals_, [&](Index, Symbol symbol, float nats) {
    if (!open) lines.push_back({.number = static_cast<Index>(lines.size()) + 1});
    open = symbol != line_end;
    if (std::isnan(nats)) return;
    ++lines.back().symbols;
    lines.back().nats += nats;
  });
  return lines;
}

std::vector<std::string> ScoredText::labels(const std::optional<std::string>& file,
                                            const std::vector<ScoredLine>& lines) const {
  const bool column = has_label_column(*model_);
  if (file && column)
    throw UsageError("--labels: the data of this model has labels in the first column; leave out --labels");
  std::vector<std::string> labels;
  if (file) labels = read_labels(Input::open(*file));
  if (column) labels = split_labels(Input::open(file_)).labels;
  if ((file || column) && labels.size() != lines.size())
    throw DataError(fmt::format("{}: there are {} labels, but {} lines; write one label for each line",
                                file.value_or(file_), labels.size(), lines.size()));
  return labels;
}

ScoredText score(const ScoreRequest& request, Reporter& reporter) {
  return score(load_model(request.model), request, reporter);
}

ScoredText score(std::unique_ptr<SymbolModel> model, const ScoreRequest& request, Reporter& reporter) {
  const UnknownPolicy unknown = parse_unknown_policy(request.unknown);
  if (request.by == ScoreUnit::state && dynamic_cast<const HmmModel*>(model.get()) == nullptr)
    throw UsageError(fmt::format("--by state requires an hmm, but {} is {}", request.model, model->spec_text()));
  Corpus corpus = load_for(*model, {request.data}, unknown, request.mask);
  if (request.by == ScoreUnit::line && model->alphabet().line_end() == kNoSymbol)
    throw UsageError("--by line: the alphabet of this model has no line ending; use --by symbol");
  ScoredText text(std::move(model), request.data, std::move(corpus));
  const auto count = count_symbols(reporter, text.part_.symbols(), "score");
  SurprisalCheck check;
  text.evaluation_ = evaluate(*text.model_, text.corpus_, text.part_, request.reading, thread_count(request.threads),
                              [&](Index place, float nats) {
                                text.surprisals_.set(place, nats);
                                check.see(place, nats);
                                count(place, nats);
                              });
  check.require(*text.model_, request.model, false);
  return text;
}

ScoredText score(const ScoreRequest& request) {
  Reporter silent;
  return score(request, silent);
}

RocResults judge(const std::vector<ScoredLine>& lines, const std::vector<std::string>& labels,
                 const std::string& normal) {
  if (!labels.empty() && std::ranges::find(labels, normal) == labels.end())
    throw DataError(fmt::format(
        "none of the {} lines has the label {}, which marks normal lines, so a ROC curve cannot be drawn; name "
        "the label of normal lines with --normal LABEL",
        labels.size(), in_quotes(normal)));
  std::vector<double> totals, means;
  for (const ScoredLine& line : lines) {
    totals.push_back(line.bits());
    means.push_back(line.bits_per_symbol());
  }
  std::vector<bool> anomalous;
  anomalous.reserve(labels.size());
  for (const std::string& label : labels) anomalous.push_back(label != normal);
  return {.by_bits_per_symbol = roc(means, anomalous), .by_bits = roc(totals, anomalous)};
}

}  // namespace unfold
