#include "app/settings/text_defaults.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "app/settings/defaults.h"
#include "app/train/train.h"
#include "model/registry/run_folder.h"
#include "tests/app/texts.h"
#include "tests/base/scratch.h"
#include "unfold/base/error.h"
#include "unfold/model/network/spec.h"
#include "unfold/model/registry/registry.h"
#include "unfold/optim/optimizer.h"

namespace unfold {
namespace {

using testing_support::file_bytes;
using testing_support::ScratchFolder;

TEST(SizeChoice, more_time_selects_more_units_and_more_text_selects_fewer) {
  constexpr Index kMultiple = 32;
  for (const Index symbols : {0, 1000, 100'000, 1'000'000, 100'000'000}) {
    Index last = 0;
    for (double minutes = 0.001; minutes < 1000; minutes *= 1.3) {
      const Index units = default_units(minutes, symbols);
      EXPECT_TRUE(units >= 64 && units <= 448 && units % kMultiple == 0) << units;
      EXPECT_GE(units, last);
      EXPECT_GE(units, default_units(minutes, 10 * symbols));
      last = units;
    }
    EXPECT_EQ(last, 448);
  }
}

/// The best size of a grid search (docs/performance.md), or one next to it.
TEST(SizeChoice, selected_size_agrees_with_measurements) {
  constexpr double kTenSeconds = 10.0 / 60;
  EXPECT_EQ(default_units(kTenSeconds, 1'000'000), 128);
  EXPECT_EQ(default_units(3 * kTenSeconds, 1'000'000), 224);
  EXPECT_EQ(default_units(kTenSeconds, 120'000), 224 - 32);
  EXPECT_EQ(default_units(3, 1'000'000), 448);
}

TEST(SizeChoice, size_is_chosen_only_for_a_time_budget_without_a_model) {
  TrainSettings s;
  s.minutes = 0.5;
  EXPECT_TRUE(uses_default_model(s, {"minutes"}));
  EXPECT_FALSE(uses_default_model(s, {"minutes", "model"}));
  TrainSettings steps = s, epochs = s, fields = s, none = s;
  steps.steps = 100;
  epochs.epochs = 3;
  fields.format = "table";
  none.minutes.reset();
  for (const TrainSettings* other : {&steps, &epochs, &fields, &none}) EXPECT_FALSE(uses_default_model(*other, {}));
}

TEST(SizeChoice, explicit_learning_rate_is_kept) {
  TrainSettings s, own;
  s.minutes = own.minutes = 0.1;
  own.optimizer = "adam:rate=0.001";
  EXPECT_NE(choose_default_model(s, {}, 1'000'000), "");
  EXPECT_NE(choose_default_model(own, {"optimizer"}, 1'000'000), "");
  EXPECT_EQ(s.model, own.model);
  EXPECT_NE(s.optimizer.find("rate=0.013"), std::string::npos) << s.optimizer;
  EXPECT_EQ(own.optimizer, "adam:rate=0.001");
}

TEST(SizeChoice, SmallTextsGetUpdatesInSmallBatches) {
  for (const Index symbols : {300, 2'000, 20'000, 60'000}) {
    TrainSettings s;
    s.split = "90/10";
    ASSERT_TRUE(is_small_text(s, symbols));
    EXPECT_NE(set_small_text_defaults(s, {}, symbols), "");
    EXPECT_GE(*s.epochs * static_cast<double>(symbols), static_cast<double>(kFewestUpdates * s.window * s.batch));
    EXPECT_GT(s.early_stop, 0);
    EXPECT_GT(s.validate_every, 0);
    EXPECT_EQ(s.model, canonical_model(kSmallTextModel));
  }
  TrainSettings list;
  list.lines = true;
  set_small_text_defaults(list, {}, 20'000);
  EXPECT_EQ(list.model, canonical_model(kSmallListModel));
  TrainSettings own;
  own.model = canonical_model("lstm:32");
  own.batch = 8;
  own.early_stop = 0;
  own.split = "100/0/0";
  set_small_text_defaults(own, {"model", "batch"}, 2'000);
  EXPECT_EQ(own.model, canonical_model("lstm:32"));
  EXPECT_EQ(own.batch, 8);
  EXPECT_EQ(own.early_stop, 0);  // nothing is validated
}

TEST(SizeChoice, LargeTextsFittedModelsAndWholeSequencesAreNotSmall) {
  TrainSettings s, fitted, whole, steps;
  EXPECT_FALSE(is_small_text(s, 100'000));
  fitted.model = "ngram:5";
  whole.whole_sequences = true;
  steps.steps = 10;
  for (const TrainSettings* other : {&fitted, &whole, &steps}) EXPECT_FALSE(is_small_text(*other, 1000));
}

TEST(SizeChoice, sufficient_time_selects_the_full_default) {
  TrainSettings s;
  s.minutes = 3;
  EXPECT_NE(choose_default_model(s, {}, 1'000'000), "");
  EXPECT_EQ(s.model, kTimedModel);
  EXPECT_EQ(s.optimizer, canonical_optimizer(fmt::format(kTimedOptimizer, kTimedRate)));
}

TEST(SizeChoice, selected_size_is_stored_with_the_run) {
  const ScratchFolder folder;
  std::string text;
  for (int i = 0; i < 2000; ++i) text += i % 3 == 0 ? "ab" : "abc";
  TrainRequest request{.out = folder.path("run"), .given = {"minutes"}};
  request.settings.data = {folder.write("text", text)};
  request.settings.minutes = 0.002;
  Reporter silent;
  const TrainRequest again = request;
  const std::string model = train(request, silent).settings.model;
  EXPECT_EQ(model, canonical_model(kSmallTextModel));
  EXPECT_NE(file_bytes(folder.path("run/config.toml")).find(model), std::string::npos);
  try {
    TrainRequest same = again;
    train(same, silent);
    ADD_FAILURE() << "a run was replaced";
  } catch (const UsageError& error) {
    EXPECT_NE(std::string(error.what()).find("already contains a run"), std::string::npos) << error.what();
  }
  TrainRequest resumed{.out = folder.path("run"), .given = {"minutes"}};
  resumed.resume = true;
  resumed.settings.minutes = 0.004;
  EXPECT_EQ(train(resumed, silent).settings.model, model);
}

TEST(Defaults, defaults_are_valid) {
  for (const char* spec : {kDefaultModel, kTimedModel}) EXPECT_EQ(to_string(parse_model_spec(spec)), spec);
}

}  // namespace
}  // namespace unfold
