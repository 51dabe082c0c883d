#include "cli/terminal/metrics_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/decimals.h"
#include "base/printable.h"

namespace unfold {

std::string to_text(const Figures& figures) {
  const std::string per_byte =
      figures.bytes == 0 ? std::string() : fmt::format("bits per byte    {}\n", decimals(figures.bits_per_byte()));
  return fmt::format(
      "nats per symbol  {}\nbits per symbol  {}\n{}perplexity       {:.5g}\n"
      "symbols          {}\n",
      decimals(figures.nats_per_symbol), decimals(figures.bits_per_symbol()), per_byte, figures.perplexity(),
      figures.symbols);
}

std::string to_text(const TaskMetrics& figures) {
  const TaskScore& score = figures.score;
  std::string text = fmt::format("wrong sequences  {:.2f} % of {}\n", 100 * score.error_rate, score.sequences);
  for (const auto& [name, value] : score.measures)
    if (name == "mean_squared_error") text += fmt::format("squared error    {:.6g}\n", value);
  if (figures.shape.predicts_symbols)
    text += fmt::format("bits per class   {:.4f} ({} predicted)\n", bits(score.evaluation.nats_per_symbol()),
                        score.evaluation.predicted);
  return text;
}

std::string metric_name(std::string name) {
  std::ranges::replace(name, '_', ' ');
  return name;
}

std::string to_text(const FieldFigures& figures) {
  std::string text = fmt::format("{:<16} {} ({} positions)\n", "examples", figures.examples, figures.positions);
  for (const HeadFigures& head : figures.heads) {
    text += fmt::format("{}: {} predicted\n", escape_value(head.field), head.predicted);
    for (const auto& [name, value] : head.measures) text += fmt::format("  {:<22} {:.5g}\n", metric_name(name), value);
    text += fmt::format("  {:<22} {:.5f}\n", head.once ? "nats per example" : "nats per position", head.nats_each());
  }
  if (figures.log_path_norm)
    text +=
        fmt::format("{:<24} {:.6f} (logarithm of the mean over the examples)\n", "path norm", *figures.log_path_norm);
  return text;
}

std::string to_text(const std::vector<ComparedBaseline>& baselines) {
  std::string text;
  bool better = true;
  for (const ComparedBaseline& each : baselines) {
    text += fmt::format("{:<16} {}{}: {} {:.5g}\n", "baseline", each.of.empty() ? "" : escape_value(each.of) + ", ",
                        each.baseline.name, metric_name(each.baseline.measure), each.baseline.value);
    better = better && is_better(each.result, each.baseline);
  }
  return better ? text : text + "warning: the model is not better than a baseline\n";
}

std::string classes_text(const FieldFigures& figures) {
  constexpr std::size_t kShown = 20;
  std::string text;
  for (const HeadFigures& head : figures.heads) {
    const bool chunks = !head.chunks.empty();
    const std::vector<HeadFigures::ClassFigures>& list = chunks ? head.chunks : head.classes;
    if (list.size() < 2) continue;
    text += fmt::format("{}: {} by frequency\n  {:>8}  {:>9}  {:>8}  {:>8}  {}\n", escape_value(head.field),
                        chunks ? "chunks" : "classes", "count", "precision", "recall", "F1", chunks ? "type" : "class");
    for (std::size_t i = 0; i < std::min(kShown, list.size()); ++i) {
      const MatchCounts& counts = list[i].counts;
      text += fmt::format("  {:>8}  {:>9.4f}  {:>8.4f}  {:>8.4f}  {}\n", counts.wanted, counts.precision(),
                          counts.recall(), counts.f1(), escape_value(list[i].name));
    }
    if (list.size() > kShown)
      text += fmt::format("  and {} more {} (all: --json)\n", list.size() - kShown, chunks ? "types" : "classes");
  }
  return text;
}

std::string confusions_text(const FieldFigures& figures) {
  constexpr std::size_t kShown = 10;
  std::string text;
  for (const HeadFigures& head : figures.heads) {
    if (head.mistakes.empty()) continue;
    text += fmt::format("{}: most frequent mistakes\n  {:>8}  {:<20} {}\n", escape_value(head.field), "times", "wanted",
                        "predicted");
    for (std::size_t i = 0; i < std::min(kShown, head.mistakes.size()); ++i) {
      const HeadFigures::Mistake& m = head.mistakes[i];
      text += fmt::format("  {:>8}  {:<20} {}\n", m.count, escape_value(m.wanted), escape_value(m.best));
    }
    if (head.mistakes.size() > kShown) text += fmt::format("  and {} other kinds\n", head.mistakes.size() - kShown);
  }
  return text;
}

std::string one_line(const nlohmann::ordered_json& json) {
  return json.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n";
}

}  // namespace unfold
