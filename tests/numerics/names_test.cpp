/// Kernels are templates in one namespace per instruction set, regardless of their file. If two structs have the same
/// name, the linker keeps the functions of only one of them unless the compiler inlines them.

#include <gtest/gtest.h>

#include <filesystem>
#include <map>
#include <regex>
#include <set>
#include <sstream>
#include <string>

#include "unfold/base/formats/file.h"

namespace unfold::names_test {
namespace {

TEST(Kernels, kernel_struct_names_are_unique_across_files) {
  const std::regex declaration(R"re(^\s*(?:struct|class) (\w+)(?: final)?(?: :.*)? \{)re");
  std::map<std::string, std::set<std::string>> files_of;
  for (const auto& entry : std::filesystem::directory_iterator(UNFOLD_SOURCE_DIR "/src/numerics")) {
    const std::string file = entry.path().filename().string();
    if (!file.ends_with(".cpp") && !file.ends_with("-inl.h")) continue;
    std::istringstream lines(read_file(entry.path().string()));
    std::smatch match;
    for (std::string line; std::getline(lines, line);)
      if (std::regex_search(line, match, declaration)) files_of[match[1]].insert(file);
  }
  EXPECT_GT(files_of.size(), 50u);
  for (const auto& [name, files] : files_of)
    EXPECT_EQ(files.size(), 1u) << name << ": " << *files.begin() << ", " << *files.rbegin();
}

}  // namespace
}  // namespace unfold::names_test
