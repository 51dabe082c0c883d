#pragma once
/// A run folder: model.safetensors (the best), checkpoint.safetensors (the last), config.toml, log.jsonl; and, while a
/// process works in it, the file `lock`, which tells the number of that process.

#include <memory>
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
  /// Keeps other processes that call this out, until this object and its copies are gone; nothing happens when the
  /// folder is not there yet, or when it is locked by this object. The lock of a killed process does not count. Throws
  /// RuntimeFailure naming the process that holds the lock.
  void lock() const;
  /// Makes the folder with its parents, and locks it. Throws RuntimeFailure.
  void create() const;
  /// Removes the four files. Throws RuntimeFailure.
  void clear() const;
  void write_config(const Config& config) const;

 private:
  class Lock;
  std::string path_;
  mutable std::shared_ptr<const Lock> lock_;
};

/// The first difference between two configurations: "batch is 32 there and 64 here"; empty if there is none.
std::string first_difference(const Config& there, const Config& here);

/// MODEL as users name it, a run folder or a model file, as the file. Throws ModelError for a folder without a model.
std::string model_file(const std::string& model);
std::unique_ptr<SymbolModel> load_model(const std::string& model);

}  // namespace unfold
