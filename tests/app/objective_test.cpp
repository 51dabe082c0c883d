/// Learning through search: training by other objectives than the likelihood.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "app/small_runs.h"
#include "base/scratch.h"
#include "unfold/fields/field_model.h"

namespace unfold {
namespace {

using testing::HasSubstr;
using testing_support::message_of;
using testing_support::ScratchFolder;
using testing_support::train_small;

/// Sentences whose labels follow from the words and from each other.
std::string labelled_sentences(int count) {
  std::string text;
  for (int s = 0; s < count; ++s)
    text += s % 3 == 0   ? "the B-NP\nbig I-NP\ncat I-NP\nsat O\n\n"
            : s % 3 == 1 ? "big B-NP\ncat I-NP\nsat O\nthe B-NP\ncat I-NP\n\n"
                         : "sat O\nthe B-NP\ncat I-NP\n\n";
  return text;
}

class ObjectiveTest : public testing::Test {
 protected:
  std::string trained(const std::string& objective, const std::string& predict = "2=crf", Index steps = 60) {
    return train_small(folder_.path("run"), data_, "birnn:6", "adam:rate=0.03", steps, [&](TrainRequest& request) {
      request.settings.format = "columns";
      request.settings.predict = predict;
      request.settings.objective = objective;
      request.given.insert({"format", "predict", "objective"});
      request.overwrite = true;
    });
  }
  double accuracy() const {
    const FieldFigures figures = evaluate_on_fields({.model = folder_.path("run"), .data = {data_}, .threads = 1});
    const Measures& measures = figures.heads.front().measures;
    return std::ranges::find(measures, "accuracy", [](const auto& measure) { return measure.first; })->second;
  }

  ScratchFolder folder_;
  std::string data_ = folder_.write("data.conll", labelled_sentences(30));
};

TEST_F(ObjectiveTest, every_objective_learns_the_labels) {
  for (const char* objective :
       {"likelihood", "perceptron", "perceptron:beam=2", "margin", "margin:cost=3", "risk", "bso:beam=2"}) {
    trained(objective);
    EXPECT_EQ(accuracy(), 1) << objective;
  }
}

TEST_F(ObjectiveTest, the_model_is_a_field_like_any_other_and_remembers_what_it_was_trained_by) {
  const std::string run = trained("margin:cost=1");
  with_network_model(run, [&]<class T>(const NetworkModel<T>& model) {
    EXPECT_EQ(model.network().heads.front().loss->name(), "crf");
    EXPECT_EQ(model.configuration().at("objective"), "margin");
  });
  const FieldFigures figures = evaluate_on_fields({.model = run, .data = {data_}, .threads = 1});
  EXPECT_GT(figures.heads.front().nats, 0);  // of its probabilities
}

TEST_F(ObjectiveTest, what_it_is_not_for_is_refused) {
  EXPECT_THAT(message_of<UsageError>([&] { trained("margin", "2=softmax", 2); }), HasSubstr("write --predict F=crf"));
  EXPECT_THAT(message_of<UsageError>([&] { trained("marge", "2=crf", 2); }), HasSubstr("margin"));
  EXPECT_THAT(message_of<UsageError>([&] {
                train_small(folder_.path("run"), data_, "birnn:6", "hf", 2, [&](TrainRequest& request) {
                  request.settings.format = "columns";
                  request.settings.predict = "2=crf";
                  request.settings.objective = "risk";
                  request.given.insert({"format", "predict", "objective"});
                  request.overwrite = true;
                });
              }),
              HasSubstr("a curvature, which crf with another --objective than likelihood has not"));
}

}  // namespace
}  // namespace unfold
