#include "unfold/training/task_windows.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <numeric>

#include "unfold/base/error.h"

namespace unfold {
namespace {

/// Makes windows of examples that are named by their numbers.
class Filler {
 public:
  Filler(const Task& task, TaskPart part, std::uint64_t seed) : task_(task), part_(part), seed_(seed) {}

  void fill(std::span<const Index> numbers, Window& window) { fill(task_, numbers, window); }

  /// The same with examples of `steps` steps.
  void fill(std::span<const Index> numbers, Index steps, Window& window) {
    if (steps == task_.length()) return fill(numbers, window);
    if (!shortened_ || shortened_->length() != steps) shortened_ = task_.shortened(steps);
    fill(*shortened_, numbers, window);
  }

 private:
  void fill(const Task& task, std::span<const Index> numbers, Window& window) {
    const auto chains = static_cast<Index>(numbers.size());
    if (window.structure.sequences() != chains || window.structure.positions() != chains * task.length())
      window.structure = Structure::chains(chains, task.length());
    const Index rows = window.structure.positions();
    const TaskShape shape = task_.shape();
    window.slots.resize(numbers.size());
    std::iota(window.slots.begin(), window.slots.end(), Index{0});
    window.fresh = window.slots;
    window.moves.clear();
    window.runs.assign(numbers.begin(), numbers.end());
    window.places.resize(numbers.size());
    window.slots_needed = chains;
    window.symbols = rows;
    window.predicted = 0;
    window.inputs.assign(shape.reads_symbols ? at(rows) : 0, kNoSymbol);
    window.targets.assign(shape.predicts_symbols ? at(rows) : 0, kNoSymbol);
    if (!shape.reads_symbols) window.input_values.resize(rows, shape.inputs);
    if (!shape.predicts_symbols) {
      window.target_values.resize(rows, shape.outputs);
      window.predicted_rows.assign(at(rows), 0);
    }
    for (Index c = 0; c < chains; ++c) {
      window.places[at(c)] = numbers[at(c)] * task_.length();
      task.example(part_, seed_, numbers[at(c)], example_);
      put(window, shape, c);
    }
  }

  void put(Window& window, const TaskShape& shape, Index chain) {
    const Index* rows = window.structure.order().rows.data() + window.structure.item(chain, 0);
    for (Index t = 0; t < example_.length; ++t) {
      const Index row = rows[t];
      if (shape.reads_symbols)
        window.inputs[at(row)] = example_.symbols[at(t)];
      else
        for (Index i = 0; i < shape.inputs; ++i)
          window.input_values.set(row, i, example_.values[at(t * shape.inputs + i)]);
      if (shape.predicts_symbols) {
        window.targets[at(row)] = example_.target_symbols[at(t)];
        window.predicted += example_.target_symbols[at(t)] != kNoSymbol;
      } else if (const float* target = &example_.target_values[at(t * shape.outputs)]; !std::isnan(*target)) {
        for (Index i = 0; i < shape.outputs; ++i) window.target_values.set(row, i, target[i]);
        window.predicted_rows[at(row)] = 1;
        ++window.predicted;
      }
    }
  }

  const Task& task_;
  TaskPart part_;
  std::uint64_t seed_;
  std::unique_ptr<Task> shortened_;
  Example example_;
};

class TaskWindows final : public WindowSource {
 public:
  TaskWindows(const Task& task, Index batch, std::uint64_t seed, Index curriculum)
      : task_(task),
        filler_(task, TaskPart::training, seed),
        count_(task.examples(TaskPart::training)),
        curriculum_(curriculum),
        seed_(seed) {
    if (batch < 1) throw UsageError(fmt::format("batch {}: at least 1 is needed", batch));
    if (curriculum < 0) throw UsageError(fmt::format("curriculum {}: 0 or more examples", curriculum));
    if (curriculum > 0) task.shortened(task.shortest());  // refuses tasks that have none now
    batch_ = count_ > 0 ? std::min(batch, count_) : batch;
    seek(0, 0);
  }

  const Window& window() const override { return window_; }
  void advance() override {
    if (count_ > 0 && position_ + 1 == windows())
      seek(epoch_ + 1, 0);
    else
      go_to(position_ + 1);
  }
  void seek(Index epoch, Index window) override {
    if (epoch < 0 || window < 0 || (count_ > 0 ? window >= windows() : epoch > 0))
      throw UsageError(fmt::format("the task has no window {} in epoch {}", window, epoch));
    epoch_ = epoch;
    order_.resize(at(count_));
    std::iota(order_.begin(), order_.end(), Index{0});
    Random random(seed_, stream_of("task/order") + static_cast<std::uint64_t>(epoch));
    for (std::size_t i = order_.size(); i > 1; --i) std::swap(order_[i - 1], order_[random.below(i)]);
    go_to(window);
  }
  Index epoch() const override { return epoch_; }
  Index position() const override { return position_; }
  double epochs_done() const override {
    return count_ > 0 ? static_cast<double>(epoch_) + static_cast<double>(position_) / static_cast<double>(windows())
                      : 0;
  }
  Index lanes() const override { return batch_; }
  bool shortened() const override { return steps(position_ * batch_) < task_.length(); }

 private:
  Index windows() const { return (count_ + batch_ - 1) / batch_; }
  void go_to(Index position) {
    position_ = position;
    const Index begin = position * batch_, end = count_ > 0 ? std::min(begin + batch_, count_) : begin + batch_;
    numbers_.resize(at(end - begin));
    for (Index i = begin; i < end; ++i) numbers_[at(i - begin)] = count_ > 0 ? order_[at(i)] : i;
    filler_.fill(numbers_, steps(begin), window_);
  }

  /// Of example n: within each `curriculum_` examples the length grows steadily to its double.
  Index steps(Index n) const {
    const Index longest = task_.length();
    if (curriculum_ == 0) return longest;
    Index base = task_.shortest();
    for (; n >= curriculum_ && base < longest; n -= curriculum_) base *= 2;
    return base < longest ? std::min(longest, base + base * n / curriculum_) : longest;
  }

  const Task& task_;
  Filler filler_;
  Index count_, curriculum_, batch_ = 1, epoch_ = 0, position_ = 0;
  std::uint64_t seed_;
  std::vector<Index> order_, numbers_;
  Window window_;
};

class TaskStream final : public WindowStream {
 public:
  TaskStream(const Task& task, TaskPart part, std::uint64_t seed, Index count, Index batch)
      : filler_(task, part, seed), count_(count), batch_(batch) {
    if (count < 1 || batch < 1) throw UsageError("a task is evaluated on at least 1 example, at least 1 at a time");
    if (task.examples(part) > 0) count_ = std::min(count_, task.examples(part));
  }
  bool next(Window& window) override {
    const Index end = std::min(begin_ + batch_, count_);
    if (begin_ == end) return false;
    numbers_.resize(at(end - begin_));
    std::iota(numbers_.begin(), numbers_.end(), begin_);
    filler_.fill(numbers_, window);
    begin_ = end;
    return true;
  }

 private:
  Filler filler_;
  Index count_, batch_, begin_ = 0;
  std::vector<Index> numbers_;
};

template <class T>
class TaskJudge final : public Judge<T> {
 public:
  explicit TaskJudge(const Task& task) : task_(task) {}
  void start() override {
    sequences_ = wrong_ = values_ = 0;
    squares_ = 0;
  }
  void see(const Window& window, Matrix<const T> output) override {
    for (Index c = 0; c < window.structure.sequences(); ++c) {
      const Index* rows = window.structure.order().rows.data() + window.structure.item(c, 0);
      const Index length = window.structure.size(c), judged = length - task_.judged_steps();
      bool right = true;
      for (Index t = 0; t < length; ++t) {
        if (!window.is_predicted(rows[t])) continue;
        const bool fits =
            window.target_values.empty() ? is_best(window, output, rows[t]) : is_near(window, output, rows[t]);
        right = right && (fits || t < judged);
      }
      ++sequences_;
      wrong_ += !right;
    }
  }
  double error_rate() const override {
    return sequences_ > 0 ? static_cast<double>(wrong_) / static_cast<double>(sequences_) : 0;
  }
  Measures measures() const override {
    Measures result = {{"error_rate", error_rate()}};
    if (values_ > 0) result.emplace_back("mean_squared_error", squares_ / static_cast<double>(values_));
    return result;
  }

 private:
  static bool is_best(const Window& window, Matrix<const T> output, Index row) {
    const T* o = output.row(row);
    return std::max_element(o, o + output.cols) - o == window.targets[at(row)];
  }
  bool is_near(const Window& window, Matrix<const T> output, Index row) {
    const Matrix<const T> target = window.target_values.rows<T>(row, 1);
    double error = 0;
    for (Index i = 0; i < output.cols; ++i) {
      const double difference = static_cast<double>(output(row, i)) - static_cast<double>(target(0, i));
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

std::unique_ptr<WindowSource> task_windows(const Task& task, Index batch, std::uint64_t seed, Index curriculum) {
  return std::make_unique<TaskWindows>(task, batch, seed, curriculum);
}

std::unique_ptr<WindowStream> task_stream(const Task& task, TaskPart part, std::uint64_t seed, Index count,
                                          Index batch) {
  return std::make_unique<TaskStream>(task, part, seed, count, batch);
}

template <class T>
std::unique_ptr<Judge<T>> task_judge(const Task& task) {
  return std::make_unique<TaskJudge<T>>(task);
}

template <class T>
TrainingSources<T> task_sources(const Task& task, std::string_view name, const TaskOptions& options,
                                std::uint64_t seed) {
  TrainingSources<T> sources{.training = task_windows(task, options.batch, seed, options.curriculum)};
  sources.validation = [&task, options, seed] {
    return task_stream(task, TaskPart::validation, seed, options.validation, options.validation_batch);
  };
  sources.validation();  // refuses options without sense now
  sources.step_symbols = sources.training->lanes() * task.length();
  sources.validation_symbols = options.validation * task.length();
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
