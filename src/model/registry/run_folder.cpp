#include "model/registry/run_folder.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <system_error>

#include "model/registry/run_files.h"
#include "unfold/base/error.h"
#include "unfold/base/formats/file.h"
#include "unfold/base/signals.h"

namespace unfold {
namespace {

namespace fs = std::filesystem;

bool exists(const std::string& path) {
  std::error_code ignored;
  return fs::exists(path, ignored);
}

}  // namespace

/// An advisory lock (flock) on a file, released when the process ends. The destructor removes the file.
class RunFolder::Lock {
 public:
  explicit Lock(const std::string& folder) : folder_(folder), path_(folder + "/lock") {
    while (!try_to_take()) {
    }
    announced_ = RegisteredFile::temporary(path_);
    const std::string owner = fmt::format("process {}\n", ::getpid());
    if (::ftruncate(descriptor_, 0) != 0 || ::write(descriptor_, owner.data(), owner.size()) < 0) fail(errno);
  }
  Lock(const Lock&) = delete;
  Lock& operator=(const Lock&) = delete;
  ~Lock() {
    ::unlink(path_.c_str());
    ::close(descriptor_);
  }

 private:
  /// Returns false if the previous owner of the lock removed the file in the meantime.
  bool try_to_take() {
    descriptor_ = ::open(path_.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0666);
    if (descriptor_ < 0) fail(errno);
    // Some network file systems do not support locks; the folder is then not protected.
    if (::flock(descriptor_, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK) refuse();
    struct stat status {};
    if (::fstat(descriptor_, &status) == 0 && status.st_nlink > 0) return true;
    ::close(descriptor_);
    return false;
  }
  [[noreturn]] void refuse() const {
    char owner[64] = {};
    const ssize_t size = ::pread(descriptor_, owner, sizeof owner - 1, 0);
    ::close(descriptor_);
    const std::string_view line(owner, size > 0 ? static_cast<std::size_t>(size) - 1 : 0);
    throw RuntimeFailure(fmt::format("{} is in use by {}; wait until it has ended, stop it, or choose another --out",
                                     folder_, line.starts_with("process ") ? line : "another process"));
  }
  [[noreturn]] void fail(int error) const {
    throw RuntimeFailure(fmt::format("cannot lock the run folder {}: {}; choose another --out", folder_,
                                     std::generic_category().message(error)));
  }

  const std::string folder_, path_;
  int descriptor_ = -1;
  RegisteredFile announced_;
};

void RunFolder::lock() const {
  std::error_code ignored;
  if (!lock_ && fs::is_directory(path_, ignored)) lock_ = std::make_shared<const Lock>(path_);
}

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
        fmt::format("cannot create the run folder {}: {}; choose another --out", path_, error.message()));
  lock();
}

void RunFolder::clear() const {
  for (const std::string& file :
       {checkpoint(), model(), log(), config(), path_ + "/" + kLogCountsFile, path_ + "/" + kSelectionFile}) {
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
  throw ModelError(
      fmt::format("{} contains no model.safetensors: {}", model,
                  run.has_checkpoint() || run.has_config()
                      ? "its training has not reached the first validation yet; continue it with --resume"
                      : "it is not a run folder; specify the --out folder of a training run, or a model file"));
}

std::unique_ptr<SymbolModel> load_model(const std::string& model) { return load_symbol_model(model_file(model)); }

}  // namespace unfold
