/// Training, evaluation, tables and scores of a tagger whose loss sees whole sequences.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <sstream>

#include "app/fields/evaluation/field_evaluation.h"
#include "app/fields/evaluation/field_score.h"
#include "app/fields/field_model.h"
#include "app/predict/predict.h"
#include "app/train/train.h"
#include "loss/crf/label_sequences.h"
#include "tests/app/small_runs.h"
#include "tests/base/scratch.h"

namespace unfold {
namespace {

using testing::HasSubstr;
using testing_support::predicted;
using testing_support::ScratchFolder;

/// Sentences whose chunks follow from their words, except for one word that either continues or begins a chunk.
std::string chunked_sentences(int count) {
  std::string text;
  for (int s = 0; s < count; ++s) {
    text += s % 2 == 0 ? "the B-NP\nbig I-NP\n" : "runs B-VP\nbig O\n";
    for (int k = 0; k < s % 3; ++k) text += s % 2 == 0 ? "big I-NP\n" : "big O\n";
    text += "stops O\n\n";
  }
  return text;
}

class FieldCrfTest : public ::testing::Test {
 protected:
  TrainOutcome trained(const std::string& predict, const std::string& model = "birnn:6") {
    TrainRequest request{.out = folder_.path("run")};
    request.settings.data = {data_};
    request.settings.predict = predict;
    request.settings.model = model;
    request.settings.optimizer = "adam:rate=0.03";
    request.settings.batch = 4;
    request.settings.epochs = 20;
    request.overwrite = true;
    request.run.threads = 1;
    request.given = {"predict", "model", "optimizer", "batch", "epochs"};
    return train(request);
  }

  ScratchFolder folder_;
  std::string data_ = folder_.write("data.conll", chunked_sentences(40));
};

TEST_F(FieldCrfTest, bidirectional_taggers_use_a_crf_by_default) {
  EXPECT_EQ(trained("2").settings.predict, "2=crf");
  EXPECT_EQ(trained("2=softmax").settings.predict, "2=softmax");
  EXPECT_EQ(trained("2", "rnn:6").settings.predict, "2");
}

TEST_F(FieldCrfTest, table_contains_best_sequences_and_posteriors) {
  trained("2=crf");
  const auto rows = nlohmann::json::parse("[" + [&] {
    std::string lines =
        predicted({.model = folder_.path("run"), .data = {data_}, .format = TableFormat::jsonl, .probabilities = true});
    lines.pop_back();
    for (std::size_t at = 0; (at = lines.find('\n', at)) != std::string::npos; at += 2) lines.replace(at, 1, ",\n");
    return lines;
  }() + "]");
  ASSERT_EQ(rows.size(), 40U);
  with_network_model(folder_.path("run"), [&]<class T>(const NetworkModel<T>& model) {
    const Head<T>& head = model.network().heads.front();
    EXPECT_NE(head.loss->template as<LabelSequences<T>>(), nullptr);
  });
  for (const auto& example : rows)
    for (std::size_t t = 0; t < example["2"].size(); ++t) {
      double sum = 0;
      for (const char* label : {"B-NP", "I-NP", "B-VP", "O"})
        sum += example[std::string("2.") + label][t].get<double>();
      EXPECT_NEAR(sum, 1, 1e-6);
      const std::string label = example["2.best"][t];
      EXPECT_DOUBLE_EQ(example["2.probability"][t], example["2." + label][t]);
      EXPECT_EQ(label, example["2"][t]);
    }
}

TEST_F(FieldCrfTest, table_contains_n_best_sequences_with_probabilities) {
  trained("2=crf");
  std::string table =
      predicted({.model = folder_.path("run"), .data = {data_}, .format = TableFormat::jsonl, .best = 3});
  std::istringstream lines(table);
  int examples = 0;
  for (std::string line; std::getline(lines, line); ++examples) {
    const auto example = nlohmann::json::parse(line);
    EXPECT_EQ(example["2.best.1"], example["2.best"]);
    EXPECT_NE(example["2.best.2"], example["2.best.1"]);
    const double first = example["2.sequence.1"][0], second = example["2.sequence.2"][0],
                 third = example["2.sequence.3"][0];
    EXPECT_GE(first, second);
    EXPECT_GE(second, third);
    EXPECT_LE(first + second + third, 1 + 1e-6);
    EXPECT_EQ(example["2.sequence.1"].back(), first);
  }
  EXPECT_EQ(examples, 40);
  trained("2=softmax");
  EXPECT_THAT([&] { predicted({.model = folder_.path("run"), .data = {data_}, .best = 3}); },
              testing::ThrowsMessage<UsageError>(HasSubstr("--best applies only to labels of whole sequences")));
}

TEST_F(FieldCrfTest, position_scores_sum_to_the_evaluation) {
  trained("2=crf:labels=iob2");
  const FieldFigures figures = evaluate_on_fields({.model = folder_.path("run"), .data = {data_}});
  EXPECT_EQ(figures.heads.front().loss, "crf");
  std::string table;
  score_fields({.model = folder_.path("run"), .data = data_, .json = true},
               [&](std::string_view piece) { table += piece; });
  double bits = 0;
  const auto scores = nlohmann::json::parse(table);
  for (const auto& row : scores["scores"]) bits += row["2.bits"].get<double>();
  EXPECT_NEAR(bits * std::log(2.0), figures.heads.front().nats, 1e-9 * std::max(1.0, bits));
  const Measures& measures = figures.heads.front().measures;
  const auto f1 = std::ranges::find(measures, "chunk_f1", [](const auto& measure) { return measure.first; });
  ASSERT_NE(f1, measures.end());
  EXPECT_EQ(f1->second, 1);
}

TEST_F(FieldCrfTest, templates_over_columns_train_to_convergence) {
  const std::string templates = folder_.write("template", "U00:%x[-1,0]\nU01:%x[0,0]\nU02:%x[-1,0]/%x[0,0]\nB\n");
  TrainRequest request{.out = folder_.path("run")};
  request.settings.data = {data_};
  request.settings.predict = "2";
  request.settings.model = "crf:template=" + templates;
  request.run.threads = 1;
  request.given = {"predict", "model"};
  const TrainOutcome outcome = train(request);
  EXPECT_EQ(outcome.settings.model, "crf");
  EXPECT_EQ(outcome.settings.read, "1[-1],1[0],1[-1]|1[0]");
  EXPECT_EQ(outcome.settings.predict, "2=crf");
  EXPECT_EQ(outcome.result.reason, "converged");
  const FieldFigures figures = evaluate_on_fields({.model = folder_.path("run"), .data = {data_}});
  EXPECT_EQ(figures.heads.front().measures.front(), std::make_pair(std::string("accuracy"), 1.0));
  request.overwrite = true;
  request.settings.model = "crf:8";
  EXPECT_THAT([&] { train(request); }, testing::ThrowsMessage<UsageError>(HasSubstr("it has no units")));
}

TEST_F(FieldCrfTest, hashed_features_train_and_are_not_stored_by_name) {
  TrainRequest request{.out = folder_.path("run")};
  request.settings.data = {data_};
  request.settings.read = "1[-1],1[0],1[-1]|1[0]";
  request.settings.predict = "2";
  request.settings.model = "crf:hash=6";
  request.run.threads = 1;
  request.given = {"read", "predict", "model"};
  EXPECT_EQ(train(request).settings.model, "crf:hash=6");
  with_network_model(folder_.path("run"), [&]<class T>(const NetworkModel<T>& model) {
    EXPECT_EQ(model.data().field("1[0]").alphabet->kind(), SymbolKind::hashed);
    EXPECT_EQ(model.data().field("1[0]").size, 64);
    EXPECT_NE(model.data().field("2").alphabet->find("B-NP"), kNoSymbol);
  });
  const auto accuracy = [&](const std::string& data) {
    return evaluate_on_fields({.model = folder_.path("run"), .data = {data}}).heads.front().measures.front().second;
  };
  EXPECT_EQ(accuracy(data_), 1);
  EXPECT_GT(accuracy(folder_.write("unseen.conll", "the B-NP\nodd I-NP\nstops O\n\n")), 0.6);
  request.overwrite = true;
  request.settings.model = "crf:hash=6,cut=2";
  EXPECT_THAT([&] { train(request); }, testing::ThrowsMessage<UsageError>(HasSubstr("leave out cut= or hash=")));
}

TEST_F(FieldCrfTest, segment_models_train_and_predict_valid_label_schemes) {
  EXPECT_EQ(trained("2=crf:labels=iob2,segments=4").settings.predict, "2=crf:labels=iob2,segments=4");
  const FieldFigures figures = evaluate_on_fields({.model = folder_.path("run"), .data = {data_}});
  EXPECT_EQ(figures.heads.front().measures.front(), std::make_pair(std::string("accuracy"), 1.0));
  const std::string table =
      predicted({.model = folder_.path("run"), .data = {data_}, .format = TableFormat::jsonl, .best = 2});
  const auto example = nlohmann::json::parse(table.substr(0, table.find('\n')));
  EXPECT_EQ(example["2.best.1"], example["2.best"]);
  EXPECT_GT(example["2.sequence.1"][0], example["2.sequence.2"][0]);
  EXPECT_THAT([&] { predicted({.model = folder_.path("run"), .data = {data_}, .constraint = "iob"}); },
              testing::ThrowsMessage<UsageError>(HasSubstr("crf:segments=L does not support")));
  EXPECT_THAT([&] { trained("2=crf:labels=iob2,segments=2"); },
              testing::ThrowsMessage<DataError>(HasSubstr("increase segments=")));
}

TEST_F(FieldCrfTest, averaged_perceptron_trains_templates) {
  TrainRequest request{.out = folder_.path("run")};
  request.settings.data = {data_};
  request.settings.read = "1[-1],1[0],1[-1]|1[0]";
  request.settings.predict = "2=crf";
  request.settings.model = "crf";
  request.settings.objective = "perceptron";
  request.settings.optimizer = "asgd:t0=1,rate=1,clip=0";
  request.settings.batch = 1;
  request.settings.epochs = 5;
  request.run.threads = 1;
  request.given = {"read", "predict", "model", "objective", "optimizer", "batch", "epochs"};
  train(request);
  const FieldFigures figures = evaluate_on_fields({.model = folder_.path("run"), .data = {data_}});
  EXPECT_EQ(figures.heads.front().measures.front(), std::make_pair(std::string("accuracy"), 1.0));
}

TEST_F(FieldCrfTest, training_can_start_from_the_parameters_of_another_run) {
  trained("2=softmax");
  const auto parameter = [&](const std::string& run, const std::string& name) {
    return with_network_model(run, [&]<class T>(const NetworkModel<T>& model) {
      for (const ParameterInfo& p : model.parameters().info())
        if (p.name == name) return static_cast<double>(model.parameters().flat()[at(p.offset)]);
      throw UsageError(name + " is no parameter");
    });
  };
  std::string first;
  with_network_model(folder_.path("run"),
                     [&]<class T>(const NetworkModel<T>& model) { first = model.parameters().info().front().name; });
  TrainRequest request{.out = folder_.path("next")};
  request.settings.data = {data_};
  request.settings.predict = "2=crf";
  request.settings.model = "birnn:6";
  request.settings.copy_matching_parameters = folder_.path("run");
  request.settings.optimizer = "sgd:rate=1e-9";
  request.settings.steps = 1;
  request.run.threads = 1;
  request.overwrite = true;
  request.given = {"predict", "model", "start-from", "optimizer", "steps"};
  train(request);
  EXPECT_NEAR(parameter(folder_.path("next"), first), parameter(folder_.path("run"), first), 1e-6);
  request.settings.model = "birnn:7";
  EXPECT_THROW(train(request), ModelError);
  request.settings.model = "birnn:6";
  // Other data of the same fields keeps the alphabets of the model.
  const auto labels = [&](const std::string& run) {
    return with_network_model(folder_.path(run),
                              [&]<class T>(const NetworkModel<T>& model) { return model.data().field("2").size; });
  };
  request.settings.data = {folder_.write("other.conll", "a B-NP\nb O\n\nb O\n\nthe B-NP\nb O\n\n")};
  train(request);
  EXPECT_EQ(labels("next"), labels("run"));
  request.settings.data = {folder_.write("labels.conll", "a B-NP\nb X\n\nb O\n\nb O\n\n")};
  EXPECT_THAT([&] { train(request); }, testing::ThrowsMessage<DataError>(HasSubstr("not a label of that model")));
  request.settings.data = {folder_.write("fields.conll", "a b B-NP\nb b O\n\nb c O\n\nb a O\n\n")};
  request.settings.predict = "3=crf";
  EXPECT_THAT([&] { train(request); }, testing::ThrowsMessage<UsageError>(HasSubstr("fields of that model differ")));
}

TEST_F(FieldCrfTest, path_metric_reports_that_no_path_reaches_loss_parameters) {
  TrainRequest request{.out = folder_.path("run")};
  request.settings.data = {data_};
  request.settings.predict = "2=crf";
  request.settings.model = "rnn:6,activation=relu,init=identity";
  request.settings.optimizer = "path";
  request.run.threads = 1;
  request.given = {"predict", "model", "optimizer"};
  EXPECT_THAT([&] { train(request); },
              testing::ThrowsMessage<UsageError>(HasSubstr("does not support losses with parameters")));
}

TEST_F(FieldCrfTest, sequence_labels_and_windowed_rows_are_rejected) {
  EXPECT_THAT([&] { trained("2@end=crf"); },
              testing::ThrowsMessage<UsageError>(HasSubstr("is predicted once per sequence")));
  EXPECT_THAT([&] { trained("2=crf:labels=iob3"); }, testing::ThrowsMessage<UsageError>(HasSubstr("iob2")));
}

}  // namespace
}  // namespace unfold
