/// Training with objectives other than the likelihood.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <nlohmann/json.hpp>
#include <sstream>

#include "app/fields/evaluation/field_evaluation.h"
#include "app/fields/evaluation/transduction_metrics.h"
#include "app/fields/field_model.h"
#include "model/decoding/sequence_search_training.h"
#include "tests/app/small_runs.h"
#include "tests/base/scratch.h"
#include "unfold/base/formats/file.h"
#include "unfold/data/examples/example_batches.h"

namespace unfold {
namespace {

using testing::HasSubstr;
using testing_support::message_of;
using testing_support::ScratchFolder;
using testing_support::train_small;

/// Sentences whose labels depend on the words and on each other.
std::string labeled_sentences(int count) {
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
  std::string data_ = folder_.write("data.conll", labeled_sentences(30));
};

TEST_F(ObjectiveTest, every_objective_trains_the_labels) {
  for (const char* objective :
       {"likelihood", "perceptron", "perceptron:beam=2", "margin", "margin:cost=3", "risk", "bso:beam=2"}) {
    trained(objective);
    EXPECT_EQ(accuracy(), 1) << objective;
  }
}

TEST_F(ObjectiveTest, model_behaves_like_any_crf_and_stores_its_objective) {
  const std::string run = trained("margin:cost=1");
  with_network_model(run, [&]<class T>(const NetworkModel<T>& model) {
    EXPECT_EQ(model.network().heads.front().loss->name(), "crf");
    EXPECT_EQ(model.configuration().at("objective"), "margin");
  });
  const FieldFigures figures = evaluate_on_fields({.model = run, .data = {data_}, .threads = 1});
  EXPECT_GT(figures.heads.front().nats, 0);  // computed from its probabilities
}

TEST_F(ObjectiveTest, unsupported_combinations_are_rejected) {
  EXPECT_THAT(message_of<UsageError>([&] { trained("margin", "2=softmax", 2); }), HasSubstr("use --predict F=crf"));
  EXPECT_THAT(message_of<UsageError>([&] { trained("margin:beam=4", "2=crf", 2); }), HasSubstr("leave out beam="));
  EXPECT_THAT(message_of<UsageError>([&] { trained("risk:samples=4", "2=crf", 2); }), HasSubstr("exactly"));
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
              HasSubstr("a curvature, which the loss crf with an objective other than likelihood does not support"));
}

constexpr const char* kNumeralPairs =
    "one\tI\ntwo\tII\nthree\tIII\nfour\tIV\nfive\tV\nsix\tVI\nseven\tVII\neight\tVIII\nnine\tIX\nten\tX\n";

/// Encoder and decoder, starting from a model pretrained with the likelihood.
class SequenceObjectiveTest : public testing::Test {
 protected:
  std::string trained(const std::string& out, const std::string& objective, Index steps,
                      const std::function<void(TrainRequest&)>& more = {},
                      const std::string& optimizer = "adam:rate=0.01",
                      const std::string& model = "gru:16,attention=additive") {
    return train_small(folder_.path(out), pairs_, model, optimizer, steps, [&](TrainRequest& request) {
      if (!objective.empty()) {
        request.settings.objective = objective;
        request.settings.copy_matching_parameters = start();
        request.given.insert({"objective", "start-from"});
      }
      request.overwrite = !request.resume;
      if (more) more(request);
    });
  }
  std::string start() {
    if (start_.empty()) start_ = trained("start", "", 25);
    return start_;
  }
  double sequence_error(const std::string& run) const {
    const FieldFigures figures = evaluate_on_fields({.model = run, .data = {pairs_}, .threads = 1});
    const Measures& measures = figures.heads.front().measures;
    return std::ranges::find(measures, "sequence_error", [](const auto& measure) { return measure.first; })->second;
  }
  /// Returns the result of the last validation of a run.
  static double validated(const std::string& run) {
    double nats = -1;
    const Input log = Input::open(run + "/log.jsonl");
    std::istringstream lines{std::string(log.bytes())};
    for (std::string line; std::getline(lines, line);)
      if (const auto event = nlohmann::json::parse(line); event.value("event", "") == "validation")
        nats = event.at("nats_per_symbol").get<double>();
    return nats;
  }
  std::string refusal(const std::string& objective, const std::function<void(TrainRequest&)>& more,
                      const std::string& optimizer = "adam") {
    const auto from_nothing = [&](TrainRequest& request) {
      request.settings.copy_matching_parameters = {};
      request.given.erase("start-from");
      if (more) more(request);
    };
    return message_of<UsageError>([&] { trained("refused", objective, 2, from_nothing, optimizer); });
  }

  ScratchFolder folder_;
  std::string pairs_ = folder_.write("roman.pairs", kNumeralPairs), start_;
};

TEST_F(SequenceObjectiveTest, every_objective_reduces_wrong_targets) {
  const double before = sequence_error(start());
  EXPECT_GE(before, 0.5);
  for (const char* objective : {"perceptron:beam=3", "margin:beam=3", "risk:beam=4", "risk:samples=6", "bso:beam=3"})
    EXPECT_LT(sequence_error(trained("run", objective, 80)), before) << objective;
}

TEST_F(SequenceObjectiveTest, interrupted_run_equals_uninterrupted_run) {
  for (const char* objective : {"bso:beam=2", "risk:samples=3"}) {
    const std::string whole = trained("whole", objective, 9), cut = trained("cut", objective, 4);
    trained("cut", objective, 9, [](TrainRequest& request) {
      request.resume = true;
      request.overwrite = false;
      request.settings.copy_matching_parameters = {};
      request.given.erase("start-from");
    });
    const Input once = Input::open(whole + "/model.safetensors"), twice = Input::open(cut + "/model.safetensors");
    EXPECT_TRUE(once.bytes() == twice.bytes()) << objective;
  }
}

TEST_F(SequenceObjectiveTest, validation_reports_the_objective_and_the_model_stores_it) {
  const std::string run = trained("run", "risk:beam=4", 5, [&](TrainRequest& request) {
    request.settings.split = {};
    request.given.erase("split");
    request.settings.valid = pairs_;
    request.given.insert("valid");
  });
  with_network_model(run, [&]<class T>(const NetworkModel<T>& model) {
    EXPECT_EQ(model.configuration().at("objective"), "risk:beam=4");
    EXPECT_EQ(model.network().heads.front().loss->name(), "softmax");
    const Examples examples = read_for(model, {pairs_});
    const ExampleSet set(examples, std::make_shared<const DataSpecification>(model.data()), {});
    Batch batch;
    example_reader(set, {.reads = model.layout().reads, .predicts = {"target"}, .batch = 10})->next(batch);
    Team team(1);
    const auto chooser = sequence_chooser(model.network(), model.data(), kPairEnds, "risk:beam=4", 1, team);
    const double paid = SequenceObjectivePass<T>(model.network(), *chooser, team).value(batch, model.parameters(), 0);
    EXPECT_NEAR(validated(run), paid / static_cast<double>(batch.predicted), 1e-6);
  });
}

TEST_F(SequenceObjectiveTest, whole_sequences_with_stops_can_be_trained) {
  const std::string names = folder_.write("names", "girl\taba\ngirl\tbaa\nboy\tcd\nboy\tdd\ngirl\tba\nboy\tcdc\n");
  for (const char* ends : {"symbol", "stop"})
    EXPECT_NO_THROW(train_small(folder_.path("names-run"), names, "gru:6", "adam", 4, [&](TrainRequest& request) {
      request.settings.format = "labelled";
      request.settings.symbols = "chars";
      request.settings.predict = "text";
      request.settings.read = "label";
      request.settings.ends = ends;
      request.settings.objective = "bso:beam=2";
      request.given.insert({"format", "symbols", "predict", "read", "ends", "objective"});
      request.overwrite = true;
    })) << ends;
}

TEST_F(SequenceObjectiveTest, unsupported_combinations_are_rejected_with_a_remedy) {
  for (const char* optimizer : {"hf", "natural", "ruop"})
    EXPECT_THAT(refusal("bso", {}, optimizer), HasSubstr(std::string(optimizer) + " uses losses and curvature"));
  const auto with = [](const char* name, const auto& set) {
    return [name, set](TrainRequest& request) {
      set(request);
      request.given.insert(name);
    };
  };
  EXPECT_THAT(
      refusal("margin", with("teacher-forcing", [](TrainRequest& r) { r.settings.teacher_forcing = "1..0.5"; })),
      HasSubstr("--objective margin cannot be combined with the network's outputs"));
  EXPECT_THAT(refusal("risk", with("label-smoothing", [](TrainRequest& r) { r.settings.label_smoothing = 0.1; })),
              HasSubstr("cannot be combined with label smoothing"));
  EXPECT_THAT(refusal("risk", with("word-dropout", [](TrainRequest& r) { r.settings.word_dropout = 0.1; })),
              HasSubstr("cannot be combined with --word-dropout"));
  EXPECT_THAT(refusal("risk", with("shards", [](TrainRequest& r) { r.settings.shards = 2; })), HasSubstr("shards"));
  EXPECT_THAT(refusal("risk:beam=2,samples=2", {}), HasSubstr("set beam= or samples="));
}

}  // namespace
}  // namespace unfold
