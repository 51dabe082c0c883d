#include "unfold/base/options/options.h"

#include <gtest/gtest.h>

#include <limits>
#include <utility>

#include "base/options/option_aliases.h"

namespace unfold {

enum class Color { red, green };
struct Paint {
  double amount = 0.5;
  Index coats = 2;
  bool dry = false;
  Color color = Color::red;
};

template <class Visitor>
void describe(Visitor& v, Paint& p) {
  v("amount", p.amount, "litres", above(0));
  v("coats", p.coats, "layers", range(1, 9));
  v("dry", p.dry, "wait");
  v("color", p.color, "which", {{Color::red, "red"}, {Color::green, "green"}});
}

namespace {

std::string message_of(const std::function<void()>& action) {
  try {
    action();
  } catch (const UsageError& error) {
    return error.what();
  }
  return {};
}

TEST(Spec, spec_with_name_size_and_values_round_trips) {
  const Spec spec = parse_spec("lstm:512,layers=2,dropout=0.1");
  EXPECT_EQ(spec.name, "lstm");
  EXPECT_EQ(spec.size, "512");
  ASSERT_EQ(spec.values.size(), 2u);
  EXPECT_EQ(spec.values[1], (std::pair<std::string, std::string>("dropout", "0.1")));
  for (const char* text : {"adam", "adam:rate=1", "lstm:5", "lstm:512,layers=2,dropout=0.1"})
    EXPECT_EQ(to_string(parse_spec(text)), text);
}

TEST(Spec, malformed_spec_is_rejected) {
  for (const char* text : {"", ":3", "a:", "a:=3", "a:b=", "a:b=1,b=2", "a:1,2", "a:b=1,,c=2", "a:b=1,"})
    EXPECT_FALSE(message_of([&] { parse_spec(text); }).empty()) << text;
}

TEST(Options, options_are_set_from_a_spec) {
  Paint paint;
  parse_options(parse_spec("paint:amount=1e-3,coats=9,dry=true,color=green"), paint);
  EXPECT_EQ(paint.amount, 1e-3);
  EXPECT_EQ(paint.coats, 9);
  EXPECT_TRUE(paint.dry);
  EXPECT_EQ(paint.color, Color::green);
}

TEST(Options, options_accept_aliases_of_other_programs) {
  struct Descent {
    double rate = 1, decay = 0;
    Index batch = 1;
  } descent;
  OptionTable table;
  table("rate", descent.rate, "", above(0));
  table("decay", descent.decay, "", at_least(0));
  table("batch", descent.batch, "", at_least(1));
  table.set(parse_spec("sgd:lr=0.25,weight_decay=0.5,batch-size=7"));
  EXPECT_EQ(descent.rate, 0.25);
  EXPECT_EQ(descent.decay, 0.5);
  EXPECT_EQ(descent.batch, 7);
  const std::vector<std::string> own = {"lr", "rate"};
  EXPECT_EQ(name_behind("lr", own), "lr");  // an option's own name takes precedence
  EXPECT_EQ(name_behind("lrr", own), "");
  EXPECT_EQ(parse_spec("lstm:hidden_size=16,layers=2").size, "16");
  for (const char* twice : {"sgd:lr=1,rate=2", "sgd:learning-rate=1,lr=2", "lstm:3,hidden=4", "lstm:units=3,hidden=4"})
    EXPECT_NE(message_of([&] { parse_spec(twice); }).find("given twice"), std::string::npos) << twice;
}

TEST(Options, malformed_and_out_of_range_values_are_rejected) {
  for (const char* text : {"p:amount=0", "p:amount=nan", "p:amount=inf", "p:amount=1x", "p:coats=0", "p:coats=10",
                           "p:coats=1.5", "p:dry=yes", "p:color=blue"}) {
    Paint paint;
    EXPECT_FALSE(message_of([&] { parse_options(parse_spec(text), paint); }).empty()) << text;
  }
}

TEST(Options, unknown_option_suggests_the_nearest) {
  Paint paint;
  const std::string message = message_of([&] { parse_options(parse_spec("paint:colr=red"), paint); });
  EXPECT_NE(message.find("did you mean \"color\""), std::string::npos) << message;
  EXPECT_NE(message.find("paint has no option \"colr\""), std::string::npos) << message;
}

TEST(Options, options_of_every_type_hold_a_value) {
  const AnyOptions plain = Paint{};
  AnyOptions changed = plain;
  parse_options(parse_spec("paint:7,amount=3"), changed, "coats");
  EXPECT_EQ(changed.as<Paint>().coats, 7);
  EXPECT_EQ(plain.as<Paint>().coats, 2);
  EXPECT_EQ(non_default_values(help_of(changed), help_of(plain)),
            (std::vector<std::pair<std::string, std::string>>{{"amount", "3"}, {"coats", "7"}}));
  EXPECT_THROW(changed.as<Limits>(), UsageError);
  EXPECT_THROW(std::as_const(changed).as<Limits>(), UsageError);
  EXPECT_TRUE(help_of(AnyOptions()).empty());
}

TEST(Options, bare_number_without_a_main_option_is_rejected) {
  Paint paint;
  EXPECT_EQ(message_of([&] { parse_options(parse_spec("paint:7"), paint); }),
            "paint has no option \"7\" (options: amount, coats, dry, color)");
}

TEST(Option, option_errors_start_with_the_location_and_state_the_expected_value) {
  Index number = 3;
  std::string word = "red";
  const Option whole{
      .name = "n", .target = &number, .help = "", .limits = range(1, 9), .fallback = OptionValue(Index{0})};
  const Option choice{.name = "c", .target = &word, .help = "", .choices = {"red", "green"}};
  EXPECT_EQ(message_of([&] { set_option_from_text(whole, "x", "here"); }), "here must be a whole number, not \"x\"");
  EXPECT_EQ(message_of([&] { set_option_from_text(whole, "10", "here"); }), "here must be between 1 and 9, not 10");
  EXPECT_EQ(message_of([&] { set_option_from_text(choice, "gren", "here"); }),
            "here must be one of red, green, not \"gren\"; did you mean \"green\"?");
  EXPECT_EQ(number, 3);
  Index steps = 0;
  double minutes = 0;
  const Option count{.name = "steps", .target = &steps, .help = ""}, time{.name = "m", .target = &minutes, .help = ""};
  set_option_from_text(count, "10k", "here");
  EXPECT_EQ(steps, 10'000);
  set_option_from_text(count, "1.5M", "here");
  EXPECT_EQ(steps, 1'500'000);
  set_option_from_text(time, "0.5k", "here");
  EXPECT_EQ(minutes, 500);
  for (const char* wrong : {"k", "1.0005k", "10K", "1kk", "1e30G", "infG", "nank"})
    EXPECT_EQ(message_of([&] { set_option_from_text(count, wrong, "here"); }),
              "here must be a whole number, not \"" + std::string(wrong) + "\"");
  set_option_from_text(whole, "0", "here");  // the default, outside the range
  EXPECT_EQ(number, 0);
}

TEST(Options, option_help_lists_defaults_and_ranges) {
  const auto help = help_of(Paint{});
  ASSERT_EQ(help.size(), 4u);
  EXPECT_EQ(help[0].value, "0.5");
  EXPECT_EQ(help[0].range, "above 0");
  EXPECT_EQ(help[1].range, "whole number, 1 to 9");
  EXPECT_EQ(help[3].value, "red");
  EXPECT_EQ(help[3].range, "red|green");
}

}  // namespace
}  // namespace unfold
