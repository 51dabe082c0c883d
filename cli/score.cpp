#include "app/score/score.h"

#include <fmt/format.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "app/common/perplexity.h"
#include "app/fields/condition.h"
#include "app/fields/evaluation/field_score.h"
#include "app/predict/predict.h"
#include "app/schema/table_fields.h"
#include "app/score/score_files.h"
#include "base/decimals.h"
#include "cli/in_processes.h"
#include "cli/reading_options.h"
#include "cli/score_log.h"
#include "cli/score_text.h"
#include "cli/shared_options.h"
#include "cli/terminal/console_reporter.h"
#include "cli/terminal/metrics_text.h"
#include "cli/verb.h"
#include "model/registry/run_folder.h"
#include "unfold/base/formats/file.h"

namespace unfold {
namespace {

using Json = nlohmann::ordered_json;

class Score final : public Verb {
 public:
  Score();
  ExitCode run(Console& console) override;

 private:
  void by_symbol(const ScoredText& text) const;
  void by_state(const ScoredText& text) const;
  void by_line(Console& console, const ScoredText& text) const;
  Json judgment(Console& console, const std::vector<ScoredLine>& lines, const std::vector<std::string>& labels) const;

  std::vector<std::string> inputs_;
  std::string by_ = "symbol", unknown_ = "error", normal_ = "-";
  void run_on_fields(Console& console) const;
  void by_file(Console& console);
  void check_log_options() const;
  void check_text_options() const;
  ScoreRowOptions row_options() const;
  ScoreLogOptions log_options(bool by_session) const;
  void run_on_whole_text(Console& console, std::unique_ptr<SymbolModel> model) const;

  std::optional<std::string> mask_, labels_, roc_, plot_;
  std::string context_;
  std::optional<double> false_alarms_, alarms_per_day_;
  std::optional<std::string> state_;
  std::optional<std::string> metrics_;
  Index top_ = 0;
  std::optional<std::string> given_;
  bool text_ = false, masked_ = false, fixed_ = false, follow_ = false;
  ReadingSettings reading_;
  ScoreFilesRequest files_;
  bool summary_ = false;
  TrainSettings table_;  // options that describe the table
};

Score::Score()
    : Verb(CommandOptions("score", "prints the surprisal of every symbol or line in bits (TSV)",
                          {"unfold score run today.log --by line --top 10 --text",
                           "tail -f today.log | unfold score run - --by line --unknown surprise",
                           "unfold score run today.log --by symbol > surprisals.tsv",
                           "mpirun -n 4 unfold score run logs/*.txt --by file --out scores"})) {
  options_.add_inputs({.name = "inputs",
                       .target = &inputs_,
                       .placeholder = "MODEL DATA",
                       .help = "a run folder or model file, then a text file, or several with --by file",
                       .least = 2,
                       .most = 1000000,
                       .file = FileUse::model});
  options_.add({.name = "by",
                .target = &by_,
                .placeholder = "UNIT",
                .help = "symbol (position, symbol, bits), line (line, symbols, bits, bits per symbol), file (one row "
                        "per file and a total), for an hmm state (the most probable path), for logs value (masked "
                        "values that placeholders stand for) or session (lines of one request, process or block)",
                .choices = {"symbol", "line", "file", "state", "value", "session"},
                .default_text = "symbol; logs: line",
                .group = OptionGroup::output,
                .common = true});
  options_.add(
      {.name = "out",
       .target = &files_.out,
       .placeholder = "DIR",
       .help = "by file: store finished results in this folder, so that several processes can share the work and the "
               "same command resumes after an interruption",
       .file = FileUse::filled,
       .group = OptionGroup::output,
       .common = true,
       .kinds = Kind::text});
  options_.add(
      {.name = "jobs",
       .target = &files_.jobs,
       .placeholder = "N",
       .help = "by file: number of files scored concurrently, each in a separate process; they share the processors",
       .least = 1,
       .most = 1024,
       .group = OptionGroup::execution,
       .kinds = Kind::text});
  options_.add({.name = "labels",
                .target = &labels_,
                .placeholder = "FILE",
                .help = "by line: a file with one label per line of DATA, for ROC results",
                .file = FileUse::data,
                .group = OptionGroup::data,
                .common = true,
                .kinds = Kind::text | Kind::log});
  options_.add({.name = "normal",
                .target = &normal_,
                .placeholder = "LABEL",
                .help = "the label of normal lines",
                .group = OptionGroup::data,
                .common = true,
                .kinds = Kind::text | Kind::log});
  options_.add({.name = "roc",
                .target = &roc_,
                .placeholder = "FILE",
                .help = "with labels: write the ROC curve of bits per symbol (TSV)",
                .file = FileUse::written,
                .group = OptionGroup::output,
                .common = true,
                .kinds = Kind::text | Kind::log});
  options_.add({.name = "plot",
                .target = &plot_,
                .placeholder = "FILE.svg",
                .help = "by line: plot the scores and, with labels, the ROC curve",
                .file = FileUse::written,
                .group = OptionGroup::output,
                .common = true,
                .kinds = Kind::text | Kind::log});
  options_.add({.name = "summary",
                .target = &summary_,
                .help = "with labels: print only the summary metrics",
                .group = OptionGroup::output,
                .kinds = Kind::text | Kind::log});
  options_.add(
      {.name = "top",
       .target = &top_,
       .placeholder = "N",
       .help = "by line: print only the N rows with the highest surprisal (data with fields: z-score), in descending "
               "order; 0: all",
       .least = 0,
       .most = 1e7,
       .group = OptionGroup::output,
       .common = true});
  options_.add({.name = "follow",
                .target = &follow_,
                .help = "data with fields: score each example as soon as it arrives (streaming)",
                .group = OptionGroup::data,
                .common = true,
                .kinds = Kind::fields});
  options_.add(conditions_row(given_));
  for (OptionRow& row : statement_rows(table_)) options_.add(std::move(row));
  options_.add({.name = "text",
                .target = &text_,
                .help = "by line: print the text of each line, or the entries of each example, after its score",
                .group = OptionGroup::data,
                .common = true,
                .kinds = Kind::text | Kind::log | Kind::fields});
  options_.add({.name = "masked",
                .target = &masked_,
                .help = "logs: print the values that placeholders stand for",
                .group = OptionGroup::output,
                .kinds = Kind::log});
  options_.add({.name = "context",
                .target = &context_,
                .placeholder = "NAME",
                .help = "logs: use the previous line with the same host, pid or other masked value as context",
                .group = OptionGroup::data,
                .kinds = Kind::log});
  options_.add({.name = "false-alarms",
                .target = &false_alarms_,
                .placeholder = "SHARE",
                .help = "logs: print only lines that raise an alarm; at most this fraction of normal lines raises one, "
                        "for example 0.001",
                .least = 1e-9,
                .most = 0.5,
                .group = OptionGroup::output,
                .common = true,
                .kinds = Kind::log});
  options_.add({.name = "alarms-per-day",
                .target = &alarms_per_day_,
                .placeholder = "N",
                .help = "logs: like --false-alarms, but set as a number of alarms per day",
                .least = 1e-3,
                .most = 1e6,
                .group = OptionGroup::output,
                .common = true,
                .kinds = Kind::log});
  options_.add({.name = "state",
                .target = &state_,
                .placeholder = "FILE",
                .help = "logs: keep the state in FILE, so that the same command continues exactly after a restart",
                .file = FileUse::written,
                .group = OptionGroup::output,
                .common = true,
                .kinds = Kind::log});
  options_.add({.name = "metrics",
                .target = &metrics_,
                .placeholder = "FILE",
                .help = "logs: write counters of lines and alarms to this file, in the Prometheus text format, every "
                        "ten seconds and at the end",
                .file = FileUse::written,
                .group = OptionGroup::output,
                .kinds = Kind::log});
  options_.add({.name = "fixed",
                .target = &fixed_,
                .help = "logs: do not adapt to previously scored lines",
                .group = OptionGroup::data,
                .kinds = Kind::log});
  options_.add(mask_row(mask_));
  options_.add({.name = "unknown",
                .target = &unknown_,
                .placeholder = "error|skip|surprise",
                .help = "for symbols not in the alphabet: stop, skip them or, by line, count 20.1 bits for each (the "
                        "surprisal of a uniform choice among all Unicode characters)",
                .group = OptionGroup::data,
                .common = true,
                .kinds = Kind::text | Kind::fields});
  add_reading_options(options_, reading_);
  add_threads();
  add_unpacking_limit();
  add_key();
  add_common();
}

/// Returns the bits as JSON; null if the symbol was not predicted.
Json bits_json(float nats) { return std::isfinite(nats) ? Json(unsigned_zero(bits(nats))) : Json(); }

void Score::by_symbol(const ScoredText& text) const {
  Json scores = Json::array();
  if (!json_) print_result(kSymbolHeading);
  text.for_each_symbol([&](const ScoredSymbol& s) {
    if (!json_) return print_result(symbol_line(s.position, s.name, s.nats));
    scores.push_back({{"position", s.position}, {"symbol", s.name}, {"bits", bits_json(s.nats)}});
  });
  if (json_) print_result(one_line({{"by", "symbol"}, {"scores", std::move(scores)}}));
}

/// Prints the most probable path of hidden states with the posterior probability of each state.
void Score::by_state(const ScoredText& text) const {
  Json scores = Json::array();
  if (!json_) print_result("position\tsymbol\tstate\tposterior\tbits\n");
  text.for_each_state([&](const ScoredState& s) {
    const ScoredSymbol& symbol = s.symbol;
    if (!json_)
      return print_result(fmt::format("{}\t{}\t{}\t{:.6f}\t{}\n", symbol.position, symbol.name, s.state, s.posterior,
                                      bits_text(symbol.nats)));
    scores.push_back({{"position", symbol.position},
                      {"symbol", symbol.name},
                      {"state", s.state},
                      {"posterior", s.posterior},
                      {"bits", bits_json(symbol.nats)}});
  });
  if (json_) print_result(one_line({{"by", "state"}, {"scores", std::move(scores)}}));
}

/// Returns the ROC results for both scores of the lines.
Json Score::judgment(Console& console, const std::vector<ScoredLine>& lines,
                     const std::vector<std::string>& labels) const {
  const RocResults found = judge(lines, labels, normal_);
  const Roc &by_mean = found.by_bits_per_symbol, &by_total = found.by_bits;
  if (roc_) {
    std::string text = "bits_per_symbol\tfalse_positive_rate\ttrue_positive_rate\n";
    for (const RocPoint& p : by_mean.curve)
      text += fmt::format("{}\t{:.6f}\t{:.6f}\n", decimals(p.threshold), p.false_positive_rate, p.true_positive_rate);
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

/// Returns the JSON object of a line. `label`: nullptr if there are no labels.
Json line_json(const ScoredLine& line, const std::string* label) {
  Json json = {{"line", line.number},
               {"symbols", line.symbols},
               {"bits", unsigned_zero(line.bits())},
               {"bits_per_symbol", unsigned_zero(line.bits_per_symbol())}};
  if (label != nullptr) json["label"] = *label;
  return json;
}

std::string line_text(const ScoredLine& line, const std::string* label) {
  return fmt::format("{}\t{}\t{}\t{}{}{}\n", line.number, line.symbols, decimals(line.bits()),
                     decimals(line.bits_per_symbol()), label == nullptr ? "" : "\t", label == nullptr ? "" : *label);
}

void Score::by_line(Console& console, const ScoredText& text) const {
  const std::vector<ScoredLine> lines = text.lines();
  const std::vector<std::string> labels = text.labels(labels_, lines);
  if (labels.empty() && (summary_ || roc_))
    throw UsageError("--summary and --roc need labels: --labels FILE, or a model trained with --label-column");
  if (labels.empty() && options_.is_given(normal_))
    throw UsageError("--normal requires labels; add --labels FILE, or omit --normal");
  Json scores = Json::array();
  if (!json_ && !summary_)
    print_result(labels.empty() ? "line\tsymbols\tbits\tbits_per_symbol\n"
                                : "line\tsymbols\tbits\tbits_per_symbol\tlabel\n");
  for (std::size_t i = 0; i < lines.size() && !summary_; ++i) {
    const std::string* label = labels.empty() ? nullptr : &labels[i];
    if (json_)
      scores.push_back(line_json(lines[i], label));
    else
      print_result(line_text(lines[i], label));
  }
  Json result = {{"by", "line"}};
  if (!summary_) result["scores"] = std::move(scores);
  if (!labels.empty()) result["roc"] = judgment(console, lines, labels);
  if (json_)
    print_result(one_line(result));
  else if (summary_)
    for (const auto& [key, value] : result["roc"].items()) print_result(fmt::format("{}\t{}\n", key, value.dump()));
}

/// Throws UsageError for options that apply only to log models.
void Score::check_log_options() const {
  if (by_ == "value" || by_ == "session")
    throw UsageError(fmt::format("--by {} requires a model trained with --format log", by_));
  if (follow_) throw UsageError("--follow applies only to models of data with fields; --by line is always streaming");
  options_.refuse("requires --by line and a model trained with --format log", masked_, context_, fixed_, false_alarms_,
                  alarms_per_day_, state_, metrics_);
}

/// Throws UsageError for line options without `--by line`, and for options that do not apply to text models.
void Score::check_text_options() const {
  if (by_ != "line") options_.refuse("requires --by line", labels_, normal_, roc_, summary_, top_, text_, plot_);
  options_.require_kind(Kind::text, "this is a text model");
  if (by_ != "line" && unknown_ == "surprise") throw UsageError("--unknown surprise requires --by line");
  if (mask_ || !reading_.exact())
    options_.refuse("applies only to streaming by line, without --mask and --segments", top_, text_, plot_);
}

ScoreRowOptions Score::row_options() const {
  return {.data = inputs_[1],
          .normal = normal_,
          .labels = labels_,
          .roc = roc_,
          .plot = plot_,
          .top = top_,
          .text = text_,
          .summary = summary_,
          .json = json_,
          .values = by_ == "value"};
}

ScoreLogOptions Score::log_options(bool by_session) const {
  options_.require_kind(Kind::log, "this is a log model, and logs are always scored as they arrive");
  if (by_ == "value")
    options_.refuse("cannot be combined with --by value", masked_, context_, false_alarms_, alarms_per_day_, state_,
                    metrics_);
  if (alarms_per_day_) options_.refuse("cannot be combined with --alarms-per-day", false_alarms_);
  if (false_alarms_ || alarms_per_day_ || state_)
    options_.refuse(state_          ? "cannot be combined with --state"
                    : false_alarms_ ? "cannot be combined with --false-alarms"
                                    : "cannot be combined with --alarms-per-day",
                    top_, labels_, summary_, roc_, plot_);
  if (by_ == "session") options_.refuse("cannot be combined with --by session", masked_, context_, text_);
  if (metrics_ && !false_alarms_ && !alarms_per_day_)
    throw UsageError("--metrics requires --false-alarms or --alarms-per-day");
  if (state_ && !context_.empty()) options_.refuse("cannot be combined with --state", context_);
  return {.rows = row_options(),
          .scorer = {.adapt = !fixed_,
                     .context = context_,
                     .name = inputs_[1] == "-" ? "standard input" : inputs_[1],
                     .false_alarms = false_alarms_},
          .masked = masked_,
          .by_value = by_ == "value",
          .by_session = by_ == "session" || by_session,
          .alarms_per_day = alarms_per_day_,
          .state = state_,
          .metrics = metrics_};
}

/// Scores data with named fields.
void Score::run_on_fields(Console& console) const {
  options_.require_kind(Kind::fields, "this is a model of data with fields");
  if (by_ == "state" || by_ == "value" || by_ == "session")
    throw UsageError(fmt::format("--by {} is for {}; data with fields supports --by symbol and --by line", by_,
                                 by_ == "state" ? "an hmm" : "a log"));
  if (by_ != "line") options_.refuse("requires --by line", text_);
  ConsoleReporter reporter(console);
  score_fields({.model = inputs_[0],
                .data = inputs_[1],
                .by_example = by_ == "line",
                .text = text_,
                .json = json_,
                .follow = follow_,
                .unknown = unknown_,
                .top = top_,
                .threads = threads_,
                .given = given_ ? split_given(*given_) : std::vector<std::string>(),
                .stated = stated_schema(table_),
                .reporter = &reporter},
               [&](std::string_view text) {
                 print_result(text);
                 if (follow_) flush_results();
               });
}

/// Prints one row per file and a row for the total.
void Score::by_file(Console& console) {
  options_.refuse("cannot be combined with --by file", labels_, normal_, roc_, plot_, summary_, top_, follow_, given_,
                  text_, masked_, context_, fixed_, mask_, false_alarms_, alarms_per_day_, state_, metrics_);
  if (unknown_ == "surprise")
    throw UsageError("--unknown surprise requires --by line; --by file supports error and skip");
  if (holds_field_model(inputs_[0]))
    throw UsageError("--by file applies only to text models; score files of data with fields one at a time");
  files_.model = inputs_[0];
  files_.data.assign(inputs_.begin() + 1, inputs_.end());
  files_.unknown = unknown_;
  files_.reading = reading_;
  files_.threads = threads_;
  const auto found = in_processes_or_jobs(files_, console, score_files);
  if (!found) return;
  print_result(json_ ? one_line(to_json(*found)) : to_text(*found));
}

ExitCode Score::run(Console& console) {
  check_reading_options(options_, reading_);
  if (by_ == "file") {
    by_file(console);
    return ExitCode::success;
  }
  if (!launched_processes().alone())
    throw UsageError(
        "several processes were started, but score supports them only with files: score MODEL FILE... --by file --out "
        "DIR");
  const bool fields = holds_field_model(inputs_[0]);
  if (inputs_.size() > 2)
    throw UsageError(fields ? "score files of data with fields one at a time" : "several files require --by file");
  options_.refuse(fields ? "applies only to text models with --by file" : "requires --by file", files_.out,
                  files_.jobs);
  if (fields) {
    run_on_fields(console);
    return ExitCode::success;
  }
  std::unique_ptr<SymbolModel> model = load_model(inputs_[0]);
  const std::optional<LogCard> log = log_card(*model);
  if (log && (by_ == "line" || by_ == "value" || by_ == "session" || !options_.is_given(by_))) {
    score_log(console, *model, log_options(log->session_lines && by_ != "value"));
    return ExitCode::success;
  }
  check_log_options();
  check_text_options();
  const UnknownScore unknown = parse_unknown_score(unknown_);
  if (by_ == "line" && !mask_ && reading_.exact())
    score_text(console, *model,
               {.rows = row_options(), .model = inputs_[0], .unknown = unknown, .threads = thread_count(threads_)});
  else
    run_on_whole_text(console, std::move(model));
  return ExitCode::success;
}

/// Scores the whole text at once: by symbol or state, in parallel segments, or with a mask.
void Score::run_on_whole_text(Console& console, std::unique_ptr<SymbolModel> model) const {
  ConsoleReporter reporter(console);
  const ScoredText text = score(std::move(model),
                                {.model = inputs_[0],
                                 .data = inputs_[1],
                                 .by = by_ == "line"    ? ScoreUnit::line
                                       : by_ == "state" ? ScoreUnit::state
                                                        : ScoreUnit::symbol,
                                 .mask = mask_,
                                 .unknown = unknown_,
                                 .reading = reading_,
                                 .threads = threads_},
                                reporter);
  if (by_ == "symbol")
    by_symbol(text);
  else if (by_ == "state")
    by_state(text);
  else
    by_line(console, text);
  if (!reading_.exact()) console.remark("read as " + describe_reading(reading_, text.evaluation()));
  if (text.unknown() > 0) console.remark(fmt::format("{} unknown symbols", text.unknown()));
}

}  // namespace

std::unique_ptr<Verb> make_score() { return std::make_unique<Score>(); }

}  // namespace unfold
