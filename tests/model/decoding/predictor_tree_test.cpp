/// A tree of predictors, compared with reading each prefix from the start, and used in a decoder.

#include "model/decoding/predictor_tree.h"

#include <gtest/gtest.h>

#include "model/decoding/decode.h"
#include "model/decoding/expression.h"
#include "model/decoding/match_probability.h"
#include "tests/model/decoding/tiny_models.h"

namespace unfold::test {
namespace {

/// Reports that it is large, and counts its instances.
class LargePredictor final : public HistoryPredictor {
 public:
  LargePredictor(Index alphabet, std::uint64_t seed) : HistoryPredictor(alphabet, seed) { count(); }
  LargePredictor(const LargePredictor& other) : HistoryPredictor(other) { count(); }
  ~LargePredictor() override { --alive; }
  std::unique_ptr<Predictor> clone() const override { return std::make_unique<LargePredictor>(*this); }
  bool clones_are_large() const override { return true; }

  static int alive, most;

 private:
  static void count() { most = std::max(most, ++alive); }
};

int LargePredictor::alive = 0, LargePredictor::most = 0;

std::vector<float> read_from_the_start(const std::vector<Symbol>& symbols) {
  HistoryPredictor predictor(3, 7);
  for (const Symbol x : symbols) predictor.observe(x);
  const auto logs = predictor.log_probabilities();
  return {logs.begin(), logs.end()};
}

TEST(PredictorTree, predictor_tree_equals_reading_each_prefix_from_the_start) {
  LargePredictor::most = 0;
  PredictorTree tree(std::make_unique<LargePredictor>(3, 7));
  std::vector<std::pair<PredictorTree::Pointer, std::vector<Symbol>>> all = {{tree.root(), {}}};
  Random random(1, "tree");
  for (int i = 0; i < 300; ++i) {
    const auto& [before, symbols] = all[random.below(all.size())];
    std::vector<Symbol> longer = symbols;
    longer.push_back(static_cast<Symbol>(random.below(3)));
    all.emplace_back(PredictorTree::child(before, longer.back()), std::move(longer));
    if (i % 5 == 0) PredictorTree::forget(all.back().first);
    const auto& [node, path] = all[random.below(all.size())];
    const auto logs = tree.after(node).log_probabilities();
    EXPECT_EQ(std::vector<float>(logs.begin(), logs.end()), read_from_the_start(path));
  }
  EXPECT_LE(LargePredictor::most, 20);
}

TEST(PredictorTree, limiting_search_predictors_does_not_change_results) {
  const Alphabet letters = Alphabet::chars_of("abc");
  const Automaton allowed = compile_expression("[ab]*c[abc]{2,6}", letters);
  HistoryPredictor light(3, 7);
  LargePredictor large(3, 7);
  LargePredictor::most = 0;
  const DecodeOptions options{.length = 12, .beam = 2, .count = 40, .prove = true};
  const Decoded expected = decode(light, allowed, options), found = decode(large, allowed, options);
  ASSERT_EQ(found.found.size(), expected.found.size());
  EXPECT_EQ(found.expanded, expected.expanded);
  EXPECT_GT(found.expanded, 100);
  for (std::size_t k = 0; k < found.found.size(); ++k) {
    EXPECT_EQ(found.found[k].symbols, expected.found[k].symbols);
    EXPECT_EQ(found.found[k].log_probabilities, expected.found[k].log_probabilities);
    EXPECT_EQ(found.found[k].proved, expected.found[k].proved);
  }
  const MatchOptions probability{.length = 9, .expansions = 200, .samples = 20};
  EXPECT_EQ(match_probability(large, allowed, probability).probability,
            match_probability(light, allowed, probability).probability);
  EXPECT_LE(LargePredictor::most, 20);
}

}  // namespace
}  // namespace unfold::test
