#include "unfold/base/formats/config.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <bit>

#include "base/utf8.h"
#include "tests/base/scratch.h"

namespace unfold {
namespace {

using testing_support::contains;
using testing_support::message_of;

TEST(Configuration, keys_keep_order_type_and_line) {
  const Config config = parse_config(
      "# comment\nmodel = \"lstm:256\"\nbatch = 32\n\nrate = 2e-3\nquiet = true\ndata = [\"a.txt\",\n  'b.txt']\n",
      "c.toml");
  ASSERT_EQ(config.entries().size(), 5u);
  EXPECT_EQ(config.entries()[0].key, "model");
  EXPECT_EQ(config.entries()[1].key, "batch");
  EXPECT_EQ(std::get<std::string>(config.find("model")->value), "lstm:256");
  EXPECT_EQ(std::get<Index>(config.find("batch")->value), 32);
  EXPECT_EQ(std::get<double>(config.find("rate")->value), 2e-3);
  EXPECT_EQ(std::get<bool>(config.find("quiet")->value), true);
  EXPECT_EQ(std::get<std::vector<std::string>>(config.find("data")->value),
            (std::vector<std::string>{"a.txt", "b.txt"}));
  EXPECT_EQ(config.find("model")->line, 2);
  EXPECT_EQ(config.find("quiet")->line, 6);
  EXPECT_EQ(config.find("nothing"), nullptr);
  EXPECT_TRUE(parse_config("", "c.toml").entries().empty());
}

TEST(Configuration, unsupported_syntax_names_file_and_line) {
  const std::vector<std::pair<std::string, std::string>> cases{{"a = 1\na = 2\n", "c.toml:2: "},
                                                               {"a = 1\n[b]\nc = 2\n", "c.toml:2: "},
                                                               {"\n\na.b = 1\n", "c.toml:3: "},
                                                               {"a = 1979-05-27\n", "c.toml:1: "},
                                                               {"a = [1, 2]\n", "c.toml:1: "},
                                                               {"a = [[\"b\"]]\n", "c.toml:1: "},
                                                               {"a = {b = 1}\n", "c.toml:1: "},
                                                               {"a = \n", "c.toml:1: "},
                                                               {"a\n", "c.toml:1: "},
                                                               {"a = 1\nb = \"\xFF\"\n", "c.toml:2:"},
                                                               {"a = 99999999999999999999\n", "c.toml:1: "}};
  for (const auto& [text, expected] : cases) {
    const std::string message = message_of<UsageError>([&, t = text] { parse_config(t, "c.toml"); });
    EXPECT_TRUE(contains(message, expected)) << text << " -> " << message;
  }
  EXPECT_THROW(parse_config(std::string(2000000, ' '), "c.toml"), UsageError);
  EXPECT_THROW(read_config("/nonexistent/c.toml"), DataError);
}

rc::Gen<std::string> unicode() {
  return rc::gen::map(rc::gen::container<std::vector<std::uint32_t>>(rc::gen::inRange<std::uint32_t>(0, 0x3000)),
                      [](const std::vector<std::uint32_t>& codes) {
                        std::string text;
                        for (const auto code : codes) append_utf8(text, code);
                        return text;
                      });
}

ConfigValue any_value() {
  switch (*rc::gen::inRange(0, 5)) {
    case 0: return *rc::gen::arbitrary<bool>();
    case 1: return *rc::gen::arbitrary<Index>();
    case 2: {
      const double value = std::bit_cast<double>(*rc::gen::arbitrary<std::uint64_t>());
      return value == value ? value : 0.0;
    }
    case 3: return *unicode();
    default: return *rc::gen::container<std::vector<std::string>>(unicode());
  }
}

RC_GTEST_PROP(Configuration, written_configuration_round_trips, ()) {
  Config config;
  for (int i = *rc::gen::inRange(0, 6); i > 0; --i) {
    config.set(*rc::gen::nonEmpty(unicode()), any_value(), static_cast<Index>(config.entries().size()) + 1);
  }
  const Config read = parse_config(write_config(config), "c.toml");
  RC_ASSERT(read.entries().size() == config.entries().size());
  for (std::size_t i = 0; i < read.entries().size(); ++i) {
    RC_ASSERT(read.entries()[i].key == config.entries()[i].key);
    RC_ASSERT(read.entries()[i].value == config.entries()[i].value);
  }
}

TEST(Configuration, values_are_shown_as_on_the_command_line) {
  EXPECT_EQ(to_string(ConfigValue(true)), "true");
  EXPECT_EQ(to_string(ConfigValue(Index{-3})), "-3");
  EXPECT_EQ(to_string(ConfigValue(0.1)), "0.1");
  EXPECT_EQ(to_string(ConfigValue(3.0)), "3.0");
  EXPECT_EQ(to_string(ConfigValue(std::string("a b"))), "a b");
  EXPECT_EQ(to_string(ConfigValue(std::vector<std::string>{"a", "b"})), "a,b");
  Config config;
  config.set("key", std::string("\xFF"));
  EXPECT_THROW(write_config(config), UsageError);
}

}  // namespace
}  // namespace unfold
