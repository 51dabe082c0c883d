#include "app/inspect/inspect.h"

#include <fmt/format.h>

#include <filesystem>
#include <nlohmann/json.hpp>
#include <system_error>

#include "app/settings/train_settings.h"
#include "base/options/shell_argument.h"
#include "cli/verb.h"
#include "model/registry/run_folder.h"
#include "unfold/base/error.h"

namespace unfold {
namespace {

/// The subcommand inspect.
class Inspect final : public Verb {
 public:
  Inspect()
      : Verb(CommandOptions(
            "inspect", "shows the format, fields and problems of files, and what train would do",
            {"unfold inspect sales.csv", "unfold inspect sales.csv --types zip=category --missing unknown,-",
             "unfold inspect tickets.csv --predict hours --rows independent",
             "unfold inspect sentences.conllu --json"})) {
    options_.add_inputs({.name = "data",
                         .target = &files_,
                         .placeholder = "FILE...",
                         .help = "data files (also .gz, .xz, .zst; - is standard input)",
                         .least = 1,
                         .most = std::string::npos,
                         .file = FileUse::data});
    options_.add(format_row(settings_));
    for (OptionRow& row : choice_rows(settings_)) options_.add(std::move(row));
    options_.add(row_meaning_row(settings_));
    for (OptionRow& row : table_rows(settings_)) options_.add(std::move(row));
    add_unpacking_limit();
    add_common();
  }

  ExitCode run(Console& console) override;

 private:
  std::vector<std::string> files_;
  TrainSettings settings_;
};

/// Throws UsageError for a trained model.
void refuse_model(const std::string& path) {
  std::error_code none;
  const bool is_run = std::filesystem::exists(RunFolder(path).model(), none);
  const bool is_model = std::filesystem::is_regular_file(path, none) && path.ends_with(".safetensors");
  if (is_run || is_model)
    throw UsageError(fmt::format("{} is a trained model; inspect describes data, and `unfold info {}` describes models",
                                 path, shell_argument(path)));
}

ExitCode Inspect::run(Console&) {
  Given given;
  for (const OptionRow& row : SettingTable::defaults().rows)
    if (options_.given(row.name)) given.emplace(row.name);
  nlohmann::json all = nlohmann::json::array();
  std::string text;
  for (const std::string& file : files_) {
    refuse_model(file);
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
