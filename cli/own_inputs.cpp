#include "cli/own_inputs.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <filesystem>
#include <map>
#include <system_error>
#include <vector>

#include "base/links.h"
#include "model/registry/run_folder.h"
#include "unfold/base/error.h"

namespace unfold {
namespace {

namespace fs = std::filesystem;

bool is_folder(const std::string& path) {
  std::error_code ignored;
  return fs::is_directory(path, ignored);
}

/// Compares device and inode numbers; links therefore count as the same file. A file that does not exist is equal to no
/// other file.
bool is_same(const fs::path& a, const fs::path& b) {
  std::error_code none;
  return fs::equivalent(a, b, none);
}

/// Returns the files of an input: all files of a run folder, or the file that standard input comes from.
std::vector<std::string> files_of(const std::string& input) {
  if (input == "-") return {"/dev/stdin"};
  if (!is_folder(input)) return {input};
  const RunFolder run(input);
  return {run.model(), run.checkpoint(), run.config(), run.log()};
}

/// Checks an output folder: the files of a run in it are replaced, and other files are kept.
void refuse_folder(const FileNamed& output, const std::string& input) {
  if (is_same(input, output.path))
    throw UsageError(fmt::format("{} {} is also an input; name a different folder", output.by, output.path));
  if (!is_folder(output.path)) return;
  for (const std::string& replaced : files_of(output.path))
    if (is_same(replaced, input))
      throw UsageError(
          fmt::format("{} {} is the folder of the input {}; name a different folder", output.by, output.path, input));
}

constexpr const char* kStandardOutput = "standard output";

std::string identity(const struct stat& status) { return fmt::format("{}:{}", status.st_dev, status.st_ino); }

/// Returns a key that is equal for two outputs if and only if both write the same file (by any path or link) or both
/// write standard output. Empty for a device, which accepts several outputs.
std::string position_in_total(const std::string& output) {
  struct stat standard {
  }, status{};
  const bool open = ::fstat(STDOUT_FILENO, &standard) == 0;
  if (output == "-") return open && S_ISREG(standard.st_mode) ? identity(standard) : kStandardOutput;
  if (::stat(output.c_str(), &status) == 0) {
    if (S_ISREG(status.st_mode) || S_ISDIR(status.st_mode)) return identity(status);
    const bool mixes = !S_ISCHR(status.st_mode) || ::isatty(STDOUT_FILENO) == 1;  // /dev/null does not
    return open && mixes && identity(status) == identity(standard) ? kStandardOutput : "";
  }
  int endless = 0;
  const fs::path target = resolve_links(output, endless);
  std::error_code missing;
  const fs::path folder = fs::canonical(target.has_parent_path() ? target.parent_path() : ".", missing);
  return missing ? target.lexically_normal().string() : (folder / target.filename()).string();
}

/// Returns whether a path names standard output itself, which may be shared with the printed results.
bool names_standard_output(const std::string& path) {
  return path == "-" || path.starts_with("/dev/") || path.starts_with("/proc/");
}

/// Throws if two outputs are the same file: one output would be lost, or the two would be mixed.
void refuse_one_file_for_two(const std::vector<FileNamed>& outputs) {
  std::map<std::string, const FileNamed*> places;
  for (const FileNamed& output : outputs) {
    const std::string place = position_in_total(output.path);
    if (place.empty()) continue;
    if (const auto [first, is_new] = places.emplace(place, &output); !is_new)
      throw UsageError(fmt::format("{} and {} both write {}; name two {}", first->second->by, output.by,
                                   place == kStandardOutput || output.path == "-" ? kStandardOutput : output.path,
                                   place == kStandardOutput || output.path == "-" ? "outputs" : "files"));
  }
  const auto printed = places.find(position_in_total("-"));
  if (printed != places.end() && !names_standard_output(printed->second->path))
    throw UsageError(fmt::format("{} {} is the file that standard output is redirected to; name a different file",
                                 printed->second->by, printed->second->path));
}

}  // namespace

void check_output_differs_from_input(const std::string& option, const std::string& output, const std::string& input) {
  std::error_code none;
  if (!fs::is_regular_file(output, none)) return;  // a device, such as a terminal, may be both
  for (const std::string& file : files_of(input))
    if (is_same(file, output))
      throw UsageError(fmt::format("{} {} is also an input{}; name a different file", option, output,
                                   file == output ? "" : fmt::format(" as {}", input)));
}

void check_outputs_differ_from_inputs(const CommandOptions& options) {
  std::vector<FileNamed> inputs = options.files(FileUse::data);
  for (FileNamed& model : options.files(FileUse::model)) inputs.push_back(std::move(model));
  // A run may be overwritten from its own settings file, because the settings have already been read completely.
  for (const FileNamed& folder : options.files(FileUse::filled))
    for (const FileNamed& input : inputs) refuse_folder(folder, input.path);
  for (FileNamed& settings : options.files(FileUse::settings)) inputs.push_back(std::move(settings));
  std::vector<FileNamed> outputs = options.files(FileUse::written);
  for (const FileUse use : {FileUse::written, FileUse::filled})
    for (const FileNamed& output : options.files(use))
      if (output.path == "-")
        throw UsageError(fmt::format("{} does not support - (standard output); name a {}", output.by,
                                     use == FileUse::filled ? "folder" : "file"));
  for (FileNamed& printed : options.files(FileUse::printed)) outputs.push_back(std::move(printed));
  std::vector<FileNamed> places = options.files(FileUse::filled);
  places.insert(places.end(), outputs.begin(), outputs.end());
  refuse_one_file_for_two(places);
  for (const FileNamed& output : outputs)
    for (const FileNamed& input : inputs) check_output_differs_from_input(output.by, output.path, input.path);
}

void require_readable_models(const CommandOptions& options) {
  for (const FileNamed& model : options.files(FileUse::model))
    if (is_folder(model.path) && ::access(model.path.c_str(), X_OK) != 0)
      throw ModelError(fmt::format("{} cannot be read: {}; change its permissions", model.path,
                                   std::generic_category().message(errno)));
}

}  // namespace unfold
