#include "cli/score_text.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <optional>
#include <span>
#include <vector>

#include "app/common/line_source.h"
#include "app/common/perplexity.h"
#include "app/fasta/fasta_data.h"
#include "base/decimals.h"
#include "cli/terminal/metrics_text.h"
#include "data/readers/fasta.h"
#include "unfold/base/error.h"

namespace unfold {
namespace {

/// Maximum number of lines that are scored as one batch if they are already available.
constexpr std::size_t kLinesAtOnce = 1024;
constexpr std::size_t kBytesAtOnce = std::size_t{1} << 18;

/// The source of the lines to score. FASTA records are lines of letters with names.
struct TextRowSource {
  explicit TextRowSource(const std::string& path) : lines(path) {}
  explicit TextRowSource(FastaFile file, const std::string& name)
      : lines(Input::from_bytes(name, std::move(file.letters))), names(std::move(file.names)) {}

  LineSource lines;
  std::vector<std::string> names = {};
};

TextRowSource source_for(const SymbolModel& model, const std::string& path, UnknownScore unknown) {
  if (!is_fasta(model)) return TextRowSource(path);
  const Input input = Input::open(path);
  FastaFile file = read_fasta(input);
  if (unknown == UnknownScore::error) require_letters(model.alphabet(), input, file);
  return TextRowSource(std::move(file), input.name());
}

class TextRows {
 public:
  TextRows(Console& console, const SymbolModel& model, const ScoreTextOptions& options)
      : console_(console),
        options_(options),
        rows_(console, options.rows, "bits_per_symbol"),
        scorer_(model, options.model, options.unknown, options.threads),
        input_(source_for(model, options.rows.data, options.unknown)) {
    if (rows_.has_label_file() && scorer_.has_labels())
      throw UsageError("--labels: the data of this model has labels in the first column; leave out --labels");
  }
  void run();

 private:
  std::string heading(bool labeled) const;
  void score(std::span<const TextLine> lines);
  void see(const ScoredTextLine& scored);
  std::string row(const ScoredTextLine& line, double bits, double mean, const std::string* label) const;
  std::string json_row(const ScoredTextLine& line, double bits, double mean, const std::string* label) const;
  void print_object(const std::string& rows, const std::string& roc) const;

  Console& console_;
  const ScoreTextOptions& options_;
  ScoreRows rows_;
  TextScorer scorer_;
  TextRowSource input_;
  LineSource& source_ = input_.lines;
};

void TextRows::run() {
  const bool labeled = rows_.has_label_file() || scorer_.has_labels();
  rows_.begin(labeled, heading(labeled));
  std::optional<CapturedResults> captured;
  if (options_.rows.json) captured.emplace();
  std::vector<TextLine> lines;
  std::size_t bytes = 0;
  for (std::string_view line; source_.next(line);) {
    lines.push_back({std::string(line), source_.line_ended()});
    bytes += line.size();
    if (source_.ready() && lines.size() < kLinesAtOnce && bytes < kBytesAtOnce) continue;
    score(lines);
    lines.clear();
    bytes = 0;
    if (!source_.ready()) flush_results();
  }
  const std::string roc = rows_.finish(source_.name());
  if (captured) {
    const std::string rows = captured->text();
    captured.reset();
    print_object(rows, roc);
  }
  if (scorer_.unknown() > 0) console_.remark(fmt::format("{} unknown symbols", scorer_.unknown()));
}

void TextRows::score(std::span<const TextLine> lines) {
  try {
    scorer_.score(lines, source_.name(), [this](const ScoredTextLine& scored) { see(scored); });
  } catch (const Error&) {
    flush_results();  // keeps the output that precedes the failed line
    throw;
  }
}

std::string TextRows::heading(bool labeled) const {
  return fmt::format("line\tsymbols\tbits\tbits_per_symbol{}{}\n", labeled ? "\tlabel" : "",
                     options_.rows.text ? "\ttext" : "");
}

void TextRows::see(const ScoredTextLine& scored) {
  ScoredTextLine line = scored;
  if (!input_.names.empty()) line.text = input_.names[static_cast<std::size_t>(line.number - 1)];
  const double total = bits(line.nats), mean = line.symbols > 0 ? total / static_cast<double>(line.symbols) : 0;
  rows_.see({line.number, mean, total, mean,
             line.label ? std::optional<std::string>(std::string(*line.label)) : std::nullopt},
            [&](const std::string* label) {
              return options_.rows.json ? json_row(line, total, mean, label) : row(line, total, mean, label);
            });
}

/// The text is the last column and may therefore contain tabs.
std::string TextRows::row(const ScoredTextLine& line, double bits, double mean, const std::string* label) const {
  std::string text = fmt::format("{}\t{}\t{}\t{}", line.number, line.symbols, decimals(bits), decimals(mean));
  if (label != nullptr) text += '\t' + *label;
  if (options_.rows.text) text.append(1, '\t').append(line.text);
  if (text.back() == '\r') text.pop_back();
  return text + '\n';
}

std::string TextRows::json_row(const ScoredTextLine& line, double bits, double mean, const std::string* label) const {
  nlohmann::ordered_json json = {{"line", line.number},
                                 {"symbols", line.symbols},
                                 {"bits", unsigned_zero(bits)},
                                 {"bits_per_symbol", unsigned_zero(mean)}};
  if (label != nullptr) json["label"] = *label;
  if (options_.rows.text) json["text"] = std::string(line.text);
  return one_line(json);
}

/// `rows` has one JSON object per line.
void TextRows::print_object(const std::string& rows, const std::string& roc) const {
  std::string text = "{\"by\":\"line\"";
  if (!options_.rows.summary) {
    std::string list = rows;
    if (!list.empty()) list.pop_back();
    for (char& c : list)
      if (c == '\n') c = ',';  // objects contain no newline
    text += ",\"scores\":[" + list + "]";
  }
  if (!roc.empty()) text += ",\"roc\":" + roc;
  print_result(text + "}\n");
}

}  // namespace

void score_text(Console& console, const SymbolModel& model, const ScoreTextOptions& options) {
  TextRows(console, model, options).run();
}

}  // namespace unfold
