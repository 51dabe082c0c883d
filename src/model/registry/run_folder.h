#pragma once
/// A run folder: model.safetensors (the best parameters), checkpoint.safetensors (the latest state), config.toml and
/// log.jsonl. While a process works in the folder, the file `lock` contains its process ID.

#include <memory>
#include <string>

#include "unfold/base/formats/config.h"
#include "unfold/model/registry/registry.h"

namespace unfold {

class RunFolder {
 public:
  explicit RunFolder(std::string path);

  const std::string& path() const { return path_; }
  std::string model() const { return path_ + "/model.safetensors"; }
  std::string checkpoint() const { return path_ + "/checkpoint.safetensors"; }
  std::string config() const { return path_ + "/config.toml"; }
  std::string log() const { return path_ + "/log.jsonl"; }

  bool holds_run() const;  ///< whether any of the four files exists
  bool has_config() const;
  bool has_checkpoint() const;
  /// Excludes other processes that call this function until this object and its copies are destroyed. Does nothing if
  /// the folder does not exist yet or this object already holds the lock. The lock of a process that was killed is
  /// released. Throws a RuntimeFailure that names the process holding the lock.
  void lock() const;
  /// Creates the folder with its parents, and locks it. Throws RuntimeFailure.
  void create() const;
  /// Removes the four files and those of run_files.h. Throws RuntimeFailure.
  void clear() const;
  void write_config(const Config& config) const;

 private:
  class Lock;
  std::string path_;
  mutable std::shared_ptr<const Lock> lock_;
};

/// Returns the first difference between two configurations: "batch is 32 there and 64 here"; empty if they are equal.
std::string first_difference(const Config& there, const Config& here);

/// Returns the model file of a run folder or of a model file, as given by the user. Throws ModelError for a folder
/// without a model.
std::string model_file(const std::string& model);
std::unique_ptr<SymbolModel> load_model(const std::string& model);

}  // namespace unfold
