/// Parameter sweeps: in one process, in parallel, and with one process killed.

#include <csignal>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <thread>

#include "app/sweep/run_settings_record.h"
#include "tests/cli/fixture.h"

namespace unfold::test {
namespace {

class SweepTest : public CommandTest {
 protected:
  Arguments sweeping(const std::string& grid, const std::string& out, const Arguments& more = {}) const {
    return Arguments{"sweep",   text_, "--grid",   grid, "--out",   folder_ / out, "--model",     "rnn:4",
                     "--batch", "4",   "--window", "8",  "--steps", "12",          "--optimizer", "adam:rate=0.01"} +
           more;
  }
  /// Returns the measurements of the sweep, point by point.
  std::vector<std::vector<double>> values_of(const std::string& out) const {
    std::vector<std::vector<double>> result;
    const nlohmann::json all = only_object(read_bytes(folder_ / out + "/sweep.json"));
    for (const auto& point : all["points"]) result.push_back(point["values"].get<std::vector<double>>());
    EXPECT_FALSE(result.empty());
    return result;
  }
};

TEST_F(SweepTest, sweep_reports_every_point_in_one_table) {
  const Finished finished = unfold_command(sweeping("rate=0.001,0.01;units=3,5", "s", {"--seeds", "2"}));
  ASSERT_EQ(finished.code, 0) << finished.err;
  EXPECT_THAT(finished.out, HasSubstr("rate"));
  EXPECT_THAT(finished.out, HasSubstr("deviation"));
  EXPECT_THAT(finished.out, HasSubstr("2 of 2"));
  EXPECT_THAT(finished.out, HasSubstr("valid/bits_per_symbol; best: rate=0.01;units="));
  const auto values = values_of("s");
  ASSERT_EQ(values.size(), 4u);
  // Each point is an ordinary training run.
  const Finished alone =
      unfold_command({"train", text_, "--out", run_, "--model", "rnn:5", "--batch", "4", "--window", "8", "--steps",
                      "12", "--optimizer", "adam:rate=0.001", "--seed", "2", "--json"});
  EXPECT_EQ(only_object(alone.out)["valid"]["bits_per_symbol"].get<double>(), values[1][1]);
}

TEST_F(SweepTest, sweep_continues_existing_results) {
  ASSERT_EQ(unfold_command(sweeping("units=3", "s")).code, 0);
  const Finished again = unfold_command(sweeping("units=3,5", "s"));
  ASSERT_EQ(again.code, 0) << again.err;
  EXPECT_THAT(again.err, Not(HasSubstr("units=3, seed")));
  EXPECT_THAT(again.err, HasSubstr("2/2  units=5, seed 1"));
  const Finished changed = unfold_command(sweeping("units=3,5", "s", {"--window", "9"}));
  EXPECT_THAT(changed.err, HasSubstr("1/2  units=3, seed 1"));
}

/// A checkpoint with other settings is removed when a new run starts.
TEST_F(SweepTest, checkpoint_with_other_settings_is_removed_before_starting) {
  const std::string folder = folder_ / "run", checkpoint = folder + "/checkpoint.safetensors";
  EXPECT_FALSE(can_resume(folder, "first"));
  std::filesystem::create_directory(folder);
  std::ofstream(checkpoint) << "numbers";
  EXPECT_TRUE(can_resume(folder, "first"));
  EXPECT_FALSE(can_resume(folder, "second"));
  EXPECT_FALSE(std::filesystem::exists(checkpoint));
  EXPECT_FALSE(can_resume(folder, "second"));  // no checkpoint yet
}

TEST_F(SweepTest, parallel_sweep_gives_the_same_results) {
  ASSERT_EQ(unfold_command(sweeping("units=3,4,5", "one", {"--seeds", "2"})).code, 0);
  const Finished finished = unfold_command(sweeping("units=3,4,5", "three", {"--seeds", "2", "--jobs", "3"}));
  ASSERT_EQ(finished.code, 0) << finished.err;
  EXPECT_EQ(values_of("three"), values_of("one"));
}

TEST_F(SweepTest, work_of_a_killed_process_is_taken_over) {
  const Arguments longer = {"--steps", "8000", "--checkpoint-every", "250", "--jobs", "2"};
  ASSERT_EQ(unfold_command(sweeping("units=3,4", "whole", longer)).code, 0);
  Process process(sweeping("units=3,4", "cut", longer));
  std::vector<pid_t> children;
  while (process.running() && children.empty()) {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    const std::string id = std::to_string(process.id());
    std::ifstream list("/proc/" + id + "/task/" + id + "/children");
    children.assign(std::istream_iterator<pid_t>(list), {});
  }
  ASSERT_FALSE(children.empty());
  std::this_thread::sleep_for(std::chrono::milliseconds(60));
  ::kill(children.front(), SIGKILL);
  const Finished finished = process.finish();
  ASSERT_EQ(finished.code, 0) << finished.err;
  EXPECT_THAT(finished.err, HasSubstr("was terminated by signal 9; another process will redo its work"));
  EXPECT_EQ(values_of("cut"), values_of("whole"));
}

TEST_F(SweepTest, diverged_run_counts_as_failed) {
  const Finished finished = unfold_command(
      sweeping("optimizer=sgd:rate=1e30,clip=0|adam:rate=0.01", "s", {"--model", "rnn:4,activation=relu"}));
  ASSERT_EQ(finished.code, 0) << finished.err;
  EXPECT_THAT(finished.out, HasSubstr("failed"));
  EXPECT_THAT(finished.out, HasSubstr("best: optimizer=adam"));
}

TEST_F(SweepTest, sweep_whose_runs_all_diverge_exits_like_one_of_them) {
  const Arguments more = {"--model", "rnn:4,activation=relu"};
  for (const Arguments& asked : {Arguments(), Arguments{"--measure", "valid/perplexity"}}) {
    const Finished finished =
        unfold_command(sweeping("optimizer=sgd:rate=1e30,clip=0|sgd:rate=1e31,clip=0", "s", more + asked));
    EXPECT_EQ(finished.code, 5);
    EXPECT_THAT(finished.err, HasSubstr("every run failed; the first"));
    EXPECT_THAT(read_bytes(folder_ / "s/sweep.json"), HasSubstr("\"failed\""));
  }
}

TEST_F(SweepTest, invalid_grids_are_rejected) {
  const auto refused = [&](const std::string& grid, const std::string& message) {
    expect_failure(sweeping(grid, "s"), 2, message);
  };
  refused("rate", "\"rate\" is not of the form NAME=VALUES");
  refused("rate=", "rate has an empty value");
  refused("rate=1,2,1", "rate has the value 1 twice");
  refused("rate=1;rate=2", "rate occurs twice");
  refused("seed=1,2", "--seeds N takes N of them");
  refused("speed=1,2", "not a setting of train;");
  refused("model.rate=1,2", "not a setting of train;");
  refused("batch=many", "batch must be a whole number");
  expect_failure({"sweep", text_, "--out", folder_ / "s"}, 2, "sweep needs --grid");
  expect_failure({"sweep", text_, "--grid", "units=3"}, 2, "sweep needs --out");
  expect_failure(sweeping("units=3", "s", {"--resume"}), 2, "leave out --resume");
}

}  // namespace
}  // namespace unfold::test
