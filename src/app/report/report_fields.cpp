#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "app/common/perplexity.h"
#include "app/compare/evaluation_data.h"
#include "app/compare/evaluation_examples.h"
#include "app/explain/label_probabilities.h"
#include "app/fields/evaluation/field_metrics.h"
#include "app/fields/evaluation/transduction_metrics.h"
#include "app/fields/field_entries.h"
#include "app/fields/field_model.h"
#include "app/plots/time_ticks.h"
#include "app/report/report_parts.h"
#include "app/report/report_positions.h"
#include "app/sample/piano_roll.h"
#include "loss/distribution.h"
#include "model/network/density_model.h"
#include "model/network/order_agnostic.h"
#include "numerics/functions.h"

namespace unfold {
namespace {

using Type = FieldSpecification::Type;

constexpr std::size_t kWorstShown = 24;
constexpr Index kForecastShown = 400, kTreesShown = 4, kAttentionShown = 4;

std::string limited(std::string text) {
  constexpr std::size_t kMost = 240;
  if (text.size() <= kMost) return text;
  text.resize(kMost);
  while (!text.empty() && (text.back() & 0xC0) == 0x80) text.pop_back();
  return text + " ...";
}

/// Inspects one model for data with fields.
template <class T>
class FieldInspector {
 public:
  FieldInspector(const NetworkModel<T>& model, const ReportRequest& request)
      : model_(model), request_(request), team_(thread_count(request.threads)) {
    const EvaluationFiles judged = evaluation_files(request.runs.front(), request.data);
    data_ = judged.text();
    const ExampleSet set = judged_examples(model, model.layout(), judged, "skip", &dates_);
    Index positions = 0, count = 0;
    while (count < set.count() && positions < request.symbols) positions += set.length(count++);
    std::vector<Index> first;
    for (Index e = 0; e < count; ++e) first.push_back(e);
    set_.emplace(set.subset(first));
    if (model.data().found) set_->set_parents(found_parents(model, *set_, team_));
  }
  std::vector<PageSection> sections() {
    std::vector<PageSection> found;
    if (!is_density(model_.spec()) && !is_orderless(model_.spec())) predict();
    scores_ = score_heads(model_, *set_, team_);
    found.push_back(baselines());
    for (PageSection& section : position_sections(model_, *set_, said_of_positions(), data_, team_))
      found.push_back(std::move(section));
    found.push_back(labels_ ? calibration_.section()
                            : missing("calibration", "Calibration", "The model predicts no labels."));
    found.push_back(confusion_ ? confusion_->section()
                               : missing("confusion", "Confusion", "The model predicts no labels."));
    found.push_back(worst());
    found.push_back(forecasts());
    found.push_back(attention());
    found.push_back(trees());
    found.push_back(rolls());
    return found;
  }

 private:
  PageSection baselines() {
    FieldFigures figures = evaluate_fields(model_, *set_, team_);
    const auto known = [&](const std::string& name) {
      return stored_statistics(model_, name).value_or(FieldStatistics());
    };
    return baselines_section(compared_baselines(figures, known, *set_, stored_settings(model_).ahead.value_or(0)));
  }

  static PageSection missing(const char* id, const char* title, const char* why) {
    return {.id = id, .title = title, .missing = why};
  }

  const FieldSpecification& field(std::size_t head) const {
    return model_.data().field(model_.network().heads[head].field);
  }

  /// Predicts all positions in one pass with the first head of labels and the first head of numbers.
  void predict() {
    const auto& heads = model_.network().heads;
    for (std::size_t h = 0; h < heads.size(); ++h) {
      if (field(h).type == Type::symbols && field(h).alphabet && !labels_ && set_->has(field(h).name)) labels_ = h;
      if (heads[h].loss->template as<ValueDistribution<T>>() != nullptr && !numbers_ && set_->has(field(h).name))
        numbers_ = h;
    }
    if (labels_) {
      std::vector<std::string> names;
      names.reserve(at(field(*labels_).size));
      for (Symbol x = 0; x < field(*labels_).size; ++x) names.emplace_back(field(*labels_).alphabet->text(x));
      constexpr std::size_t kMostLabels = 4096;
      if (names.size() <= kMostLabels) confusion_.emplace(std::move(names));
      if (!field(*labels_).once) said_.guesses.resize(at(std::min(set_->positions(), kShownPositions)));
      best_.assign(at(set_->positions()), kNoSymbol);
      sure_.assign(at(set_->positions()), 0);
    }
    if (numbers_) bands_.assign(at(set_->positions()), {});
    for_each_prediction<T>(model_, *set_, team_, [&](const PredictedRow<T>& row) {
      if (labels_ == row.head) see_label(row);
      if (numbers_ == row.head) see_numbers(row);
    });
  }

  static std::vector<LabelGuess> first_guesses(const std::vector<double>& p) {
    constexpr Index kMost = 5;
    std::vector<LabelGuess> guesses;
    for (const Symbol x : most_probable<double>(p, kMost)) guesses.emplace_back(x, p[at(x)]);
    return guesses;
  }

  /// Returns the results of the head for labels, or otherwise for numbers, that predicts at every position; null if
  /// there is none.
  const PositionPredictions* said_of_positions() {
    for (const std::optional<std::size_t>& head : {labels_, numbers_}) {
      if (!head || field(*head).once) continue;
      said_.head = *head;
      said_.nats = scores_[*head].nats;
      if (head != labels_) said_.guesses.clear();
      return &said_;
    }
    return nullptr;
  }

  void see_label(const PredictedRow<T>& row) {
    const Index position = set_->begin(row.example) + row.position;
    const Symbol best = row.best != kNoSymbol
                            ? row.best
                            : static_cast<Symbol>(std::ranges::max_element(row.signal) - row.signal.begin());
    best_[at(position)] = best;
    const std::vector<double> p = label_probabilities<T>(row.signal);
    sure_[at(position)] = p[at(best)];
    if (position < static_cast<Index>(said_.guesses.size())) said_.guesses[at(position)] = first_guesses(p);
    const FieldColumn& column = set_->column(field(*labels_).name);
    const Symbol wanted = column.symbols[at(field(*labels_).once ? row.example : position)];
    if (wanted == kNoSymbol) return;
    calibration_.see(sure_[at(position)], wanted == best);
    if (confusion_) confusion_->see(wanted, best);
  }

  void see_numbers(const PredictedRow<T>& row) {
    const auto* distribution = model_.network().heads[*numbers_].loss->template as<ValueDistribution<T>>();
    const FieldSpecification& of = field(*numbers_);
    std::vector<T> z(at(of.size));
    CurvePoint& band = bands_[at(set_->begin(row.example) + row.position)];
    distribution->mean(row.signal, z);
    band.y.median = restored(of, 0, static_cast<double>(z.front()));
    distribution->quantile(row.signal, 0.1, z);
    band.y.lower = restored(of, 0, static_cast<double>(z.front()));
    distribution->quantile(row.signal, 0.9, z);
    band.y.upper = restored(of, 0, static_cast<double>(z.front()));
  }

  /// Returns the value of the first available symbolic field that the model reads, at a position of the set.
  std::string read_text(Index position) const {
    std::string text;
    for (const std::string& read : model_.layout().reads) {
      const std::string name = parse_read(read).field;
      if (!set_->has(name)) continue;
      const FieldSpecification& of = model_.data().field(name);
      const FieldColumn& column = set_->column(name);
      if (of.type != Type::symbols || !of.alphabet || of.once || of.source || of.spelt) continue;
      const Symbol x = column.symbols[at(position)];
      if (x != kNoSymbol) return std::string(of.alphabet->text(x));  // the first is enough
    }
    return text;
  }

  std::string example_text(Index example) const {
    std::string text;
    for (Index p = set_->begin(example); p < set_->begin(example) + set_->length(example); ++p)
      text += (text.empty() ? "" : " ") + read_text(p);
    return limited(text);
  }

  PageSection worst() {
    PageSection section{
        .id = "worst", .title = "Worst predictions", .note = "The predictions with the highest surprisal."};
    std::vector<std::tuple<double, std::size_t, Index>> costs;
    for (std::size_t h = 0; h < scores_.size(); ++h)
      for (std::size_t i = 0; i < scores_[h].nats.size(); ++i)
        if (!std::isnan(scores_[h].nats[i])) costs.emplace_back(scores_[h].nats[i], h, static_cast<Index>(i));
    const std::size_t shown = std::min(kWorstShown, costs.size());
    std::partial_sort(costs.begin(), costs.begin() + static_cast<std::ptrdiff_t>(shown), costs.end(), std::greater<>());
    std::vector<std::vector<std::string>> rows;
    for (std::size_t k = 0; k < shown; ++k) {
      const auto& [nats, h, entry] = costs[k];
      const bool once = scores_[h].once;
      const Index example = once ? entry : example_of(entry);
      const Index position = once ? set_->begin(entry) + set_->length(entry) - 1 : entry;
      std::string wanted, best;
      if (labels_ == h) {
        const Symbol x = set_->column(field(h).name).symbols[at(entry)];
        wanted = x == kNoSymbol ? "" : std::string(field(h).alphabet->text(x));
        if (best_[at(position)] != kNoSymbol) best = std::string(field(h).alphabet->text(best_[at(position)]));
      } else if (numbers_ == h && field(h).size == 1) {
        wanted = number_text(field(h), 0, set_->column(field(h).name).values[at(entry)], 4);
        best = short_decimal(bands_[at(position)].y.median, 4);
      }
      rows.push_back({fmt::format("{}", example + 1),
                      once ? "-" : fmt::format("{}", position - set_->begin(example) + 1), scores_[h].field,
                      once ? example_text(example) : read_text(position), wanted, best,
                      fmt::format("{:.2f}", bits(nats))});
    }
    section.missing = "The examples contain no predictions.";
    if (!rows.empty())
      section.blocks.push_back(
          table_block({"example", "position", "field", "read", "observed", "predicted", "bits"}, rows));
    return section;
  }

  Index example_of(Index position) const {
    Index first = 0, end = set_->count();  // the first example that ends after the position
    while (first < end) {
      const Index middle = first + (end - first) / 2;
      if (set_->begin(middle) + set_->length(middle) <= position)
        first = middle + 1;
      else
        end = middle;
    }
    return first;
  }

  PageSection forecasts() {
    PageSection section{
        .id = "forecasts",
        .title = "Forecasts",
        .note = "One step ahead: the mean, and the 80 % prediction interval (between the quantiles 0.1 and 0.9)."};
    section.missing = "The model predicts no numbers with a distribution.";
    if (!numbers_) return section;
    section.missing = "The model predicts notes; they are shown below.";
    if (holds_roll_model(request_.runs.front())) return section;
    const FieldSpecification& of = field(*numbers_);
    const FieldColumn& column = set_->column(of.name);
    Curve seen{.label = "observed", .points = {}}, forecast{.label = "forecast", .points = {}};
    Index inside = 0, counted = 0;
    std::vector<std::optional<Moment>> dates;  // of the points
    for (Index p = 0; p < set_->positions(); ++p) {
      const Index example = example_of(p);
      if (of.once) break;
      if (column.present[at(p)] == 0 || p - set_->begin(example) < set_->warmup(example)) continue;
      const double y = restored(of, 0, static_cast<double>(column.values[at(p * of.size)]));
      const Quartiles& band = bands_[at(p)].y;
      ++counted;
      inside += y >= band.lower && y <= band.upper ? 1 : 0;
      if (counted > kForecastShown) continue;
      seen.points.push_back({static_cast<double>(counted), {y, y, y}});
      forecast.points.push_back({static_cast<double>(counted), band});
      const Index place = p - set_->begin(example) - set_->warmup(example);
      if (place < static_cast<Index>(dates_.dates.size())) dates.push_back(dates_.dates[at(place)]);
    }
    if (counted == 0) return section;
    const std::string which = of.size > 1 ? fmt::format(", the first of its {} numbers", of.size) : std::string();
    section.blocks.push_back(chart_block(fmt::format("{}{}, of {}", of.name, which, data_), axis_of(dates), {of.name},
                                         {{.curve = forecast}, {.curve = seen, .style = "thin"}}));
    section.blocks.push_back(
        note_block(fmt::format("{:.1f} % of {} observed values are in the interval.",
                               100 * static_cast<double>(inside) / static_cast<double>(counted), counted)));
    return section;
  }

  /// Returns the axis of the points 1, 2, ...: with the dates of a series, or positions.
  Axis axis_of(const std::vector<std::optional<Moment>>& dates) const {
    Axis axis{.label = dates_.column};
    if (!dates.empty())
      axis.ticks = time_ticks(0, static_cast<Index>(dates.size()) - 1, [&](Index i) { return dates[at(i)]; });
    for (AxisTick& tick : axis.ticks) tick.at += 1;
    return axis.ticks.empty() ? Axis{.label = "position"} : axis;
  }

  PageSection attention() {
    PageSection section{.id = "attention",
                        .title = "Attention",
                        .note = "Attention of each step of the target to the source: darker cells have more weight."};
    section.missing = "The model has no attention.";
    if (!finds_targets(model_) || model_.spec().attention == Attend::none) return section;
    std::vector<Index> first;
    for (Index e = 0; e < std::min(kAttentionShown, set_->count()); ++e) first.push_back(e);
    const ExampleSet some = set_->subset(first);
    const FieldSpecification& of = model_.data().field(target_field(model_));
    std::vector<PageJson> blocks(first.size());
    for_each_transduction<T>(model_, some, {.beam = 1, .best = 1, .weights = true}, 0, 1, team_,
                             [&](Index e, const std::vector<Transduced>& found) {
                               blocks[at(e)] = attention_block(some, e, of, found.front());
                             });
    section.blocks = std::move(blocks);
    return section;
  }

  PageJson attention_block(const ExampleSet& some, Index example, const FieldSpecification& target,
                           const Transduced& found) const {
    Shades shades{.title = target_text(target, found.symbols), .row_label = "target", .column_label = "source"};
    for (const std::string& read : model_.layout().reads) {
      const FieldSpecification& of = model_.data().field(parse_read(read).field);
      if (!of.source || !of.alphabet) continue;
      const FieldColumn& column = some.column(of.name);
      const Range chain = column.chain(example);
      for (Index p = chain.begin; p < chain.end; ++p)
        shades.columns.emplace_back(column.symbols[at(p)] == kNoSymbol ? "?"
                                                                       : of.alphabet->text(column.symbols[at(p)]));
      break;
    }
    for (std::size_t s = 0; s < found.weights.size(); ++s) {
      shades.rows.emplace_back(s < found.symbols.size() ? target.alphabet->text(found.symbols[s]) : "end");
      shades.values.push_back(found.weights[s]);
    }
    return heat_map_block(shades);
  }

  PageSection trees() {
    PageSection section{.id = "trees",
                        .title = "Trees",
                        .note = "The predicted label of each node, followed by the correct one where they differ."};
    section.missing = "The data does not consist of trees.";
    if (!set_->has_trees() || !labels_) return section;
    const FieldSpecification& of = field(*labels_);
    const FieldColumn& wanted = set_->column(of.name);
    for (Index e = 0; e < std::min(kTreesShown, set_->count()); ++e) {
      const Tree tree = set_->tree(e);
      PageJson nodes = PageJson::array();
      for (Index v = 0; v < set_->length(e); ++v) {
        const Index position = set_->begin(e) + v;
        PageJson children = PageJson::array();
        for (const Index child : tree.children[at(v)])
          if (child >= 0) children.push_back(child);
        const Symbol best = best_[at(position)];
        const Symbol there = wanted.symbols[at(of.once ? e : position)];
        const bool shown = !of.once || v + 1 == set_->length(e);
        nodes.push_back({{"word", read_text(position)},
                         {"best", best == kNoSymbol ? "" : std::string(of.alphabet->text(best))},
                         {"wanted", there == kNoSymbol || !shown ? "" : std::string(of.alphabet->text(there))},
                         {"p", std::round(1000 * sure_[at(position)]) / 1000},
                         {"children", std::move(children)}});
      }
      section.blocks.push_back({{"kind", "tree"}, {"nodes", std::move(nodes)}});
    }
    return section;
  }

  PageSection rolls() {
    PageSection section{.id = "rolls",
                        .title = "Piano rolls",
                        .note = "A piece sampled from the model: time from left to right, pitch from bottom to top."};
    section.missing = "The model predicts no notes.";
    if (!holds_roll_model(request_.runs.front())) return section;
    const Roll roll = sample_roll({.model = request_.runs.front(), .length = 200});
    section.blocks.push_back({{"kind", "picture"}, {"svg", roll_picture(roll)}});
    return section;
  }

  const NetworkModel<T>& model_;
  const ReportRequest& request_;
  Team team_;
  std::string data_;
  SeriesDates dates_;
  std::optional<ExampleSet> set_;
  std::optional<std::size_t> labels_, numbers_;  // indices of the heads for labels and for numbers
  Calibration calibration_;
  std::optional<Confusion> confusion_;
  std::vector<Symbol> best_;  // best labels, by position
  std::vector<double> sure_;
  std::vector<CurvePoint> bands_;
  std::vector<HeadScores> scores_;
  PositionPredictions said_;
};

}  // namespace

Looked inspect_fields(const ReportRequest& request, Reporter&) {
  Looked looked;
  looked.no_levels = "they are available only for running text; train simple models and pass their folders as well.";
  try {
    looked.sections = with_network_model(request.runs.front(), [&]<class T>(const NetworkModel<T>& model) {
      return FieldInspector<T>(model, request).sections();
    });
  } catch (const Error& error) {
    if (error.code() == ExitCode::bad_data && !request.data.empty())
      throw;  // files named by the caller must be
              // readable
    for (const auto& [id, title] :
         {std::pair{"baselines", "Baselines"}, std::pair{"text", "Text colored by surprisal"},
          std::pair{"neurons", "Neurons"}, std::pair{"gates", "Gates"},
          std::pair{"lags", "Influence of earlier inputs"}, std::pair{"calibration", "Calibration"},
          std::pair{"confusion", "Confusion"}, std::pair{"worst", "Worst predictions"},
          std::pair{"forecasts", "Forecasts"}, std::pair{"attention", "Attention"}, std::pair{"trees", "Trees"},
          std::pair{"rolls", "Piano rolls"}})
      looked.sections.push_back(
          {.id = id, .title = title, .missing = fmt::format("No data available: {}", error.what())});
  }
  looked.sections.push_back(radius_section(request.runs.front()));
  return looked;
}

}  // namespace unfold
