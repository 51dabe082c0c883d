#include "unfold/app/run_folder.h"

#include <fmt/format.h>

#include <filesystem>

#include "unfold/base/error.h"
#include "unfold/base/file.h"

namespace unfold {
namespace {

namespace fs = std::filesystem;

bool exists(const std::string& path) {
  std::error_code ignored;
  return fs::exists(path, ignored);
}

}  // namespace

RunFolder::RunFolder(std::string path) : path_(std::move(path)) {
  while (path_.size() > 1 && path_.back() == '/') path_.pop_back();
}

bool RunFolder::holds_run() const {
  return exists(model()) || exists(checkpoint()) || exists(config()) || exists(log());
}

bool RunFolder::has_config() const { return exists(config()); }
bool RunFolder::has_checkpoint() const { return exists(checkpoint()); }

void RunFolder::create() const {
  std::error_code error;
  fs::create_directories(path_, error);
  if (!error && !fs::is_directory(path_, error)) error = std::make_error_code(std::errc::not_a_directory);
  if (error)
    throw RuntimeFailure(
        fmt::format("cannot make the run folder {}: {}; choose another --out", path_, error.message()));
}

void RunFolder::clear() const {
  for (const std::string& file : {checkpoint(), model(), log(), config()}) {
    std::error_code error;
    fs::remove(file, error);
    if (error) throw RuntimeFailure(fmt::format("cannot remove {}: {}", file, error.message()));
  }
}

void RunFolder::write_config(const Config& values) const {
  write_file_atomically(config(), "# The configuration of this run, in full; `unfold train --config` reads it.\n" +
                                      unfold::write_config(values));
}

std::string first_difference(const Config& there, const Config& here) {
  const auto text = [](const ConfigEntry* entry) { return entry == nullptr ? "not set" : to_string(entry->value); };
  for (const Config* side : {&here, &there}) {
    for (const ConfigEntry& entry : side->entries()) {
      const ConfigEntry *a = there.find(entry.key), *b = here.find(entry.key);
      if (a == nullptr || b == nullptr || a->value != b->value)
        return fmt::format("{} is {} there and {} here", entry.key, text(a), text(b));
    }
  }
  return {};
}

std::string model_file(const std::string& model) {
  std::error_code ignored;
  if (!fs::is_directory(model, ignored)) return model;
  const RunFolder run(model);
  if (exists(run.model())) return run.model();
  throw ModelError(fmt::format("{} holds no model.safetensors: {}", model,
                               run.has_checkpoint() || run.has_config()
                                   ? "its training has not come to a first validation yet; continue it with --resume"
                                   : "it is no run folder; name the --out of a training run, or a model file"));
}

std::unique_ptr<SymbolModel> load_model(const std::string& model) { return load_symbol_model(model_file(model)); }

}  // namespace unfold
