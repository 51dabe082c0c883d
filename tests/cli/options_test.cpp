#include "cli/terminal/options.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/cli/process.h"
#include "unfold/base/error.h"

namespace unfold::test {
namespace {

using ::testing::HasSubstr;

class Options : public ::testing::Test {
 protected:
  Options() {
    table_.add_inputs(
        {.name = "files", .target = &files_, .placeholder = "FILE...", .help = "files", .least = 0, .most = 3});
    table_.add({.name = "text", .target = &text_, .help = "text"});
    table_.add({.name = "number", .target = &number_, .help = "number", .least = -5, .keep = Keep::model});
    table_.add({.name = "share", .target = &share_, .help = "share", .most = 1, .keep = Keep::run});
    table_.add({.name = "flag", .target = &flag_, .help = "flag"});
    table_.add({.name = "maybe", .target = &maybe_, .help = "maybe", .keep = Keep::run});
    table_.add_common(json_, quiet_);
  }

  void read(const std::vector<std::string>& arguments) {
    EXPECT_FALSE(table_.read_arguments(arguments));
    table_.resolve();
  }
  std::string refusal(const std::vector<std::string>& arguments) {
    try {
      read(arguments);
    } catch (const UsageError& error) {
      return error.what();
    }
    return "accepted";
  }

  std::vector<std::string> files_;
  std::string text_ = "as it was";
  Index number_ = 7;
  double share_ = 0.5;
  bool flag_ = false, json_ = false, quiet_ = false;
  std::optional<Index> maybe_;
  double rate_of_another_table_ = 0;
  CommandOptions table_{"try", "tries", {"unfold try"}};
};

TEST_F(Options, exclusive_bounds_are_supported) {
  double budget = 1;
  table_.add({.name = "budget", .target = &budget, .help = "budget", .least = 0, .above_least = true});
  EXPECT_THAT(refusal({"--budget", "0"}), HasSubstr("option --budget must be above 0, not 0"));
  read({"--budget", "0.001"});
  EXPECT_EQ(budget, 0.001);
}

TEST_F(Options, AnOptionWithoutItsValueIsNamedWithItsPlaceholder) {
  EXPECT_EQ(refusal({"--config"}), "--config needs a value: --config FILE; see `unfold try --help`");
}

TEST_F(Options, files_are_classified_by_use) {
  std::optional<std::string> plot, absent;
  table_.add({.name = "plot", .target = &plot, .help = "plot", .file = FileUse::written});
  table_.add({.name = "absent", .target = &absent, .help = "absent", .file = FileUse::written});
  read({"--plot", "a.svg", "--text", "no file"});
  ASSERT_EQ(table_.files(FileUse::written).size(), 1);
  EXPECT_EQ(table_.files(FileUse::written).front().by, "--plot");
  EXPECT_EQ(table_.files(FileUse::written).front().path, "a.svg");
  EXPECT_TRUE(table_.files(FileUse::data).empty());
}

TEST_F(Options, option_defaults_are_those_of_their_targets) {
  read({});
  EXPECT_EQ(text_, "as it was");
  EXPECT_EQ(number_, 7);
  EXPECT_EQ(share_, 0.5);
  EXPECT_FALSE(flag_);
  EXPECT_FALSE(maybe_);
  EXPECT_FALSE(table_.given("number"));
}

TEST_F(Options, values_of_every_type_are_parsed) {
  for (const std::string text :
       {"", "-", "-x", "[a]", "[a,b]", "a b", "a,b", "\"q\"", "'", "{}", "%%", "true", "\\n", "--text"}) {
    read({"--text", text});
    EXPECT_EQ(text_, text);
    read({"--text=" + text});
    EXPECT_EQ(text_, text);
  }
  read({"--number", "-3", "--share", "1e-3", "--flag", "--maybe=4"});
  EXPECT_EQ(number_, -3);
  EXPECT_EQ(share_, 1e-3);
  EXPECT_TRUE(flag_);
  EXPECT_EQ(maybe_, 4);
  EXPECT_TRUE(table_.given("number"));
}

TEST_F(Options, positional_inputs_may_appear_anywhere) {
  read({"a", "--flag", "-", "--number", "1", "[b]"});
  EXPECT_EQ(files_, (std::vector<std::string>{"a", "-", "[b]"}));
  read({"--", "--number", "-x"});
  EXPECT_EQ(files_, (std::vector<std::string>{"--number", "-x"}));
  EXPECT_THAT(refusal({"a", "b", "c", "d"}), HasSubstr("\"d\" is too many"));
}

TEST_F(Options, option_errors_name_the_option_and_the_expected_value) {
  EXPECT_THAT(refusal({"--nubmer", "1"}), HasSubstr("did you mean \"number\"?"));
  EXPECT_THAT(refusal({"-n", "1"}), HasSubstr("try has no option -n"));
  EXPECT_THAT(refusal({"--number", "1.5"}), HasSubstr("a whole number"));
  EXPECT_THAT(refusal({"--number", "1x"}), HasSubstr("a whole number"));
  EXPECT_THAT(refusal({"--number", ""}), HasSubstr("a whole number"));
  EXPECT_THAT(refusal({"--number", "-6"}), HasSubstr("at least -5"));
  EXPECT_THAT(refusal({"--share", "1.5"}), HasSubstr("at most 1"));
  EXPECT_THAT(refusal({"--share", "nan"}), HasSubstr("at most 1"));
  EXPECT_THAT(refusal({"--number"}), HasSubstr("--number"));
}

TEST_F(Options, stored_configuration_is_overridden_by_given_options) {
  read({"--number", "3", "--maybe", "1"});
  const Config kept = table_.config(Keep::run);
  EXPECT_EQ(kept.entries().size(), 3u);
  EXPECT_EQ(table_.config(Keep::model).entries().size(), 1u);
  read({"--share", "0.25"});
  EXPECT_EQ(number_, 7);
  table_.resolve(&kept);
  EXPECT_EQ(number_, 3);
  EXPECT_EQ(maybe_, 1);
  EXPECT_EQ(share_, 0.25);
  EXPECT_FALSE(table_.given("number"));
  EXPECT_TRUE(table_.given("share"));
}

TEST_F(Options, help_lists_the_common_options_and_all_of_them_by_group) {
  bool seldom = false;
  double rate = 0.5;
  table_.add({.name = "rate",
              .target = &rate,
              .help = "the rate",
              .group = OptionGroup::training,
              .common = true,
              .kind_defaults = {{"text", "0.5"}, {"labels", "0.1"}}});
  table_.add({.name = "seldom", .target = &seldom, .help = "seldom", .group = OptionGroup::output});
  EXPECT_THAT(
      table_.help(false),
      HasSubstr(
          "\nTraining:\n  --rate                   the rate\n                             default for text: 0.5\n"));
  EXPECT_THAT(table_.help(false), testing::Not(HasSubstr("--seldom")));
  EXPECT_THAT(table_.help(true), HasSubstr("\nOutput:\n  --seldom"));
  EXPECT_TRUE(table_.read_arguments(std::vector<std::string>{"--help-all"}));
  EXPECT_EQ(table_.help(), table_.help(true));
}

TEST_F(Options, options_are_found_by_their_targets_and_refused_by_kind) {
  double rate = 1;
  bool logs = false;
  table_.add(
      {.name = "rate", .target = &rate, .help = "rate", .kinds = Kind::text | Kind::fields, .aliases = {"speed"}});
  table_.add({.name = "logs", .target = &logs, .help = "logs", .kinds = Kind::log});
  read({"--speed", "2"});
  EXPECT_TRUE(table_.is_given(rate));
  EXPECT_FALSE(table_.is_given(logs));
  EXPECT_TRUE(table_.any_given(logs, rate));
  EXPECT_THROW((void)table_.is_given(rate_of_another_table_), std::logic_error);
  table_.require_kind(Kind::fields, "");
  try {
    table_.require_kind(Kind::log, "this is a log");
    FAIL();
  } catch (const UsageError& error) {
    EXPECT_STREQ(error.what(), "--rate applies to text and data with fields; this is a log: omit --rate");
  }
}

TEST_F(Options, help_takes_precedence_over_errors) {
  EXPECT_TRUE(table_.read_arguments(std::vector<std::string>{"--help", "--nubmer", "1"}));
  EXPECT_THAT(table_.help(), HasSubstr("--number"));
}

}  // namespace
}  // namespace unfold::test
