#include "cli/score_log.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "app/common/metrics.h"
#include "base/decimals.h"
#include "base/error.h"
#include "cli/terminal/metrics_text.h"

namespace unfold {
namespace {

using LogJson = nlohmann::ordered_json;

class LogRows {
 public:
  LogRows(Console& console, const SymbolModel& model, const ScoreLogOptions& options)
      : options_(options),
        rows_(console, options.rows, "surprise"),
        scorer_(model, options.scorer),
        source_(options.rows.data) {}
  void run();

 private:
  void see(const ScoredLogLine& scored);
  std::string heading(bool labelled) const;
  std::string row(const ScoredLogLine& scored, const std::string* label) const;
  std::string json_row(const ScoredLogLine& scored, const std::string* label) const;
  std::string masked() const;

  const ScoreLogOptions& options_;
  ScoreRows rows_;
  LogScorer scorer_;
  LineSource source_;
};

void LogRows::run() {
  for (std::string_view line; source_.next(line);) {
    see(scorer_.score(line));
    if (!source_.ready()) flush_results();
  }
  const std::string roc = rows_.finish(source_.name());
  if (options_.rows.json && !roc.empty()) print_result(fmt::format("{{\"roc\":{}}}\n", roc));
}

void LogRows::see(const ScoredLogLine& scored) {
  if (scored.number == 1) {
    const bool labelled = scored.label || rows_.has_label_file();
    rows_.begin(labelled, heading(labelled));
  }
  rows_.see(
      {scored.number, scored.surprisal_bits(), scored.bits(), scored.bits_per_symbol(), scored.label},
      [&](const std::string* label) { return options_.rows.json ? json_row(scored, label) : row(scored, label); });
}

std::string LogRows::heading(bool labelled) const {
  return fmt::format("line\tsymbols\tbits\tbits_per_symbol\tsurprise\ttoken\ttoken_bits{}{}{}\n",
                     labelled ? "\tlabel" : "", options_.masked ? "\tmasked" : "", options_.rows.text ? "\ttext" : "");
}

std::string LogRows::masked() const {
  std::string all;
  for (const MaskedValue& value : scorer_.line().parts().masked)
    all += fmt::format("{}{}={}", all.empty() ? "" : " ", value.name, value.text);
  std::ranges::replace(all, '\t', ' ');
  return all;
}

/// The text is the last column, so that it may contain tabs.
std::string LogRows::row(const ScoredLogLine& s, const std::string* label) const {
  std::string text =
      fmt::format("{}\t{}\t{}\t{}\t{}\t{}\t{}", s.number, s.symbols, decimals(s.bits()), decimals(s.bits_per_symbol()),
                  decimals(s.surprisal_bits()), s.token, decimals(s.token_bits()));
  if (label != nullptr) text += '\t' + *label;
  if (options_.masked) text += '\t' + masked();
  if (options_.rows.text) text.append(1, '\t').append(scorer_.line().text());
  if (text.back() == '\r') text.pop_back();
  return text + '\n';
}

std::string LogRows::json_row(const ScoredLogLine& s, const std::string* label) const {
  LogJson json = {{"line", s.number},
                  {"symbols", s.symbols},
                  {"bits", unsigned_zero(s.bits())},
                  {"bits_per_symbol", unsigned_zero(s.bits_per_symbol())},
                  {"surprise", unsigned_zero(s.surprisal_bits())},
                  {"token", s.token},
                  {"token_bits", unsigned_zero(s.token_bits())}};
  if (label != nullptr) json["label"] = *label;
  if (options_.masked) {
    json["masked"] = LogJson::array();
    for (const MaskedValue& value : scorer_.line().parts().masked)
      json["masked"].push_back({{"name", std::string(value.name)}, {"text", std::string(value.text)}});
  }
  if (options_.rows.text) json["text"] = std::string(scorer_.line().text());
  return one_line(json);
}

/// Prints one row per masked value.
class LogValueRows {
 public:
  LogValueRows(Console& console, const SymbolModel& model, const ScoreLogOptions& options)
      : options_(options),
        rows_(console, options.rows, "surprise"),
        scorer_(model, options.scorer.adapt),
        source_(options.rows.data) {
    if (rows_.has_label_file())
      throw UsageError("--labels applies to lines; --by value only supports labels contained in the lines");
  }
  void run();

 private:
  void see(const LogValueScorer::Scored& scored);
  std::string row(const LogValueScorer::Scored& scored, const std::string* label) const;
  std::string json_row(const LogValueScorer::Scored& scored, const std::string* label) const;

  const ScoreLogOptions& options_;
  ScoreRows rows_;
  LogValueScorer scorer_;
  LineSource source_;
};

void LogValueRows::run() {
  for (std::string_view line; source_.next(line);) {
    const std::vector<LogValueScorer::Scored>& values = scorer_.score(line);
    const LogLineReader& read = scorer_.line();
    if (read.number() == 1)
      rows_.begin(read.label().has_value(),
                  fmt::format("line\tname\tvalue\tsurprise{}{}\n", read.label() ? "\tlabel" : "",
                              options_.rows.text ? "\ttext" : ""));
    for (const LogValueScorer::Scored& scored : values) see(scored);
    if (!source_.ready()) flush_results();
  }
  const std::string roc = rows_.finish(source_.name());
  if (options_.rows.json && !roc.empty()) print_result(fmt::format("{{\"roc\":{}}}\n", roc));
}

void LogValueRows::see(const LogValueScorer::Scored& scored) {
  const LogLineReader& read = scorer_.line();
  const double surprise = bits(scored.surprise);
  rows_.see({read.number(), surprise, surprise, surprise, read.label()}, [&](const std::string* label) {
    return options_.rows.json ? json_row(scored, label) : row(scored, label);
  });
}

std::string LogValueRows::row(const LogValueScorer::Scored& scored, const std::string* label) const {
  std::string value(scored.value.text);
  std::ranges::replace(value, '\t', ' ');
  std::string text =
      fmt::format("{}\t{}\t{}\t{}", scorer_.line().number(), scored.value.name, value, decimals(bits(scored.surprise)));
  if (label != nullptr) text += '\t' + *label;
  if (options_.rows.text) text.append(1, '\t').append(scorer_.line().text());
  if (text.back() == '\r') text.pop_back();
  return text + '\n';
}

std::string LogValueRows::json_row(const LogValueScorer::Scored& scored, const std::string* label) const {
  LogJson json = {{"line", scorer_.line().number()},
                  {"name", std::string(scored.value.name)},
                  {"value", std::string(scored.value.text)},
                  {"surprise", unsigned_zero(bits(scored.surprise))}};
  if (label != nullptr) json["label"] = *label;
  if (options_.rows.text) json["text"] = std::string(scorer_.line().text());
  return one_line(json);
}

}  // namespace

void score_log(Console& console, const SymbolModel& model, const ScoreLogOptions& options) {
  if (options.by_value)
    LogValueRows(console, model, options).run();
  else
    LogRows(console, model, options).run();
}

}  // namespace unfold
