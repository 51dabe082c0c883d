#include "app/sample/generate.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "cli/terminal/metrics_text.h"
#include "cli/verb.h"
#include "data/tasks/grid_tasks.h"
#include "data/tasks/pair_tasks.h"
#include "data/tasks/text_source_spec.h"
#include "data/tasks/tree_tasks.h"
#include "unfold/base/formats/file.h"
#include "unfold/data/tasks/task_spec.h"

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
  std::vector<std::string> task_;
  std::string out_;
  std::optional<std::string> mask_;
  std::optional<Index> count_, size_;
  Index seed_ = 1;
};

Generate::Generate()
    : Verb(CommandOptions("generate", "writes synthetic sequences and the score of a perfect model",
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
  for (const EntryHelp& task : pair_tasks()) add(task.name, task.help, task.options);
  for (const EntryHelp& task : tree_tasks()) add(task.name, task.help, task.options);
  for (const EntryHelp& task : grid_tasks()) add(task.name, task.help, task.options);
  options_.add_inputs({.name = "task", .target = &task_, .placeholder = "TASK", .help = known});
  options_.add({.name = "out",
                .target = &out_,
                .placeholder = "FILE",
                .help = "output file (required); - is standard output",
                .letter = "o",
                .file = FileUse::printed});
  options_.add({.name = "count",
                .target = &count_,
                .placeholder = "N",
                .help = "lines, bars, blocks, examples, pairs, trees or grids",
                .least = 1,
                .most = 1e12,
                .default_text = "1000 without --size"});
  options_.add({.name = "size",
                .target = &size_,
                .placeholder = "SYMBOLS",
                .help = "instead of --count: whole lines, bars or blocks until this number of symbols is reached",
                .least = 1,
                .most = 1e12});
  options_.add({.name = "mask",
                .target = &mask_,
                .placeholder = "FILE",
                .help = "also write a mask for train --mask: 1 for symbols to be predicted, 0 for the others",
                .file = FileUse::printed});
  options_.add({.name = "seed", .target = &seed_, .placeholder = "N", .help = "random seed", .least = 0});
  add_common();
}

std::string text_of(const GenerateOutcome& made) {
  if (made.is_labeled())
    return fmt::format("{} {}s of {} {}, {} with a label; a perfect model makes no errors\n", made.units, made.unit,
                       made.symbols, made.unit == "tree" ? "nodes" : "positions", made.predicted);
  if (made.is_pairs())
    return fmt::format("{} pairs, sources of {} symbols and targets of {}; the score of a perfect model is unknown\n",
                       made.units, made.symbols, made.predicted);
  if (!made.is_text())
    return fmt::format("{} examples of {} steps; a perfect model needs {:.4f} bits per prediction\n", made.units,
                       made.steps, made.entropy_of_predicted);
  return fmt::format(
      "symbols          {} in {} {}s, {} to be predicted\n"
      "entropy          {:.5f} bits/symbol of the source; the source needs {:.5f} for this text\n"
      "perfect score    {:.5f} bits per predicted symbol\n",
      made.symbols, made.units, made.unit, made.predicted, made.entropy, made.source_bits_per_symbol,
      made.entropy_of_predicted);
}

ExitCode Generate::run(Console&) {
  if (out_.empty()) throw UsageError("generate needs -o FILE; see `unfold generate --help`");
  if (count_ && size_) throw UsageError("--count and --size cannot be combined; leave one of them out");
  if (json_ && (out_ == "-" || mask_ == "-")) throw UsageError("--json and - both use standard output; name a file");
  const std::string& task = task_.front();
  if (mask_ && (is_task(task) || is_pair_task(task) || is_tree_task(task) || is_grid_task(task)))
    throw UsageError("--mask and --size apply only to text; for this task, use --count");
  const GenerateOutcome made =
      generate({.task = task, .count = count_, .size = size_, .seed = static_cast<std::uint64_t>(seed_)});
  write_to(out_, made.text);
  if (mask_) write_to(*mask_, made.mask + '\n');
  if (json_)
    print_result(one_line(to_json(made)));
  else if (out_ != "-" && mask_ != "-")
    print_result(text_of(made));
  return ExitCode::success;
}

}  // namespace

std::unique_ptr<Verb> make_generate() { return std::make_unique<Generate>(); }

}  // namespace unfold
