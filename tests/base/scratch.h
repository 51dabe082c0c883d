#pragma once
/// What the tests of this folder share: a scratch folder, catching messages, the real data sets.

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <string>

#include "base/error.h"

namespace unfold::testing_support {

/// A folder of its own for one test, removed at the end.
class ScratchFolder {
 public:
  ScratchFolder() {
    std::string name = (std::filesystem::temp_directory_path() / "unfold-test-XXXXXX").string();
    if (::mkdtemp(name.data()) == nullptr) throw std::runtime_error("no temporary folder");
    folder_ = name;
  }
  ~ScratchFolder() { std::filesystem::remove_all(folder_); }

  std::string path(const std::string& name) const { return (folder_ / name).string(); }
  std::string write(const std::string& name, const std::string& bytes) const {
    std::ofstream(path(name), std::ios::binary) << bytes;
    return path(name);
  }
  std::size_t files() const {
    return static_cast<std::size_t>(
        std::distance(std::filesystem::directory_iterator(folder_), std::filesystem::directory_iterator()));
  }

 private:
  std::filesystem::path folder_;
};

/// The message of the error of type E that `action` throws; another error passes through, none gives "".
template <class E, class Action>
std::string message_of(Action action) {
  try {
    action();
  } catch (const E& error) {
    return error.what();
  }
  return "";
}

inline bool contains(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

/// A file of the real data sets: under $UNFOLD_DATA, else beside the repository. "" when it is not there.
inline std::string real_data(const std::string& name) {
  const char* folder = std::getenv("UNFOLD_DATA");
  const std::filesystem::path root = folder != nullptr ? folder : UNFOLD_SOURCE_DIR "/../shared/data";
  return std::filesystem::exists(root / name) ? (root / name).string() : "";
}

}  // namespace unfold::testing_support

#define UNFOLD_REAL_DATA(variable, name)                                   \
  const std::string variable = ::unfold::testing_support::real_data(name); \
  if (variable.empty()) GTEST_SKIP() << name << " is not there (UNFOLD_DATA)"
