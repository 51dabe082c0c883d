#include "unfold/cli/score_log.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "unfold/cli/figures.h"

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
      {scored.number, scored.surprise_bits(), scored.bits(), scored.bits_per_symbol(), scored.label},
      [&](const std::string* label) { return options_.rows.json ? json_row(scored, label) : row(scored, label); });
}

std::string LogRows::heading(bool labelled) const {
  return fmt::format("line\tsymbols\tbits\tbits_per_symbol\tsurprise\ttoken\ttoken_bits{}{}{}\n",
                     labelled ? "\tlabel" : "", options_.masked ? "\tmasked" : "", options_.rows.text ? "\ttext" : "");
}

std::string LogRows::masked() const {
  std::string all;
  for (const MaskedValue& value : scorer_.parts().masked)
    all += fmt::format("{}{}={}", all.empty() ? "" : " ", value.name, value.text);
  std::ranges::replace(all, '\t', ' ');
  return all;
}

/// The text stands last, so that tabs in it do no harm.
std::string LogRows::row(const ScoredLogLine& s, const std::string* label) const {
  std::string text = fmt::format("{}\t{}\t{:.6f}\t{:.6f}\t{:.6f}\t{}\t{:.6f}", s.number, s.symbols, s.bits(),
                                 s.bits_per_symbol(), s.surprise_bits(), s.token, s.token_bits());
  if (label != nullptr) text += '\t' + *label;
  if (options_.masked) text += '\t' + masked();
  if (options_.rows.text) text.append(1, '\t').append(scorer_.text());
  if (text.back() == '\r') text.pop_back();
  return text + '\n';
}

std::string LogRows::json_row(const ScoredLogLine& s, const std::string* label) const {
  LogJson json = {{"line", s.number},
                  {"symbols", s.symbols},
                  {"bits", s.bits()},
                  {"bits_per_symbol", s.bits_per_symbol()},
                  {"surprise", s.surprise_bits()},
                  {"token", s.token},
                  {"token_bits", s.token_bits()}};
  if (label != nullptr) json["label"] = *label;
  if (options_.masked) {
    json["masked"] = LogJson::array();
    for (const MaskedValue& value : scorer_.parts().masked)
      json["masked"].push_back({{"name", std::string(value.name)}, {"text", std::string(value.text)}});
  }
  if (options_.rows.text) json["text"] = std::string(scorer_.text());
  return one_line(json);
}

}  // namespace

void score_log(Console& console, const SymbolModel& model, const ScoreLogOptions& options) {
  LogRows(console, model, options).run();
}

}  // namespace unfold
