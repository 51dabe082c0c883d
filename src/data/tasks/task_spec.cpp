#include "unfold/data/tasks/task_spec.h"

#include "data/tasks/series_tasks.h"
#include "data/tasks/task_entry.h"
#include "unfold/base/error.h"

namespace unfold {

template <class Visitor>
void describe(Visitor& v, LengthOptions& o) {
  v("length", o.length, "steps", range(2, 1e7));
}

template <class Visitor>
void describe(Visitor& v, TemporalOrderOptions& o) {
  v("length", o.length, "steps", range(10, 1e7));
  v("bits", o.bits, "number of relevant symbols", range(2, 3));
}

template <class Visitor>
void describe(Visitor& v, PermutationOptions& o) {
  v("length", o.length, "steps", range(2, 1e7));
  v("every-step", o.every_step, "predict the random symbols too");
}

template <class Visitor>
void describe(Visitor& v, MemorizationOptions& o) {
  v("length", o.length, "steps between pattern and answer", range(1, 1e7));
  v("bits", o.bits, "5 or 20", range(5, 20));
}

template <class Visitor>
void describe(Visitor& v, CopyOptions& o) {
  v("length", o.length, "steps between pattern and answer", range(1, 1e7));
  v("pattern", o.pattern, "number of symbols to repeat", range(1, 1e6));
  v("symbols", o.symbols, "number of different symbols", range(2, 1e6));
}

/// The options common to all time-series tasks.
template <class Visitor, class Options>
void describe_series(Visitor& v, Options& o, double longest = 1e7) {
  v("length", o.length, "steps", range(2, longest));
  v("skip", o.skip, "initial steps without a target", range(0, longest));
}

template <class Visitor>
void describe(Visitor& v, NarmaOptions& o) {
  // The sequence leaves its range about once in 43,000 steps and is then generated again, so much longer sequences
  // cannot be generated.
  describe_series(v, o, 1e5);
}

template <class Visitor>
void describe(Visitor& v, MackeyGlassOptions& o) {
  describe_series(v, o);
  v("tau", o.tau, "delay of the system, a multiple of 1/10", range(0.2, 1000));
}

template <class Visitor>
void describe(Visitor& v, DelayLineOptions& o) {
  describe_series(v, o);
  v("delays", o.delays, "maximum delay of the inputs to reproduce", range(1, 1e5));
}

template <class Visitor>
void describe(Visitor& v, MnistOptions& o) {
  v("permuted", o.permuted, "reads the pixels in one fixed random order");
  v("shift", o.shift, "maximum shift of training images in pixels", range(0, 27));
}

namespace {

// A bare number in a SPEC is the length.
constexpr std::string_view kMain = "length";

std::unique_ptr<Task> make_mnist(const AnyOptions& options, const std::string& folder) {
  if (folder.empty())
    throw UsageError("mnist requires the folder of its four IDX files: unfold train FOLDER --task mnist");
  return sequential_mnist(folder, options.as<MnistOptions>());
}

}  // namespace

TaskEntry adding_task() { return generated_task<adding>("adding", "the sum of two marked numbers"); }
TaskEntry multiplication_task() {
  return generated_task<multiplication>("multiplication", "the product of two marked numbers");
}

TaskEntry marked_xor_task() { return generated_task<marked_xor>("marked-xor", "the exclusive or of two marked bits"); }
TaskEntry temporal_order_task() {
  return generated_task<temporal_order>("temporal-order", "the order of two kinds of symbols");
}

TaskEntry permutation_task() {
  return generated_task<random_permutation>("permutation", "repeat the first symbol after random ones");
}

TaskEntry memorization_task() {
  return generated_task<memorization>("memorization", "5 or 20 bits repeated after blanks");
}

TaskEntry copy_task() { return generated_task<copying>("copy", "a pattern of symbols repeated after blanks"); }
TaskEntry narma_task() {
  return generated_task<narma>("narma", "a nonlinear moving average of order 10 driven by noise");
}

TaskEntry mackey_glass_task() {
  return generated_task<mackey_glass>("mackey-glass", "a chaotic series, one step ahead");
}

TaskEntry delay_line_task() {
  return generated_task<delay_line>("delay-line", "the noise input delayed by 1 to `delays` steps");
}

TaskEntry mnist_task() {
  return {
      {"mnist", "digits read pixel by pixel; requires the folder of the IDX files", MnistOptions()}, make_mnist, true};
}

#define UNFOLD_TASK(entry) TaskEntry entry();
#include "data/tasks/registry.def"
#undef UNFOLD_TASK

namespace {

const Registry<TaskEntry>& registry() {
  static const Registry<TaskEntry> list("task", {
#define UNFOLD_TASK(entry) entry(),
#include "data/tasks/registry.def"
#undef UNFOLD_TASK
                                                });
  return list;
}

struct ParsedTask {
  const TaskEntry& entry;
  AnyOptions options;
};

ParsedTask parse_task(std::string_view text) {
  const Spec spec = parse_spec(text);
  const TaskEntry& entry = registry().get(spec.name);
  ParsedTask task{entry, entry.options};
  parse_options(spec, task.options, kMain);
  return task;
}

}  // namespace

std::unique_ptr<Task> make_task(std::string_view spec, const std::string& folder) {
  const ParsedTask task = parse_task(spec);
  return task.entry.make(task.options, folder);
}

std::string canonical_task(std::string_view spec) {
  const ParsedTask task = parse_task(spec);
  if (!task.entry.files) task.entry.make(task.options, {});  // throws for invalid options
  return to_string(Spec{.name = task.entry.name,
                        .size = {},
                        .values = non_default_values(help_of(task.options), help_of(task.entry.options))});
}

bool task_needs_files(std::string_view spec) { return parse_task(spec).entry.files; }

bool is_task(std::string_view spec) { return registry().find(parse_spec(spec).name) != nullptr; }

std::vector<TaskHelp> tasks() { return registry().help(); }

}  // namespace unfold
