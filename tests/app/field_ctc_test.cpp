/// Training, evaluation and tables of a model whose loss aligns labels that have no given positions (CTC).

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <sstream>

#include "app/fields/evaluation/field_evaluation.h"
#include "app/predict/predict.h"
#include "app/train/train.h"
#include "tests/app/small_runs.h"
#include "tests/base/scratch.h"
#include "unfold/base/error.h"
#include "unfold/numerics/random.h"

namespace unfold {
namespace {

using testing::HasSubstr;
using testing_support::predicted;
using testing_support::ScratchFolder;

/// Each label is one sound followed by another, each lasting one to three frames, with occasional silence, including in
/// the middle. The labels of a sequence are stored at its first frames.
std::string unsegmented_sequences(int count, std::uint64_t seed) {
  Random random(seed, "unsegmented");
  std::string text;
  for (int s = 0; s < count; ++s) {
    std::vector<std::string> labels, frames;
    const auto wait = [&](Index most) { frames.insert(frames.end(), at(random.below(at(most + 1))), "-"); };
    for (Index k = 2 + static_cast<Index>(random.below(5)); k > 0; --k) {
      const auto label = std::string(1, static_cast<char>('a' + random.below(4)));
      labels.push_back(label);
      wait(2);
      for (const char* part : {"1", "2"})
        for (Index t = 1 + static_cast<Index>(random.below(3)); t > 0; --t)
          frames.push_back(random.uniform() < 0.02 ? "-" : label + part);
    }
    wait(2);
    for (std::size_t t = 0; t < frames.size(); ++t)
      text += frames[t] + "\t" + (t < labels.size() ? labels[t] : "") + "\n";
    text += "\n";
  }
  return text;
}

class FieldCtcTest : public ::testing::Test {
 protected:
  TrainOutcome trained(const std::string& predict, Index epochs) {
    TrainRequest request{.out = folder_.path("run")};
    request.settings.data = {folder_.write("train.conll", unsegmented_sequences(400, 1))};
    request.settings.predict = predict;
    request.settings.model = "bilstm:16";
    request.settings.optimizer = "adam:rate=0.02,clip=1";
    request.settings.batch = 16;
    request.settings.epochs = static_cast<double>(epochs);
    request.overwrite = true;
    request.run.threads = 1;
    request.given = {"predict", "model", "optimizer", "batch", "epochs"};
    return train(request);
  }
  ScratchFolder folder_;
  std::string test_ = folder_.write("test.conll", unsegmented_sequences(200, 2));
};

double measure_of(const HeadFigures& head, const std::string& name) {
  const auto found = std::ranges::find(head.measures, name, [](const auto& measure) { return measure.first; });
  return found == head.measures.end() ? std::nan("") : found->second;
}

TEST_F(FieldCtcTest, ctc_finds_labels_of_unsegmented_sequences) {
  trained("2=ctc", 12);
  const FieldFigures figures = evaluate_on_fields({.model = folder_.path("run"), .data = {test_}});
  EXPECT_EQ(figures.heads.front().loss, "ctc");
  EXPECT_LT(measure_of(figures.heads.front(), "label_error_rate"), 0.01);
  EXPECT_LT(measure_of(figures.heads.front(), "sequence_error_rate"), 0.05);
  std::istringstream lines(
      predicted({.model = folder_.path("run"), .data = {test_}, .format = TableFormat::jsonl, .probabilities = true}));
  int right = 0, examples = 0;
  for (std::string line; std::getline(lines, line); ++examples) {
    const auto example = nlohmann::json::parse(line);
    std::vector<std::string> wanted, found;
    for (const auto& label : example["2"])
      if (label.is_string() && !label.get<std::string>().empty()) wanted.push_back(label);
    for (const auto& label : example["2.best"])
      if (!label.get<std::string>().empty()) found.push_back(label);
    right += wanted == found ? 1 : 0;
    ASSERT_EQ(example["2.best"].size(), example["1"].size());
  }
  EXPECT_EQ(examples, 200);
  EXPECT_NEAR(1 - right / 200.0, measure_of(figures.heads.front(), "sequence_error_rate"), 1e-12);
}

TEST_F(FieldCtcTest, sequences_too_short_for_their_labels_are_rejected) {
  trained("2=ctc", 1);
  const std::string tight = folder_.write("tight.conll", "a1\ta\na2\ta\n\n");
  EXPECT_THAT([&] { evaluate_on_fields({.model = folder_.path("run"), .data = {tight}}); },
              testing::ThrowsMessage<DataError>(HasSubstr("need 1 more")));
}

}  // namespace
}  // namespace unfold
