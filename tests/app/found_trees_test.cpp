/// Runs all commands on tiny data with models that find the trees of sentences themselves.

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <functional>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>

#include "app/fields/evaluation/field_evaluation.h"
#include "app/fields/evaluation/field_score.h"
#include "app/predict/predict.h"
#include "app/train/train.h"
#include "tests/app/small_runs.h"
#include "tests/app/texts.h"
#include "tests/base/scratch.h"
#include "unfold/numerics/random.h"

namespace unfold {
namespace {

using testing_support::contains;
using testing_support::file_bytes;
using testing_support::ScratchFolder;
using testing_support::train_small;

/// Sentences whose label says whether the word after "not" is "good".
std::string sentences(Index count, std::uint64_t seed) {
  const char* const words[] = {"good", "bad", "film", "plot"};
  Random random(seed, "sentences");
  std::string text;
  for (Index i = 0; i < count; ++i) {
    std::string said;
    for (std::uint64_t n = 1 + random.below(4); n > 0; --n) said += fmt::format("{} ", words[random.below(4)]);
    const bool good = random.uniform() < 0.5;
    text += fmt::format("{}\t{}not {}\n", good ? "yes" : "no", said, good ? "good" : "bad");
  }
  return text;
}

class FoundTreesTest : public ::testing::Test {
 protected:
  std::string trained(const std::string& out, Index steps, const std::function<void(TrainRequest&)>& more = {}) {
    return train_small(folder_.path(out), train_, "tree-lstm:8,embedding=6,dropout=0.1", "adam:rate=0.02,clip=1", steps,
                       [&](TrainRequest& request) {
                         request.settings.format = "labelled";
                         request.settings.trees = "found";
                         request.given.insert({"format", "trees"});
                         if (more) more(request);
                       });
  }
  std::string refused(const std::function<void(TrainRequest&)>& more) {
    try {
      trained("refused", 2, [&](TrainRequest& request) {
        request.overwrite = true;
        more(request);
      });
    } catch (const UsageError& error) {
      return error.what();
    }
    return {};
  }
  std::vector<nlohmann::json> answers(const std::string& model, const std::string& data, int threads = 1) {
    std::string text;
    Reporter silent;
    predict(
        {.model = model, .data = {data}, .format = TableFormat::jsonl, .threads = threads},
        [&](std::string_view piece) { text += piece; }, silent);
    std::istringstream lines(text);
    std::vector<nlohmann::json> result;
    for (std::string line; std::getline(lines, line);) result.push_back(nlohmann::json::parse(line));
    return result;
  }

  ScratchFolder folder_;
  std::string train_ = folder_.write("train.txt", sentences(300, 1)),
              test_ = folder_.write("test.txt", sentences(100, 2));
};

TEST_F(FoundTreesTest, latent_tree_models_train_evaluate_predict_and_score) {
  const std::string model = trained("learned", 300, [&](TrainRequest& request) {
    request.settings.valid = test_;
    request.settings.validate_every = 50;
    request.settings.split.reset();
    request.given.erase("split");
    request.given.insert({"valid", "validate-every"});
  });
  const FieldFigures figures = evaluate_on_fields({.model = model, .data = {test_}, .threads = 1});
  ASSERT_EQ(figures.heads.size(), 1U);
  EXPECT_EQ(figures.heads[0].predicted, 100);
  EXPECT_LT(figures.heads[0].nats_each(), 0.2);

  const std::vector<nlohmann::json> all = answers(model, test_);
  ASSERT_EQ(all.size(), 100U);
  std::set<std::string> shapes;
  for (const nlohmann::json& one : all) {
    const auto parents = one["parent"].get<std::vector<Index>>();
    std::vector<int> children(parents.size() + 1);
    for (std::size_t v = 0; v + 1 < parents.size(); ++v) {
      EXPECT_GT(parents[v], static_cast<Index>(v) + 1);
      ++children[static_cast<std::size_t>(parents[v])];
    }
    EXPECT_EQ(parents.back(), 0);
    for (std::size_t v = 1; v < children.size(); ++v)
      EXPECT_EQ(children[v], v <= (parents.size() + 1) / 2 ? 0 : 2) << one.dump();
    if (parents.size() == 9) shapes.insert(one["parent"].dump());
  }
  EXPECT_GT(shapes.size(), 1U) << "trees depend on words";
  EXPECT_EQ(answers(model, test_, 2), all);

  const auto scored = [&](const std::string& data) {
    std::string text;
    score_fields({.model = model, .data = data, .threads = 1}, [&](std::string_view piece) { text += piece; });
    return text;
  };
  const std::string line = sentences(100, 2).substr(0, sentences(100, 2).find('\n') + 1);
  const std::string one = folder_.write("one.txt", line), together = scored(test_), alone = scored(one);
  EXPECT_TRUE(together.starts_with(alone)) << alone;
}

TEST_F(FoundTreesTest, run_is_byte_identical_on_two_threads_and_after_resuming) {
  const auto run = [&](const std::string& out, Index steps, int threads, bool resume) {
    return trained(out, steps, [&](TrainRequest& request) {
      request.run.threads = threads;
      if (!resume) return;
      request.resume = true;
      request.given = {"steps"};
    });
  };
  const std::string whole = file_bytes(run("whole", 9, 1, false) + "/model.safetensors");
  EXPECT_EQ(file_bytes(run("threads", 9, 2, false) + "/model.safetensors"), whole);
  run("cut", 4, 1, false);
  EXPECT_EQ(file_bytes(run("cut", 9, 2, true) + "/model.safetensors"), whole);
}

TEST_F(FoundTreesTest, incompatible_options_are_rejected_with_a_remedy) {
  const auto with_model = [&](const std::string& model) {
    return refused([&](TrainRequest& request) { request.settings.model = model; });
  };
  EXPECT_TRUE(contains(with_model("child-sum-lstm:8"), "found trees have two unordered children per node"));
  EXPECT_TRUE(contains(with_model("tree-lstm:8,children=1"), "use tree-lstm:8"));
  EXPECT_TRUE(contains(with_model("lstm:8"), "but the data consists of trees"));
  EXPECT_EQ(with_model("recursive:6,layers=2"), "");
  EXPECT_EQ(with_model("recursive-tensor:4,children=3"), "");
  EXPECT_EQ(with_model("tree-lstm:4,layers=2"), "");
  const auto with_optimizer = [&](const std::string& optimizer) {
    return refused([&](TrainRequest& request) { request.settings.optimizer = optimizer; });
  };
  EXPECT_TRUE(contains(with_optimizer("lbfgs"),
                       "lbfgs compares losses and cannot be used with --trees found, which draws random trees"));
  EXPECT_TRUE(contains(with_optimizer("hf"), "which --trees found replaces with a different objective"));
  EXPECT_TRUE(contains(refused([](TrainRequest& request) { request.settings.shards = 2; }),
                       "--trees found cannot be combined with shards"));
  EXPECT_TRUE(contains(refused([](TrainRequest& request) { request.run.memory_limit = "1G"; }),
                       "--trees found cannot be combined with a memory limit"));
  EXPECT_TRUE(
      contains(refused([](TrainRequest& request) { request.settings.objective = "risk"; }), "leave out --objective"));
}

}  // namespace
}  // namespace unfold
