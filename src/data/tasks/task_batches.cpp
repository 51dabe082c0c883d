#include "unfold/data/tasks/task_batches.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <optional>

#include "unfold/base/error.h"

namespace unfold {
namespace {

/// Assembles batches of examples given by their numbers.
class Filler {
 public:
  Filler(const Task& task, TaskSplit part, std::uint64_t seed) : task_(task), part_(part), seed_(seed) {}

  void fill(std::span<const Index> numbers, Batch& out) { fill(task_, numbers, out); }

  /// Like the function above, with examples of `steps` steps from training epoch `pass`.
  void fill(std::span<const Index> numbers, Index steps, Index pass, Batch& out) {
    pass_ = pass;
    if (steps == task_.length()) return fill(numbers, out);
    if (!shortened_ || shortened_->length() != steps) shortened_ = task_.shortened(steps);
    fill(*shortened_, numbers, out);
  }

 private:
  void fill(const Task& task, std::span<const Index> numbers, Batch& out) {
    const auto chains = static_cast<Index>(numbers.size());
    if (out.structure.sequences() != chains || out.structure.positions() != chains * task.length())
      out.structure = Structure::chains(chains, task.length());
    const Index rows = out.structure.positions();
    const TaskShape shape = task_.shape();
    out.reset_all_chains();
    out.passages.assign(numbers.begin(), numbers.end());
    out.places.resize(numbers.size());
    out.symbols = rows;
    out.predicted = 0;
    clear(out, kTaskInput, shape.reads_symbols, rows, shape.inputs);
    clear(out, kTaskTarget, shape.predicts_symbols, rows, shape.outputs);
    for (Index c = 0; c < chains; ++c) {
      out.places[at(c)] = numbers[at(c)] * task_.length();
      if (pass_)
        task.in_pass(*pass_, seed_, numbers[at(c)], example_);
      else
        task.example(part_, seed_, numbers[at(c)], example_);
      put(out, shape, c);
    }
  }

  static void clear(Batch& out, std::string_view field, bool symbols, Index rows, Index size) {
    if (symbols)
      out.symbol_field(field).clear(rows);
    else
      out.value_field(field).clear(rows, size);
  }

  void put(Batch& out, const TaskShape& shape, Index chain) {
    const std::span rows(out.structure.order().rows.data() + out.structure.item(chain, 0), at(example_.length));
    if (shape.reads_symbols)
      put_symbols(out.symbol_field(kTaskInput), rows, example_.symbols);
    else
      put_values(out.value_field(kTaskInput), rows, example_.values, shape.inputs);
    if (shape.predicts_symbols)
      out.predicted += put_symbols(out.symbol_field(kTaskTarget), rows, example_.target_symbols);
    else
      out.predicted += put_values(out.value_field(kTaskTarget), rows, example_.target_values, shape.outputs);
  }

  /// Returns how many symbols are not missing.
  static Index put_symbols(SymbolRows& field, std::span<const Index> rows, const std::vector<Symbol>& symbols) {
    Index present = 0;
    for (std::size_t t = 0; t < rows.size(); ++t) {
      field.symbols[at(rows[t])] = symbols[t];
      present += symbols[t] != kNoSymbol;
    }
    return present;
  }
  static Index put_values(ValueRows& field, std::span<const Index> rows, const std::vector<float>& values, Index size) {
    Index present = 0;
    for (std::size_t t = 0; t < rows.size(); ++t) {
      const float* from = values.data() + t * at(size);
      if (std::isnan(*from)) continue;
      for (Index i = 0; i < size; ++i) field.set(rows[t], i, from[i]);
      ++present;
    }
    return present;
  }

  const Task& task_;
  TaskSplit part_;
  std::uint64_t seed_;
  std::unique_ptr<Task> shortened_;
  Example example_;
  std::optional<Index> pass_;  // epoch of training
};

class TaskBatches final : public BatchSource {
 public:
  TaskBatches(const Task& task, Index batch, std::uint64_t seed, Index curriculum)
      : task_(task),
        filler_(task, TaskSplit::training, seed),
        count_(task.examples(TaskSplit::training)),
        curriculum_(curriculum),
        seed_(seed) {
    if (batch < 1) throw UsageError(fmt::format("batch {}: must be at least 1", batch));
    if (curriculum < 0) throw UsageError(fmt::format("curriculum {}: must be 0 or more examples", curriculum));
    if (curriculum > 0) task.shortened(task.shortest());  // throws for tasks that do not support a curriculum
    batch_ = count_ > 0 ? std::min(batch, count_) : batch;
    seek(0, 0);
  }

  const Batch& batch() const override { return current_; }
  void advance() override {
    if (count_ > 0 && position_ + 1 == batches())
      seek(epoch_ + 1, 0);
    else
      go_to(position_ + 1);
  }
  void seek(Index epoch, Index position) override {
    if (epoch < 0 || position < 0 || (count_ > 0 ? position >= batches() : epoch > 0))
      throw UsageError(fmt::format("the task has no batch {} in epoch {}", position, epoch));
    epoch_ = epoch;
    order_.resize(at(count_));
    std::iota(order_.begin(), order_.end(), Index{0});
    Random random(seed_, stream_of("task/order") + static_cast<std::uint64_t>(epoch));
    for (std::size_t i = order_.size(); i > 1; --i) std::swap(order_[i - 1], order_[random.below(i)]);
    go_to(position);
  }
  Index epoch() const override { return epoch_; }
  Index position() const override { return position_; }
  double epochs_done() const override {
    return count_ > 0 ? static_cast<double>(epoch_) + static_cast<double>(position_) / static_cast<double>(batches())
                      : 0;
  }
  Index streams() const override { return batch_; }
  bool shortened() const override { return steps(position_ * batch_) < task_.length(); }

 private:
  Index batches() const { return (count_ + batch_ - 1) / batch_; }
  void go_to(Index position) {
    position_ = position;
    const Index begin = position * batch_, end = count_ > 0 ? std::min(begin + batch_, count_) : begin + batch_;
    numbers_.resize(at(end - begin));
    for (Index i = begin; i < end; ++i) numbers_[at(i - begin)] = count_ > 0 ? order_[at(i)] : i;
    filler_.fill(numbers_, steps(begin), epoch_, current_);
  }

  /// Returns the length of example n: within each `curriculum_` examples the length grows linearly to twice its value.
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
  Batch current_;
};

class TaskReader final : public BatchReader {
 public:
  TaskReader(const Task& task, TaskSplit part, std::uint64_t seed, Index count, Index batch)
      : filler_(task, part, seed), count_(task.at_most(part, count)), batch_(batch) {
    if (count < 1 || batch < 1)
      throw UsageError(
          fmt::format("evaluation of a task: {} examples in batches of {}; both must be at least 1", count, batch));
  }
  bool next(Batch& out) override {
    const Index end = std::min(begin_ + batch_, count_);
    if (begin_ == end) return false;
    numbers_.resize(at(end - begin_));
    std::iota(numbers_.begin(), numbers_.end(), begin_);
    filler_.fill(numbers_, out);
    begin_ = end;
    return true;
  }

 private:
  Filler filler_;
  Index count_, batch_, begin_ = 0;
  std::vector<Index> numbers_;
};

}  // namespace

std::unique_ptr<BatchSource> task_batches(const Task& task, Index batch, std::uint64_t seed, Index curriculum) {
  return std::make_unique<TaskBatches>(task, batch, seed, curriculum);
}

std::unique_ptr<BatchReader> task_reader(const Task& task, TaskSplit part, std::uint64_t seed, Index count,
                                         Index batch) {
  return std::make_unique<TaskReader>(task, part, seed, count, batch);
}

}  // namespace unfold
