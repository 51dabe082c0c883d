#include "unfold/base/options/registry.h"

#include <gtest/gtest.h>

#include "base/options/extensible_registry.h"
#include "unfold/base/error.h"

namespace unfold {
namespace {

struct Size {
  Index size = 3;
};

template <class Visitor>
void describe(Visitor& v, Size& s) {
  v("size", s.size, "of it", at_least(1));
}

struct FruitEntry : Entry {
  int color = 0;
};

const Registry<FruitEntry>& fruit() {
  static const Registry<FruitEntry> list("fruit", {{{"apple", "round", Size()}, 1}, {{"pear", "longer"}, 2}});
  return list;
}

std::string refusal(std::string_view name, const std::vector<std::string>& others = {}) {
  try {
    fruit().get(name, others);
  } catch (const UsageError& error) {
    return error.what();
  }
  return "found";
}

TEST(Registry, registry_finds_entries_by_name) {
  EXPECT_EQ(fruit().get("pear").color, 2);
  EXPECT_EQ(fruit().find("apple"), &*fruit().begin());
  EXPECT_EQ(fruit().find("plum"), nullptr);
}

TEST(Registry, unknown_entry_lists_all_and_suggests_the_nearest) {
  EXPECT_EQ(refusal("aple"), "there is no fruit \"aple\"; did you mean \"apple\"? (fruits: apple, pear)");
  EXPECT_EQ(refusal("figg", {"fig"}), "there is no fruit \"figg\"; did you mean \"fig\"? (fruits: apple, pear, fig)");
}

TEST(Registry, registry_help_lists_options_of_every_entry) {
  const auto help = fruit().help();
  ASSERT_EQ(help.size(), 2u);
  ASSERT_EQ(help[0].options.size(), 1u);
  EXPECT_EQ(help[0].options[0].value, "3");
  EXPECT_TRUE(help[1].options.empty());
}

TEST(ExtensibleRegistry, entries_are_added_and_earlier_references_stay_valid) {
  ExtensibleRegistry<FruitEntry> all("fruit", {{{"apple", "round"}, 1}});
  const Registry<FruitEntry>& before = all.current();
  const FruitEntry& apple = before.get("apple");
  for (const char* name : {"fig", "plum-2", "kiwi"}) all.add("register_fruit", "fruit", {{name, "new"}, 3});
  EXPECT_EQ(all.current().names(), (std::vector<std::string>{"apple", "fig", "plum-2", "kiwi"}));
  EXPECT_EQ(before.names(), std::vector<std::string>{"apple"});
  EXPECT_EQ(apple.color, 1);
}

TEST(ExtensibleRegistry, taken_and_malformed_names_are_rejected) {
  ExtensibleRegistry<FruitEntry> all("fruit", {{{"apple", "round"}, 1}});
  const auto refusal_of = [&](const char* name) {
    try {
      all.add("register_fruit", "fruit", {{name, "new"}, 3});
    } catch (const UsageError& error) {
      return std::string(error.what());
    }
    return std::string();
  };
  EXPECT_EQ(refusal_of("apple"), "register_fruit: there is already a fruit \"apple\"; choose a different name");
  for (const char* name : {"", "Apple", "2nd", "a:b", "a b", "-a"})
    EXPECT_NE(refusal_of(name).find("is not a valid fruit name"), std::string::npos) << name;
  EXPECT_EQ(all.current().names(), std::vector<std::string>{"apple"});
}

}  // namespace
}  // namespace unfold
