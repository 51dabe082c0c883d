#pragma once
/// Shared test helpers: a scratch folder, catching error messages, the real data sets.

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <string>

#include "unfold/base/error.h"

namespace unfold::testing_support {

/// A separate folder for one test, removed at the end.
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

/// Returns the message of the error of type E that `action` throws, or "" if it throws nothing; other errors propagate.
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

/// Returns the path of a real data set under $UNFOLD_DATA, or next to the repository; "" if it does not exist.
inline std::string real_data(const std::string& name) {
  const char* folder = std::getenv("UNFOLD_DATA");
  const std::filesystem::path root = folder != nullptr ? folder : UNFOLD_SOURCE_DIR "/../shared/data";
  return std::filesystem::exists(root / name) ? (root / name).string() : "";
}

}  // namespace unfold::testing_support

#define UNFOLD_REAL_DATA(variable, name)                                   \
  const std::string variable = ::unfold::testing_support::real_data(name); \
  if (variable.empty()) GTEST_SKIP() << name << " is not there (UNFOLD_DATA)"
