/// Listed pairs of symbols and outputs against sums over all pairs.

#include "unfold/circuit/listed.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "support/runner.h"
#include "unfold/base/error.h"
#include "unfold/verify/derivative_check.h"

namespace unfold {
namespace {

using testing::ElementsAre;

constexpr Index kOutputs = 3;

/// Two signals of 3 and 2 symbols; the second symbol of the first has no pairs.
std::shared_ptr<Listing> some_listing() {
  return std::make_shared<Listing>(
      Listing{.alphabets = {3, 2}, .outputs = kOutputs, .begin = {0, 2, 2, 3, 5, 6}, .outputs_of = {0, 2, 1, 0, 1, 2}});
}

/// Rows of both signals, and weights 1, 2, 4, ... of the pairs: sums say which pairs are in them.
struct ListedRows {
  std::vector<Symbol> first = {0, 1, 2, kNoSymbol}, second = {1, 0, kNoSymbol, 1};
  std::vector<double> weights = {1, 2, 4, 8, 16, 32};
  OperatorRows<double> rows() const {
    return {.w = {weights.data(), 1, 6, 6}, .x = {nullptr, 4, 0, 0}, .symbols = {first.data(), second.data()}};
  }
};

TEST(Listed, symbols_add_the_weights_of_their_pairs) {
  const ListedRows rows;
  std::vector<double> y(12, 100);
  listed_operator(some_listing())->apply(rows.rows(), {y.data(), 4, kOutputs, kOutputs});
  EXPECT_THAT(y, ElementsAre(101, 100, 134, 108, 116, 100, 100, 104, 100, 100, 100, 132));
  listed_operator(some_listing())->tangent(rows.rows(), rows.rows().w, {}, {y.data(), 4, kOutputs, kOutputs});
  EXPECT_THAT(y, ElementsAre(102, 100, 168, 116, 132, 100, 100, 108, 100, 100, 100, 164));
}

TEST(Listed, gradients_are_sums_over_rows_whoever_adds_which_columns) {
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

/// Listed symbols beside ordinary ones, before a loop and inside it.
void build_listed(Circuit& c) {
  const Signal a = c.symbols("a", 3), b = c.symbols("b", 2), h = c.link(kOutputs);
  const Term listed{.parameter = "F", .source = a, .op = listed_operator(some_listing()), .symbols = {a, b}};
  const Signal next = tanh(c.affine("z", kOutputs, {listed, {"U", h}, {"W", b}}));
  c.feed(h, next);
  c.output(c.affine("o", kOutputs, {{"V", next}, listed}));
}

TEST(Listed, has_correct_derivatives_in_any_circuit) {
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

TEST(Listed, lists_that_make_no_sense_are_refused) {
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
