#include "app/fields/evaluation/field_score.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "app/common/perplexity.h"
#include "app/fields/condition.h"
#include "app/fields/evaluation/field_metrics.h"
#include "app/fields/example_group.h"
#include "app/fields/field_entries.h"
#include "app/fields/field_model.h"
#include "app/fields/field_reading.h"
#include "app/fields/field_stepper.h"
#include "app/fields/field_stream.h"
#include "base/decimals.h"
#include "base/printable.h"
#include "model/network/transduce.h"

namespace unfold {
namespace {

using ScoreJson = nlohmann::ordered_json;

/// A row of the printed table.
struct FieldScoreRow {
  double rank = 0;   // the bits, or the z-score of an example
  std::string text;  // TSV
  ScoreJson json = {};
};

/// The mean and the variance of the surprisal of single entries of one head, in nats (Welford 1962).
struct EntryNats {
  Index count = 0;
  double mean = 0, squares = 0;  // squares: sum of squared deviations from the mean

  void add(double nats) {
    ++count;
    const double before = nats - mean;
    mean += before / static_cast<double>(count);
    squares += before * (nats - mean);
  }
  double variance() const { return squares / static_cast<double>(count); }
};

double or_zero(double nats) { return std::isnan(nats) ? 0 : nats; }
ScoreJson bits_or_null(double nats) { return std::isnan(nats) ? ScoreJson() : ScoreJson(bits(nats)); }

/// Returns the column whose entries are the text of an example. Throws UsageError if there is none.
const ExampleColumn& column_of_text(const Examples& examples, const std::vector<HeadScores>& heads) {
  for (const HeadScores& head : heads)
    if (const ExampleColumn* column = examples.find(head.field); column != nullptr && !column->once) return *column;
  for (const ExampleColumn& column : examples.columns)
    if (!column.once && !column.derived && column.is_text()) return column;
  throw UsageError(fmt::format(
      "--text: the examples of {} contain no text; omit --text, and find them by their numbers", examples.source));
}

/// Returns the text of an example as it was written, or its entries with blanks between them.
std::string text_of_example(const ExampleColumn& column, const Examples& examples, Index example) {
  if (column.is_text() && column.cells.size() == at(examples.count())) return std::string(column.cells[example]);
  std::string text;
  for (Index p = examples.begin(example); p < examples.end(example); ++p)
    text += (text.empty() || column.characters ? "" : " ") + entry_text(column, p);
  return text;
}

/// Formats rows of scores.
class FieldScoreTable {
 public:
  FieldScoreTable(const FieldScoreRequest& request, const std::function<void(std::string_view)>& write)
      : request_(request), write_(write) {}

  /// Adds further examples; numbering continues.
  void add(const Examples& examples, const std::vector<HeadScores>& heads) {
    begin(examples, heads);
    if (has_z_scores()) count_entries(examples, heads);
    for (Index e = 0; e < examples.count(); ++e) {
      ++example_;
      if (request_.by_example) {
        add_example(examples, heads, e);
      } else if (once_) {
        add_entry(examples, heads, e, examples.end(e) - 1);
      } else {
        for (Index p = examples.begin(e); p < examples.end(e); ++p) add_entry(examples, heads, e, p);
      }
    }
  }

  /// Adds a row of a table that continues or begins a sequence.
  void add_row(const Examples& row, const std::vector<HeadScores>& heads, bool begins) {
    begin(row, heads);
    example_ += begins ? 1 : 0;
    position_ = begins ? 0 : position_ + 1;
    add_entry(row, heads, 0, 0);
  }

  void finish() {
    if (request_.top > 0) {
      const auto last = rows_.begin() + std::min<Index>(request_.top, static_cast<Index>(rows_.size()));
      std::ranges::stable_sort(rows_, std::ranges::greater(), &FieldScoreRow::rank);
      rows_.erase(last, rows_.end());
    }
    if (!request_.json) {
      for (const FieldScoreRow& row : rows_) write_(row.text);
    } else if (!request_.follow) {
      ScoreJson scores = ScoreJson::array();
      for (FieldScoreRow& row : rows_) scores.push_back(std::move(row.json));
      print({{"by", request_.by_example ? "line" : "symbol"}, {"scores", std::move(scores)}});
    }
  }

 private:
  void begin(const Examples& examples, const std::vector<HeadScores>& heads) {
    if (example_ > 0) return;
    if (const ExampleColumn* group = column_of_group(examples)) group_ = group->name;
    once_ = std::ranges::all_of(heads, &HeadScores::once);
    if (request_.json) return;
    std::string head = "example" + (group_.empty() ? "" : "\t" + escape_cell(group_));
    if (request_.by_example) head += "\tpositions\tbits\tbits_per_position";
    if (has_z_scores()) head += "\tz_score";
    if (request_.text) head += "\ttext";
    if (!request_.by_example && !once_) head += "\tposition";
    for (const HeadScores& h : heads)
      if (!request_.by_example) head += fmt::format("\t{0}\t{0}.bits", escape_cell(h.field));
    write_(head + "\n");
  }

  bool has_z_scores() const { return request_.by_example && !request_.follow; }

  /// Calls use(head, nats) for every predicted entry of an example.
  template <class Use>
  static void for_each_entry(const Examples& examples, const std::vector<HeadScores>& heads, Index e, const Use& use) {
    for (std::size_t h = 0; h < heads.size(); ++h) {
      const bool once = heads[h].once;
      const Index first = once ? e : examples.begin(e), last = once ? e + 1 : examples.end(e);
      for (Index entry = first; entry < last; ++entry)
        if (const double nats = heads[h].nats[at(entry)]; !std::isnan(nats)) use(h, nats);
    }
  }

  void count_entries(const Examples& examples, const std::vector<HeadScores>& heads) {
    entries_.assign(heads.size(), {});
    for (Index e = 0; e < examples.count(); ++e)
      for_each_entry(examples, heads, e, [&](std::size_t h, double nats) { entries_[h].add(nats); });
  }

  void add_example(const Examples& examples, const std::vector<HeadScores>& heads, Index e) {
    double nats = 0, expected = 0, variance = 0;
    for_each_entry(examples, heads, e, [&](std::size_t h, double each) {
      nats += each;
      if (!has_z_scores()) return;
      expected += entries_[h].mean;
      variance += entries_[h].variance();
    });
    const Index positions = examples.length(e);
    const double all = bits(nats), mean = all / static_cast<double>(positions);
    const double z = variance > 0 ? (nats - expected) / std::sqrt(variance) : 0;
    FieldScoreRow row = first_cells(examples, e);
    row.text += fmt::format("\t{}\t{}\t{}", positions, decimals(all), decimals(mean));
    row.json.update({{"positions", positions}, {"bits", all}, {"bits_per_position", mean}});
    if (has_z_scores()) {
      row.rank = z;
      row.text += fmt::format("\t{}", decimals(z));
      row.json["z_score"] = z;
    }
    if (request_.text) {
      const std::string text = text_of_example(column_of_text(examples, heads), examples, e);
      row.text += '\t' + escape_cell(text);
      row.json["text"] = text;
    }
    row.text += '\n';
    put(std::move(row));
  }

  /// Returns a row with the number of the example and, in a table with groups, the entry of its group.
  FieldScoreRow first_cells(const Examples& examples, Index e) const {
    FieldScoreRow row{.text = std::to_string(example_), .json = {{"example", example_}}};
    if (group_.empty()) return row;
    const ExampleColumn& group = examples.column(group_);
    row.text += '\t' + entry_cell(group, e);
    row.json[group_] = entry_json(group, e);
    return row;
  }

  void add_entry(const Examples& examples, const std::vector<HeadScores>& heads, Index e, Index p) {
    const Index position = position_ + p - examples.begin(e) + 1;
    FieldScoreRow row = first_cells(examples, e);
    if (!once_) {
      row.text += fmt::format("\t{}", position);
      row.json["position"] = position;
    }
    for (const HeadScores& h : heads) {
      const bool here = !h.once || p + 1 == examples.end(e);
      const double nats = here ? h.nats[at(h.once ? e : p)] : std::nan("");
      const ExampleColumn* column = examples.find(h.field);
      const bool shown = here && column != nullptr;
      const Index entry = shown && column->once ? e : p;
      row.rank += bits(or_zero(nats));
      row.text += '\t' + (shown ? entry_cell(*column, entry) : std::string());
      row.text += '\t' + (std::isnan(nats) ? std::string() : decimals(bits(nats)));
      row.json[h.field] = shown ? entry_json(*column, entry) : ScoreJson();
      row.json[h.field + ".bits"] = bits_or_null(nats);
    }
    row.text += '\n';
    put(std::move(row));
  }

  /// Prints a row, or stores it if printing must wait for all rows.
  void put(FieldScoreRow row) {
    if (request_.top > 0 || (request_.json && !request_.follow)) {
      rows_.push_back(std::move(row));
    } else if (request_.json) {
      print(row.json);
    } else {
      write_(row.text);
    }
  }
  void print(const ScoreJson& json) { write_(json.dump(-1, ' ', false, ScoreJson::error_handler_t::replace) + "\n"); }

  const FieldScoreRequest& request_;
  const std::function<void(std::string_view)>& write_;
  bool once_ = false;
  std::vector<EntryNats> entries_;    // for each head
  std::string group_;                 // name of the column that groups the rows; empty: none
  Index example_ = 0, position_ = 0;  // position_: rows of the sequence before this piece
  std::vector<FieldScoreRow> rows_;
};

/// Returns the scores of the stepper's heads at the last position of a window.
template <class T>
std::vector<HeadScores> stepped_scores(const NetworkModel<T>& model, const ExampleSet& window, FieldStepper<T>& stepper,
                                       Team& team) {
  static const Structure one = Structure::chains(1, 1);
  const Index last = window.positions() - 1;
  std::vector<HeadScores> scores;
  stepper.step_at_end_of(window);
  for (const Head<T>& head : model.network().heads) {
    const FieldSpecification& field = model.data().field(head.field);
    const FieldColumn& column = window.column(head.field);
    scores.push_back({.field = head.field, .nats = {std::nan("")}});
    Targets<T> targets;
    std::vector<T> values;
    const char predicted = 1;
    if (field.type == FieldSpecification::Type::symbols) {
      if (column.symbols[at(last)] == kNoSymbol) continue;
      targets.symbols = &column.symbols[at(last)];
    } else {
      if (column.present[at(last)] == 0) continue;
      const float* from = column.values.data() + last * field.size;
      values.assign(from, from + field.size);
      targets.values = {values.data(), 1, field.size, field.size};
      targets.predicted = &predicted;
    }
    T nats = 0;
    head.loss->negative_log_likelihood(
        {.structure = one, .signal = stepper.signal(head), .targets = targets, .parameters = model.parameters().flat()},
        team, &nats);
    if (!std::isfinite(nats))
      throw ModelError(fmt::format(
          "the prediction of {} is not finite; train the model again with a smaller learning rate", head.field));
    scores.back().nats[0] = static_cast<double>(nats) + log_scale(field);
  }
  return scores;
}

template <class T>
void score_stream(const NetworkModel<T>& model, const FieldScoreRequest& request, FieldScoreTable& table) {
  const bool whole = reads_source(model.data()) || predicts_whole_sequences(model);
  const bool by_row = goes_row_by_row(model) && !request.by_example && !whole;
  FieldStream stream(request.data, reader_options_for(model, request.stated), model.data(),
                     by_row ? StreamPiece::row : StreamPiece::example, lookback(model), request.reporter);
  const auto data = std::make_shared<const DataSpecification>(model.data());
  const std::vector<std::string> predicts = predicted_fields(model.layout());
  Team team(by_row ? 1 : thread_count(request.threads));
  std::optional<FieldStepper<T>> stepper;
  if (by_row) stepper.emplace(model, team);
  for (Examples piece; stream.next(piece);) {
    if (request.reporter != nullptr) report_reader_notes(piece, *request.reporter);
    give(model, request.given, piece);
    const ExampleSet set(by_row ? stream.window() : piece, data, predicts, parse_unknown_policy(request.unknown));
    if (!by_row) {
      table.add(piece, score_heads(model, set, team));
      continue;
    }
    if (stream.begins()) stepper->reset();
    table.add_row(piece, stepped_scores(model, set, *stepper, team), stream.begins());
  }
}

}  // namespace

void score_fields(const FieldScoreRequest& request, const std::function<void(std::string_view)>& write) {
  if (request.follow && request.top > 0)
    throw UsageError(
        "--top cannot be combined with --follow, because it needs the end of the data; leave out one of them");
  with_model_of(request, [&]<class T>(const NetworkModel<T>& model) {
    FieldScoreTable table(request, write);
    if (request.follow) return score_stream(model, request, table);
    Examples examples = read_for(model, {request.data}, request.reporter, request.stated);
    give(model, request.given, examples);
    const ExampleSet set(examples, std::make_shared<const DataSpecification>(model.data()),
                         predicted_fields(model.layout()), parse_unknown_policy(request.unknown));
    Team team(thread_count(request.threads));
    table.add(examples, score_heads(model, set, team));
    table.finish();
  });
}

}  // namespace unfold
