#include <fmt/format.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "unfold/capabilities/finite.h"
#include "unfold/classical/hmm.h"
#include "unfold/cli/figures.h"
#include "unfold/cli/run_folder.h"
#include "unfold/cli/scoring.h"
#include "unfold/cli/verb.h"
#include "unfold/data/labels.h"
#include "unfold/report/roc.h"

namespace unfold {
namespace {

/// The surprisal of one line.
struct Line {
  Index number = 1, symbols = 0;
  double nats = 0;
  double bits_per_symbol() const { return symbols > 0 ? bits(nats) / static_cast<double>(symbols) : 0; }
};

class Score final : public Verb {
 public:
  Score();
  ExitCode run(Console& console) override;

 private:
  void by_symbol(const Corpus& corpus, const Part& part, const Surprisals& surprisals) const;
  void by_state(const SymbolModel& model, const Corpus& corpus, const Part& part, const Surprisals& surprisals) const;
  void by_line(Console& console, const SymbolModel& model, const Corpus& corpus, const Part& part,
               const Surprisals& surprisals) const;
  std::vector<std::string> labels(const SymbolModel& model) const;
  nlohmann::ordered_json judge(Console& console, const std::vector<Line>& lines,
                               const std::vector<std::string>& labels) const;

  std::vector<std::string> inputs_;
  std::string by_ = "symbol", unknown_ = "error", normal_ = "-";
  std::optional<std::string> mask_, labels_, roc_;
  SegmentOptions reading_;
  bool summary_ = false;
};

Score::Score()
    : Verb(VerbOptions("score", "prints how surprising every symbol or line is, in bits (TSV)",
                       {"unfold score run today.log --by line | sort -t $'\\t' -k 4 -rg | head",
                        "unfold score run today.log --by symbol > surprisals.tsv"})) {
  options_.add_inputs({.name = "inputs",
                       .target = &inputs_,
                       .placeholder = "MODEL DATA",
                       .help = "a run folder or model file, then a text file",
                       .least = 2,
                       .most = 2});
  options_.add({.name = "by",
                .target = &by_,
                .placeholder = "UNIT",
                .help = "symbol (position, symbol, bits), line (line, symbols, bits, bits per symbol), or, of an hmm, "
                        "state (the most probable path)",
                .choices = {"symbol", "line", "state"}});
  options_.add({.name = "labels",
                .target = &labels_,
                .placeholder = "FILE",
                .help = "by line: a label for each line of DATA, for ROC figures"});
  options_.add({.name = "normal",
                .target = &normal_,
                .placeholder = "LABEL",
                .help = "the label of lines that are as they should be"});
  options_.add({.name = "roc",
                .target = &roc_,
                .placeholder = "FILE",
                .help = "with labels: write the ROC curve of bits per symbol (TSV)"});
  options_.add({.name = "summary", .target = &summary_, .help = "with labels: print the figures only, not every line"});
  options_.add({.name = "mask",
                .target = &mask_,
                .placeholder = "FILE",
                .help = "a 0 or 1 for every symbol of DATA: which are to be predicted"});
  options_.add({.name = "unknown",
                .target = &unknown_,
                .placeholder = "error|skip",
                .help = "symbols that the model does not know: stop, or leave them out"});
  reading_.add(options_);
  add_threads();
  add_unpacking_limit();
  add_common();
}

void Score::by_symbol(const Corpus& corpus, const Part& part, const Surprisals& surprisals) const {
  nlohmann::ordered_json scores = nlohmann::ordered_json::array();
  if (!json_) print_result(kSymbolHeading);
  for_each_symbol(corpus, part, surprisals, [&](Index position, Symbol symbol, float nats) {
    if (!json_) return print_result(symbol_line(corpus.alphabet(), position, symbol, nats));
    scores.push_back({{"position", position},
                      {"symbol", corpus.alphabet().name(symbol)},
                      {"bits", std::isnan(nats) ? nlohmann::ordered_json() : nlohmann::ordered_json(bits(nats))}});
  });
  if (json_) print_result(one_line({{"by", "symbol"}, {"scores", std::move(scores)}}));
}

/// The path of hidden states, and how sure each of them is given the whole sequence.
void Score::by_state(const SymbolModel& model, const Corpus& corpus, const Part& part,
                     const Surprisals& surprisals) const {
  const HmmParameters& hmm = dynamic_cast<const HmmModel&>(model).parameters();
  nlohmann::ordered_json scores = nlohmann::ordered_json::array();
  if (!json_) print_result("position\tsymbol\tstate\tposterior\tbits\n");
  Index position = 0;
  for (const Piece& piece : part.pieces) {
    const std::vector<Symbol> symbols = corpus.read(piece.sequence, piece.range);
    const std::vector<Index> path = most_probable_states(hmm, symbols);
    const std::vector<double> posteriors = state_posteriors(hmm, symbols);
    for (std::size_t t = 0; t < symbols.size(); ++t, ++position) {
      const float nats = surprisals.nats()[static_cast<std::size_t>(position)];
      const double sure = posteriors[t * static_cast<std::size_t>(hmm.states) + static_cast<std::size_t>(path[t])];
      if (json_)
        scores.push_back(
            {{"position", position},
             {"symbol", corpus.alphabet().name(symbols[t])},
             {"state", path[t]},
             {"posterior", sure},
             {"bits", std::isfinite(nats) ? nlohmann::ordered_json(bits(nats)) : nlohmann::ordered_json()}});
      else
        print_result(fmt::format("{}\t{}\t{}\t{:.6f}\t{}\n", position, corpus.alphabet().name(symbols[t]), path[t],
                                 sure, std::isnan(nats) ? "-" : fmt::format("{:.6f}", bits(nats))));
    }
  }
  if (json_) print_result(one_line({{"by", "state"}, {"scores", std::move(scores)}}));
}

std::vector<Line> lines_of(const Corpus& corpus, const Part& part, const Surprisals& surprisals) {
  std::vector<Line> lines;
  const Symbol line_end = corpus.alphabet().line_end();
  bool open = false;
  for_each_symbol(corpus, part, surprisals, [&](Index, Symbol symbol, float nats) {
    if (!open) lines.push_back({.number = static_cast<Index>(lines.size()) + 1});
    open = symbol != line_end;
    if (std::isnan(nats)) return;
    ++lines.back().symbols;
    lines.back().nats += nats;
  });
  return lines;
}

/// Of each line; empty when there are none.
std::vector<std::string> Score::labels(const SymbolModel& model) const {
  if (labels_ && has_label_column(model))
    throw UsageError("--labels: this model's data carry their labels in the first column; leave the option out");
  if (labels_) return read_labels(Input::open(*labels_));
  if (has_label_column(model)) return split_labels(Input::open(inputs_[1])).labels;
  return {};
}

/// ROC figures of both scores of a line.
nlohmann::ordered_json Score::judge(Console& console, const std::vector<Line>& lines,
                                    const std::vector<std::string>& labels) const {
  std::vector<double> totals, means;
  for (const Line& line : lines) {
    totals.push_back(bits(line.nats));
    means.push_back(line.bits_per_symbol());
  }
  std::vector<bool> anomalous;
  anomalous.reserve(labels.size());
  for (const std::string& label : labels) anomalous.push_back(label != normal_);
  const Roc by_total = roc(totals, anomalous), by_mean = roc(means, anomalous);
  if (roc_) {
    std::string text = "bits_per_symbol\tfalse_positive_rate\ttrue_positive_rate\n";
    for (const RocPoint& p : by_mean.curve)
      text += fmt::format("{:.6f}\t{:.6f}\t{:.6f}\n", p.threshold, p.false_positive_rate, p.true_positive_rate);
    write_file_atomically(*roc_, text);
  }
  if (!json_ && !summary_)
    console.warn(
        fmt::format("area under the ROC curve: {:.4f} by bits per symbol, {:.4f} by bits ({} of {} lines are "
                    "anomalous)",
                    by_mean.area, by_total.area, by_mean.positives, lines.size()));
  return {{"auc_bits_per_symbol", by_mean.area},
          {"auc_bits", by_total.area},
          {"anomalous", by_mean.positives},
          {"normal", by_mean.negatives}};
}

void Score::by_line(Console& console, const SymbolModel& model, const Corpus& corpus, const Part& part,
                    const Surprisals& surprisals) const {
  const std::vector<Line> lines = lines_of(corpus, part, surprisals);
  const std::vector<std::string> labelled = labels(model);
  if (!labelled.empty() && labelled.size() != lines.size())
    throw DataError(fmt::format("{} labels do not fit {} lines", labelled.size(), lines.size()));
  if (labelled.empty() && (summary_ || roc_))
    throw UsageError("--summary and --roc need labels: --labels FILE, or a model trained with --label-column");
  nlohmann::ordered_json scores = nlohmann::ordered_json::array();
  if (!json_ && !summary_)
    print_result(labelled.empty() ? "line\tsymbols\tbits\tbits_per_symbol\n"
                                  : "line\tsymbols\tbits\tbits_per_symbol\tlabel\n");
  for (std::size_t i = 0; i < lines.size() && !summary_; ++i) {
    const Line& line = lines[i];
    if (json_) {
      scores.push_back({{"line", line.number},
                        {"symbols", line.symbols},
                        {"bits", bits(line.nats)},
                        {"bits_per_symbol", line.bits_per_symbol()}});
      if (!labelled.empty()) scores.back()["label"] = labelled[i];
    } else {
      print_result(fmt::format("{}\t{}\t{:.6f}\t{:.6f}{}{}\n", line.number, line.symbols, bits(line.nats),
                               line.bits_per_symbol(), labelled.empty() ? "" : "\t",
                               labelled.empty() ? "" : labelled[i]));
    }
  }
  nlohmann::ordered_json result = {{"by", "line"}};
  if (!summary_) result["scores"] = std::move(scores);
  if (!labelled.empty()) result["roc"] = judge(console, lines, labelled);
  if (json_)
    print_result(one_line(result));
  else if (summary_)
    for (const auto& [key, value] : result["roc"].items()) print_result(fmt::format("{}\t{}\n", key, value.dump()));
}

ExitCode Score::run(Console& console) {
  reading_.check(options_);
  const UnknownPolicy unknown = parse_unknown_policy(unknown_);
  const std::unique_ptr<SymbolModel> loaded = load_model(inputs_[0]);
  const SymbolModel& model = *loaded;
  if (by_ == "state" && dynamic_cast<const HmmModel*>(loaded.get()) == nullptr)
    throw UsageError(fmt::format("--by state: only an hmm has states, and {} is {}", inputs_[0], model.spec_text()));
  if (by_ != "line" && (labels_ || roc_ || summary_))
    throw UsageError("--labels, --roc and --summary judge lines: add --by line");
  const Corpus corpus = load_for(model, {inputs_[1]}, unknown, mask_);
  if (by_ == "line" && model.alphabet().line_end() == kNoSymbol)
    throw UsageError("--by line: the alphabet of this model has no line end; use --by symbol");
  const Part part = whole_corpus(corpus, "all");
  Surprisals surprisals(part);
  const auto count = count_symbols(console, part.symbols(), "score");
  SurprisalCheck check;
  Team team(threads());
  const Evaluation result = model.evaluate(corpus, part, team,
                                           {.segments = reading_.segments(),
                                            .warmup = reading_.warmup(),
                                            .predict_after = predict_after(model),
                                            .surprisal = [&](Index place, float nats) {
                                              surprisals.set(place, nats);
                                              check.see(place, nats);
                                              count(place, nats);
                                            }});
  check.require(model, inputs_[0], false);
  if (by_ == "symbol")
    by_symbol(corpus, part, surprisals);
  else if (by_ == "state")
    by_state(model, corpus, part, surprisals);
  else
    by_line(console, model, corpus, part, surprisals);
  if (!reading_.exact()) console.remark("read as " + reading_.describe(result));
  if (corpus.unknown() > 0) console.remark(fmt::format("{} unknown symbols", corpus.unknown()));
  return ExitCode::success;
}

}  // namespace

std::unique_ptr<Verb> make_score() { return std::make_unique<Score>(); }

}  // namespace unfold
