#pragma once
/// A text, a small network and runs over it, for the tests of the trainer.

#include <gtest/gtest.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "tests/optim/small_network.h"
#include "unfold/base/error.h"
#include "unfold/train/trainer.h"

namespace unfold {

using Cell = SmallNetwork<float>::Cell;

class TrainerTest : public testing::Test {
 protected:
  void SetUp() override {
    const auto* test = testing::UnitTest::GetInstance()->current_test_info();
    folder_ = std::filesystem::temp_directory_path() / ("unfold-" + std::to_string(::getpid()) + "-" + test->name());
    std::filesystem::create_directories(folder_);
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }
  std::string file(const std::string& name) const { return (folder_ / name).string(); }

  std::filesystem::path folder_;
};

/// A text, its parts and a new network.
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

inline TrainerOptions small_options(Index steps) {
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

inline std::vector<float> flat(const Parameters<float>& p) { return {p.flat().begin(), p.flat().end()}; }

/// Ends a run from an observer, by a stop request or by a crash.
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

inline Ending finish(Setting& setting, TrainerOptions options, int threads = 1) {
  Team team(threads);
  Trainer<float> trainer(setting.small.network, setting.small.parameters, setting.data(), options, team);
  Ending ending;
  ending.result = trainer.run();
  ending.last = flat(setting.small.parameters);
  ending.best = flat(trainer.best());
  return ending;
}

/// Returns the log without the parts that depend on the clock.
inline std::vector<nlohmann::json> log_of(const std::string& path) {
  std::vector<nlohmann::json> lines;
  std::ifstream in(path);
  for (std::string line; std::getline(in, line);) {
    lines.push_back(nlohmann::json::parse(line));
    lines.back().erase("seconds");
    lines.back().erase("symbols_per_second");
  }
  return lines;
}

inline void interrupt_at(Setting& setting, TrainerOptions options, Index step, Stop::How how) {
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

}  // namespace unfold
