/// Runs all commands on tiny data with trees that have labels at their nodes.

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <functional>
#include <map>
#include <nlohmann/json.hpp>
#include <sstream>

#include "app/fields/evaluation/field_evaluation.h"
#include "app/fields/evaluation/field_score.h"
#include "app/fields/evaluation/tree_metrics.h"
#include "app/predict/predict.h"
#include "app/train/train.h"
#include "tests/app/small_runs.h"
#include "tests/app/texts.h"
#include "tests/base/scratch.h"
#include "unfold/model/network/network_model.h"

namespace unfold {
namespace {

using testing_support::contains;
using testing_support::message_of;
using testing_support::predicted;
using testing_support::ScratchFolder;
using testing_support::train_small;

/// A tree with grades 0 to 2: good is 2, bad is 0, other words are 1. A pair has the grade of the member that is not 1,
/// or of the second if both are not 1; "not" inverts the grade of the following subtree.
struct Graded {
  std::string text;
  int grade;
};

Graded graded(Random& random, int depth) {
  const char* const words[] = {"bad", "film", "good", "plot"};
  const int grades[] = {0, 1, 2, 1};
  if (depth == 0 || random.uniform() < 0.2) {
    const auto w = random.below(4);
    return {fmt::format("({} {})", grades[w], words[w]), grades[w]};
  }
  const Graded right = graded(random, depth - 1);
  if (random.uniform() < 0.3) return {fmt::format("({} (1 not) {})", 2 - right.grade, right.text), 2 - right.grade};
  const Graded left = graded(random, depth - 1);
  const int grade = left.grade != 1 && right.grade == 1 ? left.grade : right.grade;
  return {fmt::format("({} {} {})", grade, left.text, right.text), grade};
}

std::string graded_trees(Index count, std::uint64_t seed) {
  Random random(seed, "graded trees");
  std::string text;
  for (Index i = 0; i < count; ++i) text += graded(random, 3).text + "\n";
  return text;
}

class TreesTest : public ::testing::Test {
 protected:
  std::string trained(const std::string& out, const std::string& model, Index steps,
                      const std::function<void(TrainRequest&)>& more = {}) {
    return train_small(folder_.path(out), train_, model, "adam:rate=0.02,clip=1", steps, more);
  }
  std::map<std::string, double> measured(const std::string& model) const {
    const FieldFigures figures = evaluate_on_fields({.model = model, .data = {test_}, .threads = 1});
    EXPECT_EQ(figures.heads.size(), 1U);
    return {figures.heads[0].measures.begin(), figures.heads[0].measures.end()};
  }
  std::string refused(const std::string& model, const std::string& data, const std::string& format = "trees") {
    TrainRequest request{.out = folder_.path("refused"), .overwrite = true};
    request.settings.data = {folder_.write("refused.txt", data)};
    request.settings.model = model;
    request.settings.format = format;
    request.settings.steps = 2;
    request.settings.split = "100/0/0";
    request.given = {"model", "steps", "split", "format"};
    try {
      train(request);
    } catch (const DataError& error) {
      return std::string("data: ") + error.what();
    } catch (const UsageError& error) {
      return std::string("usage: ") + error.what();
    }
    return {};
  }

  ScratchFolder folder_;
  std::string train_ = folder_.write("train.trees", graded_trees(300, 1)),
              test_ = folder_.write("test.trees", graded_trees(100, 2));
};

TEST_F(TreesTest, every_tree_cell_learns_negation) {
  for (const std::string model : {"recursive:12", "recursive-tensor:6", "tree-lstm:12,embedding=8", "child-sum-lstm:16",
                                  "tree-lstm:8,layers=2,dropout=0.1"}) {
    const std::map<std::string, double> found = measured(trained(model, model, 400));
    const bool ordered = !model.starts_with("child-sum");  // the order of two words sometimes matters
    EXPECT_GT(found.at("accuracy"), ordered ? 0.93 : 0.8) << model;
    EXPECT_GT(found.at("root_accuracy"), ordered ? 0.85 : 0.6) << model;
    EXPECT_GT(found.at("binary_accuracy"), found.at("accuracy") - 0.1) << model;
    EXPECT_GT(found.at("root_binary_accuracy"), 0.6) << model;
  }
}

TEST_F(TreesTest, tree_label_is_the_label_of_its_root) {
  const std::string model = trained("root", "tree-lstm:12,embedding=8", 300, [](TrainRequest& request) {
    request.settings.predict = "label@end";
    request.given.insert("predict");
  });
  const FieldFigures figures = evaluate_on_fields({.model = model, .data = {test_}, .threads = 1});
  EXPECT_TRUE(figures.heads[0].once);
  EXPECT_EQ(figures.heads[0].predicted, 100);
  const std::map<std::string, double> found = measured(model);
  EXPECT_GT(found.at("accuracy"), 0.7);
  EXPECT_FALSE(found.contains("root_accuracy"));
  EXPECT_TRUE(found.contains("binary_accuracy"));
  const std::string table = predicted({.model = model, .data = {test_}});
  EXPECT_TRUE(table.starts_with("word\tlabel\tlabel.best\tlabel.probability\n"));
  EXPECT_EQ(std::ranges::count(table, '\n'), 101);
}

TEST_F(TreesTest, nodes_are_predicted_and_scored_individually) {
  const std::string model = trained("nodes", "tree-lstm:6", 20);
  const std::string two = folder_.write("two.trees", "(2 (1 not) (0 bad))\n(1 plot)\n");
  std::istringstream table(predicted({.model = model, .data = {two}}));
  std::vector<std::string> rows;
  for (std::string row; std::getline(table, row);) rows.push_back(row);
  ASSERT_EQ(rows.size(), 6U);
  EXPECT_EQ(rows[0], "word\tlabel\tparent\tlabel.best\tlabel.probability");
  EXPECT_TRUE(rows[1].starts_with("not\t1\t3\t"));
  EXPECT_TRUE(rows[2].starts_with("bad\t0\t3\t"));
  EXPECT_TRUE(rows[3].starts_with("\t2\t0\t"));
  EXPECT_EQ(rows[4], "");
  EXPECT_TRUE(rows[5].starts_with("plot\t1\t0\t"));
  const std::string lines = predicted({.model = model, .data = {two}, .format = TableFormat::jsonl});
  const auto object = nlohmann::json::parse(lines.substr(0, lines.find('\n')));
  EXPECT_EQ(object["parent"], (nlohmann::json{3, 3, 0}));
  std::string scores;
  score_fields({.model = model, .data = two, .threads = 1}, [&](std::string_view piece) { scores += piece; });
  EXPECT_EQ(std::ranges::count(scores, '\n'), 5);
  EXPECT_TRUE(contains(scores, "\n1\t3\t2\t"));
}

TEST_F(TreesTest, resumed_run_is_byte_identical_to_uninterrupted_run) {
  for (const std::string model : {"tree-lstm:6,embedding=5,dropout=0.3", "child-sum-lstm:6", "recursive-tensor:4"}) {
    const auto run = [&](const std::string& out, Index steps, bool resume) {
      return trained(out + model, model, steps, [&](TrainRequest& request) {
        if (!resume) return;
        request.resume = true;
        request.given = {"steps"};
      });
    };
    const std::string whole = run("whole", 9, false);
    run("cut", 4, false);
    EXPECT_EQ(testing_support::file_bytes(whole + "/model.safetensors"),
              testing_support::file_bytes(run("cut", 9, true) + "/model.safetensors"));
  }
}

TEST_F(TreesTest, incompatible_options_are_rejected_with_a_remedy) {
  const std::string wide = "(1 (1 a) (1 b) (1 c))\n(0 d)\n";
  const std::string message = refused("tree-lstm:4", wide);
  EXPECT_TRUE(contains(message, "data: ")) << message;
  EXPECT_TRUE(contains(message, "a node has 3 children, but tree-lstm:4 supports 2")) << message;
  EXPECT_TRUE(contains(message, "train tree-lstm:4,children=3, or child-sum-lstm:4")) << message;
  EXPECT_EQ(refused("tree-lstm:4,children=3", wide), "");
  EXPECT_EQ(refused("child-sum-lstm:4", wide), "");
  EXPECT_TRUE(contains(refused("lstm:4", wide),
                       "usage: model lstm:4 reads sequences, but the data consists of trees; use one of recursive:4, "
                       "recursive-tensor:4, tree-lstm:4, child-sum-lstm:4"));
  const std::string sequences = refused("tree-lstm:4", "pos\ta b\nneg\tc d\n", "labelled");
  EXPECT_TRUE(contains(sequences, "usage: model tree-lstm:4 reads trees, but the data consists of sequences"))
      << sequences;
  EXPECT_TRUE(contains(sequences, "or use trees (--format trees)")) << sequences;
  EXPECT_TRUE(contains(refused("bitree-lstm:4", wide), "trees do not support \"bi\""));
  EXPECT_TRUE(contains(refused("recursive-tensor:4000", wide), "units times children must be at most"));
  EXPECT_TRUE(contains(refused("tree-lstm:4", "(1 (1 a)\n"), "refused.txt: line 1: 1 bracket is not closed"));
  EXPECT_TRUE(contains(refused("child-sum-lstm:4", "(_ (_ a) (_ b))\n"), "field label is empty"));
}

TEST_F(TreesTest, default_tree_model_sees_all_children) {
  const auto chosen = [&](const std::string& tree) {
    TrainRequest request{.out = folder_.path("chosen"), .overwrite = true};
    request.settings.data = {folder_.write("chosen.trees", tree + "\n(0 a)\n")};
    request.settings.steps = 2;
    request.settings.split = "100/0/0";
    request.given = {"steps", "split"};
    return train(request).settings.model;
  };
  EXPECT_EQ(chosen("(1 (1 a) (1 b))"), "tree-lstm:100,dropout=0.1");
  EXPECT_EQ(chosen("(1 (1 a) (1 b) (1 c))"), "tree-lstm:100,children=3,dropout=0.1");
  EXPECT_EQ(chosen("(1 (1 a b c d e) (1 b))"), "child-sum-lstm:100,dropout=0.1");
}

TEST(TreeMeasures, binary_tree_metrics_ignore_neutral_nodes) {
  const std::vector<std::string> grades = {"0", "1", "2", "3", "4"};
  TreeMeasures measures(grades, false);
  const auto see = [&](bool root, Symbol wanted, const std::vector<double>& logits) {
    const auto best = static_cast<Symbol>(std::ranges::max_element(logits) - logits.begin());
    measures.see<double>(root, wanted, best, logits);
  };
  see(false, 2, {0, 0, 9, 0, 0});  // neutral: counts in the accuracy over all nodes, but not in the binary ones
  see(true, 3, {0, 0, 0, 1, 2});   // a different grade on the correct side
  see(true, 0, {2, 2, 0, 3, -9});  // the best label is positive, but the negative ones have more total probability
  see(false, 1, {0, 0, 5, 1, 0});
  const Measures found = measures.measures();
  const std::map<std::string, double> by_name(found.begin(), found.end());
  EXPECT_EQ(by_name.at("root_accuracy"), 0);
  EXPECT_DOUBLE_EQ(by_name.at("binary_accuracy"), 1.0 / 3);
  EXPECT_DOUBLE_EQ(by_name.at("root_binary_accuracy"), 0.5);
  EXPECT_TRUE(are_ordinal_labels(grades));
  EXPECT_FALSE(are_ordinal_labels(std::span(grades).first(4)));
  EXPECT_FALSE(are_ordinal_labels(std::vector<std::string>{"a", "b", "c"}));
}

}  // namespace
}  // namespace unfold
