#include <algorithm>
#include <chrono>
#include <csignal>
#include <filesystem>
#include <functional>
#include <nlohmann/json.hpp>
#include <thread>

#include "graph/device/device.h"
#include "numerics/simd.h"
#include "tests/cli/fixture.h"
#include "unfold/numerics/random.h"

namespace unfold::test {
namespace {

using std::chrono::milliseconds;

bool wait_until(const std::function<bool()>& condition) {
  for (int i = 0; i < 3000; ++i) {
    if (condition()) return true;
    std::this_thread::sleep_for(milliseconds(10));
  }
  return false;
}

std::string model_of(const std::string& run) { return read_bytes(run + "/model.safetensors"); }

TEST_F(CommandTest, run_contains_model_checkpoint_configuration_and_log_and_suggests_next_steps) {
  const Finished finished = unfold_command(training({"--split", "80/10/10"}));
  ASSERT_EQ(finished.code, 0) << finished.err;
  for (const char* name : {"model.safetensors", "checkpoint.safetensors", "config.toml", "log.jsonl"})
    EXPECT_NE(read_bytes(run_ + "/" + name), "") << name;
  for (const char* text :
       {"nats per symbol", "bits per byte", "perplexity", "symbols/s", "unfold sample ", "--part test"})
    EXPECT_THAT(finished.out, HasSubstr(text));
  EXPECT_THAT(log_events(run_ + "/log.jsonl").back(), StartsWith("done"));
}

TEST_F(CommandTest, training_is_byte_identical_for_threads_and_instruction_sets) {
  const Arguments longer = {"--steps", "200", "--model", "lstm:20,layers=2,dropout=0.1", "--validate-every", "40"};
  train(longer + Arguments{"--threads", "1"});
  const std::string expected = model_of(run_);
  ASSERT_NE(expected, "");
  const auto expect_same = [&](const Arguments& more, const Surroundings& surroundings) {
    const Finished finished = unfold_command(training(longer + more + Arguments{"--overwrite"}), surroundings);
    ASSERT_EQ(finished.code, 0) << finished.err;
    EXPECT_TRUE(model_of(run_) == expected) << finished.err;
  };
  expect_same({"--threads", "2"}, {});
  expect_same({"--memory-limit", "200K"}, {});
  for (const std::string& level : simd_available()) expect_same({}, {.environment = {{"UNFOLD_SIMD", level}}});
}

TEST_F(CommandTest, bfloat16_activations_are_byte_identical_for_threads_and_instruction_sets) {
  const Arguments rounded = {"--activations", "bf16", "--steps", "60", "--model", "lstm:20,dropout=0.1"};
  train(rounded + Arguments{"--threads", "1"});
  const std::string expected = model_of(run_);
  const auto expect_same = [&](const Arguments& more, const Surroundings& surroundings) {
    const Finished finished = unfold_command(training(rounded + more + Arguments{"--overwrite"}), surroundings);
    ASSERT_EQ(finished.code, 0) << finished.err;
    EXPECT_TRUE(model_of(run_) == expected) << finished.err;
  };
  expect_same({"--threads", "2"}, {});
  for (const std::string& level : simd_available()) expect_same({}, {.environment = {{"UNFOLD_SIMD", level}}});
  const Finished exact = unfold_command(
      training({"--steps", "60", "--model", "lstm:20,dropout=0.1", "--activations", "exact", "--overwrite"}));
  EXPECT_EQ(exact.code, 0) << exact.err;
  EXPECT_TRUE(model_of(run_) != expected);
  expect_failure({"train", "--out", run_, "--resume", "--activations", "bf16", "--steps", "90"}, 2, "activations");
}

TEST_F(CommandTest, bfloat16_is_explicit_and_stored_with_the_run) {
  const Surroundings off{.environment = {{"UNFOLD_BF16", "off"}}},
      emulated{.environment = {{"UNFOLD_BF16", "emulate"}}};
  const auto weights = [&] {  // without the card, which holds the configuration
    const std::string bytes = model_of(run_);
    return bytes.substr(bytes.size() / 2);
  };
  const auto run = [&](const Arguments& more, const Surroundings& surroundings) {
    const Finished finished = unfold_command(training(more + Arguments{"--overwrite"}), surroundings);
    EXPECT_EQ(finished.code, 0) << finished.err;
    return finished;
  };
  const Arguments asked = {"--model", "lstm:40", "--precision", "bf16"};
  run({"--model", "lstm:40"}, emulated);
  const std::string exact = weights();
  EXPECT_THAT(run(asked, off).err, HasSubstr("training uses float"));
  EXPECT_EQ(weights(), exact);
  EXPECT_THAT(run(asked, emulated).err, HasSubstr("emulated bfloat16"));
  const std::string coarse = weights();
  EXPECT_NE(coarse, exact);
  EXPECT_THAT(read_bytes(run_ + "/config.toml"), HasSubstr("precision = \"bf16\""));
  run(asked + Arguments{"--threads", "2"}, emulated);
  EXPECT_EQ(weights(), coarse);
  const Arguments resume = {"train", "--out", run_, "--resume", "--steps", "100000"};
  const Finished elsewhere = unfold_command(resume, off);
  EXPECT_NE(elsewhere.code, 0);
  EXPECT_THAT(elsewhere.err, HasSubstr("precision"));
}

TEST_F(CommandTest, missing_device_is_reported_before_writing) {
  expect_failure(training({"--device", "gpu"}), 2, "unknown device 'gpu'");
  expect_failure(training({"--precision", "tf32"}), 2, "--precision tf32 requires a GPU; add --device cuda");
  EXPECT_FALSE(std::filesystem::exists(run_));
  if (has_device_support()) GTEST_SKIP() << "this build has CUDA support";
  const Finished finished = unfold_command(training({"--device", "cuda", "--precision", "bf16"}));
  EXPECT_EQ(finished.code, 1);
  EXPECT_THAT(finished.err, StartsWith("unfold: this build has no CUDA support"));
  EXPECT_EQ(std::ranges::count(finished.err, '\n'), 1) << finished.err;
  EXPECT_FALSE(std::filesystem::exists(run_));
  train({"--device", "cpu"});
}

TEST_F(CommandTest, interrupted_run_writes_a_checkpoint_exits_with_130_and_resumes) {
  for (const int number : {SIGINT, SIGTERM}) {
    std::filesystem::remove_all(run_);
    Process process(training({"--steps", "100000000", "--log-every", "1"}));
    ASSERT_TRUE(wait_until([&] { return !read_bytes(run_ + "/log.jsonl").empty(); }));
    process.signal(number);
    const Finished finished = process.finish();
    EXPECT_EQ(finished.code, 130);
    EXPECT_THAT(finished.err, HasSubstr("unfold train --out " + run_ + " --resume"));
    EXPECT_NE(read_bytes(run_ + "/checkpoint.safetensors"), "");
  }
  const Finished resumed = unfold_command({"train", "--out", run_, "--resume", "--minutes", "0.0001"});
  EXPECT_EQ(resumed.code, 0) << resumed.err;
}

TEST_F(CommandTest, killed_and_resumed_run_ends_with_the_same_model_and_log) {
  const Arguments longer = {"--steps",          "2500", "--log-every",        "50",
                            "--validate-every", "100",  "--checkpoint-every", "37"};
  const std::string killed = folder_ / "killed";
  const auto started = std::chrono::steady_clock::now();
  train(longer);
  const auto whole = std::chrono::duration_cast<milliseconds>(std::chrono::steady_clock::now() - started).count();

  Random random(static_cast<std::uint64_t>(started.time_since_epoch().count()), "kill");  // random times
  int kills = 0;
  for (int i = 0; i < 5; ++i) {
    Arguments arguments = training(longer + Arguments{"--resume"});
    arguments[3] = killed;
    Process process(arguments);
    std::this_thread::sleep_for(milliseconds(1 + random.below(static_cast<std::uint64_t>(whole / 3 + 1))));
    process.signal(SIGKILL);
    if (process.finish().code == 128 + SIGKILL) ++kills;
  }
  EXPECT_GT(kills, 0);
  Arguments arguments = training(longer + Arguments{"--resume"});
  arguments[3] = killed;
  const Finished finished = unfold_command(arguments);
  ASSERT_EQ(finished.code, 0) << finished.err;
  EXPECT_TRUE(model_of(killed) == model_of(run_)) << "killed " << kills << " times";
  EXPECT_EQ(log_events(killed + "/log.jsonl"), log_events(run_ + "/log.jsonl"));
}

TEST_F(CommandTest, resume_uses_the_stored_configuration_and_keeps_a_finished_run) {
  train({"--steps", "30", "--seed", "9"});
  const std::string before = model_of(run_);
  const Finished finished = unfold_command({"train", "--out", run_, "--resume", "--json"});
  ASSERT_EQ(finished.code, 0) << finished.err;
  EXPECT_EQ(only_object(finished.out)["steps"], 30);
  EXPECT_TRUE(model_of(run_) == before);
}

TEST_F(CommandTest, budget_of_a_run_can_be_increased) {
  const std::string whole = folder_ / "whole";
  Arguments arguments = training({"--steps", "60"});
  arguments[3] = whole;
  ASSERT_EQ(unfold_command(arguments).code, 0);
  train({"--steps", "30"});
  const Finished finished = unfold_command({"train", "--out", run_, "--resume", "--steps", "60", "--json"});
  ASSERT_EQ(finished.code, 0) << finished.err;
  EXPECT_EQ(only_object(finished.out)["steps"], 60);
}

TEST_F(CommandTest, words_vocabulary_lines_and_validation_file_are_supported) {
  const std::string valid = folder_ / "valid.txt";
  write_bytes(valid, "the cat and the dog\nsat on a mat\n");
  train({"--symbols", "words", "--vocabulary", "6", "--lines", "--valid", valid});
  const nlohmann::json info = only_object(unfold_command({"info", run_, "--json"}).out);
  EXPECT_EQ(info["symbols"], 6);
  EXPECT_EQ(info["symbol_kind"], "words");
  const Finished finished = unfold_command({"eval", run_, valid, "--json"});
  ASSERT_EQ(finished.code, 0) << finished.err;
  EXPECT_EQ(only_object(finished.out)["symbols"], 11);  // nine words and two line endings
}

TEST_F(CommandTest, data_can_come_from_standard_input_and_several_files) {
  const Finished finished =
      unfold_command(training({"-", "--symbols", "bytes", "--json"}), {.input = small_text(1000)});
  ASSERT_EQ(finished.code, 0) << finished.err;
  EXPECT_GT(only_object(finished.out)["valid"]["symbols"].get<int>(), 450);  // a tenth of both
}

TEST_F(CommandTest, samples_are_shown_during_training) {
  const Finished finished = unfold_command(training({"--sample-every", "10"}));
  EXPECT_EQ(finished.code, 0);
  EXPECT_THAT(finished.err, HasSubstr("step 10  sample:"));
}

TEST_F(CommandTest, only_symbols_after_a_given_symbol_are_predicted) {
  train({"--predict-after", "\\s"});
  const nlohmann::json json = only_object(unfold_command({"eval", run_, text_, "--json"}).out);
  const std::string text = read_bytes(text_);
  EXPECT_EQ(json["symbols"].get<std::ptrdiff_t>(),
            std::count(text.begin(), text.end(), ' ') - (text.ends_with(' ') ? 1 : 0));
  expect_failure(training({"--overwrite", "--predict-after", "Q"}), 2, "Q");
}

TEST_F(CommandTest, options_without_effect_are_rejected) {
  const auto refuse = [&](const Arguments& more, const std::string& message) {
    expect_failure(Arguments{"train", text_, "--steps", "2", "--out", run_} + more, 2, message);
  };
  refuse({"--split", "100/0/0", "--early-stop", "2"}, "leaves no validation data");
  refuse({"--teacher-forcing", "0.5", "--forcing-schedule", "exponential"}, "omit it");
  expect_failure({"train", text_, "--model", "ngram:2", "--activity-penalty", "1", "--out", run_}, 2, "penalties");
  const std::string series = folder_ / "series.csv";
  std::string numbers = "load\n";
  for (int i = 0; i < 60; ++i) numbers += std::to_string(i % 7) + "." + std::to_string(i % 5) + "\n";
  write_bytes(series, numbers);
  const Arguments forecast = {"train", series, "--predict", "load", "--out", run_};
  expect_failure(forecast + Arguments{"--model", "rnn:4", "--feedback", "4+3", "--teacher-forcing", "1"}, 2,
                 "leave one of them out");
  for (const Arguments& unused : {Arguments{"--early-stop", "2"}, Arguments{"--label-smoothing", "0.2"},
                                  Arguments{"--gradient", "rtrl"}, Arguments{"--word-dropout", "0.3"}})
    expect_failure(forecast + Arguments{"--model", "esn:5"} + unused, 2, "is fitted in one pass: omit --");
}

TEST_F(CommandTest, an_option_of_reading_states_text_and_one_of_training_does_not) {
  std::string lines;
  for (int i = 0; i < 30; ++i) lines += i % 2 == 0 ? "good\ta fine day\n" : "bad\ta dull day\n";
  write_bytes(text_, lines);
  const Arguments training = {"train", text_, "--model", "rnn:4", "--steps", "2", "--overwrite", "--out", run_};
  EXPECT_THAT(unfold_command(training).err, testing::HasSubstr("is read as labelled"));
  EXPECT_THAT(unfold_command(training + Arguments{"--lines"}).err,
              testing::HasSubstr("is read as running text, which --lines is for; --format labelled"));
  expect_failure(training + Arguments{"--restarts", "2"}, 2,
                 "--restarts applies to text and tasks; this data has fields");
}

TEST_F(CommandTest, dynamic_evaluation_learns_from_lines_shorter_than_a_window) {
  train({"--lines"});
  std::string lines;
  for (int i = 0; i < 40; ++i) lines += "abc ab\n";
  write_bytes(text_, lines);
  const auto bits = [&](const Arguments& more) {
    const Finished done = unfold_command(Arguments{"eval", run_, text_, "--unknown", "skip", "--json"} + more);
    EXPECT_EQ(done.code, 0) << done.err;
    return only_object(done.out)["bits_per_symbol"].get<double>();
  };
  EXPECT_LT(bits({"--dynamic", "--optimizer", "adam:rate=0.02"}), bits({}));
}

}  // namespace
}  // namespace unfold::test
