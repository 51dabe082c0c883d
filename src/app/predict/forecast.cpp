#include "app/predict/forecast.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <utility>

#include "app/fields/example_group.h"
#include "app/fields/field_entries.h"
#include "app/sample/hidden_markov.h"
#include "app/schema/table_fields.h"
#include "base/printable.h"
#include "data/examples/transformations/calendar_columns.h"
#include "data/schema/table_schema.h"
#include "loss/density/sample_numbers.h"
#include "model/forecast/time_index.h"
#include "model/network/fitting/hmm_fit.h"
#include "numerics/functions.h"
#include "unfold/data/examples/example_set.h"
#include "unfold/graph/engine/stepper.h"

namespace unfold {
namespace {

using Type = FieldSpecification::Type;

/// Sampled values of one field beyond the end of an example: one symbol, or `size` numbers, per position.
struct Invented {
  std::vector<Symbol> symbols;
  std::vector<float> values;
};

/// One statistic of the forecast of one position.
struct Forecast {
  std::string name, text;
  double number = 0;
  double deviation = 1;  ///< deviation of the field; determines the number of digits
};

double deviation_of(const FieldSpecification& field, Index i) {
  return field.deviation.empty() ? 1 : field.deviation[at(i)];
}

double quantile_of(std::vector<double>& sorted, double level) {
  const double place = level * static_cast<double>(sorted.size() - 1);
  const auto low = static_cast<std::size_t>(place);
  const std::size_t high = std::min(low + 1, sorted.size() - 1);
  return sorted[low] + (place - static_cast<double>(low)) * (sorted[high] - sorted[low]);
}

template <class T>
std::vector<T> log_probabilities(std::span<const T> logits) {
  std::vector<T> result(logits.size());
  log_softmax(logits.data(), result.data(), static_cast<Index>(logits.size()));
  return result;
}

std::optional<Moment> date_at(const Examples& examples, const ColumnSchema& column, Index position) {
  return parse_date(examples.column(column.name).texts[position],
                    column.date_format.value_or(DateFormat::year_month_day));
}

/// Returns the median number of seconds between adjacent positions of all examples; nothing if no two dates are known.
std::optional<double> median_gap(const Examples& examples, const ColumnSchema& column) {
  std::vector<double> gaps;
  gaps.reserve(at(examples.positions()));
  for (Index e = 0; e < examples.count(); ++e) {
    std::optional<Moment> before;
    for (Index p = examples.begin(e); p < examples.end(e); ++p) {
      const std::optional<Moment> date = date_at(examples, column, p);
      if (date && before) gaps.push_back(std::max(0.0, date->seconds() - before->seconds()));
      before = date;
    }
  }
  if (gaps.empty()) return {};
  const auto middle = gaps.begin() + static_cast<std::ptrdiff_t>(gaps.size() / 2);
  std::ranges::nth_element(gaps, middle);
  return *middle;
}

Moment later(Moment moment, double seconds) {
  constexpr Index kNanoseconds = 1'000'000'000, kDaySeconds = 86400;
  const Index nanoseconds = moment.nanosecond + static_cast<Index>(std::llround(seconds * 1e9));
  const Index second = moment.second + nanoseconds / kNanoseconds;
  moment.nanosecond = nanoseconds % kNanoseconds;
  moment.second = second % kDaySeconds;
  moment.days += second / kDaySeconds;
  return moment;
}

/// Parts of the dates after the end of an example, which the network reads. Dates with a regular step continue with it.
/// Other dates, such as those of events, are assumed to follow each other by the median gap of the data.
class FutureDates {
 public:
  explicit FutureDates(const Examples& examples) : examples_(examples) {
    if (examples.schema == nullptr) return;
    for (const ColumnSchema& column : examples.schema->columns)
      if (column.type == ColumnType::date && is_part_of_date(examples, fmt::format("{}.trend", column.name)))
        columns_.push_back({&column, {}, {}});
  }

  /// Returns the parts by field; row 0 is the last position of the example.
  std::map<std::string, ExampleColumn> after(Index example, Index ahead) {
    std::map<std::string, ExampleColumn> parts;
    const Index end = ahead + 1;
    for (Column& column : columns_) {
      const std::function<Moment(Index)> moment_of = moments(column, example);
      for (ExampleColumn& part : calendar_columns(
               column.schema->name, end, [&](Index k) { return std::optional(moment_of(k)); }, std::span(&end, 1)))
        parts.emplace(part.name, std::move(part));
    }
    return parts;
  }

  /// Returns one sentence for each column whose dates were assumed.
  std::vector<std::string> notes() const {
    std::vector<std::string> notes;
    for (const Column& column : columns_)
      if (column.assumed)
        notes.push_back(fmt::format(
            "{}: the dates in column {} have no regular step; each next date is assumed {:.6g} seconds after "
            "the last one, the median gap of the data",
            examples_.source, in_quotes(column.schema->name), *column.gap));
    return notes;
  }

 private:
  struct Column {
    const ColumnSchema* schema = nullptr;
    std::optional<double> gap;  ///< median, computed when it is first needed
    bool assumed = false;
  };

  std::function<Moment(Index)> moments(Column& column, Index example) const {
    std::vector<Moment> dates;
    bool known = false;  // whether the last date is known
    for (Index p = examples_.begin(example); p < examples_.end(example); ++p) {
      const std::optional<Moment> date = date_at(examples_, *column.schema, p);
      known = date.has_value();
      if (known) dates.push_back(*date);
    }
    const DateFormat format = column.schema->date_format.value_or(DateFormat::year_month_day);
    if (auto index = known ? forecasting::TimeIndex::after(dates, format) : std::nullopt)
      return [index = std::move(*index)](Index k) { return index.moment(k); };
    if (!column.gap) column.gap = median_gap(examples_, *column.schema);
    if (!column.gap || dates.empty())
      throw DataError(
          fmt::format("{}: the dates in column {} are missing or have no regular step, so those of the next positions "
                      "are not known; train with --read and leave the column out",
                      examples_.source, column.schema->name));
    column.assumed = true;
    return [last = dates.back(), gap = *column.gap](Index k) { return later(last, static_cast<double>(k) * gap); };
  }

  const Examples& examples_;
  std::vector<Column> columns_;
};

template <class T>
class PathForecaster {
 public:
  PathForecaster(const NetworkModel<T>& model, const Examples& examples, const ExampleSet& set,
                 const PredictRequest& request, Team& team)
      : model_(model),
        examples_(examples),
        set_(set),
        request_(request),
        stepper_(model.plan(), model.parameters(), team),
        future_(examples) {
    for (const NetworkInput& input : model.network().inputs) {
      const FieldRead read = parse_read(input.field);
      const FieldSpecification& field = model.data().field(read.field);
      const bool known = field.once || is_part_of_date(examples, read.field);
      if (!known) shortest_ = std::min(shortest_, read.back);
      reads_dates_ = reads_dates_ || (known && !field.once);
      reads_.push_back({read, &field, &set.column(read.field), input.signal});
    }
    for (const Read& read : reads_)
      if (!read.field->once && read.how.back < request.ahead && !is_part_of_date(examples, read.how.field))
        need_head(read.how.field);
  }

  /// Returns the statistics of an example, indexed by [position ahead][statistic].
  std::vector<std::vector<Forecast>> run(Index example) {
    example_ = example;
    if (reads_dates_) dates_ = future_.after(example, request_.ahead);
    stepper_.reset();
    for (Index t = 0; t < set_.length(example); ++t) step(t);
    std::vector<std::vector<Forecast>> result(at(request_.ahead));
    const Index known = only_draws() ? 0 : std::min(shortest_, request_.ahead);  // number of positions whose inputs are
                                                                                 // all known
    const State<T> end = stepper_.state();
    start_path();
    for (Index k = 0; k < known; ++k) {
      step(set_.length(example) + k);
      for (const Head<T>& head : model_.network().heads) exact(head, result[at(k)]);
    }
    if (known < request_.ahead) sample_paths(end, known, result);
    return result;
  }

  std::vector<std::string> notes() const { return future_.notes(); }

 private:
  struct Read {
    FieldRead how;
    const FieldSpecification* field;
    const FieldColumn* column;
    Signal signal;
  };

  /// Returns whether some head has no means and quantiles because the numbers of its vectors depend on each other.
  bool only_draws() const {
    return std::ranges::any_of(model_.network().heads, [](const Head<T>& head) {
      return head.loss->template as<VectorDensity<T>>() != nullptr;
    });
  }

  void need_head(const std::string& field) const {
    for (const Head<T>& head : model_.network().heads)
      if (head.field == field) return;
    throw UsageError(
        fmt::format("forecasting {} positions ahead requires future values of the field {}, which the model does not "
                    "predict; train with --ahead {}, or without that field",
                    request_.ahead, field, request_.ahead));
  }

  const FieldSpecification& field_of(const Head<T>& head) const { return model_.data().field(head.field); }

  void start_path() {
    for (const Head<T>& head : model_.network().heads) path_[head.field] = {};
  }

  /// Reads the inputs of a position, known or sampled, and runs one step of the network.
  void step(Index position) {
    for (const Read& read : reads_) {
      const Index from = read.field->once ? 0 : position - read.how.back;
      const bool symbols = read.field->type == Type::symbols;
      if (symbols)
        stepper_.symbols(read.signal)[0] = from < 0 ? kNoSymbol : symbol_at(read, from);
      else
        give_values(read, from, stepper_.input(read.signal));
    }
    stepper_.step();
  }

  Symbol symbol_at(const Read& read, Index position) const {
    if (read.field->once) return read.column->symbols[at(example_)];
    if (position < set_.length(example_)) return read.column->symbols[at(set_.begin(example_) + position)];
    return path_.at(read.how.field).symbols[at(position - set_.length(example_))];
  }

  void give_values(const Read& read, Index position, Matrix<T> to) const {
    const auto size = at(read.field->size);
    std::fill_n(to.row(0), size, T{0});
    if (position < 0) return;
    if (position >= set_.length(example_))
      if (const auto dates = dates_.find(read.how.field); dates != dates_.end())
        return give_date(*read.field, dates->second, position - set_.length(example_) + 1, to);
    const float* from = nullptr;
    if (read.field->once)
      from = read.column->values.data() + at(example_) * size;
    else if (position < set_.length(example_))
      from = read.column->values.data() + at(set_.begin(example_) + position) * size;
    else
      from = path_.at(read.how.field).values.data() + at(position - set_.length(example_)) * size;
    std::copy_n(from, size, to.row(0));
  }

  /// Writes the standardized part of a date.
  static void give_date(const FieldSpecification& field, const ExampleColumn& part, Index row, Matrix<T> to) {
    if (!part.present(row)) return;
    for (Index i = 0; i < field.size; ++i) {
      const double x = part.numbers[at(row * field.size + i)];
      to.row(0)[i] =
          static_cast<T>(static_cast<float>(field.mean.empty() ? x : (x - field.mean[at(i)]) / field.deviation[at(i)]));
    }
  }

  std::span<const T> signal(const Head<T>& head) const {
    const Matrix<const T> value = stepper_.value(head.signal);
    return {value.row(0), at(value.cols)};
  }

  static std::string name_of(const FieldSpecification& field, const char* what, Index i) {
    const bool vector = field.size > 1 && field.type == Type::values;
    return fmt::format("{}.{}{}", field.name, what, vector ? fmt::format(".{}", i + 1) : "");
  }

  /// Adds one statistic for each class.
  static void put_classes(const FieldSpecification& field, const std::vector<double>& probabilities,
                          std::vector<Forecast>& out) {
    for (Symbol x = 0; x < field.size; ++x)
      out.push_back({fmt::format("{}.{}", field.name, field.alphabet->text(x)), "", probabilities[at(x)]});
  }

  void exact(const Head<T>& head, std::vector<Forecast>& out) const {
    const FieldSpecification& field = field_of(head);
    const std::span<const T> o = signal(head);
    if (field.type == Type::symbols) {
      const std::vector<T> logs = log_probabilities(o);
      const auto best = std::ranges::max_element(logs);
      auto most = static_cast<double>(*best);
      vector_exp(&most, &most, 1);
      out.push_back(
          {name_of(field, "best", 0), std::string(field.alphabet->text(static_cast<Symbol>(best - logs.begin())))});
      out.push_back({name_of(field, "probability", 0), "", most});
      if (!request_.probabilities) return;
      std::vector<double> probabilities(logs.begin(), logs.end());
      vector_exp(probabilities.data(), probabilities.data(), field.size);
      put_classes(field, probabilities, out);
      return;
    }
    const auto& distribution = head.loss->template need<ValueDistribution<T>>("forecast");
    std::vector<T> mean(at(field.size)), low = mean, high = mean;
    distribution.mean(o, mean);
    distribution.quantile(o, 0.1, low);
    distribution.quantile(o, 0.9, high);
    for (Index i = 0; i < field.size; ++i) {
      const auto put = [&](const char* what, T z) {
        out.push_back(
            {name_of(field, what, i), "", restored(field, i, static_cast<double>(z)), deviation_of(field, i)});
      };
      put("mean", mean[at(i)]);
      put("q10", low[at(i)]);
      put("q90", high[at(i)]);
    }
  }

  /// Draws the value of a head and adds it to the path.
  void draw(const Head<T>& head, Random& random) {
    Invented& path = path_.at(head.field);
    const FieldSpecification& field = field_of(head);
    const std::span<const T> o = signal(head);
    if (field.type == Type::symbols) {
      head.loss->template need<Categorical<T>>("forecast");
      path.symbols.push_back(sample_symbol<T>(std::span<const T>(log_probabilities(o)), random));
      return;
    }
    values_.resize(at(field.size));
    draw_numbers<T>(*head.loss, {o, model_.parameters().flat()}, "forecast", random, values_);
    for (const T x : values_) path.values.push_back(static_cast<float>(x));
  }

  void sample_paths(const State<T>& end, Index known, std::vector<std::vector<Forecast>>& result) {
    std::vector<std::map<std::string, Invented>> paths;
    for (Index s = 0; s < request_.samples; ++s) {
      Random random(request_.seed, stream_of(fmt::format("forecast/{}/{}", example_, s)));
      stepper_.state() = end;
      start_path();
      for (Index k = 0; k < request_.ahead; ++k) {
        step(set_.length(example_) + k);
        for (const Head<T>& head : model_.network().heads) draw(head, random);
      }
      paths.push_back(path_);
    }
    for (Index k = known; k < request_.ahead; ++k)
      for (const Head<T>& head : model_.network().heads) sum_up(field_of(head), paths, k, result[at(k)]);
  }

  void sum_up(const FieldSpecification& field, const std::vector<std::map<std::string, Invented>>& paths, Index k,
              std::vector<Forecast>& out) const {
    const auto count = static_cast<double>(paths.size());
    if (field.type == Type::symbols) {
      std::vector<Index> counts(at(field.size));
      for (const auto& path : paths) ++counts[at(path.at(field.name).symbols[at(k)])];
      const auto best = std::max_element(counts.begin(), counts.end());
      out.push_back(
          {name_of(field, "best", 0), std::string(field.alphabet->text(static_cast<Symbol>(best - counts.begin())))});
      out.push_back({name_of(field, "probability", 0), "", static_cast<double>(*best) / count});
      std::vector<double> shares;
      shares.reserve(counts.size());
      for (const Index drawn : counts) shares.push_back(static_cast<double>(drawn) / count);
      if (request_.probabilities) put_classes(field, shares, out);
      return;
    }
    for (Index i = 0; i < field.size; ++i) {
      std::vector<double> drawn;
      drawn.reserve(paths.size());
      for (const auto& path : paths)
        drawn.push_back(restored(field, i, static_cast<double>(path.at(field.name).values[at(k * field.size + i)])));
      double sum = 0;
      for (const double x : drawn) sum += x;
      std::ranges::sort(drawn);
      const double deviation = deviation_of(field, i);
      out.push_back({name_of(field, "mean", i), "", sum / count, deviation});
      out.push_back({name_of(field, "q10", i), "", quantile_of(drawn, 0.1), deviation});
      out.push_back({name_of(field, "q90", i), "", quantile_of(drawn, 0.9), deviation});
    }
  }

  const NetworkModel<T>& model_;
  const Examples& examples_;
  const ExampleSet& set_;
  const PredictRequest& request_;
  Stepper<T> stepper_;
  bool reads_dates_ = false;
  FutureDates future_;
  std::map<std::string, ExampleColumn> dates_;  // dates after the end of the example; row 0 is its last position
  std::vector<Read> reads_;
  Index shortest_ = 1 << 30;
  Index example_ = 0;
  std::map<std::string, Invented> path_;
  std::vector<T> values_;
};

/// Forecasts of a hidden Markov model: exact means, and quantiles of sampled paths.
template <class T>
class StatesForecaster {
 public:
  StatesForecaster(const NetworkModel<T>& model, const ExampleSet& set, const PredictRequest& request)
      : model_(model), set_(set), request_(request) {}

  std::vector<std::vector<Forecast>> run(Index example) const {
    const std::vector<double> states = model_.last_states(set_, example);
    const std::vector<double> means = forecast(model_.hmm(), states, request_.ahead).mean;
    const std::vector<DrawnRun> paths = draw(model_.after(states), example);
    const FieldSpecification& field = model_.field();
    std::vector<std::vector<Forecast>> result(at(request_.ahead));
    for (Index k = 0; k < request_.ahead; ++k)
      for (Index i = 0; i < field.size; ++i) {
        std::vector<double> drawn;
        drawn.reserve(paths.size());
        for (const DrawnRun& path : paths) drawn.push_back(path.rows[at(k * field.size + i)]);
        std::ranges::sort(drawn);
        const auto put = [&](const char* what, double x) {
          result[at(k)].push_back({fmt::format("{}.{}", model_.names()[at(i)], what), "", x, deviation_of(field, i)});
        };
        put("mean", restored(field, i, means[at(k * field.size + i)]));
        put("q10", quantile_of(drawn, 0.1));
        put("q90", quantile_of(drawn, 0.9));
      }
    return result;
  }

 private:
  std::vector<DrawnRun> draw(const HiddenMarkovModel<T>& next, Index example) const {
    std::vector<DrawnRun> paths;
    for (Index s = 0; s < request_.samples; ++s)
      paths.push_back(next.draw(request_.ahead, request_.seed, example * request_.samples + s));
    return paths;
  }

  HiddenMarkovModel<T> model_;
  const ExampleSet& set_;
  const PredictRequest& request_;
};

using Write = std::function<void(std::string_view)>;

template <class Forecaster>
void write_forecasts(Forecaster& forecaster, const Examples& examples, TableFormat format, const Write& write) {
  const ExampleColumn* group = column_of_group(examples);
  bool headed = false;
  for (Index e = 0; e < examples.count(); ++e) {
    const auto rows = forecaster.run(e);
    if (format == TableFormat::jsonl) {
      nlohmann::ordered_json object = {{"example", e + 1}};
      if (group != nullptr) object[group->name] = entry_json(*group, e);
      for (const auto& row : rows)
        for (const Forecast& f : row)
          object[f.name].push_back(f.text.empty() ? nlohmann::ordered_json(f.number) : nlohmann::ordered_json(f.text));
      write(object.dump() + "\n");
      continue;
    }
    if (!std::exchange(headed, true)) {
      std::string head = "example" + (group != nullptr ? "\t" + escape_cell(group->name) : "") + "\tahead";
      for (const Forecast& f : rows.front()) head += "\t" + escape_cell(f.name);
      write(head + "\n");
    }
    for (std::size_t k = 0; k < rows.size(); ++k) {
      std::string line = std::to_string(e + 1);
      if (group != nullptr) line += "\t" + entry_cell(*group, e);
      line += fmt::format("\t{}", k + 1);
      for (const Forecast& f : rows[k])
        line += "\t" + (f.text.empty() ? predicted_number(f.number, f.deviation) : escape_cell(f.text));
      write(line + "\n");
    }
  }
}

}  // namespace

template <class T>
void forecast(const NetworkModel<T>& model, const Examples& examples, const PredictRequest& request,
              const std::function<void(std::string_view)>& write, Reporter& reporter) {
  if (model.spec().both_directions)
    throw UsageError(
        fmt::format("{} reads sequences in both directions, so it cannot predict beyond their end; use predict without "
                    "--ahead for the existing positions",
                    model.spec_text()));
  const ExampleSet set(examples, std::make_shared<const DataSpecification>(model.data()), {});
  Team team(1);
  if (is_hidden_markov(model.spec())) {
    StatesForecaster<T> forecaster(model, set, request);
    write_forecasts(forecaster, examples, request.format, write);
    return;
  }
  PathForecaster<T> forecaster(model, examples, set, request, team);
  write_forecasts(forecaster, examples, request.format, write);
  for (const std::string& note : forecaster.notes()) reporter.remark(note);
}

template void forecast(const NetworkModel<float>&, const Examples&, const PredictRequest&,
                       const std::function<void(std::string_view)>&, Reporter&);
template void forecast(const NetworkModel<double>&, const Examples&, const PredictRequest&,
                       const std::function<void(std::string_view)>&, Reporter&);

}  // namespace unfold
