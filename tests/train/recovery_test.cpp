/// After a non-finite value, training returns to the last good state, or the run ends with an explanation.

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "tests/train/trained_text.h"

namespace unfold {
namespace {

/// Corrupts a parameter after some steps, a given number of times.
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

TEST_F(TrainerTest, nonfinite_value_restores_the_last_good_state) {
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

TEST_F(TrainerTest, run_resumed_between_snapshots_restores_the_same_state) {
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

TEST_F(TrainerTest, recovery_ends_after_a_bounded_number_of_attempts) {
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

TEST_F(TrainerTest, extreme_learning_rate_is_recovered_or_explained) {
  for (const char* spec : {"sgd:rate=1e6,clip=0", "adam:rate=1e6", "adam:rate=1e30,clip=0"}) {
    Setting setting;
    TrainerOptions options = small_options(60);
    options.optimizer = spec;
    try {
      EXPECT_TRUE(std::isfinite(finish(setting, options).result.last_loss)) << spec;
    } catch (const DivergedError& error) {
      EXPECT_NE(std::string(error.what()).find("smaller learning rate"), std::string::npos) << error.what();
    }
  }
}

TEST_F(TrainerTest, initially_broken_model_is_not_retried) {
  Setting setting;
  setting.small.parameters.flat()[5] = std::nanf("");
  EXPECT_THROW(finish(setting, small_options(5)), DivergedError);
}

TEST_F(TrainerTest, unread_weight_must_be_finite) {
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
  const Corpus corpus = Corpus::from_text(text, Alphabet::chars_of(text + "z"));  // the last symbol never occurs
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

}  // namespace
}  // namespace unfold
