#include <filesystem>

#include "tests/cli/fixture.h"

namespace unfold::test {
namespace {

/// A rejected training run leaves everything unchanged.
class RefusedTraining : public CommandTest {
 protected:
  static std::vector<std::pair<std::string, std::string>> files_of(const std::string& folder) {
    std::vector<std::pair<std::string, std::string>> files;
    for (const auto& entry : std::filesystem::directory_iterator(folder))
      files.emplace_back(entry.path().filename(), read_bytes(entry.path()));
    std::ranges::sort(files);
    return files;
  }
  /// Expects the command to fail for an existing run, which stays unchanged, and for a new folder, which is not
  /// created.
  void expect_nothing_done(const Arguments& command, int code, const std::string& message) {
    SCOPED_TRACE(command.back());
    const auto before = files_of(run_);
    expect_failure(command + Arguments{"--out", run_, "--overwrite", "--quiet"}, code, message);
    EXPECT_TRUE(files_of(run_) == before);
    const std::string fresh = folder_ / "fresh";
    expect_failure(command + Arguments{"--out", fresh, "--quiet"}, code, message);
    EXPECT_FALSE(std::filesystem::exists(fresh));
  }
};

TEST_F(RefusedTraining, rejected_training_keeps_an_existing_text_run) {
  train();
  const Arguments gru{"train", text_, "--model", "gru:4", "--steps", "3"};
  expect_nothing_done(gru + Arguments{"--memory-limit", "1"}, 2, "memory");
  expect_nothing_done(gru + Arguments{"--sampled-softmax", "100000"}, 2, "softmax");
  expect_nothing_done(gru + Arguments{"--predict-after", "@"}, 2, "@");
  expect_nothing_done({"train", text_, "--model", "lstm:4", "--steps", "3", "--flow-penalty", "1"}, 2, "flow");
  expect_nothing_done({"train", text_, "--model", "ngram:3", "--predict-after", "@"}, 2, "@");
}

TEST_F(RefusedTraining, CrfNeedsALabelAtEveryPosition) {
  std::string texts;
  for (int i = 0; i < 40; ++i) texts += i % 2 == 0 ? "a\tthe cat sat\n" : "b\ta dog ran\n";
  write_bytes(folder_ / "texts", texts);
  expect_failure({"train", folder_ / "texts", "--format", "labelled", "--model", "crf", "--steps", "3", "--out",
                  folder_ / "run", "--quiet"},
                 2, "do not have the same positions");
}

TEST_F(RefusedTraining, rejected_training_keeps_an_existing_reservoir) {
  const Arguments narma{"train", "--task", "narma:200", "--model", "esn:8",         "--steps", "2",
                        "--out", run_,     "--batch",   "4",       "--validate-on", "4",       "--quiet"};
  ASSERT_EQ(unfold_command(narma).code, 0);
  const auto before = files_of(run_);
  expect_failure({"train", "--out", run_, "--resume"}, 2, "is fitted in one pass and cannot be resumed");
  EXPECT_TRUE(files_of(run_) == before);
  std::string table = "value\n";
  for (int i = 0; i < 300; ++i) table += std::to_string(i % 7) + "\n";
  write_bytes(folder_ / "wave.csv", table);
  const std::string forecast = folder_ / "forecast";
  ASSERT_EQ(unfold_command({"train", folder_ / "wave.csv", "--read", "value", "--predict", "value", "--ahead", "1",
                            "--model", "esn:8", "--out", forecast, "--quiet"})
                .code,
            0);
  const auto then = files_of(forecast);
  expect_failure({"train", "--out", forecast, "--resume"}, 2, "is fitted in one pass and cannot be resumed");
  expect_failure({"train", folder_ / "wave.csv", "--read", "value", "--predict", "value", "--ahead", "1", "--model",
                  "esn:8", "--feedback", "4+4", "--out", forecast, "--overwrite"},
                 2, "--feedback");
  EXPECT_TRUE(files_of(forecast) == then);
}

TEST_F(RefusedTraining, run_resumes_only_with_its_own_data) {
  train({"--steps", "20"});
  const auto before = files_of(run_);
  const std::string data = read_bytes(text_);
  std::string other = data;
  std::ranges::reverse(other);
  write_bytes(text_, other);
  const Arguments resume{"train", "--out", run_, "--resume", "--steps", "30", "--quiet"};
  expect_failure(resume, 2, "the data differs from the data that");
  EXPECT_TRUE(files_of(run_) == before);
  write_bytes(text_, data);
  EXPECT_EQ(unfold_command(resume).code, 0);
}

TEST_F(RefusedTraining, resume_without_a_run_names_the_folder) {
  expect_failure({"train", "--out", folder_ / "nix", "--resume"}, 2, "nix contains no run to resume");
}

/// Resuming where no run exists starts a new run with the given settings.
TEST_F(RefusedTraining, resume_without_a_run_starts_a_new_run) {
  std::string pairs;
  for (int i = 0; i < 40; ++i) pairs += i % 2 == 0 ? "abba\tA B B A\n" : "cab\tC A B\n";
  const std::string data = folder_ / "words.pairs";
  write_bytes(data, pairs);
  const auto config_of = [&](const Arguments& more) {
    const std::string out = folder_ / ("run" + std::to_string(more.size()));
    const Finished finished =
        unfold_command(Arguments{"train", data, "--model", "gru:4", "--steps", "2", "--out", out, "--quiet"} + more);
    EXPECT_EQ(finished.code, 0) << finished.err;
    return read_bytes(out + "/config.toml");
  };
  EXPECT_EQ(config_of({"--resume"}), config_of({}));
}

}  // namespace
}  // namespace unfold::test
