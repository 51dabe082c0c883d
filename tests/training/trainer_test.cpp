#include "unfold/training/trainer.h"

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

#include "optim/small_network.h"
#include "unfold/base/error.h"
#include "unfold/base/file.h"
#include "unfold/training/checkpoint.h"

namespace unfold {
namespace {

namespace fs = std::filesystem;
using Cell = SmallNetwork<float>::Cell;

class TrainerTest : public testing::Test {
 protected:
  void SetUp() override {
    const auto* test = testing::UnitTest::GetInstance()->current_test_info();
    folder_ = fs::temp_directory_path() / ("unfold-" + std::to_string(::getpid()) + "-" + test->name());
    fs::create_directories(folder_);
  }
  void TearDown() override { fs::remove_all(folder_); }
  std::string file(const std::string& name) const { return (folder_ / name).string(); }

  fs::path folder_;
};

/// A text, its parts and a fresh network.
struct Setting {
  explicit Setting(double dropout = 0, Index length = 3000)
      : text(wavy_text(length)),
        corpus(Corpus::from_text(text, Alphabet::chars_of(text))),
        parts(split_corpus(corpus, parse_split("80/20"))),
        small(corpus.alphabet().size(), 16, Cell::lstm, dropout) {}
  TrainingData data() const { return {corpus, parts[0], &parts[1], nullptr}; }
  std::string text;
  Corpus corpus;
  std::array<Split, 3> parts;
  SmallNetwork<float> small;
};

TrainerOptions small_options(Index steps) {
  TrainerOptions options;
  options.optimizer = "adam:rate=0.01,schedule=cosine,warmup=5";
  options.batches = {.window = 13, .batch = 4};
  options.steps = steps;
  options.validate_every = 17;
  options.validation_streams = 5;
  options.validation_warmup = 20;
  options.log_every = 10;
  options.snapshot_every = 8;
  options.checkpoint_seconds = 0;
  return options;
}

std::vector<float> flat(const Parameters<float>& p) { return {p.flat().begin(), p.flat().end()}; }

/// Ends a run from within, as a stop or as a crash.
struct Stop : Observer {
  enum class How { flag, crash };
  struct Crash {};
  Stop(Index at_, How how_) : at(at_), how(how_) {}
  void progress(const ProgressEvent& e) override {
    if (e.step != at) return;
    flag = true;
    if (how == How::crash) throw Crash{};
  }
  Index at;
  How how;
  std::atomic<bool> flag{false};
};

struct Ending {
  std::vector<float> last, best;
  TrainingResult result;
};

Ending finish(Setting& setting, TrainerOptions options, int threads = 1) {
  Team team(threads);
  Trainer<float> trainer(setting.small.network, setting.small.parameters, setting.data(), options, team);
  Ending ending;
  ending.result = trainer.run();
  ending.last = flat(setting.small.parameters);
  ending.best = flat(trainer.best());
  return ending;
}

/// The log without what depends on the clock.
std::vector<nlohmann::json> log_of(const std::string& path) {
  std::vector<nlohmann::json> lines;
  std::ifstream in(path);
  for (std::string line; std::getline(in, line);) {
    lines.push_back(nlohmann::json::parse(line));
    lines.back().erase("seconds");
    lines.back().erase("symbols_per_second");
  }
  return lines;
}

void interrupt_at(Setting& setting, TrainerOptions options, Index step, Stop::How how) {
  Stop stop(step, how);
  options.stop = &stop.flag;
  Team team(1);
  Trainer<float> trainer(setting.small.network, setting.small.parameters, setting.data(), options, team);
  trainer.set_observer(&stop);
  if (how == Stop::How::flag)
    EXPECT_THROW(trainer.run(), InterruptedError);
  else
    EXPECT_THROW(trainer.run(), Stop::Crash);
}

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

TEST_F(TrainerTest, steps_that_take_long_are_broken_off_and_made_anew_with_the_same_bytes) {
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
      } catch (const InterruptedError&) {  // or it was over before
      }
      options.stop = nullptr;
      options.resume = true;
      Setting resumed(0, 4000);
      EXPECT_EQ(finish(resumed, options).last, expected.last) << spec << " after " << microseconds;
    }
  }
}

TEST_F(TrainerTest, learns_and_counts) {
  Setting setting;
  const Ending ending = finish(setting, small_options(150));
  EXPECT_EQ(ending.result.steps, 150);
  EXPECT_EQ(ending.result.reason, "steps");
  EXPECT_EQ(ending.result.validation_symbols, setting.parts[1].symbols());
  EXPECT_LT(ending.result.best_nats_per_symbol, 1.2);  // log 8 = 2.08; the source has about 0.4
  EXPECT_GT(ending.result.best_nats_per_symbol, 0.3);
}

/// Rates, earlier directions and running averages are part of a checkpoint, in full batches and in windows; so are the
/// steps that L-BFGS remembers, and where the last one ended.
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

TEST_F(TrainerTest, gives_the_same_bits_for_one_and_two_threads) {
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

TEST_F(TrainerTest, runs_that_read_their_own_outputs_resume_to_the_same_bytes_and_are_runs_of_their_own) {
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
  EXPECT_THROW(finish(forced, options), UsageError);  // another run than that of the checkpoint
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
    options.batches.curriculum = 5;
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
        small.parameters.initialise(99);
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
    fs::remove(file("whole.jsonl"));
    fs::remove(file("cut.jsonl"));
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
  EXPECT_EQ(reports, 9);  // the second run began its log afresh
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
  fs::remove(options.checkpoint);
  EXPECT_THROW(finish(setting, options), ModelError);
}

/// Breaks a parameter after some steps, a given number of times.
struct Saboteur : Observer {
  Saboteur(Parameters<float>& parameters_, Index at_, int times_) : parameters(parameters_), at(at_), times(times_) {}
  void progress(const ProgressEvent& e) override {
    if (e.step == at && times > 0) {
      --times;
      parameters.at("z/U")(3, 2) = std::nanf("");
    }
  }
  void rollback(const RollbackEvent& e) override { rollbacks.push_back(e); }
  Parameters<float>& parameters;
  Index at;
  int times;
  std::vector<RollbackEvent> rollbacks;
};

TEST_F(TrainerTest, a_value_that_is_not_finite_leads_back_to_the_last_good_state) {
  Setting setting;
  TrainerOptions options = small_options(60);
  options.log = file("log.jsonl");
  Team team(1);
  Trainer<float> trainer(setting.small.network, setting.small.parameters, setting.data(), options, team);
  Saboteur saboteur(setting.small.parameters, 43, 2);
  trainer.set_observer(&saboteur);
  const TrainingResult result = trainer.run();
  ASSERT_EQ(saboteur.rollbacks.size(), 2u);
  EXPECT_EQ(saboteur.rollbacks[0].step, 43);
  EXPECT_EQ(saboteur.rollbacks[0].to_step, 40);
  EXPECT_NE(saboteur.rollbacks[0].reason.find("at position "), std::string::npos) << saboteur.rollbacks[0].reason;
  EXPECT_EQ(saboteur.rollbacks[0].factor, 0.5);
  EXPECT_EQ(saboteur.rollbacks[1].factor, 0.05);
  EXPECT_EQ(saboteur.rollbacks[1].attempt, 2);
  EXPECT_EQ(result.steps, 60);
  EXPECT_EQ(result.rollbacks, 2);
  EXPECT_TRUE(std::isfinite(result.last_loss));
  int logged = 0;
  for (const auto& line : log_of(file("log.jsonl"))) logged += line["event"] == "rollback";
  EXPECT_EQ(logged, 2);
}

TEST_F(TrainerTest, a_run_resumed_between_snapshots_goes_back_to_the_same_state_as_one_never_stopped) {
  std::vector<std::vector<float>> endings;
  for (const bool stopped : {false, true}) {
    Setting setting;
    TrainerOptions options = small_options(60);
    options.checkpoint = file("c.safetensors");
    if (stopped) {
      interrupt_at(setting, options, 43, Stop::How::flag);
      options.resume = true;
    }
    Team team(1);
    Trainer<float> trainer(setting.small.network, setting.small.parameters, setting.data(), options, team);
    Saboteur saboteur(setting.small.parameters, 45, 1);
    trainer.set_observer(&saboteur);
    trainer.run();
    ASSERT_EQ(saboteur.rollbacks.size(), 1u);
    EXPECT_EQ(saboteur.rollbacks[0].to_step, 40);
    endings.push_back(flat(setting.small.parameters));
  }
  EXPECT_EQ(endings[0], endings[1]);
}

TEST_F(TrainerTest, gives_up_after_a_bounded_number_of_attempts) {
  Setting setting;
  Team team(1);
  Trainer<float> trainer(setting.small.network, setting.small.parameters, setting.data(), small_options(60), team);
  Saboteur saboteur(setting.small.parameters, 43, 1000);
  trainer.set_observer(&saboteur);
  try {
    trainer.run();
    FAIL();
  } catch (const DivergedError& error) {
    EXPECT_NE(std::string(error.what()).find("step 43"), std::string::npos) << error.what();
    EXPECT_NE(std::string(error.what()).find("rate"), std::string::npos);
  }
  EXPECT_EQ(saboteur.rollbacks.size(), 8u);
}

TEST_F(TrainerTest, an_absurd_rate_is_rescued_or_explained) {
  for (const char* spec : {"sgd:rate=1e6,clip=0", "adam:rate=1e6", "adam:rate=1e30,clip=0"}) {
    Setting setting;
    TrainerOptions options = small_options(60);
    options.optimizer = spec;
    try {
      EXPECT_TRUE(std::isfinite(finish(setting, options).result.last_loss)) << spec;
    } catch (const DivergedError& error) {
      EXPECT_NE(std::string(error.what()).find("smaller rate"), std::string::npos) << error.what();
    }
  }
}

TEST_F(TrainerTest, a_model_that_is_broken_from_the_start_is_not_tried_again) {
  Setting setting;
  setting.small.parameters.flat()[5] = std::nanf("");
  EXPECT_THROW(finish(setting, small_options(5)), DivergedError);
}

TEST_F(TrainerTest, a_weight_that_no_batch_reads_must_be_finite_as_well) {
  struct Breaker : Observer {
    void progress(const ProgressEvent& e) override {
      if (e.step != 20 || broken) return;
      broken = true;
      for (const ParameterInfo& p : parameters.info())
        if (p.rows == symbols) parameters.flat()[at(p.offset + p.size() - 1)] = std::numeric_limits<float>::infinity();
    }
    void rollback(const RollbackEvent& e) override { reasons.push_back(e.reason); }
    explicit Breaker(Parameters<float>& given) : parameters(given) {}
    Parameters<float>& parameters;
    Index symbols = 0;
    bool broken = false;
    std::vector<std::string> reasons;
  };
  const std::string text = wavy_text(3000);
  const Corpus corpus = Corpus::from_text(text, Alphabet::chars_of(text + "z"));  // the last symbol never comes
  const auto parts = split_corpus(corpus, parse_split("80/20"));
  for (const bool validated : {true, false}) {
    SmallNetwork<float> small(corpus.alphabet().size(), 16, Cell::lstm);
    Team team(1);
    Trainer<float> trainer(small.network, small.parameters, {corpus, parts[0], validated ? &parts[1] : nullptr},
                           small_options(30), team);
    Breaker breaker(small.parameters);
    breaker.symbols = corpus.alphabet().size();
    trainer.set_observer(&breaker);
    trainer.run();
    ASSERT_EQ(breaker.reasons.size(), 1u);
    EXPECT_NE(breaker.reasons[0].find("a weight is not finite"), std::string::npos) << breaker.reasons[0];
    for (const float x : trainer.best().flat()) ASSERT_TRUE(std::isfinite(x));
  }
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

TEST_F(TrainerTest, keeps_the_best_and_samples_when_asked) {
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

TEST_F(TrainerTest, a_checkpoint_that_cannot_be_written_is_a_failure_that_names_the_file) {
  Setting setting;
  TrainerOptions options = small_options(5);
  options.checkpoint = file("no/such/folder/c.safetensors");
  EXPECT_THROW(finish(setting, options), RuntimeFailure);
  options.checkpoint.clear();
  options.log = file("no/such/folder/log.jsonl");
  EXPECT_THROW(finish(setting, options), RuntimeFailure);
}

TEST(ValidationInterval, costs_about_a_twentieth_of_the_time) {
  EXPECT_EQ(automatic_validation_interval(0, 2048), 50);
  EXPECT_EQ(automatic_validation_interval(111000, 2048), 361);
  EXPECT_EQ(automatic_validation_interval(111000, 2048, 100), 3);
  EXPECT_EQ(automatic_validation_interval(0, 2048, 100), 1);
}

}  // namespace
}  // namespace unfold
