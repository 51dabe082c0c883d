#include "app/fields/defaults/log_scale.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

#include "app/fields/example_split.h"
#include "app/fields/field_reading.h"
#include "app/fields/predicted_list.h"
#include "app/settings/evaluation_split.h"
#include "base/options/shell_argument.h"
#include "base/printable.h"
#include "model/network/density_model.h"
#include "numerics/functions.h"
#include "train/ridge.h"
#include "unfold/base/error.h"
#include "unfold/data/text/split.h"

namespace unfold {
namespace {

using Values = std::vector<double>;

constexpr const char* kLogNormal = "log-normal";
constexpr Index kFewestNumbers = 20, kMostInputs = 200, kMostClassesOfColumn = 20;
constexpr double kSkewed = 1;
constexpr double kNatsOfUnitNormal = 1.4189385332046727;  // (1 + log 2 pi) / 2

double logarithm_of(double x) {
  vector_log(&x, &x, 1);
  return x;
}

double mean_of_values(const Values& values) {
  double sum = 0;
  for (const double x : values) sum += x;
  return sum / static_cast<double>(values.size());
}

/// Returns the mean of the given power of the differences from the mean.
double central_moment(const Values& values, int power) {
  const double mean = mean_of_values(values);
  double sum = 0;
  for (const double x : values) {
    double product = 1;
    for (int i = 0; i < power; ++i) product *= x - mean;
    sum += product;
  }
  return sum / static_cast<double>(values.size());
}

bool is_positive_and_skewed(const Values& values) {
  if (static_cast<Index>(values.size()) < kFewestNumbers ||
      std::ranges::any_of(values, [](double x) { return !(x > 0); }))
    return false;
  const double square = central_moment(values, 2);
  return square > 0 && central_moment(values, 3) > kSkewed * square * std::sqrt(square);
}

/// The entries of a predicted column that are present, and the inputs of a linear model for them.
class LinearData {
 public:
  LinearData(const Examples& examples, const ExampleColumn& target) : examples_(examples), target_(target) {
    for (Index e = 0; e < target.entries(); ++e) {
      if (!target.present(e)) continue;
      entries_.push_back(e);
      values_.push_back(target.numbers[at(e)]);
    }
    if (!target.once)
      for (Index e = 0; e < examples.count(); ++e) example_of_.resize(at(examples.end(e)), e);
  }

  const Values& values() const { return values_; }
  const std::vector<Values>& inputs() const { return inputs_; }

  /// Adds a column of numbers, or one input for each of the most frequent strings of a column. Strings at the positions
  /// of longer examples are left out.
  void read(const ExampleColumn& column) {
    if (column.is_text())
      add_classes(column);
    else if (column.width == 1)
      add(column.numbers.empty() ? Values() : each_entry([&](Index e) { return number(column, e); }));
  }

 private:
  Values each_entry(const auto& value) const {
    Values input;
    input.reserve(entries_.size());
    for (const Index e : entries_) input.push_back(value(e));
    return input;
  }

  /// Returns the entries of a column that belong to an entry of the target.
  Range range_of(const ExampleColumn& column, Index entry) const {
    if (column.once == target_.once) return {entry, entry + 1};
    if (column.once) return {example_of_[at(entry)], example_of_[at(entry)] + 1};
    return {examples_.begin(entry), examples_.end(entry)};
  }

  /// Returns the mean of the numbers that belong to an entry; NaN if all are missing.
  double number(const ExampleColumn& column, Index entry) const {
    const Range range = range_of(column, entry);
    double sum = 0, count = 0;
    for (Index e = range.begin; e < range.end; ++e) {
      if (!column.present(e)) continue;
      sum += column.numbers[at(e)];
      ++count;
    }
    return sum / count;
  }

  void add_classes(const ExampleColumn& column) {
    std::map<std::string_view, Index> counts;
    for (const Index entry : entries_) {
      const Range range = range_of(column, entry);
      if (range.end - range.begin != 1) return;
      if (column.present(range.begin)) ++counts[column.texts[range.begin]];
    }
    std::vector<std::pair<Index, std::string_view>> classes;
    classes.reserve(counts.size());
    for (const auto& [text, count] : counts) classes.emplace_back(-count, text);
    std::ranges::sort(classes);
    if (static_cast<Index>(classes.size()) > kMostClassesOfColumn) classes.resize(at(kMostClassesOfColumn));
    for (const std::pair<Index, std::string_view>& each : classes)
      add(each_entry([&](Index entry) {
        const Index e = range_of(column, entry).begin;
        return column.present(e) && column.texts[e] == each.second ? 1.0 : 0.0;
      }));
  }

  /// Adds an input unless it is constant; missing numbers get the mean of the others.
  void add(Values input) {
    Values known;
    known.reserve(input.size());
    for (const double x : input)
      if (!std::isnan(x)) known.push_back(x);
    if (known.empty() || static_cast<Index>(inputs_.size()) >= kMostInputs) return;
    const auto [least, most] = std::ranges::minmax(known);
    if (!(most > least) || !std::isfinite(most - least)) return;
    const double mean = mean_of_values(known);
    for (double& x : input) x = ((std::isnan(x) ? mean : x) - mean) / (most - least);
    inputs_.push_back(std::move(input));
  }

  const Examples& examples_;
  const ExampleColumn& target_;
  std::vector<Index> entries_, example_of_;  ///< the second: example of each position
  Values values_;
  std::vector<Values> inputs_;
};

/// Returns the held-out mean square of the errors of a linear model, or the variance if there are no inputs.
double held_out_square(const std::vector<Values>& inputs, const Values& values) {
  if (inputs.empty()) return central_moment(values, 2);
  const auto count = static_cast<Index>(inputs.size());
  RidgeSums sums(count, 1, 0);
  Values rows;
  const auto total = static_cast<Index>(values.size());
  for (Index begin = 0; begin < total; begin += RidgeSums::kRun) {
    const Index end = std::min(begin + RidgeSums::kRun, total);
    rows.clear();
    for (Index r = begin; r < end; ++r)
      for (const Values& input : inputs) rows.push_back(input[at(r)]);
    sums.add({rows.data(), end - begin, count, count}, {values.data() + begin, end - begin, 1, 1});
  }
  return sums.solve({.standardized = true}).squares.front();
}

double nats_of_normal(const std::vector<Values>& inputs, Values values) {
  const double deviation = std::sqrt(central_moment(values, 2));
  for (double& x : values) x /= deviation;
  return logarithm_of(held_out_square(inputs, values)) / 2 + logarithm_of(deviation) + kNatsOfUnitNormal;
}

bool are_positive(const ExampleColumn& column) {
  for (Index e = 0; e < column.entries(); ++e)
    if (column.present(e) && !(column.numbers[at(e)] > 0)) return false;
  return true;
}

bool reads_field(const FieldPlan& plan, const std::string& field) {
  return std::ranges::find(plan.choice.reads, field) != plan.choice.reads.end();
}

}  // namespace

std::optional<ScaleNats> compare_scales(const Examples& examples, const std::string& field,
                                        const std::vector<std::string>& reads) {
  const ExampleColumn& target = examples.column(field);
  if (target.is_text() || target.width != 1 || target.source) return std::nullopt;
  LinearData data(examples, target);
  if (!is_positive_and_skewed(data.values())) return std::nullopt;
  for (const std::string& name : reads)
    if (const ExampleColumn* column = examples.find(name); column != nullptr && !column->source) data.read(*column);
  Values logarithms = data.values();
  vector_log(logarithms.data(), logarithms.data(), static_cast<Index>(logarithms.size()));
  const double slope = mean_of_values(logarithms);  // minus the logarithm of d log y / d y
  if (!(central_moment(logarithms, 2) > 0)) return std::nullopt;
  try {
    const ScaleNats nats{.normal = nats_of_normal(data.inputs(), data.values()),
                         .log_normal = nats_of_normal(data.inputs(), std::move(logarithms)) + slope};
    if (!std::isfinite(nats.normal) || !std::isfinite(nats.log_normal)) return std::nullopt;
    return nats;
  } catch (const DataError&) {  // too few rows for the inputs
    return std::nullopt;
  }
}

void settle_log_scale(FieldPlan& plan, const Examples& examples, TrainSettings& s, Reporter& reporter) {
  if (plan.problem != Problem::classifying && plan.problem != Problem::tagging) return;
  if (names_density(s.model) || examples.are_trees() || examples.are_grids() || examples.count() == 0) return;
  const std::vector<std::string> known = column_names(examples);
  std::vector<Predicted> stated;
  bool changed = false;
  stated.reserve(plan.layout.heads.size());
  for (const std::string& text : split_predicted(*s.predict, known)) stated.push_back(parse_predicted(text, known));
  std::optional<Examples> training;
  for (HeadSpecification& head : plan.layout.heads) {
    const auto own = std::ranges::find(stated, head.field, &Predicted::field);
    if (head.loss != "normal" || own == stated.end() || !own->loss.empty() || reads_field(plan, head.field)) continue;
    if (const ExampleColumn& column = examples.column(head.field); column.width != 1 || !are_positive(column)) continue;
    const std::string split = s.valid ? "100/0/0" : s.split.value_or(kDefaultSplit);
    if (!training)
      training = ExampleSplit(examples, parse_split(split), plan.problem, plan.choice.predicts).training(examples);
    const std::optional<ScaleNats> nats = compare_scales(*training, head.field, plan.choice.reads);
    if (!nats || nats->log_normal >= nats->normal) continue;
    head.loss = own->loss = kLogNormal;
    changed = true;
    plan.choice.scaled.insert(head.field);
    const std::string name = escape_value(head.field);
    reporter.remark(fmt::format(
        "{0} is positive and skewed, and its logarithm is predicted (loss log-normal), because a linear model of the "
        "logarithm has {1:.4g} instead of {2:.4g} held-out nats; {0}.mean is the mean of {0} itself, not the "
        "median; --predict {3}=normal predicts {0} without a logarithm",
        name, nats->log_normal, nats->normal, shell_argument(name)));
  }
  if (changed) s.predict = text_of(stated);
}

}  // namespace unfold
