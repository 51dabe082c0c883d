/// The scripts in bench/tables/prepare use the random numbers of the library.

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <sstream>
#include <string>
#include <vector>

#include "app/common/program.h"
#include "tests/app/texts.h"
#include "tests/base/scratch.h"
#include "unfold/base/error.h"
#include "unfold/numerics/random.h"

namespace unfold {
namespace {

using testing_support::file_bytes;
using testing_support::ScratchFolder;

/// Runs a script; returns false if there is no Python.
bool run_script(const std::string& name, const std::vector<std::string>& arguments) {
  Reporter reporter;
  try {
    run_program(std::vector<std::string>{"python3", "-c", ""}, reporter);
  } catch (const RuntimeFailure&) {
    return false;
  }
  std::vector<std::string> words = {"python3", "-B", UNFOLD_SOURCE_DIR "/bench/tables/prepare/" + name};
  words.insert(words.end(), arguments.begin(), arguments.end());
  EXPECT_EQ(run_program(words, reporter), "");
  return true;
}

TEST(Preparation, number_folds_shuffle_with_seed_1) {
  const ScratchFolder folder;
  std::vector<std::string> rows;
  std::string table = "\"a\";\"b\";\"twin\"" + std::string(8, ';') + ";\"quality\"\n";
  for (int r = 0; r < 40; ++r) {
    rows.push_back(std::to_string(r * 37 % 41) + "," + std::to_string(r * 5 % 13));
    std::string line = rows.back() + "," + std::to_string(r * 37 % 41 * 2);
    std::ranges::replace(line, ',', ';');
    table += line + ";0;0;0;0;0;0;0;0;" + std::to_string(r % 7) + "\n";
  }
  std::filesystem::create_directory(folder.path("data"));
  folder.write("data/winequality-red.csv", table);
  if (!run_script("number_folds.py", {folder.path("data"), "winequality-red.csv", folder.path("made")}))
    GTEST_SKIP() << "no python3";
  Random random(1, "folds");
  for (std::size_t i = rows.size(); i > 1; --i) std::swap(rows[i - 1], rows[random.below(i)]);
  for (std::size_t fold = 0; fold < 10; ++fold) {
    std::istringstream test(file_bytes(folder.path("made-" + std::to_string(fold + 1) + ".test.csv")));
    std::string line;
    std::getline(test, line);
    EXPECT_EQ(line.substr(0, 4), "a,b,");
    for (std::size_t i = fold; i < rows.size(); i += 10) {
      std::getline(test, line);
      EXPECT_EQ(line.substr(0, rows[i].size() + 1), rows[i] + ",");
    }
  }
}

TEST(Preparation, digits_are_binarized_with_seed_1) {
  constexpr std::size_t kImages = 3, kPixels = 784;
  const ScratchFolder folder;
  std::string gray(kImages * kPixels, '\0');
  for (std::size_t i = 0; i < gray.size(); ++i) gray[i] = static_cast<char>(i % 3 == 0 ? 0 : i * 7 % 256);
  const std::string header(16, '\0');
  folder.write("train-images-idx3-ubyte.gz", header + gray);  // compression is optional
  folder.write("t10k-images-idx3-ubyte.gz", header + gray);
  if (!run_script("binary_digits.py", {folder.path(""), folder.path("made")})) GTEST_SKIP() << "no python3";
  Random random(1, "binarised mnist");
  for (const char* part : {"train", "test"}) {
    std::string bits;
    for (const char level : gray)
      bits += static_cast<char>(255.0 * random.uniform() < static_cast<std::uint8_t>(level) ? 1 : 0);
    const std::string file = file_bytes(folder.path("made." + std::string(part) + ".npy"));
    EXPECT_EQ(file.substr(1, 5), "NUMPY");
    EXPECT_NE(file.find("'shape': (3, 784)"), std::string::npos);
    EXPECT_EQ(file.size() % 64, (kImages * kPixels) % 64);
    EXPECT_EQ(file.substr(file.size() - bits.size()), bits) << part;
  }
}

}  // namespace
}  // namespace unfold
