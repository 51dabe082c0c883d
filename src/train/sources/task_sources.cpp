#include "unfold/train/sources/task_sources.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "train/prediction_metrics.h"

namespace unfold {
namespace {

template <class T>
class TaskJudge final : public Judge<T> {
 public:
  explicit TaskJudge(const Task& task) : task_(task) {}
  void start() override {
    sequences_ = wrong_ = values_ = 0;
    squares_ = 0;
  }
  void see(const Batch& batch, std::span<const Matrix<const T>> outputs) override {
    const Field& target = batch.field(kTaskTarget);
    for (Index c = 0; c < batch.structure.sequences(); ++c) {
      const Index* rows = batch.structure.order().rows.data() + batch.structure.item(c, 0);
      const Index length = batch.structure.size(c), judged = length - task_.scored_steps();
      bool right = true;
      for (Index t = 0; t < length; ++t) {
        if (!is_present(target, rows[t])) continue;
        const bool fits = is_right(target, outputs.front(), rows[t]);
        right = right && (fits || t < judged);
      }
      ++sequences_;
      wrong_ += !right;
    }
  }
  double error_rate() const override { return part_of(wrong_, sequences_); }
  Measures measures() const override {
    Measures result = {{"error_rate", error_rate()}};
    if (values_ > 0) result.emplace_back("mean_squared_error", squares_ / static_cast<double>(values_));
    return result;
  }

 private:
  bool is_right(const Field& target, Matrix<const T> output, Index row) {
    const T* o = output.row(row);
    if (const auto* symbols = std::get_if<SymbolRows>(&target))
      return std::max_element(o, o + output.cols) - o == symbols->symbols[at(row)];
    const Matrix<const T> wanted = std::get<ValueRows>(target).values<T>(row, 1);
    double error = 0;
    for (Index i = 0; i < output.cols; ++i) {
      const double difference = static_cast<double>(o[i]) - static_cast<double>(wanted(0, i));
      error += difference * difference;
    }
    squares_ += error;
    ++values_;
    return error <= Task::kTolerance;
  }

  const Task& task_;
  Index sequences_ = 0, wrong_ = 0, values_ = 0;
  double squares_ = 0;
};

}  // namespace

template <class T>
std::unique_ptr<Judge<T>> task_judge(const Task& task) {
  return std::make_unique<TaskJudge<T>>(task);
}

template <class T>
TrainingSources<T> task_sources(const Task& task, std::string_view name, const TaskOptions& options,
                                std::uint64_t seed) {
  TrainingSources<T> sources{.training = task_batches(task, options.batch, seed, options.curriculum)};
  sources.validation = [&task, options, seed] {
    return task_reader(task, TaskSplit::validation, seed, options.validation, options.validation_batch);
  };
  sources.validation();  // validates the options early
  sources.step_symbols = sources.training->streams() * task.length();
  sources.validation_symbols = task.at_most(TaskSplit::validation, options.validation) * task.length();
  sources.judge = task_judge<T>(task);
  sources.configuration = nlohmann::json{
      {"task", name}, {"batch", options.batch}, {"curriculum", options.curriculum}, {"validation", options.validation}};
  return sources;
}

template std::unique_ptr<Judge<float>> task_judge(const Task&);
template std::unique_ptr<Judge<double>> task_judge(const Task&);
template TrainingSources<float> task_sources(const Task&, std::string_view, const TaskOptions&, std::uint64_t);
template TrainingSources<double> task_sources(const Task&, std::string_view, const TaskOptions&, std::uint64_t);

}  // namespace unfold
