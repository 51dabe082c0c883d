#include "unfold/cli/score_log.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "unfold/base/file.h"
#include "unfold/cli/figures.h"
#include "unfold/data/labels.h"
#include "unfold/report/roc.h"

namespace unfold {
namespace {

using LogJson = nlohmann::ordered_json;

/// A row that is still to be printed.
struct LogRow {
  double surprise;
  Index number;
  std::string text;
  bool comes_before(const LogRow& other) const {
    return surprise != other.surprise ? surprise > other.surprise : number < other.number;
  }
};

class LogRows {
 public:
  LogRows(Console& console, const SymbolModel& model, const ScoreLogOptions& options)
      : console_(console), options_(options), scorer_(model, options.scorer), source_(options.data) {
    if (options.labels) labels_ = read_labels(Input::open(*options.labels));
  }
  void run();

 private:
  void see(ScoredLogLine scored);
  void begin(bool labelled);
  std::string row(const ScoredLogLine& scored) const;
  std::string json_row(const ScoredLogLine& scored) const;
  std::string masked() const;
  void keep(const ScoredLogLine& scored);
  void print_top();
  void judge();

  Console& console_;
  const ScoreLogOptions& options_;
  LogScorer scorer_;
  LineSource source_;
  std::vector<std::string> labels_;  // of a file
  std::vector<LogRow> top_;          // a heap, the least surprising in front
  std::vector<double> surprises_, totals_, means_;
  std::vector<bool> anomalous_;
  Index lines_ = 0;
};

void LogRows::run() {
  for (std::string_view line; source_.next(line);) {
    see(scorer_.score(line));
    if (!source_.ready()) flush_results();
  }
  if (!labels_.empty() && static_cast<Index>(labels_.size()) != lines_)
    throw DataError(fmt::format("{} labels do not fit {} lines", labels_.size(), lines_));
  print_top();
  judge();
}

void LogRows::see(ScoredLogLine scored) {
  if (options_.labels) {
    if (scored.label)
      throw UsageError("--labels: these lines carry their labels in the first column; leave the option out");
    if (lines_ >= static_cast<Index>(labels_.size()))
      throw DataError(fmt::format("there are {} labels, and more lines", labels_.size()));
    scored.label = labels_[static_cast<std::size_t>(lines_)];
  }
  if (++lines_ == 1) begin(scored.label.has_value());
  if (scored.label) {
    surprises_.push_back(scored.surprise_bits());
    totals_.push_back(scored.bits());
    means_.push_back(scored.bits_per_symbol());
    anomalous_.push_back(*scored.label != options_.normal);
  }
  if (options_.summary) return;
  if (options_.top > 0) return keep(scored);
  print_result(options_.json ? json_row(scored) : row(scored));
}

void LogRows::begin(bool labelled) {
  if (!labelled && (options_.summary || options_.roc))
    throw UsageError("--summary and --roc need labels: --labels FILE, or lines that begin with them as in training");
  if (options_.json || options_.summary) return;
  print_result(fmt::format("line\tsymbols\tbits\tbits_per_symbol\tsurprise\ttoken\ttoken_bits{}{}{}\n",
                           labelled ? "\tlabel" : "", options_.masked ? "\tmasked" : "",
                           options_.text ? "\ttext" : ""));
}

std::string LogRows::masked() const {
  std::string all;
  for (const MaskedValue& value : scorer_.parts().masked)
    all += fmt::format("{}{}={}", all.empty() ? "" : " ", value.name, value.text);
  std::ranges::replace(all, '\t', ' ');
  return all;
}

/// The text stands last, so that tabs in it do no harm.
std::string LogRows::row(const ScoredLogLine& s) const {
  std::string text = fmt::format("{}\t{}\t{:.6f}\t{:.6f}\t{:.6f}\t{}\t{:.6f}", s.number, s.symbols, s.bits(),
                                 s.bits_per_symbol(), s.surprise_bits(), s.token, s.token_bits());
  if (s.label) text += '\t' + *s.label;
  if (options_.masked) text += '\t' + masked();
  if (options_.text) text.append(1, '\t').append(scorer_.text());
  if (text.back() == '\r') text.pop_back();
  return text + '\n';
}

std::string LogRows::json_row(const ScoredLogLine& s) const {
  LogJson json = {{"line", s.number},
                  {"symbols", s.symbols},
                  {"bits", s.bits()},
                  {"bits_per_symbol", s.bits_per_symbol()},
                  {"surprise", s.surprise_bits()},
                  {"token", s.token},
                  {"token_bits", s.token_bits()}};
  if (s.label) json["label"] = *s.label;
  if (options_.masked) {
    json["masked"] = LogJson::array();
    for (const MaskedValue& value : scorer_.parts().masked)
      json["masked"].push_back({{"name", std::string(value.name)}, {"text", std::string(value.text)}});
  }
  if (options_.text) json["text"] = std::string(scorer_.text());
  return one_line(json);
}

void LogRows::keep(const ScoredLogLine& scored) {
  const auto before = [](const LogRow& a, const LogRow& b) { return a.comes_before(b); };
  LogRow next{scored.surprise, scored.number, {}};
  if (static_cast<Index>(top_.size()) == options_.top) {
    if (!next.comes_before(top_.front())) return;
    std::ranges::pop_heap(top_, before);
    top_.pop_back();
  }
  next.text = options_.json ? json_row(scored) : row(scored);
  top_.push_back(std::move(next));
  std::ranges::push_heap(top_, before);
}

void LogRows::print_top() {
  std::ranges::sort(top_, [](const LogRow& a, const LogRow& b) { return a.comes_before(b); });
  for (const LogRow& row : top_) print_result(row.text);
}

/// ROC figures, where there are labels of both kinds.
void LogRows::judge() {
  const auto anomalies = std::ranges::count(anomalous_, true);
  const bool both = anomalies > 0 && anomalies < static_cast<std::ptrdiff_t>(anomalous_.size());
  if (!both) {
    if (options_.summary || options_.roc)
      throw DataError(fmt::format("every line of {} or none has the label \"{}\": there is no ROC curve",
                                  source_.name(), options_.normal));
    return;
  }
  const Roc by_surprise = roc(surprises_, anomalous_);
  if (options_.roc) {
    std::string text = "surprise\tfalse_positive_rate\ttrue_positive_rate\n";
    for (const RocPoint& p : by_surprise.curve)
      text += fmt::format("{:.6f}\t{:.6f}\t{:.6f}\n", p.threshold, p.false_positive_rate, p.true_positive_rate);
    write_file_atomically(*options_.roc, text);
  }
  const LogJson result = {{"auc_surprise", by_surprise.area},
                          {"auc_bits_per_symbol", roc(means_, anomalous_).area},
                          {"auc_bits", roc(totals_, anomalous_).area},
                          {"anomalous", by_surprise.positives},
                          {"normal", by_surprise.negatives}};
  if (options_.json) return print_result(one_line({{"roc", result}}));
  if (options_.summary)
    for (const auto& [key, value] : result.items()) print_result(fmt::format("{}\t{}\n", key, value.dump()));
  else
    console_.remark(fmt::format("area under the ROC curve: {:.4f} by surprise ({} of {} lines are anomalous)",
                                by_surprise.area, by_surprise.positives, lines_));
}

}  // namespace

void score_log(Console& console, const SymbolModel& model, const ScoreLogOptions& options) {
  LogRows(console, model, options).run();
}

}  // namespace unfold
