#include "app/fields/defaults/sequence_choice.h"

#include <gtest/gtest.h>

#include "app/train/train.h"
#include "tests/app/texts.h"
#include "tests/base/scratch.h"
#include "unfold/model/network/language_model.h"

namespace unfold {
namespace {

using testing_support::blocks;
using testing_support::contains;
using testing_support::file_bytes;
using testing_support::ScratchFolder;

TrainSettings with_optimizer(const std::string& optimizer) {
  TrainSettings settings{.data = {"x"}, .model = "glnn:4,edges=2", .optimizer = optimizer};
  make_canonical(settings, {}, {});
  return settings;
}

TEST(SequenceChoice, whole_sequences_are_an_option_for_optimizers_that_compare_losses) {
  for (const char* spec : {"ruop", "rbpm", "ascent", "rbpm:reduction=quasi-diagonal"})
    EXPECT_TRUE(chooses_sequences(with_optimizer(spec), {})) << spec;
  for (const char* spec : {"adam", "hf", "natural", "rbpm:control=fixed,rate=0.3"})
    EXPECT_FALSE(chooses_sequences(with_optimizer(spec), {})) << spec;
}

TEST(SequenceChoice, whole_sequences_are_not_chosen_when_set_explicitly) {
  EXPECT_FALSE(chooses_sequences(with_optimizer("ruop"), {"window"}));
  EXPECT_FALSE(chooses_sequences(with_optimizer("ruop"), {"whole-sequences"}));
  TrainSettings sampled = with_optimizer("ruop");
  sampled.sampled_softmax = 5;
  EXPECT_FALSE(chooses_sequences(sampled, {}));
}

TEST(SequenceChoice, windows_are_used_when_memory_is_short_and_the_reason_is_reported) {
  const TrainSettings settings = with_optimizer("ruop");
  const SequenceChoice enough = choose_sequences(settings, 3'000'000, 3'000'000);
  EXPECT_TRUE(enough.whole);
  EXPECT_TRUE(contains(enough.remark, "whole sequences")) << enough.remark;
  const SequenceChoice short_of = choose_sequences(settings, 3'000'000'000, 20'000'000);
  EXPECT_FALSE(short_of.whole);
  for (const char* part : {"3 GB", "20 MB", "windows of 64"}) EXPECT_TRUE(contains(short_of.remark, part)) << part;
}

TEST(SequenceChoice, memory_estimate_counts_the_longest_sequences_of_a_step) {
  const LanguageModel<double> model("glnn:20,edges=3", Alphabet::all_bytes());
  Split part{.name = "training", .pieces = {{0, {0, 10}}, {1, {0, 5000}}, {2, {0, 3000}}}};
  const auto needed = [&](Index batch) {
    return whole_sequence_bytes(*model.plan(), model.alphabet().size(), part, batch, sizeof(double));
  };
  const std::size_t one = needed(1), two = needed(2), all = needed(16);
  EXPECT_GT(one, 5000 * 20 * sizeof(double));
  EXPECT_GT(two, one + 3000 * 20 * sizeof(double));
  EXPECT_EQ(needed(3), all);
  EXPECT_LT(all - two, one / 50);
}

/// Collects the notes of a run.
class Remarks final : public Reporter {
 public:
  void remark(std::string_view text) override { all += std::string(text) + "\n"; }
  std::string all;
};

TEST(SequenceChoice, default_training_uses_whole_sequences) {
  const ScratchFolder folder;
  const auto trained = [&](const std::string& out, bool whole, const Given& given) {
    TrainRequest request{.out = folder.path(out), .given = given};
    request.settings.data = {folder.write("text", blocks(40))};
    request.settings.model = "glnn:4,edges=2";
    request.settings.optimizer = "ruop";
    request.settings.steps = 10;
    request.settings.whole_sequences = whole;
    Remarks remarks;
    const TrainOutcome outcome = train(request, remarks);
    EXPECT_EQ(contains(remarks.all, "--whole-sequences"), given.empty()) << out;
    return file_bytes(outcome.model_file) + file_bytes(outcome.run + "/config.toml");
  };
  const std::string chosen = trained("chosen", false, {}), flag = trained("flag", true, {"whole-sequences"}),
                    windows = trained("windows", false, {"window"});
  EXPECT_TRUE(chosen == flag);
  EXPECT_FALSE(chosen == windows);
}

/// A forecast reads windows of its series, except with optimizers that compare losses of the whole series.
TEST(SequenceChoice, series_default_depends_on_the_optimizer) {
  const ScratchFolder folder;
  std::string rows = "value\n";
  for (int t = 0; t < 300; ++t) rows += std::to_string((t * 37) % 11) + "\n";
  const auto is_whole = [&](const std::string& out, const std::string& optimizer, const Given& given) {
    TrainRequest request{.out = folder.path(out), .given = given};
    for (const char* name : {"format", "model", "optimizer", "steps"}) request.given.emplace(name);
    request.settings.data = {folder.write("series.csv", rows)};
    request.settings.format = "table";
    request.settings.model = "glnn:4,edges=2";
    request.settings.optimizer = optimizer;
    request.settings.steps = 2;
    Remarks remarks;
    return train(request, remarks).settings.whole_sequences;
  };
  EXPECT_TRUE(is_whole("ruop", "ruop", {}));
  EXPECT_FALSE(is_whole("adam", "adam", {}));
  EXPECT_FALSE(is_whole("window", "ruop", {"window"}));
}

}  // namespace
}  // namespace unfold
