/// Models of running text with an adaptive softmax: training, evaluation, prediction and files.

#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "unfold/base/error.h"
#include "unfold/model/decoding/sampling.h"
#include "unfold/model/network/language_model.h"
#include "unfold/model/network/network_model.h"
#include "unfold/model/network/train.h"

namespace unfold {
namespace {

constexpr const char* kAdaptiveModel = "gru:12,embedding=8,loss=adaptive-softmax:6";

/// Words w0, w1, ... in which the next word follows from the last one, with frequencies that fall with the number.
std::string chain_of_words(Index count) {
  std::string text;
  Random random(1, "words");
  Index word = 0;
  for (Index i = 0; i < count; ++i) {
    word = random.below(3) == 0 ? (3 * word + 1) % 97 : word / 2;
    text += "w" + std::to_string(word) + (i % 11 == 10 ? "\n" : " ");
  }
  return text;
}

Corpus words_of(const std::string& text) {
  std::vector<std::string> words;
  Index position = 0;
  std::vector<Index> counts(97);
  for (auto word = next_word(text, position); !word.empty(); word = next_word(text, position))
    if (word != "\n") ++counts[at(std::stoll(std::string(word.substr(1))))];
  std::vector<std::pair<Index, Index>> order;
  for (Index w = 0; w < 97; ++w)
    if (counts[at(w)] > 0) order.emplace_back(-counts[at(w)], w);
  std::ranges::sort(order);
  for (const auto& [count, w] : order) words.push_back("w" + std::to_string(w));
  words.insert(words.begin() + 1, "<eos>");
  return Corpus::from_text(text, Alphabet(SymbolKind::words, words));
}

TrainOptions few_steps(Index steps) {
  TrainOptions options;
  options.trainer.optimizer = "adam:rate=0.02";
  options.trainer.batches = {.window = 12, .batch = 4};
  options.trainer.steps = steps;
  return options;
}

template <class T>
LanguageModel<T> trained(const Corpus& corpus, Index steps, int threads = 1, std::size_t memory_limit = 0) {
  const auto parts = split_corpus(corpus, parse_split("90/10"));
  LanguageModel<T> model(kAdaptiveModel, corpus.alphabet());
  model.initialize(1);
  Team team(threads, Attendance::all);
  TrainOptions options = few_steps(steps);
  options.trainer.memory_limit = memory_limit;
  train(model, {corpus, parts[0], &parts[1], nullptr}, options, team);
  return model;
}

TEST(LargeVocabulary, adaptive_softmax_learns_a_text) {
  const Corpus corpus = words_of(chain_of_words(4000));
  const auto parts = split_corpus(corpus, parse_split("90/10"));
  LanguageModel<float> adaptive(kAdaptiveModel, corpus.alphabet()), full("gru:12,embedding=8", corpus.alphabet());
  adaptive.initialize(1), full.initialize(1);
  Team team(1);
  const double one = train(adaptive, {corpus, parts[0], &parts[1], nullptr}, few_steps(400), team).best_nats_per_symbol;
  const double other = train(full, {corpus, parts[0], &parts[1], nullptr}, few_steps(400), team).best_nats_per_symbol;
  EXPECT_LT(one, 0.5 * std::log(static_cast<double>(corpus.alphabet().size())));
  EXPECT_NEAR(one, other, 0.3);
}

template <class T>
void expect_equal_evaluations() {
  const Corpus corpus = words_of(chain_of_words(1500));
  const auto parts = split_corpus(corpus, parse_split("90/10"));
  const LanguageModel<T> model = trained<T>(corpus, 60);
  Team team(2);
  const Evaluation batched = model.evaluate(corpus, parts[1], team);
  const auto predictor = model.predictor();
  const Evaluation stepped = evaluate(*predictor, corpus, parts[1], kNoSymbol, {});
  EXPECT_EQ(batched.nats, stepped.nats);
  EXPECT_EQ(batched.predicted, stepped.predicted);
}

TEST(LargeVocabulary, evaluation_equals_prediction_one_word_at_a_time) {
  expect_equal_evaluations<double>();
  expect_equal_evaluations<float>();
}

TEST(LargeVocabulary, probability_of_one_word_equals_its_element_of_all_probabilities) {
  const Corpus corpus = words_of(chain_of_words(1500));
  const LanguageModel<float> model = trained<float>(corpus, 60);
  const auto one = model.predictor(), all = model.predictor();
  for (const Symbol read : {3, 40, 7}) {
    const std::span<const float> log_p = all->log_probabilities();
    double sum = 0;
    for (Symbol s = 0; s < corpus.alphabet().size(); ++s) {
      EXPECT_EQ(one->log_probability(s), log_p[at(s)]);
      EXPECT_EQ(static_cast<float>(one->surprisal(s)), -log_p[at(s)]);
      sum += std::exp(log_p[at(s)]);
    }
    EXPECT_NEAR(sum, 1, 1e-5);
    const auto copy = one->clone();
    one->observe(read), all->observe(read), copy->observe(read);
    EXPECT_EQ(copy->log_probability(2), one->log_probability(2));
  }
}

TEST(LargeVocabulary, adaptive_model_round_trips_and_samples) {
  const Corpus corpus = words_of(chain_of_words(1500));
  const LanguageModel<float> model = trained<float>(corpus, 60);
  const LanguageModel<float> loaded = LanguageModel<float>::from_bytes(model.bytes(), "m");
  EXPECT_EQ(loaded.bytes(), model.bytes());
  EXPECT_EQ(loaded.spec_text(), kAdaptiveModel);
  EXPECT_EQ(sample(*loaded.predictor(), loaded.alphabet(), {.length = 20, .seed = 3}),
            sample(*model.predictor(), model.alphabet(), {.length = 20, .seed = 3}));
}

TEST(LargeVocabulary, threads_and_memory_limits_do_not_change_an_adaptive_model) {
  const Corpus corpus = words_of(chain_of_words(1500));
  const std::string expected = trained<float>(corpus, 40).bytes();
  EXPECT_EQ(trained<float>(corpus, 40, 3).bytes(), expected);
  EXPECT_EQ(trained<float>(corpus, 40, 1, 30000).bytes(), expected);
}

TEST(LargeVocabulary, second_order_optimizers_support_the_adaptive_softmax) {
  const Corpus corpus = words_of(chain_of_words(1000));
  const auto parts = split_corpus(corpus, parse_split("90/10"));
  for (const char* optimizer : {"hf", "lbfgs"}) {
    LanguageModel<double> model("rnn:6,embedding=4,loss=adaptive-softmax:6", corpus.alphabet());
    model.initialize(1);
    Team team(1);
    TrainOptions options = few_steps(4);
    options.trainer.optimizer = optimizer;
    const TrainingResult result = train(model, {corpus, parts[0], &parts[1], nullptr}, options, team);
    EXPECT_LT(result.best_nats_per_symbol, std::log(static_cast<double>(corpus.alphabet().size()))) << optimizer;
  }
}

TEST(LargeVocabulary, unsupported_combinations_raise_an_error) {
  const Corpus corpus = words_of(chain_of_words(500));
  const Alphabet& alphabet = corpus.alphabet();
  EXPECT_THROW(LanguageModel<float>("gru:4,loss=gaussian", alphabet), UsageError);
  EXPECT_THROW(LanguageModel<float>("gru:4,loss=crf", alphabet), UsageError);
  EXPECT_THROW(LanguageModel<float>("gru:4,loss=adaptive", alphabet), UsageError);
  EXPECT_THROW(LanguageModel<float>("gru:8,embedding=8,tied=true,loss=adaptive-softmax:6", alphabet), UsageError);
  EXPECT_THROW(LanguageModel<float>("linear-gnn:4,loss=adaptive-softmax:6", alphabet), UsageError);
  EXPECT_EQ(LanguageModel<float>("gru:4,loss=softmax", alphabet).spec_text(), "gru:4");
  const auto task = adding({.length = 12});
  EXPECT_THROW(
      NetworkModel<float>("gru:4,loss=adaptive-softmax", task_specification("adding:12", *task), task_layout()),
      UsageError);
  LanguageModel<float> model(kAdaptiveModel, alphabet);
  const auto parts = split_corpus(corpus, parse_split("90/10"));
  Team team(1);
  TrainOptions options = few_steps(2);
  options.trainer.batches = {.window = 2, .batch = 1};
  options.sampled_softmax = 10;
  EXPECT_THROW(train(model, {corpus, parts[0], &parts[1], nullptr}, options, team), UsageError);
}

}  // namespace
}  // namespace unfold
