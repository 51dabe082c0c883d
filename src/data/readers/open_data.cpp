#include "data/readers/open_data.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "base/printable.h"
#include "data/readers/reader_text.h"
#include "unfold/base/error.h"

namespace unfold {
namespace {

namespace fs = std::filesystem;

/// Names in a folder, sorted.
std::vector<fs::path> names_in(const fs::path& folder) {
  std::error_code error;
  std::vector<fs::path> names;
  for (fs::directory_iterator at(folder, error), end; !error && at != end; at.increment(error))
    names.push_back(at->path().filename());
  if (error) throw DataError(fmt::format("{}: {}", folder.string(), error.message()));
  for (const fs::path& name : names)
    if (name.string().find_first_of("\t\n\r") != std::string::npos)
      throw DataError(fmt::format("{}: the file name {} contains a tab or a newline; rename the file", folder.string(),
                                  in_quotes(name.string())));
  std::ranges::sort(names);
  return names;
}

}  // namespace

bool is_image_name(std::string_view name) {
  std::string lower(name);
  for (char& c : lower) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  return ends_in(lower, {".png", ".pgm", ".ppm", ".pnm"});
}

namespace {

constexpr std::string_view kAnyName = "*";  ///< stands for the names in a folder

/// Opens a file, or the list that represents a folder. Names begin with "./", which preserves leading blanks.
Input open_images(const std::string& path) {
  std::error_code ignored;
  if (path == "-" || !fs::is_directory(path, ignored)) return Input::open(path);
  std::string list;
  const fs::path folder(path);
  for (const fs::path& name : names_in(folder)) {
    if (fs::is_directory(folder / name, ignored)) {
      for (const fs::path& inner : names_in(folder / name))
        if (is_image_name(inner.string())) list += fmt::format("./{}\t{}\n", (name / inner).string(), name.string());
    } else if (is_image_name(name.string())) {
      list += "./" + name.string() + "\n";
    }
  }
  if (list.empty())
    throw DataError(
        fmt::format("{}: a folder without images; it should contain .png, .pgm or .ppm files, directly or in "
                    "subfolders named after their labels",
                    path));
  return Input::from_bytes((folder / kAnyName).string(), std::move(list));
}

}  // namespace

bool is_folder_list(const Input& input) {
  std::error_code ignored;
  const fs::path path(input.name());
  return path.filename() == kAnyName && !fs::exists(path, ignored) && fs::is_directory(path.parent_path(), ignored);
}

std::vector<Input> open_data(const std::vector<std::string>& files, std::string_view format) {
  if (format != "images") return open_inputs(files);
  std::vector<Input> inputs;
  inputs.reserve(files.size());
  for (const std::string& file : files) inputs.push_back(open_images(file));
  return inputs;
}

}  // namespace unfold
