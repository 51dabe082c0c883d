/// Runs with forward-mode gradients learn, and a resumed run ends with the same bytes as an uninterrupted one.

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>

#include "tests/optim/small_network.h"
#include "unfold/base/error.h"
#include "unfold/model/network/train.h"

namespace unfold {
namespace {

namespace fs = std::filesystem;

class ForwardRuns : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = fs::temp_directory_path() / ("unfold-forward-" + std::to_string(::getpid()));
    fs::create_directories(folder_);
  }
  void TearDown() override { fs::remove_all(folder_); }
  std::string file(const std::string& name) const { return (folder_ / name).string(); }

  TrainOptions options(const std::string& method, Index steps) const {
    TrainOptions result;
    result.trainer.optimizer = "adam:rate=0.01,clip=1";
    result.trainer.gradient = GradientMethod::parse(method);
    result.trainer.batches = {.window = 5, .batch = 3};
    result.trainer.steps = steps;
    result.trainer.checkpoint = file("checkpoint");
    return result;
  }
  fs::path folder_;
};

std::vector<float> train_for(const Corpus& corpus, const std::string& spec, const TrainOptions& options) {
  const auto parts = split_corpus(corpus, parse_split("90/10"));
  LanguageModel<float> model(spec, corpus.alphabet());
  model.initialize(1);
  Team team(2);
  train(model, {corpus, parts[0], &parts[1], nullptr}, options, team);
  return {model.parameters().flat().begin(), model.parameters().flat().end()};
}

TEST_F(ForwardRuns, interrupted_forward_run_equals_uninterrupted_run) {
  const std::string text = wavy_text(600);
  const Corpus corpus = Corpus::from_text(text, Alphabet::chars_of(text));
  for (const char* method : {"rtrl", "snap:1", "uoro", "nobacktrack"}) {
    const auto whole = train_for(corpus, "gru:6", options(method, 41));
    train_for(corpus, "gru:6", options(method, 23));
    TrainOptions rest = options(method, 41);
    rest.trainer.resume = true;
    EXPECT_EQ(train_for(corpus, "gru:6", rest), whole) << method;
    TrainOptions other = rest;
    other.trainer.gradient = {};
    EXPECT_THROW(train_for(corpus, "gru:6", other), UsageError) << method;
  }
}

TEST_F(ForwardRuns, forward_runs_learn_beyond_a_window_of_one_symbol) {
  std::string text;
  Random random(4, "pairs");
  for (int i = 0; i < 500; ++i) text += random.below(2) == 0 ? "axxb" : "cxxd";
  const Corpus corpus = Corpus::from_text(text, Alphabet::chars_of(text));
  const auto parts = split_corpus(corpus, parse_split("90/10"));
  LanguageModel<float> model("lstm:12", corpus.alphabet());
  model.initialize(1);
  Team team(2);
  TrainOptions online = options("rtrl", 1500);
  online.trainer.checkpoint.clear();
  online.trainer.batches = {.window = 1, .batch = 8};
  const TrainingResult result = train(model, {corpus, parts[0], &parts[1], nullptr}, online, team);
  const double one_bit = 0.6931 / 4;  // a or c, once in four symbols; guessing b or d as well would need two bits
  EXPECT_LT(result.best_nats_per_symbol, 1.3 * one_bit);
}

TEST_F(ForwardRuns, window_based_optimizers_and_options_are_rejected) {
  const std::string text = wavy_text(300);
  const Corpus corpus = Corpus::from_text(text, Alphabet::chars_of(text));
  for (const char* optimizer : {"hf", "natural"}) {
    TrainOptions o = options("rtrl", 5);
    o.trainer.optimizer = optimizer;
    EXPECT_THROW(train_for(corpus, "rnn:4", o), UsageError) << optimizer;
  }
  TrainOptions penalized = options("rtrl", 5);
  penalized.trainer.penalties.activity = 1;
  EXPECT_THROW(train_for(corpus, "rnn:4", penalized), UsageError);
  TrainOptions coarse = options("uoro", 5);
  coarse.trainer.precision = Precision::bf16;
  EXPECT_THROW(train_for(corpus, "rnn:4", coarse), UsageError);
}

}  // namespace
}  // namespace unfold
