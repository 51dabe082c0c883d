#include "app/inspect/inspect.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <nlohmann/json.hpp>

#include "cli/train_options.h"
#include "cli/verb.h"
#include "data/readers/example_reader.h"

namespace unfold {
namespace {

/// The subcommand inspect.
class Inspect final : public Verb {
 public:
  Inspect()
      : Verb(CommandOptions(
            "inspect", "shows the format, the fields and the faults of files, and what train would do",
            {"unfold inspect sales.csv", "unfold inspect sales.csv --types zip=category --missing none,-",
             "unfold inspect sentences.conllu --json"})) {
    options_.add_inputs({.name = "data",
                         .target = &files_,
                         .placeholder = "FILE...",
                         .help = "data files (also .gz, .xz, .zst; - is standard input)",
                         .least = 1,
                         .most = std::string::npos,
                         .file = FileUse::data});
    std::vector<std::string> formats = {"text", kLogFormat, "fasta", "fastq"};
    for (std::string& name : readers().names()) formats.push_back(std::move(name));
    options_.add({.name = "format",
                  .target = &settings_.format,
                  .placeholder = "FORMAT",
                  .help = fmt::format("format of the files: {}", fmt::join(formats, ", ")),
                  .choices = formats,
                  .default_text = "detected from the file name and the first lines"});
    options_.add({.name = "group",
                  .target = &settings_.sequences,
                  .placeholder = "FIELD",
                  .help = "tables: rows with the same value in this column form a sequence",
                  .default_text = "inferred"});
    options_.add({.name = "sequences", .target = &settings_.sequences, .placeholder = "FIELD"});
    add_schema_options(options_, settings_);
    add_unpacking_limit();
    add_common();
  }

  ExitCode run(Console& console) override;

 private:
  std::vector<std::string> files_;
  TrainSettings settings_;
};

ExitCode Inspect::run(Console&) {
  Given given;
  for (const char* name : {"format", "order", "types", "missing", "decimal", "thousands", "header", "comment"})
    if (options_.given(name)) given.emplace(name);
  if (options_.given("group") || options_.given("sequences")) given.emplace("sequences");
  nlohmann::json all = nlohmann::json::array();
  std::string text;
  for (const std::string& file : files_) {
    Inspection found = inspect_file(file, settings_, given);
    all.push_back(std::move(*found.json));
    if (files_.size() > 1) text += fmt::format("{}file      {}\n", text.empty() ? "" : "\n", file);
    text += found.text;
  }
  if (json_)
    print_result((files_.size() == 1 ? all.front() : nlohmann::json{{"files", all}}).dump() + "\n");
  else
    print_result(text);
  return ExitCode::success;
}

}  // namespace

std::unique_ptr<Verb> make_inspect() { return std::make_unique<Inspect>(); }

}  // namespace unfold
