/// Words read character by character (--read word,word.chars), from training to tables.

#include <gtest/gtest.h>

#include "app/fields/evaluation/field_evaluation.h"
#include "app/fields/field_model.h"
#include "app/predict/predict.h"
#include "app/train/train.h"
#include "tests/app/small_runs.h"
#include "tests/base/scratch.h"

namespace unfold {
namespace {

using testing_support::predicted;
using testing_support::ScratchFolder;

/// Every word occurs once, so that only its last character determines its class.
std::string words_by_ending(int first, int count) {
  std::string text;
  for (int w = first; w < first + count; ++w) {
    const std::string stem = std::to_string(w);
    text += "w" + stem + (w % 2 == 0 ? "s plural\n" : "d past\n");
    if (w % 3 == 2) text += "\n";
  }
  return text + "\n";
}

TEST(Spelling, character_spelling_tags_unseen_words) {
  const ScratchFolder folder;
  TrainRequest request{.out = folder.path("run")};
  request.settings.data = {folder.write("train.conll", words_by_ending(0, 120))};
  request.settings.read = "1,1.chars";
  request.settings.predict = "2";
  request.settings.model = "birnn:8";
  request.settings.optimizer = "adam:rate=0.02";
  request.settings.batch = 4;
  request.settings.epochs = 20;
  request.run.threads = 1;
  request.given = {"read", "predict", "model", "optimizer", "batch", "epochs"};
  train(request);

  const std::string other = folder.write("other.conll", words_by_ending(1000, 30));
  const FieldFigures figures = evaluate_on_fields({.model = request.out, .data = {other}, .threads = 1});
  EXPECT_EQ(figures.positions, 30);
  EXPECT_TRUE(figures.heads.front().mistakes.empty());
  const std::string table = predicted({.model = request.out, .data = {other}});
  EXPECT_NE(table.find("w1000s"), std::string::npos);
  EXPECT_NE(table.find("w1001d"), std::string::npos);
}

}  // namespace
}  // namespace unfold
