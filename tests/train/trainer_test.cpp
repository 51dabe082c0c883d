#include "unfold/train/trainer.h"

#include <gtest/gtest.h>

#include <chrono>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <future>
#include <nlohmann/json.hpp>
#include <optional>
#include <thread>

#include "tests/train/trained_text.h"
#include "train/checkpoint.h"
#include "unfold/base/error.h"
#include "unfold/base/formats/file.h"

namespace unfold {
namespace {

/// Sets its flag from another thread, some time after a step.
struct StopLater : Observer {
  StopLater(Index at_, std::chrono::microseconds delay_) : at(at_), delay(delay_) {}
  void progress(const ProgressEvent& e) override {
    if (e.step == at)
      sleeper = std::async(std::launch::async, [this] {
        std::this_thread::sleep_for(delay);
        flag = true;
      });
  }
  Index at;
  std::chrono::microseconds delay;
  std::atomic<bool> flag{false};
  std::future<void> sleeper;
};

TEST_F(TrainerTest, long_steps_are_interrupted_and_repeated_with_the_same_bytes) {
  for (const char* spec : {"hf:windows=4,iterations=12", "natural:windows=4,iterations=12"}) {
    TrainerOptions options = small_options(8);
    options.optimizer = spec;
    Setting whole(0, 4000);
    const Ending expected = finish(whole, options);
    options.checkpoint = file(std::string(spec).substr(0, 2));
    options.checkpoint_steps = 1;
    for (const int microseconds : {0, 1000, 3000, 7000, 15000, 30000}) {
      StopLater stop(3, std::chrono::microseconds(microseconds));
      options.stop = &stop.flag;
      options.resume = false;
      Team team(1);
      Setting cut(0, 4000);
      Trainer<float> trainer(cut.small.network, cut.small.parameters, cut.data(), options, team);
      trainer.set_observer(&stop);
      try {
        trainer.run();
      } catch (const InterruptedError&) {  // or the run ended before that
      }
      options.stop = nullptr;
      options.resume = true;
      Setting resumed(0, 4000);
      EXPECT_EQ(finish(resumed, options).last, expected.last) << spec << " after " << microseconds;
    }
  }
}

/// The interruption occurs while a gradient is computed, during the update after it, or during a validation.
TEST_F(TrainerTest, ResumesToIdenticalBytesAfterAnInterruptionAtAnyMoment) {
  for (const char* spec : {"adam:rate=0.01,clip=1", "rmsprop"}) {
    TrainerOptions options = small_options(9);
    options.optimizer = spec;
    options.batches = {.window = 400, .batch = 2};
    options.validate_every = 2;
    Setting whole(0.1, 12000);
    const Ending expected = finish(whole, options);
    options.checkpoint = file("at-any-moment");
    for (int microseconds = 0; microseconds < 30000; microseconds = 1 + 2 * microseconds) {
      StopLater stop(3, std::chrono::microseconds(microseconds));
      options.stop = &stop.flag;
      options.resume = false;
      Team team(2);
      Setting cut(0.1, 12000);
      Trainer<float> trainer(cut.small.network, cut.small.parameters, cut.data(), options, team);
      trainer.set_observer(&stop);
      try {
        trainer.run();
      } catch (const InterruptedError&) {  // or the run ended before that
      }
      options.stop = nullptr;
      options.resume = true;
      Setting resumed(0.1, 12000);
      const Ending ending = finish(resumed, options);
      EXPECT_EQ(ending.last, expected.last) << spec << " after " << microseconds;
      EXPECT_EQ(ending.result.best_step, expected.result.best_step) << spec << " after " << microseconds;
      EXPECT_EQ(ending.result.best_nats_per_symbol, expected.result.best_nats_per_symbol);
    }
  }
}

/// Records events, and waits briefly at each of the steps up to `slow`.
struct Waiting final : Observer {
  Waiting(Index slow_, Index stop_) : slow(slow_), stop(stop_) {}
  void progress(const ProgressEvent& event) override {
    if (event.step <= slow) std::this_thread::sleep_for(std::chrono::milliseconds(20));
    events.push_back(event);
    flag = event.step == stop;
  }
  Index slow, stop;
  std::vector<ProgressEvent> events;
  std::atomic<bool> flag{false};
};

/// Half of a run on a slow machine, the other half on a fast one: the remaining time is estimated from the second half
/// only.
TEST_F(TrainerTest, time_left_of_a_resumed_run_uses_its_speed_since_resuming) {
  TrainerOptions options = small_options(20);
  options.checkpoint = file("c.safetensors");
  Waiting before(10, 10), after(0, 0);
  for (Waiting* observer : {&before, &after}) {
    Setting setting(0, 400);
    options.stop = &observer->flag;
    Team team(1);
    Trainer<float> trainer(setting.small.network, setting.small.parameters, setting.data(), options, team);
    trainer.set_observer(observer);
    if (observer == &before)
      EXPECT_THROW(trainer.run(), InterruptedError);
    else
      trainer.run();
    options.resume = true;
  }
  ASSERT_EQ(before.events.size(), 10u);
  ASSERT_EQ(after.events.size(), 10u);
  const double seconds = before.events.back().seconds, done = before.events.back().fraction;
  for (const ProgressEvent& event : after.events)
    EXPECT_LE(event.seconds_left, (event.seconds - seconds) * (1 - event.fraction) / (event.fraction - done) + 1e-9)
        << event.step;
  EXPECT_EQ(after.events.back().seconds_left, 0);
}

TEST_F(TrainerTest, learns_and_counts_steps_and_symbols) {
  Setting setting;
  const Ending ending = finish(setting, small_options(150));
  EXPECT_EQ(ending.result.steps, 150);
  EXPECT_EQ(ending.result.reason, "steps");
  EXPECT_EQ(ending.result.validation_symbols, setting.parts[1].symbols());
  EXPECT_LT(ending.result.best_nats_per_symbol, 1.2);  // log 8 = 2.08; the entropy of the source is about 0.4
  EXPECT_GT(ending.result.best_nats_per_symbol, 0.3);
}

/// Rates, earlier directions and running averages are part of a checkpoint, in full batches and in windows; so are the
/// history of L-BFGS and the position after its last step.
TEST_F(TrainerTest, runs_with_a_metric_or_a_line_search_resume_to_the_same_bytes) {
  for (const std::string spec :
       {"ruop", "rbpm:reduction=quasi-diagonal,average=true",
        "rbpm:control=fixed,rate=0.3,keep=0.8,reduction=quasi-diagonal", "lbfgs:l2=0.1", "lbfgs:l1=0.1"})
    for (const auto how : {Stop::How::flag, Stop::How::crash}) {
      TrainerOptions options = small_options(12);
      options.optimizer = spec;
      options.batches.whole_sequences = spec.find("fixed") == std::string::npos;
      Setting whole(0, 400), parts(0, 400);
      const Ending expected = finish(whole, options);
      options.checkpoint = file(spec + (how == Stop::How::flag ? "flag" : "crash"));
      options.checkpoint_steps = 1;
      options.snapshot_every = 1;
      interrupt_at(parts, options, 7, how);
      options.resume = true;
      Setting resumed(0, 400);
      EXPECT_EQ(finish(resumed, options).last, expected.last) << spec;
      EXPECT_LT(expected.result.last_loss, 2.2) << spec;
    }
}

TEST_F(TrainerTest, curvature_has_the_same_bits_for_one_and_two_threads) {
  Setting one(0.2), two(0.2);
  const Ending a = finish(one, small_options(40), 1), b = finish(two, small_options(40), 2);
  EXPECT_EQ(a.last, b.last);
  EXPECT_EQ(a.best, b.best);
  EXPECT_EQ(a.result.best_nats_per_symbol, b.result.best_nats_per_symbol);
}

TEST_F(TrainerTest, memory_limit_changes_nothing) {
  Setting plain, limited;
  TrainerOptions options = small_options(30);
  const Ending a = finish(plain, options);
  options.memory_limit = 20000;
  const Ending b = finish(limited, options);
  EXPECT_EQ(a.last, b.last);
}

class Resume : public TrainerTest, public testing::WithParamInterface<Stop::How> {};

TEST_P(Resume, ends_with_the_same_bytes_and_log_as_an_uninterrupted_run) {
  TrainerOptions options = small_options(120);
  options.checkpoint_steps = 9;
  options.checkpoint = file("whole.safetensors");
  options.log = file("whole.jsonl");
  Setting whole(0.3);
  const Ending expected = finish(whole, options);

  options.checkpoint = file("cut.safetensors");
  options.log = file("cut.jsonl");
  std::optional<Setting> cut(std::in_place, 0.3);
  for (const Index step : {13, 14, 34, 72, 103}) {
    interrupt_at(*cut, options, step, GetParam());
    options.resume = true;
    cut.emplace(0.3);  // nothing survives but the files
  }
  const Ending resumed = finish(*cut, options);
  EXPECT_EQ(expected.last, resumed.last);
  EXPECT_EQ(expected.best, resumed.best);
  EXPECT_EQ(expected.result.symbols, resumed.result.symbols);
  EXPECT_EQ(expected.result.best_nats_per_symbol, resumed.result.best_nats_per_symbol);
  EXPECT_EQ(log_of(file("whole.jsonl")), log_of(file("cut.jsonl")));
  EXPECT_EQ(log_of(file("cut.jsonl")).back()["event"], "done");
}

INSTANTIATE_TEST_SUITE_P(Ways, Resume, testing::Values(Stop::How::flag, Stop::How::crash),
                         [](const auto& param) { return param.param == Stop::How::flag ? "Stopped" : "Killed"; });

TEST_F(TrainerTest, scheduled_sampling_resumes_to_the_same_bytes) {
  TrainerOptions options = small_options(60);
  options.forcing = {.from = 1, .to = 0.2};
  options.checkpoint_steps = 9;
  options.checkpoint = file("whole.safetensors");
  Setting whole(0.3), forced(0.3);
  const Ending expected = finish(whole, options);
  options.checkpoint = file("cut.safetensors");
  Setting cut(0.3), resumed(0.3);
  interrupt_at(cut, options, 31, Stop::How::flag);
  options.resume = true;
  EXPECT_EQ(finish(resumed, options).last, expected.last);
  options.forcing = {};
  EXPECT_THROW(finish(forced, options), UsageError);  // not the run of the checkpoint
  options.resume = false;
  Setting taught(0.3);
  EXPECT_NE(finish(taught, options).last, expected.last);
}

TEST_F(TrainerTest, resume_works_for_whole_sequences_ragged_windows_and_a_curriculum) {
  const Corpus corpus = numbered_corpus({9, 14, 3, 30, 1, 22, 7, 12});
  const Split part = whole_corpus(corpus, "training");
  for (const bool whole_sequences : {false, true}) {
    TrainerOptions options = small_options(40);
    options.batches.whole_sequences = whole_sequences;
    options.batches.curriculum.step = 5;
    options.checkpoint = file("c.safetensors");
    std::vector<std::vector<float>> endings;
    for (const bool interrupted : {false, true}) {
      options.resume = false;
      SmallNetwork<float> small(corpus.alphabet().size(), 8, Cell::rnn);
      const TrainingData data{corpus, part, nullptr, nullptr};
      Team team(1);
      if (interrupted) {
        Stop stop(21, Stop::How::flag);
        options.stop = &stop.flag;
        Trainer<float> trainer(small.network, small.parameters, data, options, team);
        trainer.set_observer(&stop);
        EXPECT_THROW(trainer.run(), InterruptedError);
        options.stop = nullptr;
        options.resume = true;
        small.parameters.initialize(99);
      }
      Trainer<float> trainer(small.network, small.parameters, data, options, team);
      trainer.run();
      endings.push_back(flat(small.parameters));
    }
    EXPECT_EQ(endings[0], endings[1]) << whole_sequences;
  }
}

TrainerOptions curvature_options(const char* optimizer) {
  TrainerOptions options = small_options(9);
  options.optimizer = optimizer;
  options.validate_every = 4;
  options.log_every = 2;
  options.snapshot_every = 1;
  return options;
}

TEST_F(TrainerTest, hessian_free_runs_resume_with_the_same_bytes_and_log) {
  for (const char* optimizer : {"hf:windows=3,curvature=0.4,iterations=8", "natural:windows=2,iterations=4"}) {
    TrainerOptions options = curvature_options(optimizer);
    options.checkpoint = file("whole.safetensors");
    options.log = file("whole.jsonl");
    Setting whole(0.3);
    const Ending expected = finish(whole, options);
    options.checkpoint = file("cut.safetensors");
    options.log = file("cut.jsonl");
    Setting cut(0.3);
    interrupt_at(cut, options, 5, Stop::How::flag);
    options.resume = true;
    Setting other(0.3);
    EXPECT_EQ(expected.last, finish(other, options).last) << optimizer;
    EXPECT_EQ(log_of(file("whole.jsonl")), log_of(file("cut.jsonl"))) << optimizer;
    std::filesystem::remove(file("whole.jsonl"));
    std::filesystem::remove(file("cut.jsonl"));
  }
}

TEST_F(TrainerTest, hessian_free_gives_the_same_bits_for_one_and_two_threads_and_reports_every_step) {
  TrainerOptions options = curvature_options("hf:windows=2,iterations=10");
  options.log = file("log.jsonl");
  Setting one(0.2), two(0.2);
  const Ending a = finish(one, options, 1), b = finish(two, options, 2);
  EXPECT_EQ(a.last, b.last);
  EXPECT_EQ(a.result.symbols, 2 * 9 * 13 * 4);
  int reports = 0;
  for (const auto& line : log_of(file("log.jsonl"))) {
    if (line["event"] != "curvature") continue;
    ++reports;
    EXPECT_LE(line["after"], line["nats_per_symbol"]);
    EXPECT_GT(line["lambda"], 0);
    EXPECT_LE(line["kept"], line["iterations"]);
  }
  EXPECT_EQ(reports, 9);  // the second run started a new log
}

TEST_F(TrainerTest, hessian_free_learns_in_few_steps) {
  Setting setting;
  TrainerOptions options = curvature_options("hf:windows=8,curvature=0.5");
  options.steps = 30;
  const Ending ending = finish(setting, options);
  EXPECT_LT(ending.result.best_nats_per_symbol, 1.2);  // log 8 = 2.08; adam needs about 150 steps
}

TEST_F(TrainerTest, curvature_refuses_a_memory_limit) {
  TrainerOptions options = curvature_options("hf");
  options.memory_limit = 20000;
  Setting setting;
  EXPECT_THROW(finish(setting, options), UsageError);
}

TEST_F(TrainerTest, a_finished_run_can_be_prolonged) {
  TrainerOptions options = small_options(20);
  options.optimizer = "sgd:rate=0.05";
  options.checkpoint = file("c.safetensors");
  Setting setting;
  finish(setting, options);
  options.resume = true;
  options.steps = 30;
  const Ending longer = finish(setting, options);
  Setting other;
  options.checkpoint = file("d.safetensors");
  options.resume = false;
  EXPECT_EQ(longer.last, finish(other, options).last);
}

TEST_F(TrainerTest, refuses_a_checkpoint_of_another_configuration_or_a_damaged_one) {
  TrainerOptions options = small_options(10);
  options.checkpoint = file("c.safetensors");
  Setting setting;
  finish(setting, options);
  options.resume = true;
  options.batches.window = 14;
  try {
    finish(setting, options);
    FAIL();
  } catch (const UsageError& error) {
    EXPECT_NE(std::string(error.what()).find("window = 13"), std::string::npos) << error.what();
  }
  options.batches.window = 13;
  std::string bytes = read_file(options.checkpoint);
  for (std::size_t cut = 0; cut < bytes.size(); cut += 1 + bytes.size() / 20) {
    write_file_atomically(options.checkpoint, bytes.substr(0, cut));
    EXPECT_THROW(finish(setting, options), ModelError) << cut;
  }
  bytes[bytes.size() / 2] = static_cast<char>(bytes[bytes.size() / 2] ^ 4);
  write_file_atomically(options.checkpoint, bytes);
  EXPECT_THROW(finish(setting, options), ModelError);
  std::filesystem::remove(options.checkpoint);
  EXPECT_THROW(finish(setting, options), ModelError);
}

TEST_F(TrainerTest, stops_early_when_validation_no_longer_improves) {
  Setting setting;
  TrainerOptions options = small_options(100000);
  options.optimizer = "adam:rate=0.03";
  options.patience = 3;
  const Ending ending = finish(setting, options);
  EXPECT_EQ(ending.result.reason, "patience");
  EXPECT_EQ(ending.result.best_step, ending.result.steps - 3 * 17);
  EXPECT_NE(ending.best, ending.last);
}

TEST_F(TrainerTest, the_initial_parameters_are_kept_if_training_does_not_improve_them) {
  Setting setting;
  TrainerOptions options = small_options(340);
  finish(setting, options);
  const std::vector<float> before(setting.small.parameters.flat().begin(), setting.small.parameters.flat().end());
  options.optimizer = "sgd:rate=3";  // makes validations worse
  options.steps = 40;
  options.validate_every = 10;
  options.validate_start = true;
  options.log = file("log.jsonl");
  const Ending ending = finish(setting, options);
  EXPECT_EQ(ending.result.best_step, 0);
  EXPECT_EQ(ending.best, before);
  EXPECT_NE(ending.last, before);
  EXPECT_NE(read_file(options.log).find("\"step\":0"), std::string::npos);
}

TEST_F(TrainerTest, a_plateau_halves_the_rate) {
  struct Rates : Observer {
    void progress(const ProgressEvent& e) override { last = e.rate; }
    double last = 0;
  } rates;
  Setting setting;
  TrainerOptions options = small_options(17 * 40);
  options.optimizer = "adam:rate=0.03,schedule=plateau,floor=0";
  Team team(1);
  Trainer<float> trainer(setting.small.network, setting.small.parameters, setting.data(), options, team);
  trainer.set_observer(&rates);
  trainer.run();
  const double halvings = std::log2(0.03 / rates.last);
  EXPECT_GE(halvings, 1);
  EXPECT_NEAR(halvings, std::round(halvings), 1e-9);
}

TEST_F(TrainerTest, budgets_in_epochs_and_minutes_end_a_run) {
  Setting setting;
  TrainerOptions options = small_options(0);
  options.epochs = 1.5;
  const Ending ending = finish(setting, options);
  EXPECT_EQ(ending.result.reason, "epochs");
  EXPECT_NEAR(ending.result.epochs, 1.5, 0.05);
  options.epochs = 0;
  options.minutes = 0.005;
  const Ending timed = finish(setting, options);
  EXPECT_EQ(timed.result.reason, "minutes");
  EXPECT_LT(timed.result.seconds, 3);
  options.minutes = 0;
  EXPECT_THROW(finish(setting, options), UsageError);
}

TEST_F(TrainerTest, best_model_is_kept_and_samples_are_drawn) {
  Setting setting;
  TrainerOptions options = small_options(51);
  options.sample_every = 20;
  Team team(1);
  Trainer<float> trainer(setting.small.network, setting.small.parameters, setting.data(), options, team);
  std::vector<Index> samples;
  std::vector<float> kept;
  trainer.set_sampler([&](const Parameters<float>&, Index step) {
    samples.push_back(step);
    return "text";
  });
  trainer.on_best([&](const Parameters<float>& p) { kept = flat(p); });
  trainer.run();
  EXPECT_EQ(samples, (std::vector<Index>{20, 40}));
  EXPECT_EQ(kept, flat(trainer.best()));
}

TEST_F(TrainerTest, unwritable_checkpoint_error_names_the_file) {
  Setting setting;
  TrainerOptions options = small_options(5);
  options.checkpoint = file("no/such/folder/c.safetensors");
  EXPECT_THROW(finish(setting, options), RuntimeFailure);
  options.checkpoint.clear();
  options.log = file("no/such/folder/log.jsonl");
  EXPECT_THROW(finish(setting, options), RuntimeFailure);
}

TEST(ValidationInterval, validation_takes_about_a_twentieth_of_the_time) {
  EXPECT_EQ(automatic_validation_interval(0, 2048), 50);
  EXPECT_EQ(automatic_validation_interval(111000, 2048), 361);
  EXPECT_EQ(automatic_validation_interval(111000, 2048, 100), 3);
  EXPECT_EQ(automatic_validation_interval(0, 2048, 100), 1);
}

}  // namespace
}  // namespace unfold
