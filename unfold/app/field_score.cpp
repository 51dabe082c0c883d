#include "unfold/app/field_score.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "unfold/app/field_figures.h"
#include "unfold/app/field_model.h"
#include "unfold/app/field_entries.h"
#include "unfold/app/figures.h"

namespace unfold {
namespace {

using ScoreJson = nlohmann::ordered_json;

/// A row of the table as it is printed.
struct FieldScoreRow {
  double bits = 0;
  std::string text;  // TSV
  ScoreJson json = {};
};

double or_zero(double nats) { return std::isnan(nats) ? 0 : nats; }
ScoreJson bits_or_null(double nats) { return std::isnan(nats) ? ScoreJson() : ScoreJson(bits(nats)); }

/// Makes rows of scores.
class FieldScoreTable {
 public:
  FieldScoreTable(const FieldScoreRequest& request, const std::function<void(std::string_view)>& write)
      : request_(request), write_(write) {}

  /// Further examples; their numbers go on.
  void add(const Examples& examples, const std::vector<HeadScores>& heads) {
    begin(heads);
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

  void finish() {
    if (request_.top > 0) {
      const auto last = rows_.begin() + std::min<Index>(request_.top, static_cast<Index>(rows_.size()));
      std::ranges::stable_sort(rows_, std::ranges::greater(), &FieldScoreRow::bits);
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
  void begin(const std::vector<HeadScores>& heads) {
    if (example_ > 0) return;
    once_ = std::ranges::all_of(heads, &HeadScores::once);
    if (request_.json) return;
    std::string head = request_.by_example ? "example\tpositions\tbits\tbits_per_position" : "example";
    if (!request_.by_example && !once_) head += "\tposition";
    for (const HeadScores& h : heads)
      if (!request_.by_example) head += fmt::format("\t{0}\t{0}.bits", table_cell(h.field));
    write_(head + "\n");
  }

  void add_example(const Examples& examples, const std::vector<HeadScores>& heads, Index e) {
    double nats = 0;
    for (const HeadScores& h : heads) {
      const Index first = h.once ? e : examples.begin(e), last = h.once ? e + 1 : examples.end(e);
      for (Index entry = first; entry < last; ++entry) nats += or_zero(h.nats[at(entry)]);
    }
    const Index positions = examples.length(e);
    const double all = bits(nats), mean = all / static_cast<double>(positions);
    put({.bits = all,
         .text = fmt::format("{}\t{}\t{:.6f}\t{:.6f}\n", example_, positions, all, mean),
         .json = {{"example", example_}, {"positions", positions}, {"bits", all}, {"bits_per_position", mean}}});
  }

  void add_entry(const Examples& examples, const std::vector<HeadScores>& heads, Index e, Index p) {
    const Index position = p - examples.begin(e) + 1;
    FieldScoreRow row{.text = std::to_string(example_), .json = {{"example", example_}}};
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
      row.bits += bits(or_zero(nats));
      row.text += '\t' + (shown ? entry_text(*column, entry) : std::string());
      row.text += '\t' + (std::isnan(nats) ? std::string() : fmt::format("{:.6f}", bits(nats)));
      row.json[h.field] = shown ? entry_json(*column, entry) : ScoreJson();
      row.json[h.field + ".bits"] = bits_or_null(nats);
    }
    row.text += '\n';
    put(std::move(row));
  }

  /// Prints a row, or keeps it where all must be known first.
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
  Index example_ = 0;
  std::vector<FieldScoreRow> rows_;
};

}  // namespace

void score_fields(const FieldScoreRequest& request, const std::function<void(std::string_view)>& write) {
  if (request.follow && request.top > 0)
    throw UsageError("--top waits for the end of the data, which --follow never sees; leave one of them out");
  with_network_model(request.model, [&]<class T>(const NetworkModel<T>& model) {
    const Examples examples = read_for(model, {request.data});
    const ExampleSet set(examples, std::make_shared<const DataSpecification>(model.data()),
                         predicted_fields(model.layout()), parse_unknown_policy(request.unknown));
    Team team(thread_count(request.threads));
    FieldScoreTable table(request, write);
    table.add(examples, score_heads(model, set, team));
    table.finish();
  });
}

}  // namespace unfold
