/// Stored models and runs: the current build reads them and reproduces every digit. NAME.golden
/// holds commands (`$ eval lstm.safetensors unseen.txt --json`), each with the output of the version that make.sh
/// names.

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "tests/cli/fixture.h"

namespace unfold::test {
namespace {

const std::string kFolder = UNFOLD_SOURCE_DIR "/tests/golden";

struct Recorded {
  std::string command, output;
};

std::vector<Recorded> read_recorded(const std::string& path) {
  std::vector<Recorded> result;
  std::istringstream lines(read_bytes(path));
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with("$ "))
      result.push_back({line.substr(2), ""});
    else
      result.back().output += line + "\n";
  }
  return result;
}

Arguments split_at_blanks(const std::string& command) {
  std::istringstream words(command);
  return {std::istream_iterator<std::string>(words), {}};
}

/// Returns where `now` differs from `golden`, or an empty string. Keys added since are ignored.
std::string difference(const nlohmann::json& golden, const nlohmann::json& now, const std::string& where = "") {
  if (golden.is_object() && now.is_object()) {
    for (const auto& [key, value] : golden.items()) {
      if (!now.contains(key)) return where + "/" + key + " is missing";
      if (std::string found = difference(value, now[key], where + "/" + key); !found.empty()) return found;
    }
    return "";
  }
  if (golden.is_array() && now.is_array() && golden.size() == now.size()) {
    for (std::size_t i = 0; i < golden.size(); ++i)
      if (std::string found = difference(golden[i], now[i], where + "/" + std::to_string(i)); !found.empty())
        return found;
    return "";
  }
  return golden == now ? "" : where + ": " + now.dump() + " instead of " + golden.dump();
}

std::vector<std::string> names() {
  std::vector<std::string> result;
  for (const auto& entry : std::filesystem::directory_iterator(kFolder))
    if (entry.path().extension() == ".golden") result.push_back(entry.path().stem().string());
  std::sort(result.begin(), result.end());
  return result;
}

class GoldenModel : public ::testing::TestWithParam<std::string> {
 protected:
  /// Works in a copy of the folder, because a resumed run writes to it.
  GoldenModel() { std::filesystem::copy(kFolder, folder_ / "golden", std::filesystem::copy_options::recursive); }

  void expect_same(const Recorded& recorded) const {
    const Finished now = unfold_command(split_at_blanks(recorded.command), {.folder = folder_ / "golden"});
    ASSERT_EQ(now.code, 0) << recorded.command << "\n" << now.err;
    if (recorded.output.starts_with('{'))
      EXPECT_EQ(difference(nlohmann::json::parse(recorded.output), only_object(now.out)), "") << recorded.command;
    else
      EXPECT_EQ(now.out.ends_with('\n') ? now.out : now.out + "\n", recorded.output) << recorded.command;
  }

  TemporaryFolder folder_;
};

TEST_P(GoldenModel, golden_models_reproduce_the_digits_of_their_version) {
  const std::vector<Recorded> all = read_recorded(kFolder + "/" + GetParam() + ".golden");
  ASSERT_FALSE(all.empty());
  for (const Recorded& recorded : all) expect_same(recorded);
}

INSTANTIATE_TEST_SUITE_P(Files, GoldenModel, ::testing::ValuesIn(names()), [](const auto& name) {
  std::string text = name.param;
  std::replace(text.begin(), text.end(), '-', '_');
  return text;
});

TEST(GoldenComparison, changed_digit_is_found_and_new_key_is_ignored) {
  const auto golden = nlohmann::json::parse(R"({"bits": 1.25, "valid": {"scores": [1, 2]}})");
  EXPECT_EQ(difference(golden, nlohmann::json::parse(R"({"bits": 1.25, "valid": {"scores": [1, 2]}, "new": 1})")), "");
  EXPECT_EQ(difference(golden, nlohmann::json::parse(R"({"bits": 1.25, "valid": {"scores": [1, 3]}})")),
            "/valid/scores/1: 3 instead of 2");
  EXPECT_EQ(difference(golden, nlohmann::json::parse(R"({"valid": {"scores": [1, 2]}})")), "/bits is missing");
}

}  // namespace
}  // namespace unfold::test
