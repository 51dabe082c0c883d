#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>

#include "app/common/perplexity.h"
#include "app/compare/evaluation_data.h"
#include "app/evaluate/task_evaluation.h"
#include "app/explain/label_probabilities.h"
#include "app/report/activations.h"
#include "app/report/report_parts.h"
#include "unfold/data/tasks/task_batches.h"
#include "unfold/data/tasks/task_spec.h"

namespace unfold {
namespace {

constexpr Index kFollowedExamples = 16, kJudgedExamples = 500, kShownSteps = 2000, kWorstExamples = 24;
constexpr std::uint64_t kSeed = 1;

/// Inspects a model of a generated task on examples of its test part.
template <class T>
class TaskLook {
 public:
  TaskLook(const NetworkModel<T>& model, const ReportRequest& request)
      : model_(model),
        task_(make_task(task_of(model_), folder_of(request))),
        team_(thread_count(request.threads)),
        watched_(model_.spec(), model_.data(), model_.layout(), model_.parameters()),
        pass_(watched_, team_) {}

  std::vector<PageSection> sections() {
    std::vector<PageSection> found;
    const Index steps = std::max<Index>(1, task_->length());
    const Batch shown = batch_of(std::clamp<Index>(kShownSteps / steps, 1, kFollowedExamples));
    pass_.read(shown);
    const ShownPlaces places = places_of(shown);
    const Activity<T> activity(watched_, pass_, places);
    found.push_back(activity.neurons());
    found.push_back(activity.gates());
    found.push_back(lags());
    judge(found);
    return found;
  }

 private:
  static std::string folder_of(const ReportRequest& request) {
    const std::vector<std::string> data =
        request.data.empty() ? settings_of_run(request.runs.front()).data : request.data;
    return data.empty() ? std::string() : data.front();
  }

  Batch batch_of(Index count) const {
    Batch batch;
    task_reader(*task_, TaskSplit::test, kSeed, count, count)->next(batch);
    return batch;
  }

  /// One line per example: symbols as numbers, and the components of a vector separated by bars.
  ShownPlaces places_of(const Batch& batch) const {
    ShownPlaces places{.words = true};
    const Field& input = batch.field(kTaskInput);
    for (Index c = 0; c < batch.structure.sequences(); ++c) {
      for (Index t = 0; t < batch.structure.size(c); ++t) {
        const Index row = batch.structure.row(c, t);
        places.rows.push_back(row);
        if (const auto* symbols = std::get_if<SymbolRows>(&input)) {
          places.texts.push_back(fmt::format("{}", symbols->symbols[at(row)]));
          continue;
        }
        const Matrix<const T> values = std::get<ValueRows>(input).values<T>(row, 1);
        std::vector<std::string> numbers;
        for (Index i = 0; i < values.cols; ++i) numbers.push_back(fmt::format("{:.2g}", values.row(0)[i]));
        places.texts.push_back(fmt::format("{}", fmt::join(numbers, "/")));
      }
      places.texts.emplace_back("\n");
      places.rows.push_back(-1);
    }
    return places;
  }

  PageSection lags() {
    PageSection section{.id = "lags",
                        .title = "Influence of earlier inputs",
                        .note =
                            "The mean norm of the gradient of the final state of an example with respect to the input "
                            "a given number of steps earlier."};
    section.missing = "The model has no state, so there are no gradients.";
    if (watched_.hidden().empty() || watched_.readers().empty()) return section;
    const Signal hidden = watched_.hidden().back();
    const Batch batch = batch_of(kFollowedExamples);
    const Structure& structure = batch.structure;
    std::vector<std::vector<double>> sums(at(structure.sequences()));
    for (Index c = 0; c < structure.sequences(); ++c) sums[at(c)].assign(at(structure.size(c)), 0.0);
    for (const std::vector<T>& seed : state_seeds<T>(hidden.size(), kSeed)) {
      pass_.read(batch);
      for (Index c = 0; c < structure.sequences(); ++c)
        std::ranges::copy(seed, pass_.adjoint(hidden).row(structure.row(c, structure.size(c) - 1)));
      const std::vector<std::vector<double>> squares = pass_.squares();
      for (std::size_t c = 0; c < squares.size(); ++c)
        for (std::size_t t = 0; t < squares[c].size(); ++t) sums[c][t] += squares[c][t];
    }
    Curve curve{.label = "before", .points = {}};
    const Index shortest = structure.order().steps();  // examples of a task have equal lengths
    for (Index lag = 1; lag < shortest; ++lag) {
      double mean = 0;
      for (const std::vector<double>& sum : sums) mean += std::sqrt(sum[sum.size() - 1 - at(lag)]);
      mean /= static_cast<double>(sums.size());
      curve.points.push_back({static_cast<double>(lag), {mean, mean, mean}});
    }
    section.missing = "Its examples are one step long.";
    if (curve.points.empty()) return section;
    add_lags(section, "steps back", {{.curve = curve}},
             fmt::format("{} examples of the test part", structure.sequences()), hidden.size() > kStateSeeds);
    return section;
  }

  struct Judged {
    double nats;
    Index example, step;
    std::string wanted, found;
  };

  /// Adds the sections on calibration and confusion of classes and on the worst predictions.
  void judge(std::vector<PageSection>& found) {
    Calibration calibration;
    const bool classes = task_->shape().predicts_symbols;
    std::vector<std::string> names;
    for (Index x = 0; classes && x < task_->shape().outputs; ++x) names.push_back(fmt::format("{}", x));
    Confusion confusion(names);
    std::vector<Judged> all;
    const auto reader = task_reader(*task_, TaskSplit::test, kSeed, kJudgedExamples, kFollowedExamples);
    Index first = 0;
    for (Batch batch; reader->next(batch); first += batch.structure.sequences())
      see(batch, first, calibration, confusion, all);
    if (classes) {
      found.push_back(calibration.section());
      found.push_back(confusion.section());
    }
    found.push_back(worst(all));
  }

  void see(const Batch& batch, Index first, Calibration& calibration, Confusion& confusion, std::vector<Judged>& all) {
    pass_.read(batch);
    const Head<T>& head = watched_.network().heads.front();
    const Matrix<const T> output = pass_.value(head.signal);
    const Field& target = batch.field(head.field);
    std::vector<T> nats(at(output.rows));
    head.loss->negative_log_likelihood({.structure = batch.structure,
                                        .signal = output,
                                        .targets = targets_of<T>(target, 0, output.rows),
                                        .parameters = watched_.parameters().flat()},
                                       team_, nats.data());
    for (Index c = 0; c < batch.structure.sequences(); ++c)
      for (Index t = 0; t < batch.structure.size(c); ++t) {
        const Index row = batch.structure.row(c, t);
        if (!is_present(target, row)) continue;
        Judged judged{.nats = nats[at(row)], .example = first + c, .step = t, .wanted = {}, .found = {}};
        if (const auto* symbols = std::get_if<SymbolRows>(&target)) {
          const std::vector<double> p = label_probabilities<T>({output.row(row), at(output.cols)});
          const auto best = static_cast<Symbol>(std::ranges::max_element(p) - p.begin());
          const Symbol wanted = symbols->symbols[at(row)];
          calibration.see(p[at(best)], best == wanted);
          confusion.see(wanted, best);
          judged.wanted = fmt::format("{}", wanted);
          judged.found = fmt::format("{}", best);
        } else {
          judged.wanted = fmt::format("{:.4g}", std::get<ValueRows>(target).values<T>(row, 1).row(0)[0]);
          judged.found = fmt::format("{:.4g}", output.row(row)[0]);
        }
        all.push_back(std::move(judged));
      }
  }

  static PageSection worst(std::vector<Judged>& all) {
    PageSection section{
        .id = "worst", .title = "Worst predictions", .note = "The predictions with the highest surprisal."};
    const auto shown = std::min<std::ptrdiff_t>(kWorstExamples, std::ssize(all));
    std::partial_sort(all.begin(), all.begin() + shown, all.end(),
                      [](const Judged& a, const Judged& b) { return a.nats > b.nats; });
    std::vector<std::vector<std::string>> rows;
    for (std::ptrdiff_t k = 0; k < shown; ++k) {
      const Judged& j = all[at(k)];
      rows.push_back({fmt::format("{}", j.example + 1), fmt::format("{}", j.step + 1), j.wanted, j.found,
                      fmt::format("{:.2f}", bits(j.nats))});
    }
    section.missing = "The examples contain no predictions.";
    if (!rows.empty()) section.blocks.push_back(table_block({"example", "step", "wanted", "predicted", "bits"}, rows));
    return section;
  }

  const NetworkModel<T>& model_;
  std::unique_ptr<Task> task_;
  Team team_;
  Watched<T> watched_;
  Gradients<T> pass_;
};

}  // namespace

Looked inspect_task(const ReportRequest& request) {
  Looked looked;
  looked.no_levels = "the model was trained on a generated task.";
  try {
    looked.sections = with_task_model(request.runs.front(), [&]<class T>(const NetworkModel<T>& model) {
      return TaskLook<T>(model, request).sections();
    });
  } catch (const Error& error) {
    for (const auto& [id, title] :
         {std::pair{"neurons", "Neurons"}, std::pair{"gates", "Gates"},
          std::pair{"lags", "Influence of earlier inputs"}, std::pair{"worst", "Worst predictions"}})
      looked.sections.push_back(
          {.id = id, .title = title, .missing = fmt::format("No examples available: {}", error.what())});
  }
  looked.sections.push_back(radius_section(request.runs.front()));
  return looked;
}

}  // namespace unfold
