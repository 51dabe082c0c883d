#include "app/settings/train_settings.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <optional>
#include <set>
#include <utility>

#include "tests/base/scratch.h"

namespace unfold {
namespace {

using testing_support::contains;
using testing_support::message_of;

TEST(TrainSettings, stored_settings_round_trip) {
  TrainSettings settings{.data = {"a.txt"}, .model = "lstm:7"};
  settings.steps = 12;
  settings.activity_penalty = 0.25;
  settings.lines = true;
  RunSettings run{.threads = 3, .memory_limit = "2G"};
  make_canonical(settings, run, {});
  const Config stored = configuration(settings, run, Keep::run);
  TrainSettings other;
  RunSettings other_run;
  apply_stored(stored, {}, other, other_run);
  EXPECT_EQ(write_config(configuration(other, other_run, Keep::run)), write_config(stored));
  EXPECT_EQ(other.steps, 12);
  EXPECT_EQ(other_run.memory_limit, "2G");
}

TEST(TrainSettings, settings_without_effect_on_results_are_not_in_the_card) {
  const TrainSettings settings;
  const Config card = configuration(settings, {.threads = 3, .memory_limit = "2G"}, Keep::model);
  for (const char* name : {"threads", "memory-limit", "data", "log-every"}) EXPECT_EQ(card.find(name), nullptr) << name;
  EXPECT_NE(card.find("window"), nullptr);
}

TEST(TrainSettings, setting_names_are_unique) {
  std::set<std::string_view> names;
  for (const OptionRow& row : SettingTable::defaults().rows) EXPECT_TRUE(names.insert(row.name).second);
}

TEST(TrainSettings, members_know_the_names_of_their_options) {
  EXPECT_EQ(name_of(&TrainSettings::copy_matching_parameters), "start-from");
  EXPECT_EQ(name_of(&RunSettings::memory_limit), "memory-limit");
  Given given = {"start-from"};
  given.add(&TrainSettings::window, &RunSettings::threads);
  EXPECT_TRUE(given.contains(&TrainSettings::copy_matching_parameters));
  EXPECT_TRUE(given.contains("window"));
  EXPECT_FALSE(given.contains(&TrainSettings::batch));
}

TEST(TrainSettings, settings_that_do_not_apply_are_refused_in_one_form) {
  const auto refusal = [](const OptionRow& row, TrainSettings settings) {
    RunSettings run;
    return message_of<UsageError>([&] { make_canonical(settings, run, {row.name}); });
  };
  TrainSettings fields{.data = {"a.csv"}}, text{.data = {"a.txt"}}, task, fitted{.data = {"a.txt"}, .model = "ngram:3"};
  fields.format = "table";
  task.task = "adding:10";
  task.steps = 1;
  for (const OptionRow& row : SettingTable::defaults().rows) {
    for (const auto& [settings, kind] : {std::pair{fields, Kind::fields}, {text, Kind::text}, {task, Kind::task}})
      EXPECT_EQ(contains(refusal(row, settings), "--" + row.name + " applies to "), !row.kinds.contains(kind))
          << row.name << ": " << refusal(row, settings);
    const bool counted = row.name == name_of(&RunSettings::memory_limit);
    EXPECT_EQ(contains(refusal(row, fitted), "models trained by gradients; ngram"), row.by_gradient && !counted)
        << row.name;
  }
}

TEST(TrainSettings, python_type_stubs_name_every_setting) {
  const std::string types = read_file(UNFOLD_SOURCE_DIR "/python/unfold/training.pyi");
  for (const OptionRow& row : SettingTable::defaults().rows) {
    std::string name = row.name;
    std::replace(name.begin(), name.end(), '-', '_');
    EXPECT_TRUE(contains(types, "\n    " + name + ": ")) << name;
  }
}

TEST(TrainSettings, given_settings_override_stored_ones_and_budgets_replace_each_other) {
  Config stored;
  stored.set("model", "gru:5");
  stored.set("batch", Index{9});
  stored.set("epochs", 3.0);
  TrainSettings settings{.model = "gru:6"};
  settings.steps = 5;
  RunSettings run;
  apply_stored(stored, {"model", "steps"}, settings, run);
  EXPECT_EQ(settings.model, "gru:6");
  EXPECT_EQ(settings.batch, 9);
  EXPECT_FALSE(settings.epochs);
}

TEST(TrainSettings, invalid_stored_configuration_is_named_in_the_error) {
  TrainSettings settings;
  RunSettings run;
  Config unknown, wrong;
  unknown.set("bathc", Index{9});
  EXPECT_TRUE(contains(message_of<UsageError>([&] { apply_stored(unknown, {}, settings, run); }), "\"batch\""));
  wrong.set("batch", std::string("many"));
  EXPECT_TRUE(contains(message_of<UsageError>([&] { apply_stored(wrong, {}, settings, run); }), "a whole number"));
}

TEST(TrainSettings, settings_without_effect_are_rejected) {
  const auto refusal = [](std::optional<std::string> format, const Given& given) {
    TrainSettings settings{.data = {"a.txt"}};
    settings.format = std::move(format);
    settings.whole_sequences = given.contains("whole-sequences");
    RunSettings run;
    return message_of<UsageError>([&] { make_canonical(settings, run, given); });
  };
  EXPECT_TRUE(
      contains(refusal({}, {"window", "whole-sequences"}), "--window cannot be combined with --whole-sequences"));
  EXPECT_TRUE(contains(refusal("table", {"symbols"}), "--symbols applies only to text, and table has none"));
  EXPECT_TRUE(contains(refusal("columns", {"sequences"}), "the format columns defines its sequences"));
  for (const char* format : {"labelled", "jsonl", "pairs"}) EXPECT_EQ(refusal(format, {"symbols"}), "") << format;
  EXPECT_EQ(refusal("table", {"sequences"}), "");
}

TEST(TrainSettings, text_is_converted_by_the_type_of_the_setting) {
  TrainSettings settings;
  RunSettings run;
  assign_text("minutes", "0.5", settings, run);
  assign_text("whole-sequences", "true", settings, run);
  assign_text("task", "adding:100", settings, run);
  EXPECT_EQ(settings.minutes, 0.5);
  EXPECT_TRUE(settings.whole_sequences);
  EXPECT_EQ(settings.task, "adding:100");
  EXPECT_THROW(assign_text("steps", "1.5", settings, run), UsageError);
  for (const auto& [text, on] : {std::pair("false", false), {"1", true}, {"0", false}, {"true", true}}) {
    assign_text("whole-sequences", text, settings, run);
    EXPECT_EQ(settings.whole_sequences, on) << text;
  }
  for (const char* text : {"no", "False", "", "rubbish"})
    EXPECT_TRUE(contains(message_of<UsageError>([&] { assign_text("whole-sequences", text, settings, run); }),
                         "whole-sequences must be true or false"))
        << text;
}

TEST(TrainSettings, excessive_thread_counts_are_rejected) {
  EXPECT_EQ(thread_count(3), 3);
  EXPECT_GE(thread_count(0), 1);
  for (const Index threads : {Index{-1}, Index{1025}, Index{1} << 40})
    EXPECT_TRUE(contains(message_of<UsageError>([&] { (void)thread_count(threads); }), "between 0 and 1024"))
        << threads;
}

}  // namespace
}  // namespace unfold
