/// Model options by which training drops and ties weights: their effect, and the models that do not support them.

#include "model/network/regularization.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "unfold/base/error.h"
#include "unfold/data/tasks/tasks.h"
#include "unfold/data/text/split.h"
#include "unfold/model/network/network_model.h"
#include "unfold/model/network/train.h"

namespace unfold {
namespace {

using testing::HasSubstr;

std::set<std::string> dropped(const char* spec) {
  LanguageModel<float> model(spec, Alphabet::chars_of("abcd"));
  std::set<std::string> names;
  for (const WeightDropout& drop : model.network().drops)
    names.insert(model.circuit().parameters()[static_cast<std::size_t>(drop.parameter)].name +
                 (drop.rows ? ", rows" : ""));
  return names;
}

std::string refusal(const char* spec) {
  try {
    LanguageModel<float> model(spec, Alphabet::chars_of("abcd"));
  } catch (const UsageError& error) {
    return error.what();
  }
  return {};
}

TEST(Regularization, weight_drop_applies_to_recurrent_matrices) {
  using Names = std::set<std::string>;
  EXPECT_EQ(dropped("lstm:4,layers=2,wdrop=0.5"), (Names{"layer1/z/U", "layer2/z/U"}));
  EXPECT_EQ(dropped("gru:4,embedding=3,wdrop=0.5,dropoute=0.1"),
            (Names{"layer1/zr/U", "layer1/g/U", "embedding/W, rows"}));
  EXPECT_EQ(dropped("rnn:4,delays=1+3,wdrop=0.5"), (Names{"layer1/z/U", "layer1/z/U3"}));
  EXPECT_EQ(dropped("lstm:4"), Names{});
}

TEST(Regularization, invalid_regularization_is_named_in_the_error) {
  for (const auto& [spec, part] : std::vector<std::pair<const char*, const char*>>{
           {"mingru:4,wdrop=0.5", "wdrop= applies to recurrent matrices, but there are none"},
           {"lstm:4,dropoute=0.1", "add embedding=4"},
           {"lstm:4,dropouti=0.1", "add embedding=4"},
           {"lstm:4,tied=true", "add embedding=4"},
           {"lstm:4,embedding=3,tied=true", "set embedding=4"},
           {"mingru:4,zoneout=0.1", "zoneout"},
           {"rnn:4,delays=2,zoneout=0.1", "delays must begin with 1"},
           {"lstm:4,delays=2+3,zoneout=0.1", "delays must begin with 1"},
           {"lstm:4,wdrop=1", "wdrop"},
           {"clockwork:2,periods=1+2+4", "only 2 units"},
           {"clockwork:8,periods=4+2", "ascending"}})
    EXPECT_THAT(refusal(spec), HasSubstr(part)) << spec;
  EXPECT_EQ(refusal("lstm:4,embedding=4,tied=true,wdrop=0.5,dropoute=0.1,dropouti=0.2,dropouth=0.1,variational=true"),
            "");
}

TEST(Clockwork, reduced_clockwork_keeps_one_unit_per_group) {
  const auto cut = [](const char* spec, Index units) {
    return to_string(with_max_units(parse_model_spec(spec), units));
  };
  EXPECT_EQ(cut("clockwork:8,periods=1+3+9", 2), "clockwork:2,periods=1+3");
  EXPECT_EQ(cut("clockwork:8,periods=2+3+9", 1), "clockwork:1,periods=2");
  EXPECT_EQ(cut("clockwork:8", 4), "clockwork:4");
  EXPECT_EQ(cut("clockwork:8", 20), "clockwork:8");
}

TEST(Regularization, persistent_masks_apply_to_all_layers) {
  for (const bool lasting : {false, true}) {
    LanguageModel<float> model(std::string("lstm:4,embedding=3,layers=3,dropout=0.2,dropouti=0.3,dropouth=0.4") +
                                   (lasting ? ",variational=true" : ""),
                               Alphabet::chars_of("abcd"));
    std::vector<double> rates;
    for (const Node& node : model.circuit().nodes())
      if (node.kind() == Node::Kind::mask) {
        rates.push_back(node.mask().rate);
        EXPECT_EQ(node.mask().lasts == Lasts::sequence, lasting);
      }
    EXPECT_EQ(rates, (std::vector<double>{0.3, 0.4, 0.4, 0.2}));
    EXPECT_TRUE(model.network().dropout);
  }
  EXPECT_TRUE(LanguageModel<float>("lstm:4,zoneout-cell=0.2", Alphabet::chars_of("ab")).network().dropout);
}

TEST(Regularization, combined_regularization_trains_and_loads_with_the_same_bits) {
  std::string text;
  for (int i = 0; i < 300; ++i) text += "abcdabdc";
  const Corpus corpus = Corpus::from_text(text, Alphabet::chars_of("abcd"));
  const auto parts = split_corpus(corpus, parse_split("80/20"));
  std::vector<std::vector<float>> ends;
  for (const int threads : {1, 2}) {
    Team team(threads);
    LanguageModel<float> model(
        "lstm:16,embedding=16,layers=2,tied=true,variational=true,dropout=0.1,dropouti=0.1,dropouth=0.1,dropoute=0.1,"
        "wdrop=0.2,zoneout=0.05,zoneout-cell=0.1",
        corpus.alphabet());
    model.initialize(1);
    TrainOptions options;
    options.trainer.optimizer = "adam:rate=0.01";
    options.trainer.batches = {.window = 24, .batch = 4};
    options.trainer.steps = 150;
    options.trainer.penalties.smoothing = 0.05;
    const TrainingResult result = train(model, {corpus, parts[0], &parts[1], nullptr}, options, team);
    EXPECT_LT(result.best_nats_per_symbol, 0.6);
    ends.emplace_back(model.parameters().flat().begin(), model.parameters().flat().end());
    const Matrix<float> w = model.parameters().at("embedding/W"), v = model.parameters().at("output/V");
    for (Index r = 0; r < w.rows; ++r)
      for (Index c = 0; c < w.cols; ++c) ASSERT_EQ(w(r, c), v(c, r));
  }
  EXPECT_EQ(ends[0], ends[1]);
}

/// The few columns that a sample trains are those of the whole matrix, and also the rows of the embedding.
TEST(Regularization, tied_weights_stay_tied_with_sampled_softmax) {
  const std::string letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";
  std::string text;
  for (std::size_t i = 0; i < 3000; ++i) text += letters[i * 7 % letters.size()];
  const Corpus corpus = Corpus::from_text(text, Alphabet::chars_of(letters));
  const auto parts = split_corpus(corpus, parse_split("80/20"));
  Team team(2);
  LanguageModel<float> model("gru:24,embedding=24,tied=true,dropoute=0.05", corpus.alphabet());
  model.initialize(1);
  TrainOptions options;
  options.trainer.optimizer = "adamw:rate=0.01,decay=0.01";
  options.trainer.batches = {.window = 8, .batch = 2};
  options.trainer.steps = 300;
  options.sampled_softmax = 20;
  const TrainingResult result = train(model, {corpus, parts[0], &parts[1], nullptr}, options, team);
  EXPECT_LT(result.best_nats_per_symbol, 1);  // the logarithm of 52 is 3.95
  const Matrix<float> w = model.parameters().at("embedding/W"), v = model.parameters().at("output/V");
  for (Index r = 0; r < w.rows; ++r)
    for (Index c = 0; c < w.cols; ++c) ASSERT_EQ(w(r, c), v(c, r));
}

/// A penalty also applies to the layers of a task's network, and the saved model does not include it.
TEST(Regularization, activation_penalty_applies_to_task_models) {
  const auto train_with = [](double activity) {
    const auto task = adding({.length = 12});
    NetworkModel<float> model("gru:6", task_specification("adding:12", *task), task_layout());
    model.parameters().initialize(1);
    TaskTrainOptions options{.task = {.batch = 8, .validation = 20}};
    options.trainer.steps = 300;
    options.trainer.optimizer = "adam:rate=0.01";
    options.trainer.penalties.activity = activity;
    Team team(1);
    train(model, *task, options, team);
    return std::pair(evaluate(model, *task, TaskSplit::test, 1, 50, team).evaluation.nats,
                     std::vector<float>(model.parameters().flat().begin(), model.parameters().flat().end()));
  };
  const auto [nats, parameters] = train_with(0);
  const auto [with_nats, with_parameters] = train_with(1000);
  EXPECT_EQ(with_parameters.size(), parameters.size());
  EXPECT_NE(with_parameters, parameters);
  EXPECT_GT(with_nats, nats);  // the state can hardly move
}

}  // namespace
}  // namespace unfold
