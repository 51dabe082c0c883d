/// Follows recipes of CONTRIBUTING.md in a copy of the sources: a block of code whose first line is a comment
///
///   // FILE, before "TEXT":      // FILE, after "TEXT":      // FILE, new:
///
/// goes before or after the only line of FILE that contains TEXT, or becomes FILE. CMake files use # instead of //.

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <regex>
#include <set>
#include <sstream>
#include <stdexcept>

#include "unfold/base/formats/file.h"

namespace unfold {
namespace {

namespace fs = std::filesystem;

struct Edit {
  std::string file, where, anchor, text;
};

/// The edits of the section with this heading.
std::vector<Edit> edits_of(const std::string& page, const std::string& heading) {
  static const std::regex first_line(R"re((?://|#) ([\w/.-]+), (?:(before|after) "(.*)"|(new)):)re");
  std::vector<Edit> result;
  std::istringstream lines(page);
  bool inside = false;
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with("## ")) inside = line == "## " + heading;
    if (!inside || !line.starts_with("```")) continue;
    std::getline(lines, line);
    std::string text;
    for (std::string code; std::getline(lines, code) && code != "```";) text += code + "\n";
    std::smatch match;
    if (std::regex_match(line, match, first_line))
      result.push_back({match[1], match[4].matched ? "new" : match[2].str(), match[3], text});
  }
  return result;
}

/// Returns `before` with the edit applied. Throws if its line is missing or not unique.
std::string edited(const std::string& before, const Edit& edit) {
  if (edit.where == "new") return edit.text;
  std::string after;
  int found = 0;
  std::istringstream lines(before);
  for (std::string line; std::getline(lines, line);) {
    const bool here = line.find(edit.anchor) != std::string::npos;
    found += here ? 1 : 0;
    after += here && edit.where == "before" ? edit.text + line + "\n" : line + "\n" + (here ? edit.text : "");
  }
  if (found != 1)
    throw std::runtime_error(edit.file + " has " + std::to_string(found) + " lines with \"" + edit.anchor + "\"");
  return after;
}

void run(const std::string& command) {
  if (std::system((command + " > output 2>&1").c_str()) != 0) FAIL() << command << "\n" << read_file("output");
}

/// The folder of the copy, outside the build folder of the tests.
class Recipes : public ::testing::Test {
 protected:
  void follow(const std::string& heading) {
    const std::vector<Edit> edits = edits_of(read_file(source_ / "CONTRIBUTING.md"), heading);
    ASSERT_FALSE(edits.empty()) << heading;
    if (changed_.empty()) copy_sources();
    for (const Edit& edit : edits) {
      write_file_atomically(edit.file, edited(edit.where == "new" ? "" : read_file(edit.file), edit));
      changed_.insert(edit.file);
    }
  }

  /// Compiles the sources that the recipes change and the sources that include a changed registry.
  void compile_changed() {
    configure(false);
    std::string objects;
    for (const std::string& file : changed_) {
      if (file.ends_with(".cpp")) objects += " " + object_of(file);
      if (!file.ends_with(".def")) continue;
      const std::string include = "#include \"" + file.substr(file.find('/') + 1) + "\"";
      for (const auto& entry : fs::recursive_directory_iterator(module_of(file)))
        if (entry.path().extension() == ".cpp" && read_file(entry.path()).find(include) != std::string::npos)
          objects += " " + object_of(entry.path());
    }
    if (!HasFailure()) run(UNFOLD_CMAKE " --build build --parallel 2 --target" + objects);
  }

  /// Builds the programs of this folder, unoptimized, and runs them.
  void build_and_run(const std::vector<std::string>& programs, const std::string& library) {
    std::string targets = read_file("CMakeLists.txt");
    for (const std::string& program : programs) {
      const std::string file = program + ".cpp", target = "recipe_" + program;
      fs::copy_file(source_ / "tests/recipes" / file, copy_ / file, fs::copy_options::overwrite_existing);
      targets += "add_executable(" + target + " " + file + ")\nunfold_compile_options(" + target +
                 ")\ntarget_link_libraries(" + target + " " + library + ")\n";
    }
    write_file_atomically("CMakeLists.txt", targets);
    configure(true);
    for (const std::string& program : programs) {
      if (!HasFailure()) run(UNFOLD_CMAKE " --build build --parallel 2 --target recipe_" + program);
      if (!HasFailure()) run("build/recipe_" + program);
    }
  }

 private:
  void copy_sources() {
    fs::create_directories(copy_);
    for (const char* name : {"CMakeLists.txt", "LICENSE", "cmake", "src", "include", "cli", "bindings"}) {
      fs::remove_all(copy_ / name);
      fs::copy(source_ / name, copy_ / name, fs::copy_options::recursive);
    }
    fs::current_path(copy_);
  }

  static void configure(bool unity) {
    run(UNFOLD_CMAKE " -G '" UNFOLD_GENERATOR "' -DCMAKE_CXX_COMPILER='" UNFOLD_COMPILER
                     "' -DCMAKE_CXX_COMPILER_LAUNCHER='" UNFOLD_LAUNCHER
                     "' -S . -B build -DCMAKE_BUILD_TYPE=Debug -DCMAKE_CXX_FLAGS_DEBUG=-O0"
                     " -DCMAKE_UNITY_BUILD_BATCH_SIZE=36 -DUNFOLD_TESTS=OFF"
                     " -DUNFOLD_EXAMPLES=OFF -DCMAKE_CXX_FLAGS='-march=native -DHWY_COMPILE_ONLY_STATIC'"
                     " -DCMAKE_UNITY_BUILD=" +
        std::string(unity ? "ON" : "OFF"));
  }

  /// The folder of the module that contains the file: the nearest one with a CMakeLists.txt.
  static fs::path module_of(const fs::path& file) {
    fs::path folder = file.parent_path();
    while (!fs::exists(folder / "CMakeLists.txt")) folder = folder.parent_path();
    return folder;
  }

  /// The name of the target that compiles the file.
  static std::string object_of(const fs::path& file) {
    const fs::path module = module_of(file);
    return (module / "CMakeFiles" / ("unfold_" + module.filename().string() + ".dir") / fs::relative(file, module))
               .string() +
           ".o";
  }

  const fs::path source_ = UNFOLD_SOURCE_DIR,
                 copy_ = fs::path(UNFOLD_WORK_DIR) / ::testing::UnitTest::GetInstance()->current_test_info()->name();
  std::set<std::string> changed_;
};

TEST_F(Recipes, every_recipe_compiles) {
  for (const char* kind :
       {"an operation", "a cell", "a loss", "an optimizer", "a reader", "a generated task", "a subcommand"})
    ASSERT_NO_FATAL_FAILURE(follow(std::string("How to add ") + kind));
  compile_changed();
}

/// The other tests build and run whole modules, for which .ci/run has no time.
bool is_thorough() { return std::getenv("UNFOLD_THOROUGH") != nullptr; }

TEST_F(Recipes, recipes_build_with_all_derivatives) {
  if (!is_thorough()) GTEST_SKIP() << "set UNFOLD_THOROUGH to build these modules";
  for (const char* kind : {"an operation", "a cell", "a loss"})
    ASSERT_NO_FATAL_FAILURE(follow(std::string("How to add ") + kind));
  build_and_run({"operation", "cell", "loss"}, "unfold::gradcheck");
}

TEST_F(Recipes, recipes_of_data_and_optimizers_build) {
  if (!is_thorough()) GTEST_SKIP() << "set UNFOLD_THOROUGH to build these modules";
  for (const char* kind : {"an optimizer", "a reader", "a generated task"})
    ASSERT_NO_FATAL_FAILURE(follow(std::string("How to add ") + kind));
  build_and_run({"optimizer", "reader", "task"}, "unfold::optim");
}

TEST_F(Recipes, recipe_of_a_subcommand_builds) {
  if (!is_thorough()) GTEST_SKIP() << "set UNFOLD_THOROUGH to build the whole command";
  ASSERT_NO_FATAL_FAILURE(follow("How to add a subcommand"));
  build_and_run({"subcommand"}, "unfold::command");
}

}  // namespace
}  // namespace unfold
