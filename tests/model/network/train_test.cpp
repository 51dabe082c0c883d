#include "unfold/model/network/train.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "unfold/base/error.h"
#include "unfold/data/text/split.h"
#include "unfold/model/registry/registry.h"

namespace unfold {
namespace {

namespace fs = std::filesystem;

class TrainTest : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = fs::temp_directory_path() / ("unfold-train-" + std::to_string(::getpid()));
    fs::create_directories(folder_);
  }
  void TearDown() override { fs::remove_all(folder_); }
  std::string file(const std::string& name) const { return (folder_ / name).string(); }
  fs::path folder_;
};

std::string periodic_text() {
  std::string text;
  for (int i = 0; i < 300; ++i) text += "abcdabdc";
  return text;
}

TrainOptions small_options(Index steps) {
  TrainOptions options;
  options.trainer.optimizer = "adam:rate=0.02,schedule=cosine,clip=1";
  options.trainer.batches = {.window = 24, .batch = 4};
  options.trainer.steps = steps;
  return options;
}

TEST_F(TrainTest, every_cell_learns_a_periodic_sequence) {
  const Corpus corpus = Corpus::from_text(periodic_text(), Alphabet::chars_of("abcd"));
  const auto parts = split_corpus(corpus, parse_split("80/20"));
  Team team(2);
  for (const char* spec : {"lstm:16", "gru:16", "gru:16,reset=after", "rnn:24", "lstm:12,layers=2,embedding=4"}) {
    LanguageModel<float> model(spec, corpus.alphabet());
    model.initialize(1);
    const TrainingResult result = train(model, {corpus, parts[0], &parts[1], nullptr}, small_options(200), team);
    EXPECT_LT(result.best_nats_per_symbol, 0.05) << spec;
    EXPECT_LT(model.evaluate(corpus, parts[1], team).nats_per_symbol(), 0.06) << spec;
  }
}

/// At two of every four positions, the network reads its own probabilities instead of the previous symbol.
TEST_F(TrainTest, language_models_learn_with_output_feedback) {
  const Corpus corpus = Corpus::from_text(periodic_text(), Alphabet::chars_of("abcd"));
  const auto parts = split_corpus(corpus, parse_split("80/20"));
  const TrainingData data{corpus, parts[0], &parts[1], nullptr};
  TrainOptions options = small_options(200);
  options.trainer.feedback = {.given = 2, .free = 2};
  Team team(1);
  LanguageModel<float> model("lstm:16,embedding=4", corpus.alphabet()), plain("lstm:16,embedding=4", corpus.alphabet());
  model.initialize(1), plain.initialize(1);
  EXPECT_LT(train(model, data, options, team).best_nats_per_symbol, 0.3);
  train(plain, data, small_options(200), team);
  EXPECT_FALSE(std::ranges::equal(model.parameters().flat(), plain.parameters().flat()));
  LanguageModel<float> tensor("tensor-rnn:4", corpus.alphabet());
  tensor.initialize(1);
  EXPECT_THROW(train(tensor, data, options, team), UsageError);  // it has a matrix for each symbol
}

TEST_F(TrainTest, model_file_is_identical_for_any_threads_and_interruptions) {
  const Corpus corpus = Corpus::from_text(periodic_text(), Alphabet::chars_of("abcd"));
  const auto parts = split_corpus(corpus, parse_split("80/20"));
  const TrainingData data{corpus, parts[0], &parts[1], nullptr};
  struct Stop : Observer {
    void progress(const ProgressEvent& e) override { flag = e.step == 50; }
    std::atomic<bool> flag{false};
  };
  std::vector<std::string> files;
  for (const int threads : {1, 2, 0}) {  // 0: interrupted
    Team team(threads == 2 ? 2 : 1);
    TrainOptions options = small_options(80);
    options.model_file = file("model.safetensors");
    options.trainer.checkpoint = file("checkpoint.safetensors");
    options.trainer.validate_every = 30;
    const auto fresh = [&] {
      LanguageModel<float> model("lstm:10,dropout=0.2", corpus.alphabet());
      model.initialize(1);
      return model;
    };
    if (threads == 0) {
      Stop stop;
      options.trainer.stop = &stop.flag;
      auto model = fresh();
      EXPECT_THROW(train(model, data, options, team, &stop), InterruptedError);
      options.trainer.stop = nullptr;
      options.trainer.resume = true;
    }
    auto model = fresh();
    train(model, data, options, team);
    files.push_back(read_file(options.model_file));
    EXPECT_EQ(files.back(), model.bytes());
    EXPECT_EQ(model.history().size(), 1u);
    EXPECT_EQ(model.history()[0]["steps"], 80);
  }
  EXPECT_EQ(files[0], files[1]);
  EXPECT_EQ(files[0], files[2]);
}

TEST_F(TrainTest, trained_model_samples_its_sequence) {
  const Corpus corpus = Corpus::from_text(periodic_text(), Alphabet::chars_of("abcd"));
  const Split part = whole_corpus(corpus, "training");
  LanguageModel<float> model("gru:16", corpus.alphabet());
  model.initialize(1);
  struct Samples : Observer {
    void sample(const SampleEvent& e) override { texts.push_back(e.text); }
    std::vector<std::string> texts;
  } samples;
  TrainOptions options = small_options(200);
  options.trainer.sample_every = 200;
  options.sampling.length = 16;
  options.sampling.temperature = 0;
  options.sampling.prime = {0, 1, 2, 3, 0, 1, 3, 2, 0};  // abcdabdca
  Team team(1);
  train(model, {corpus, part, nullptr, nullptr}, options, team, &samples);
  ASSERT_EQ(samples.texts.size(), 1u);
  EXPECT_EQ(samples.texts[0], "bcdabdcabcdabdca");
}

TEST_F(TrainTest, models_trained_on_lines_read_lines) {
  const auto input = [] { return std::vector<Input>{Input::from_bytes("names", "abba\nbab\nab\nbbab\n")}; };
  const Alphabet alphabet = Alphabet::chars_of("ab\n");
  Team team(1);
  for (const bool lines : {false, true}) {
    const Corpus corpus = Corpus::load(input(), alphabet, {.lines = lines});
    const Split part = whole_corpus(corpus, "all");
    LanguageModel<float> model("gru:4", alphabet);
    model.initialize(1);
    train(model, {corpus, part}, small_options(3), team);
    EXPECT_EQ(model.reads_lines(), lines);
    model.save(file("model"));
    EXPECT_EQ(load_symbol_model(file("model"))->reads_lines(), lines);
    const std::unique_ptr<FittedModel> ngram = make_fitted_model("ngram:2", alphabet);
    train(*ngram, {corpus, part}, FitOptions{}, team, "");
    EXPECT_EQ(ngram->reads_lines(), lines);
    EXPECT_EQ(ngram->sequence_end(), lines ? alphabet.line_end() : kNoSymbol);
  }
}

TEST_F(TrainTest, training_rejects_another_alphabet) {
  const Corpus corpus = Corpus::from_text("xyz", Alphabet::chars_of("xyz"));
  const Split part = whole_corpus(corpus, "training");
  LanguageModel<float> model("rnn:3", Alphabet::chars_of("abc"));
  Team team(1);
  EXPECT_THROW(train(model, {corpus, part, nullptr, nullptr}, small_options(5), team), UsageError);
}

}  // namespace
}  // namespace unfold
