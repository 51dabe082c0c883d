#include "app/compare/compare.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "tests/base/scratch.h"
#include "unfold/base/error.h"
#include "unfold/base/formats/file.h"
#include "unfold/model/network/language_model.h"
#include "unfold/numerics/random.h"

namespace unfold {
namespace {

Alphabet letters(const std::string& text) {
  std::vector<std::string> texts;
  for (const char c : text) texts.emplace_back(1, c);
  return Alphabet(SymbolKind::chars, texts);
}

/// Letters a to d, independent and equally likely.
std::string fair_text(Index symbols, std::uint64_t seed) {
  Random random(seed, "fair text");
  std::string text;
  for (Index i = 0; i < symbols; ++i) text += static_cast<char>('a' + random.below(4));
  return text;
}

/// A network with confident but random predictions: on a fair text it loses bits, and permuting its letters does not
/// change the average loss.
void save_sure(const std::string& file, const std::string& alphabet, std::uint64_t seed, float scale = 4) {
  LanguageModel<float> model("rnn:6", letters(alphabet));
  model.initialize(seed);
  for (float& w : model.parameters().flat()) w *= scale;
  model.save(file);
}

class Compare : public ::testing::Test {
 protected:
  std::string path(const std::string& name) const { return folder_.path(name); }
  std::string written(const std::string& name, const std::string& text) const { return folder_.write(name, text); }
  testing_support::ScratchFolder folder_;
};

TEST_F(Compare, about_one_of_twenty_equal_pairs_is_reported_as_different) {
  int alarms = 0;
  for (std::uint64_t pair = 0; pair < 20; ++pair) {
    const std::string data = written("fair.txt", fair_text(4000, 100 + pair));
    save_sure(path("a"), "abcd", pair);
    save_sure(path("b"), pair % 2 == 0 ? "dcba" : "badc", pair);
    const Comparison found = compare({.models = {path("a"), path("b")}, .data = {data}, .samples = 1000, .threads = 1});
    ASSERT_EQ(found.pairs.size(), 1u);
    EXPECT_EQ(found.pairs[0].difference.differs(), found.pairs[0].verdict(found.models) != "no difference");
    alarms += found.pairs[0].difference.differs() ? 1 : 0;
  }
  // At 95 %, one in twenty on average; four or more in one of sixty such tests.
  EXPECT_LE(alarms, 3);
}

TEST_F(Compare, better_model_is_found_with_the_difference_in_bits) {
  const std::string data = written("fair.txt", fair_text(4000, 5));
  save_sure(path("a"), "abcd", 1, 4);
  save_sure(path("b"), "abcd", 1, 0);  // every letter has probability 1/4: optimal
  const Comparison found = compare({.models = {path("a"), path("b")}, .data = {data}, .samples = 1000, .threads = 1});
  EXPECT_NEAR(found.models[1].bits, 2, 1e-6);
  EXPECT_EQ(found.unit, "character");
  EXPECT_EQ(found.symbols, 4000);
  EXPECT_EQ(found.block, 32);
  EXPECT_EQ(found.pairs[0].difference.blocks, 125);
  EXPECT_NEAR(found.pairs[0].difference.mean, found.models[0].bits - found.models[1].bits, 1e-9);
  EXPECT_GT(found.pairs[0].difference.low, 0);
  EXPECT_EQ(found.pairs[0].verdict(found.models), path("b") + " is better");
}

TEST_F(Compare, different_units_and_data_are_rejected) {
  const std::string data = written("fair.txt", fair_text(4000, 5));
  save_sure(path("a"), "abcd", 1);
  LanguageModel<float>("rnn:3", Alphabet::all_bytes()).save(path("bytes"));
  const auto refused = [&](const CompareRequest& request, const std::string& message) {
    try {
      compare(request);
      FAIL() << "not refused: " << message;
    } catch (const UsageError& error) {
      EXPECT_THAT(error.what(), ::testing::HasSubstr(message));
    }
  };
  refused({.models = {path("a"), path("bytes")}, .data = {data}}, "measures bits per character, but");
  refused({.models = {path("a")}, .data = {data}}, "two models");
  refused({.models = {path("a"), path("a")}}, "--data FILE");
  refused({.models = {path("a"), path("a")}, .data = {data}, .block = 1000}, "too few");
  LanguageModel<float> words("rnn:3", Alphabet(SymbolKind::words, {"<eos>", "<unk>", "a"}));
  LanguageModel<float> more("rnn:3", Alphabet(SymbolKind::words, {"<eos>", "<unk>", "a", "b"}));
  words.save(path("words"));
  more.save(path("more"));
  const std::string text = written("words.txt", "a b c\na b\n");
  refused({.models = {path("words"), path("more")}, .data = {text}}, "<unk>");
}

TEST_F(Compare, runs_with_different_test_parts_are_rejected) {
  const std::string data = written("fair.txt", fair_text(4000, 5)), other = written("other.txt", fair_text(4000, 6));
  const auto run = [&](const std::string& name, const std::string& file, const std::string& split) {
    std::filesystem::create_directories(path(name));
    save_sure(path(name + "/model.safetensors"), "abcd", 3);
    write_file_atomically(path(name + "/config.toml"), "data = [\"" + file + "\"]\nsplit = \"" + split + "\"\n");
    return path(name);
  };
  const std::string a = run("a", data, "50/25/25"), b = run("b", data, "50/25/25"), c = run("c", other, "50/25/25"),
                    d = run("d", data, "50/50");
  const Comparison found = compare({.models = {a, b}, .samples = 200, .threads = 1});
  EXPECT_EQ(found.symbols, 1000);
  EXPECT_FALSE(found.validation);
  EXPECT_EQ(found.pairs[0].difference.mean, 0);
  EXPECT_FALSE(found.pairs[0].difference.differs());
  EXPECT_TRUE(compare({.models = {d, d}, .samples = 200, .threads = 1}).validation);
  EXPECT_THROW(compare({.models = {a, c}}), UsageError);
  EXPECT_THROW(compare({.models = {a, d}}), UsageError);
}

}  // namespace
}  // namespace unfold
