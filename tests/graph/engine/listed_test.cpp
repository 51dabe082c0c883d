/// Listed pairs of symbols and outputs, compared with sums over all pairs.

#include "unfold/graph/circuit/sparse_lookup.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "tests/support/runner.h"
#include "unfold/base/error.h"
#include "unfold/gradcheck/derivative_check.h"

namespace unfold {
namespace {

using testing::ElementsAre;

constexpr Index kOutputs = 3;

/// Two signals with 3 and 2 symbols; the second symbol of the first signal has no pairs.
std::shared_ptr<Listing> some_listing() {
  return std::make_shared<Listing>(
      Listing{.alphabets = {3, 2}, .outputs = kOutputs, .begin = {0, 2, 2, 3, 5, 6}, .outputs_of = {0, 2, 1, 0, 1, 2}});
}

/// Rows of both signals; the pairs have weights 1, 2, 4, ..., so that a sum identifies its pairs.
struct ListedRows {
  std::vector<Symbol> first = {0, 1, 2, kNoSymbol}, second = {1, 0, kNoSymbol, 1};
  std::vector<double> weights = {1, 2, 4, 8, 16, 32};
  OperatorRows<double> rows() const {
    return {.w = {weights.data(), 1, 6, 6}, .x = {nullptr, 4, 0, 0}, .symbols = {first.data(), second.data()}};
  }
};

TEST(Listed, listed_symbols_add_the_weights_of_their_pairs) {
  const ListedRows rows;
  std::vector<double> y(12, 100);
  listed_operator(some_listing())->apply(rows.rows(), {y.data(), 4, kOutputs, kOutputs});
  EXPECT_THAT(y, ElementsAre(101, 100, 134, 108, 116, 100, 100, 104, 100, 100, 100, 132));
  listed_operator(some_listing())->tangent(rows.rows(), rows.rows().w, {}, {y.data(), 4, kOutputs, kOutputs});
  EXPECT_THAT(y, ElementsAre(102, 100, 168, 116, 132, 100, 100, 108, 100, 100, 100, 164));
}

TEST(Listed, listed_gradients_are_sums_over_rows_for_any_division_of_columns) {
  const ListedRows rows;
  const std::vector<double> dy = {1, 2, 3, 10, 20, 30, 100, 200, 300, 1000, 2000, 3000};
  const auto op = listed_operator(some_listing());
  ASSERT_TRUE(op->gradient_by_columns());
  std::vector<double> whole(6, 7), parts(6, 7);
  op->gradient(rows.rows(), {dy.data(), 4, kOutputs, kOutputs}, {whole.data(), 1, 6, 6}, {0, 6}, false);
  EXPECT_THAT(whole, ElementsAre(8, 10, 207, 17, 27, 3010));
  for (const Range columns : {Range{0, 1}, Range{1, 4}, Range{4, 6}})
    op->gradient(rows.rows(), {dy.data(), 4, kOutputs, kOutputs}, {parts.data(), 1, 6, 6}, columns, false);
  EXPECT_EQ(whole, parts);
}

/// Two signals with nine symbols each, which have weights for 0, 1, ... 8 of eleven outputs.
std::shared_ptr<Listing> unequal_listing() {
  auto listing = std::make_shared<Listing>(Listing{.alphabets = {9, 9}, .outputs = 11, .begin = {0}, .outputs_of = {}});
  for (std::int32_t symbol = 0; symbol < 18; ++symbol) {
    for (std::int32_t k = 0; k < symbol % 9; ++k) listing->outputs_of.push_back(k + symbol % 3);
    listing->begin.push_back(static_cast<std::int32_t>(listing->outputs_of.size()));
  }
  return listing;
}

TEST(Listed, many_listed_rows_have_the_bits_of_each_alone) {
  const auto listing = unequal_listing();
  const auto op = listed_operator(listing);
  const Index pairs = listing->pairs(), rows = 200;  // many more than pairs: frequent symbols are read as rows
  Random random(3, "listed");
  std::vector<double> weights(at(pairs)), y(at(rows * 11)), dy(y.size());
  for (auto* numbers : {&weights, &y, &dy})
    for (double& x : *numbers) x = random.normal();
  std::vector<Symbol> a(at(rows)), b(at(rows));
  for (auto* symbols : {&a, &b})
    for (Symbol& x : *symbols) x = static_cast<Symbol>(random.below(10)) - 1;  // -1 is kNoSymbol
  const auto rows_from = [&](Index first, Index count) {
    return OperatorRows<double>{.w = {weights.data(), 1, pairs, pairs},
                                .x = {nullptr, count, 0, 0},
                                .symbols = {a.data() + first, b.data() + first}};
  };
  std::vector<double> together = y, alone = y;
  op->apply(rows_from(0, rows), {together.data(), rows, 11, 11});
  for (Index r = 0; r < rows; ++r) op->apply(rows_from(r, 1), {alone.data() + r * 11, 1, 11, 11});
  EXPECT_EQ(together, alone);
  std::vector<double> sum(at(pairs), 0.5), one_by_one = sum, in_parts = sum;
  op->gradient(rows_from(0, rows), {dy.data(), rows, 11, 11}, {sum.data(), 1, pairs, pairs}, {0, pairs}, false);
  for (Index r = rows - 1; r >= 0; --r)
    op->gradient(rows_from(r, 1), {dy.data() + r * 11, 1, 11, 11}, {one_by_one.data(), 1, pairs, pairs}, {0, pairs},
                 false);
  EXPECT_EQ(sum, one_by_one);
  for (const Range columns : {Range{0, 10}, Range{10, 31}, Range{31, pairs}})
    op->gradient(rows_from(0, rows), {dy.data(), rows, 11, 11}, {in_parts.data(), 1, pairs, pairs}, columns, false);
  EXPECT_EQ(sum, in_parts);
}

/// Signals whose symbols have arbitrary outputs, in order or not, and sums pair by pair.
template <class T>
void expect_sums_pair_by_pair(Index outputs, bool ascending) {
  Random random(static_cast<std::uint64_t>(outputs), "any listing");
  auto listing =
      std::make_shared<Listing>(Listing{.alphabets = {20, 1, 30}, .outputs = outputs, .begin = {0}, .outputs_of = {}});
  for (Index symbol = 0; symbol < 51; ++symbol) {
    for (Index o = 0; o < outputs; ++o)
      if (random.uniform() < 0.4) listing->outputs_of.push_back(static_cast<std::int32_t>(o));
    const auto begin = listing->outputs_of.begin() + listing->begin.back();
    if (!ascending) std::reverse(begin, listing->outputs_of.end());
    listing->begin.push_back(static_cast<std::int32_t>(listing->outputs_of.size()));
  }
  const Index pairs = listing->pairs(), rows = 60, stride = outputs + 3;
  std::vector<T> w(at(pairs)), y(at(rows * stride)), g(at(pairs));
  for (auto* numbers : {&w, &y, &g})
    for (T& x : *numbers) x = static_cast<T>(random.normal());
  std::vector<std::vector<Symbol>> symbols(3, std::vector<Symbol>(at(rows)));
  const Index first[] = {0, 20, 21};
  for (std::size_t s = 0; s < 3; ++s)
    for (Symbol& x : symbols[s]) x = static_cast<Symbol>(random.below(at(listing->alphabets[s] + 1))) - 1;
  const OperatorRows<T> in{.w = {w.data(), 1, pairs, pairs},
                           .x = {nullptr, rows, 0, 0},
                           .symbols = {symbols[0].data(), symbols[1].data(), symbols[2].data()}};
  std::vector<T> sums = y, slopes = g;
  const Range mine{pairs / 5, pairs - pairs / 7};
  for (Index r = 0; r < rows; ++r)
    for (std::size_t s = 0; s < 3; ++s)
      for (Index k = 0; symbols[s][at(r)] != kNoSymbol && k < pairs; ++k)
        if (const auto x = at(first[s] + symbols[s][at(r)]); k >= listing->begin[x] && k < listing->begin[x + 1])
          sums[at(r * stride + listing->outputs_of[at(k)])] += w[at(k)];
  for (Index r = rows - 1; r >= 0; --r)
    for (std::size_t s = 0; s < 3; ++s)
      for (Index k = mine.begin; symbols[s][at(r)] != kNoSymbol && k < mine.end; ++k)
        if (const auto x = at(first[s] + symbols[s][at(r)]); k >= listing->begin[x] && k < listing->begin[x + 1])
          slopes[at(k)] += y[at(r * stride + listing->outputs_of[at(k)])];
  const auto op = listed_operator(listing);
  std::vector<T> found = y, found_slopes = g;
  op->apply(in, Matrix<T>{found.data(), rows, outputs, stride});
  EXPECT_EQ(found, sums) << outputs;
  op->gradient(in, Matrix<const T>{y.data(), rows, outputs, stride}, Matrix<T>{found_slopes.data(), 1, pairs, pairs},
               mine, false);
  EXPECT_EQ(found_slopes, slopes) << outputs;
}

TEST(Listed, any_listing_has_the_bits_of_pairwise_sums) {
  for (const Index outputs : {1, 3, 8, 11, 16, 17, 22, 31, 32, 33, 70})
    for (const bool ascending : {true, false}) {
      expect_sums_pair_by_pair<float>(outputs, ascending);
      expect_sums_pair_by_pair<double>(outputs, ascending);
    }
}

/// Listed symbols next to ordinary ones, before a loop and inside it.
void build_listed(Circuit& c) {
  const Signal a = c.symbols("a", 3), b = c.symbols("b", 2), h = c.link(kOutputs);
  const Term listed{.parameter = "F", .source = a, .op = listed_operator(some_listing()), .symbols = {a, b}};
  const Signal next = tanh(c.affine("z", kOutputs, {listed, {"U", h}, {"W", b}}));
  c.feed(h, next);
  c.output(c.affine("o", kOutputs, {{"V", next}, listed}));
}

TEST(Listed, listed_operator_has_correct_derivatives_in_any_circuit) {
  Circuit c;
  build_listed(c);
  const Index lengths[] = {3, 6, 1, 4};
  const CheckReport report = check_derivatives(c, *softmax_loss<double>(), Structure::chains(lengths));
  EXPECT_TRUE(report.passed()) << report.text();
  const auto one = test::Runner<double>(c).run(Structure::chains(lengths));
  const auto two = test::Runner<double>(c, {}, 2).run(Structure::chains(lengths));
  EXPECT_EQ(one.outputs, two.outputs);
  EXPECT_EQ(one.gradient, two.gradient);
}

TEST(Listed, invalid_listings_are_rejected) {
  const auto refused = [](auto&& change) {
    const auto listing = some_listing();
    change(*listing);
    EXPECT_THROW(listed_operator(listing), UsageError);
  };
  refused([](Listing& l) { l.begin.pop_back(); });
  refused([](Listing& l) { l.begin[1] = 4; });
  refused([](Listing& l) { l.begin.back() = 5; });
  refused([](Listing& l) { l.outputs_of[0] = 3; });
  refused([](Listing& l) { l.outputs_of[0] = -1; });
  refused([](Listing& l) { l.alphabets[1] = 0; });
  Circuit c;
  const Signal a = c.symbols("a", 3), x = c.input("x", 2);
  const auto op = listed_operator(some_listing());
  EXPECT_THROW(c.affine("z", 3, {{.parameter = "F", .source = a, .op = op, .symbols = {a}}}), UsageError);
  EXPECT_THROW(c.affine("z", 3, {{.parameter = "F", .source = a, .op = op, .symbols = {a, x}}}), UsageError);
  EXPECT_THROW(c.affine("z", 4, {{.parameter = "F", .source = a, .op = op, .symbols = {a, a}}}), UsageError);
}

}  // namespace
}  // namespace unfold
