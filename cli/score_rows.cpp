#include "cli/score_rows.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "app/plots/score_plot.h"
#include "base/decimals.h"
#include "base/printable.h"
#include "data/text/labels.h"
#include "unfold/base/error.h"
#include "unfold/base/formats/file.h"

namespace unfold {

ScoreRows::ScoreRows(Console& console, const ScoreRowOptions& options, std::string score)
    : console_(console), options_(options), score_(std::move(score)) {
  if (options.labels) labels_ = read_labels(Input::open(*options.labels));
}

void ScoreRows::begin(bool labeled, const std::string& heading) {
  if (!labeled && (options_.summary || options_.roc))
    throw UsageError(
        "--summary and --roc need labels: --labels FILE, or lines that begin with them as in training "
        "(--label-column)");
  if (!labeled && options_.normal != ScoreRowOptions().normal)
    throw UsageError("--normal requires labels, and these lines have none; add --labels FILE, or omit --normal");
  if (options_.json || options_.summary) return;
  print_result(heading);
  flush_results();  // makes the row visible immediately to the reader of a pipe
}

void ScoreRows::see(const RowScore& scored, const std::function<std::string(const std::string* label)>& row) {
  const std::string* label = scored.label ? &*scored.label : nullptr;
  if (has_label_file()) {
    if (label != nullptr) throw UsageError("--labels: these lines have labels in the first column; leave out --labels");
    label = &label_of_lines(scored.lines);
  }
  lines_ += scored.lines;
  if (label != nullptr || options_.plot) scores_.push_back(scored.score);
  if (label != nullptr) {
    totals_.push_back(scored.bits);
    means_.push_back(scored.bits_per_symbol);
    anomalous_.push_back(*label != options_.normal);
    if (kinds_.size() <= kMostKinds) kinds_.insert(*label);
  }
  if (options_.summary) return;
  if (options_.top > 0) return keep(scored, row, label);
  print_result(row(label));
}

void ScoreRows::rank(const RowScore& scored, const std::function<std::string()>& row) {
  if (!options_.summary && options_.top > 0)
    keep(
        scored, [&](const std::string*) { return row(); }, nullptr);
}

/// Returns the label of the next lines: the first label other than the normal label, if there is one.
const std::string& ScoreRows::label_of_lines(Index lines) const {
  const auto begin = static_cast<std::size_t>(lines_), end = static_cast<std::size_t>(lines_ + lines);
  if (end > labels_.size())
    throw DataError(fmt::format("{}: there are more lines than labels ({}); write one label for each line",
                                *options_.labels, labels_.size()));
  for (std::size_t i = begin; i < end; ++i)
    if (labels_[i] != options_.normal) return labels_[i];
  return labels_[begin];
}

void ScoreRows::keep(const RowScore& scored, const std::function<std::string(const std::string* label)>& row,
                     const std::string* label) {
  const auto before = [](const Row& a, const Row& b) { return a.comes_before(b); };
  Row next{scored.score, scored.number, {}};
  if (static_cast<Index>(top_.size()) == options_.top) {
    if (!next.comes_before(top_.front())) return;
    std::ranges::pop_heap(top_, before);
    top_.pop_back();
  }
  next.text = row(label);
  top_.push_back(std::move(next));
  std::ranges::push_heap(top_, before);
}

void ScoreRows::print_top() {
  std::ranges::sort(top_, [](const Row& a, const Row& b) { return a.comes_before(b); });
  for (const Row& row : top_) print_result(row.text);
}

void ScoreRows::draw() const {
  if (options_.plot)
    write_file_atomically(*options_.plot,
                          score_plot(fmt::format("{} of each line", score_), score_, scores_, anomalous_));
}

std::string ScoreRows::finish(const std::string& source) {
  if (!labels_.empty() && static_cast<Index>(labels_.size()) != lines_)
    throw DataError(fmt::format("{}: there are {} labels, but {} lines; write one label for each line",
                                *options_.labels, labels_.size(), lines_));
  print_top();
  draw();
  return judge(source);
}

/// `normal`: all labels are the normal one; otherwise none is. `source`: what contains the labels.
std::string ScoreRows::why_no_roc(bool normal, const std::string& source) const {
  const char* const rows = options_.values ? "values" : "lines";
  if (normal)
    return fmt::format("{}: all {} have the label {} of normal lines (--normal), so a ROC curve cannot be drawn",
                       source, rows, in_quotes(options_.normal));
  std::vector<std::string> shown;
  shown.reserve(kinds_.size());
  for (const std::string& kind : kinds_) shown.push_back(shown.size() < kMostKinds ? in_quotes(kind) : "...");
  return fmt::format(
      "{}: none of the {} has the label {}, which marks normal lines, so a ROC curve cannot be drawn; name the label "
      "of "
      "normal lines with --normal LABEL; the labels are {}",
      source, rows, in_quotes(options_.normal), fmt::join(shown, ", "));
}

/// Returns the ROC results if both normal and anomalous labels occur.
std::string ScoreRows::judge(const std::string& source) const {
  const auto anomalies = std::ranges::count(anomalous_, true);
  if (anomalies == 0 || anomalies == static_cast<std::ptrdiff_t>(anomalous_.size())) {
    if (anomalous_.empty()) return {};
    const std::string reason = why_no_roc(anomalies == 0, options_.labels.value_or(source));
    if (options_.summary || options_.roc) throw DataError(reason);
    if (anomalies > 0) console_.remark(reason);
    return {};
  }
  const Roc found = roc(scores_, anomalous_);
  if (options_.roc) {
    std::string text = score_ + "\tfalse_positive_rate\ttrue_positive_rate\n";
    for (const RocPoint& p : found.curve)
      text += fmt::format("{}\t{:.6f}\t{:.6f}\n", decimals(p.threshold), p.false_positive_rate, p.true_positive_rate);
    write_file_atomically(*options_.roc, text);
  }
  nlohmann::ordered_json result;
  result["auc_" + score_] = found.area;
  if (!options_.values) {
    result["auc_bits_per_symbol"] = roc(means_, anomalous_).area;
    result["auc_bits"] = roc(totals_, anomalous_).area;
  }
  result["anomalous"] = found.positives;
  result["normal"] = found.negatives;
  if (options_.summary && !options_.json)
    for (const auto& [key, value] : result.items()) print_result(fmt::format("{}\t{}\n", key, value.dump()));
  else if (!options_.json)
    console_.remark(fmt::format("area under the ROC curve: {:.4f} by {} ({} of {} {})", found.area, score_,
                                found.positives, anomalous_.size(),
                                options_.values ? "values are in anomalous lines" : "lines are anomalous"));
  return result.dump();
}

}  // namespace unfold
