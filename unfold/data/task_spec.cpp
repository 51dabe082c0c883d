#include "unfold/data/task_spec.h"

#include <fmt/format.h>

#include "unfold/base/error.h"
#include "unfold/base/text_distance.h"

namespace unfold {

template <class Visitor>
void describe(Visitor& v, LengthOptions& o) {
  v("length", o.length, "steps", range(2, 1e7));
}
template <class Visitor>
void describe(Visitor& v, TemporalOrderOptions& o) {
  v("length", o.length, "steps", range(10, 1e7));
  v("bits", o.bits, "symbols with a meaning", range(2, 3));
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
  v("pattern", o.pattern, "symbols to be repeated", range(1, 1e6));
  v("symbols", o.symbols, "kinds of symbols", range(2, 1e6));
}
template <class Visitor>
void describe(Visitor& v, MnistOptions& o) {
  v("permuted", o.permuted, "in one fixed random order of the pixels");
}

namespace {

// One entry per task: name, help, options, how it is made. A bare number in a SPEC is the length.

template <class OptionsOfTask, std::unique_ptr<Task> (*make_from)(const OptionsOfTask&)>
struct GeneratedEntry {
  using Options = OptionsOfTask;
  static constexpr bool kFiles = false;
  static std::unique_ptr<Task> make(const Options& o, const std::string&) { return make_from(o); }
};
struct AddingEntry : GeneratedEntry<LengthOptions, adding> {
  static constexpr const char *kName = "adding", *kHelp = "the sum of two marked numbers";
};
struct MultiplicationEntry : GeneratedEntry<LengthOptions, multiplication> {
  static constexpr const char *kName = "multiplication", *kHelp = "the product of two marked numbers";
};
struct MarkedXorEntry : GeneratedEntry<LengthOptions, marked_xor> {
  static constexpr const char *kName = "marked-xor", *kHelp = "the exclusive or of two marked bits";
};
struct TemporalOrderEntry : GeneratedEntry<TemporalOrderOptions, temporal_order> {
  static constexpr const char *kName = "temporal-order", *kHelp = "which of two symbols stood where";
};
struct PermutationEntry : GeneratedEntry<PermutationOptions, random_permutation> {
  static constexpr const char *kName = "permutation", *kHelp = "the first symbol once again after random ones";
};
struct MemorizationEntry : GeneratedEntry<MemorizationOptions, memorization> {
  static constexpr const char *kName = "memorization", *kHelp = "5 or 20 bits repeated after blanks";
};
struct CopyEntry : GeneratedEntry<CopyOptions, copying> {
  static constexpr const char *kName = "copy", *kHelp = "a pattern of symbols repeated after blanks";
};
struct MnistEntry {
  static constexpr const char *kName = "mnist",
                              *kHelp = "digits read pixel by pixel; needs the folder of the IDX files";
  static constexpr bool kFiles = true;
  using Options = MnistOptions;
  static std::unique_ptr<Task> make(const Options& o, const std::string& folder) {
    if (folder.empty())
      throw UsageError("mnist needs the folder of its four IDX files: unfold train FOLDER --task mnist");
    return sequential_mnist(folder, o);
  }
};

template <class Visit>
void for_each_task(Visit&& visit) {
  visit(AddingEntry{});
  visit(MultiplicationEntry{});
  visit(MarkedXorEntry{});
  visit(TemporalOrderEntry{});
  visit(PermutationEntry{});
  visit(MemorizationEntry{});
  visit(CopyEntry{});
  visit(MnistEntry{});
}

/// Calls use(Entry{}, options) for the task that a SPEC names.
template <class Use>
void with_task(std::string_view text, Use&& use) {
  const Spec spec = parse_spec(text);
  bool found = false;
  std::vector<std::string> names;
  for_each_task([&]<class Entry>(Entry entry) {
    names.emplace_back(Entry::kName);
    if (spec.name != Entry::kName) return;
    found = true;
    typename Entry::Options options;
    OptionTable table;
    describe(table, options);
    if (!spec.size.empty()) table.set(spec.name, "length", spec.size);
    for (const auto& [key, value] : spec.values) table.set(spec.name, key, value);
    use(entry, options);
  });
  if (!found)
    throw UsageError(fmt::format("there is no task \"{}\"{} (tasks: {})", spec.name, did_you_mean(spec.name, names),
                                 fmt::join(names, ", ")));
}

}  // namespace

std::unique_ptr<Task> make_task(std::string_view spec, const std::string& folder) {
  std::unique_ptr<Task> task;
  with_task(spec, [&]<class Entry>(Entry, const auto& options) { task = Entry::make(options, folder); });
  return task;
}

std::string canonical_task(std::string_view spec) {
  Spec result;
  with_task(spec, [&]<class Entry>(Entry, const auto& options) {
    if constexpr (!Entry::kFiles) Entry::make(options, {});  // refuses what has no sense
    result.name = Entry::kName;
    const auto values = help_of(options), defaults = help_of(typename Entry::Options{});
    for (std::size_t i = 0; i < values.size(); ++i)
      if (values[i].value != defaults[i].value) result.values.emplace_back(values[i].name, values[i].value);
  });
  return to_string(result);
}

bool task_needs_files(std::string_view spec) {
  bool files = false;
  with_task(spec, [&]<class Entry>(Entry, const auto&) { files = Entry::kFiles; });
  return files;
}

bool is_task(std::string_view spec) {
  bool found = false;
  for_each_task([&]<class Entry>(Entry) { found = found || parse_spec(spec).name == Entry::kName; });
  return found;
}

std::vector<TaskHelp> tasks() {
  std::vector<TaskHelp> result;
  for_each_task([&]<class Entry>(Entry) {
    result.push_back({Entry::kName, Entry::kHelp, help_of(typename Entry::Options{})});
  });
  return result;
}

}  // namespace unfold
