#pragma once
/// A run folder: model.safetensors (the best), checkpoint.safetensors (the last), config.toml, log.jsonl.

#include <string>

#include "unfold/base/config.h"
#include "unfold/models/registry.h"

namespace unfold {

class RunFolder {
 public:
  explicit RunFolder(std::string path);

  const std::string& path() const { return path_; }
  std::string model() const { return path_ + "/model.safetensors"; }
  std::string checkpoint() const { return path_ + "/checkpoint.safetensors"; }
  std::string config() const { return path_ + "/config.toml"; }
  std::string log() const { return path_ + "/log.jsonl"; }

  bool holds_run() const;  ///< any of the four files
  bool has_config() const;
  bool has_checkpoint() const;
  /// Makes the folder with its parents. Throws RuntimeFailure.
  void create() const;
  /// Removes the four files. Throws RuntimeFailure.
  void clear() const;
  void write_config(const Config& config) const;

 private:
  std::string path_;
};

/// The first difference between two configurations: "batch is 32 there and 64 here"; empty if there is none.
std::string first_difference(const Config& there, const Config& here);

/// MODEL as users name it, a run folder or a model file, as the file. Throws ModelError for a folder without a model.
std::string model_file(const std::string& model);
std::unique_ptr<SymbolModel> load_model(const std::string& model);

}  // namespace unfold
