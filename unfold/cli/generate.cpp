#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "unfold/base/file.h"
#include "unfold/base/text_distance.h"
#include "unfold/cli/figures.h"
#include "unfold/cli/task_runs.h"
#include "unfold/cli/verb.h"
#include "unfold/data/text_source_spec.h"

namespace unfold {
namespace {

void write_to(const std::string& path, std::string_view bytes) {
  if (path == "-")
    print_result(bytes);
  else
    write_file_atomically(path, bytes);
}

class Generate final : public Verb {
 public:
  Generate();
  ExitCode run(Console& console) override;

 private:
  UsageError unknown_task() const;
  ExitCode write_examples() const;

  std::vector<std::string> task_;
  std::string out_;
  std::optional<std::string> mask_;
  std::optional<Index> count_, size_;
  Index seed_ = 1;
};

Generate::Generate()
    : Verb(VerbOptions("generate", "writes synthetic sequences and says what a perfect model would score",
                       {"unfold generate alphabet --size 260000 -o alphabet.txt",
                        "unfold generate xor:50 --count 10000 --seed 2 -o xor.txt --mask xor.mask --json"})) {
  std::string known;
  const auto add = [&](const std::string& name, const std::string& help, const std::vector<OptionHelp>& options) {
    known += fmt::format("{}{} ({}", known.empty() ? "" : "; ", name, help);
    for (const OptionHelp& option : options) known += fmt::format("; {}={}", option.name, option.value);
    known += ")";
  };
  for (const SourceHelp& source : text_sources()) add(source.name, source.help, source.options);
  for (const TaskHelp& task : tasks()) add(task.name, task.help, task.options);
  options_.add_inputs({.name = "task", .target = &task_, .placeholder = "TASK", .help = known});
  options_.add(
      {.name = "out", .target = &out_, .placeholder = "FILE", .help = "needed; - is standard output", .letter = "o"});
  options_.add({.name = "count",
                .target = &count_,
                .placeholder = "N",
                .help = "lines, bars, blocks or examples",
                .least = 1,
                .most = 1e12,
                .default_text = "1000 without --size"});
  options_.add({.name = "size",
                .target = &size_,
                .placeholder = "SYMBOLS",
                .help = "instead: whole lines, bars or blocks until there are so many symbols",
                .least = 1,
                .most = 1e12});
  options_.add({.name = "mask",
                .target = &mask_,
                .placeholder = "FILE",
                .help = "also write which symbols are to be predicted (1) and which not (0), for train --mask"});
  options_.add({.name = "seed", .target = &seed_, .placeholder = "N", .help = "of all choices", .least = 0});
  add_common();
}

UsageError Generate::unknown_task() const {
  std::vector<std::string> names;
  for (const SourceHelp& source : text_sources()) names.push_back(source.name);
  for (const TaskHelp& task : tasks()) names.push_back(task.name);
  const std::string name = parse_spec(task_.front()).name;
  return UsageError(
      fmt::format("there is no task \"{}\"{} (tasks: {})", name, did_you_mean(name, names), fmt::join(names, ", ")));
}

/// A task of examples, as a table.
ExitCode Generate::write_examples() const {
  if (mask_ || size_) throw UsageError("--mask and --size are for texts; of this task say how many examples: --count");
  if (task_needs_files(task_.front()))
    throw UsageError(fmt::format("{} is read from files, not generated", task_.front()));
  const std::unique_ptr<Task> task = make_task(task_.front());
  const Index count = count_.value_or(1000);
  write_to(out_, task_table(*task, TaskPart::training, static_cast<std::uint64_t>(seed_), count));
  if (json_)
    print_result(one_line({{"task", task->name()},
                           {"symbols", count * task->length()},
                           {"examples", count},
                           {"entropy_bits_per_symbol", nullptr},
                           {"entropy_bits_per_predicted_symbol", task->bits_per_prediction()}}));
  else if (out_ != "-")
    print_result(fmt::format("{} examples of {} steps; a perfect model needs {:.4f} bits per prediction\n", count,
                             task->length(), task->bits_per_prediction()));
  return ExitCode::success;
}

ExitCode Generate::run(Console&) {
  if (out_.empty()) throw UsageError("generate needs -o FILE; see `unfold generate --help`");
  if (count_ && size_) throw UsageError("--count and --size exclude each other");
  if (json_ && (out_ == "-" || mask_ == "-")) throw UsageError("--json and - both want standard output; name a file");
  const std::unique_ptr<TextSource> source = make_text_source(task_.front());
  if (!source && !is_task(task_.front())) throw unknown_task();
  if (!source) return write_examples();
  const GeneratedText made = generate(*source, {.seed = static_cast<std::uint64_t>(seed_),
                                                .units = size_ ? 0 : count_.value_or(1000),
                                                .symbols = size_.value_or(0)});
  write_to(out_, made.text);
  if (mask_) write_to(*mask_, made.mask + '\n');
  const auto symbols = static_cast<Index>(made.text.size());
  const double own = made.source_bits / static_cast<double>(symbols);
  if (json_) {
    print_result(one_line({{"task", source->name()},
                           {"symbols", symbols},
                           {"predicted_symbols", made.predicted},
                           {std::string(source->unit()) + "s", made.units},
                           {"entropy_bits_per_symbol", entropy(*source)},
                           {"entropy_bits_per_predicted_symbol", entropy_of_predicted(*source)},
                           {"source_bits_per_symbol", own}}));
  } else if (out_ != "-" && mask_ != "-") {
    print_result(fmt::format("symbols          {} in {} {}s, {} to be predicted\n", symbols, made.units, source->unit(),
                             made.predicted));
    print_result(fmt::format("entropy          {:.5f} bits/symbol of the source, {:.5f} of this text under it\n",
                             entropy(*source), own));
    print_result(fmt::format("perfect score    {:.5f} bits per predicted symbol\n", entropy_of_predicted(*source)));
  }
  return ExitCode::success;
}

}  // namespace

std::unique_ptr<Verb> make_generate() { return std::make_unique<Generate>(); }

}  // namespace unfold
