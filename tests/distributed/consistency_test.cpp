#include "distributed/consistency.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>

#include "tests/support/simulated_processes.h"
#include "unfold/base/error.h"

namespace unfold {
namespace {

using testing::HasSubstr;

std::string refusal(int count, const std::function<std::vector<Claim>(int)>& claims) {
  try {
    run_in_processes(count,
                     [&](Processes& processes) { require_same_settings(processes, claims(processes.number())); });
  } catch (const UsageError& error) {
    return error.what();
  }
  return {};
}

TEST(Agreement, equal_claims_pass) {
  EXPECT_EQ(refusal(3, [](int) { return std::vector<Claim>{{"the version", "1.0"}, {"--seed", "3"}}; }), "");
}

TEST(Agreement, difference_is_reported_with_process_and_machine) {
  const std::string text = refusal(3, [](int process) {
    return std::vector<Claim>{{"the version", "1.0"}, {"--seed", process == 2 ? "4" : "3"}};
  });
  EXPECT_THAT(text, HasSubstr("process 2 on machine2: --seed is 4, but 3 in process 0"));
}

TEST(Agreement, claim_of_a_single_process_is_named) {
  const auto more = std::vector<Claim>{{"--dropout", "0.1"}};
  EXPECT_THAT(refusal(2, [&](int process) { return process == 1 ? more : std::vector<Claim>(); }),
              HasSubstr("--dropout is 0.1, but missing in process 0"));
  EXPECT_THAT(refusal(2, [&](int process) { return process == 0 ? more : std::vector<Claim>(); }),
              HasSubstr("--dropout is missing, but 0.1 in process 0"));
}

TEST(Agreement, fingerprint_covers_size_both_ends_and_small_files) {
  const std::string path =
      (std::filesystem::temp_directory_path() / ("unfold-parts-" + std::to_string(::getpid()))).string();
  const auto fingerprint_with = [&](std::size_t size, std::size_t place) {
    std::string text(size, 'x');
    text[place] = 'y';
    std::ofstream(path) << text;
    return fingerprint_of_parts(path);
  };
  constexpr std::size_t kLarge = (std::size_t{20} << 20) + 77;
  std::vector<std::string> found;
  for (const std::size_t place : {std::size_t{0}, kLarge - 1}) found.push_back(fingerprint_with(kLarge, place));
  found.push_back(fingerprint_with(kLarge + 1, 0));
  for (const std::size_t place : {std::size_t{0}, std::size_t{70000}, std::size_t{99999}}) {
    found.push_back(fingerprint_with(100000, place));
    EXPECT_EQ(found.back(), fingerprint_of_file(path));
  }
  EXPECT_EQ(fingerprint_with(kLarge, 0), found.front());
  std::ranges::sort(found);
  EXPECT_EQ(std::ranges::adjacent_find(found), found.end());
  std::filesystem::remove(path);
}

TEST(Agreement, fingerprints_distinguish_files_and_folders) {
  namespace fs = std::filesystem;
  const fs::path folder = fs::temp_directory_path() / ("unfold-fingerprints-" + std::to_string(::getpid()));
  fs::create_directories(folder / "a");
  const auto write = [&](const fs::path& path, const std::string& text) { std::ofstream(path) << text; };
  write(folder / "one", "text");
  write(folder / "two", "text");
  write(folder / "three", "tex");
  const auto of = [&](const char* name) { return fingerprint_of_file((folder / name).string()); };
  EXPECT_EQ(of("one").size(), 32u);
  EXPECT_EQ(of("one"), of("two"));
  EXPECT_NE(of("one"), of("three"));
  EXPECT_EQ(of("nothing"), "none");
  write(folder / "a" / "x", "1");
  const std::string before = of("a");
  fs::rename(folder / "a" / "x", folder / "a" / "y");
  EXPECT_NE(of("a"), before);
  fs::remove_all(folder);
}

TEST(Processes, values_of_all_processes_are_gathered) {
  run_in_processes(3, [](Processes& processes) {
    const auto mine = static_cast<double>(processes.number());
    EXPECT_EQ(processes.gather(mine), (std::vector<double>{0, 1, 2}));
    EXPECT_EQ(processes.gather(std::string(static_cast<std::size_t>(processes.number()), 'x')),
              (std::vector<std::string>{"", "x", "xx"}));
    EXPECT_TRUE(processes.any(processes.number() == 2));
    EXPECT_FALSE(processes.any(false));
    EXPECT_EQ(processes.of_first(mine + 5), 5);
  });
}

}  // namespace
}  // namespace unfold
