/// Circuits of several parts over chains that read other chains: encoders and decoders, attention, words made of
/// characters.

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>

#include "graph/circuit/attention.h"
#include "graph/paths/path_pass.h"
#include "tests/support/runner.h"
#include "unfold/gradcheck/derivative_check.h"
#include "unfold/graph/engine/stepper.h"

namespace unfold {
namespace {

Signal crossing(Circuit& c, Signal source, Delay delay) {
  const Signal link = c.link(source.size(), delay);
  c.feed(link, source);
  return link;
}

Signal simple_net(Circuit& c, Signal x, Index n, Delay delay, const char* scope, bool trained = false) {
  const auto inside = c.scope(scope);
  const Signal h = c.link(n, delay, trained), next = tanh(c.affine("z", n, {{"W", x}, {"U", h}}));
  c.feed(h, next);
  return next;
}

/// Gates, so that a cell has two states and slices of its intermediate values.
Signal gated_net(Circuit& c, Signal x, Index n, const char* scope) {
  const auto inside = c.scope(scope);
  const Signal h = c.link(n), cell = c.link(n);
  const auto [f, o, g] = c.split<3>(c.affine("z", 3 * n, {{"W", x}, {"U", h}}));
  const Signal next = sigmoid(f) * cell + tanh(g), y = sigmoid(o) * tanh(next);
  c.feed(cell, next);
  c.feed(h, y);
  return y;
}

struct Encoded {
  Signal right, left;  ///< at every position
};

Encoded encode(Circuit& c, Index n, int part) {
  const auto inside = c.in_part(part);
  const Signal x = c.symbols("source", 4);
  return {simple_net(c, x, n, Delay::previous(), "right", true), simple_net(c, x, n, Delay::next(), "left")};
}

/// Without attention: the summary is read at every step and initializes the decoder.
void build_summary(Circuit& c, Index n) {
  const Encoded encoded = encode(c, n, 2);
  Signal summary;
  {
    const auto inside = c.in_part(1);
    summary = tanh(c.affine("summary", n,
                            {{"R", crossing(c, encoded.right, Delay::source_last())},
                             {"L", crossing(c, encoded.left, Delay::source_first())}}));
  }
  const auto starting = c.with_initial_state(summary);
  const Signal x = c.join({c.input("x", 3), crossing(c, summary, Delay::source_last())});
  const Signal h = gated_net(c, x, n, "decoder");
  c.output(c.affine("o", 7, {{"V", h}}));
}

void build_attention(Circuit& c, Index n, AttentionScore score) {
  const Encoded encoded = encode(c, n, 1);
  const Signal keys = c.affine("keys", 5, {{"B", encoded.right}, {"C", encoded.left}}, Init::zero(), false);
  const Signal before = c.link(n), y = c.symbols("y", 4);
  const Signal query = c.affine("query", 5, {{"A", before}}, Init::zero(), false);
  const Signal context = attend(c, "attention", query, keys, encoded.right, score);
  const Signal embedded = c.affine("embedding", 3, {{"E", y}});
  const Signal h = gated_net(c, c.join({embedded, context}), n, "decoder");
  c.feed(before, h);
  c.output(c.affine("o", 7, {{"V", c.join({h, context})}}));
}
void build_additive(Circuit& c, Index n) { build_attention(c, n, AttentionScore::additive); }
void build_multiplicative(Circuit& c, Index n) { build_attention(c, n, AttentionScore::multiplicative); }

/// Queries independent of the state, and a memory that is both an output's source and an input: none of these is in a
/// loop.
void build_batched(Circuit& c, Index n) {
  Signal keys, values;
  {
    const auto inside = c.in_part(1);
    values = c.input("values", n);
    keys = tanh(c.affine("keys", n, {{"B", values}}));
  }
  const Signal query = c.affine("query", n, {{"A", c.input("x", 3)}});
  const Signal one = attend(c, "one", query, keys, values, AttentionScore::additive);
  const Signal two = attend(c, "two", one, keys, keys, AttentionScore::multiplicative);
  c.output(c.affine("o", 7, {{"V", one + two}, {"W", crossing(c, keys, Delay::source_first())}}));
}

/// Each word has a chain of characters.
void build_words(Circuit& c, Index n) {
  const Encoded characters = encode(c, n, 1);
  const Signal x = c.join(
      {crossing(c, characters.right, Delay::source_last()), crossing(c, characters.left, Delay::source_first())});
  c.output(c.affine("o", 7, {{"V", simple_net(c, x, n, Delay::previous(), "words")}, {"X", x}}));
}

using Build = void (*)(Circuit&, Index);
const Build kOfPairs[] = {build_summary, build_additive, build_multiplicative, build_batched};
const Index kTargets[] = {5, 8, 1, 7, 8, 3, 2}, kSources[] = {2, 9, 4, 1, 9, 6, 5};

/// `between`: the chains read chains of one position each, which read the sources.
Structure pairs(std::span<const Index> targets, std::span<const Index> sources) {
  const Structure source = Structure::chains(sources);
  return Structure::chains(targets).with_source(source);
}
Structure pairs_for(const Circuit& c, std::span<const Index> targets, std::span<const Index> sources) {
  const bool between = std::ranges::any_of(c.nodes(), [](const Node& node) { return node.part == 2; });
  if (!between) return pairs(targets, sources);
  const auto count = static_cast<Index>(targets.size());
  return Structure::chains(targets).with_source(Structure::chains(count, 1).with_source(Structure::chains(sources)));
}

bool same_rows(std::span<const float> x, std::span<const float> y) {
  return x.size() == y.size() && (x.empty() || std::memcmp(x.data(), y.data(), x.size() * sizeof(float)) == 0);
}

TEST(Sources, sources_are_read_row_by_row) {
  const Index targets[] = {2, 3}, sources[] = {4, 1};
  const Structure s = pairs(targets, sources);
  const std::vector<Index> last = s.rows_seen(Delay::source_last(), 1), start = s.rows_seen(Delay::source_start(), 1);
  EXPECT_EQ(last[static_cast<std::size_t>(s.row(0, 1))], s.part(1).row(0, 3));
  EXPECT_EQ(last[static_cast<std::size_t>(s.row(1, 2))], s.part(1).row(1, 0));
  EXPECT_EQ(start[static_cast<std::size_t>(s.row(0, 0))], s.part(1).row(0, 3));
  EXPECT_EQ(start[static_cast<std::size_t>(s.row(0, 1))], -1);
}

TEST(Sources, missing_sources_are_rejected) {
  const Index two[] = {2, 3}, three[] = {1, 1, 1};
  EXPECT_THROW(Structure::chains(two).with_source(Structure::chains(three), {0}), UsageError);
  EXPECT_THROW(Structure::chains(two).with_source(Structure::chains(three), {0, 3}), UsageError);
  Circuit c;
  build_additive(c, 2);
  test::Runner<float> runner(c);
  EXPECT_THROW(runner.lay(Structure::chains(two)), UsageError);
}

TEST(Sources, ragged_source_pairs_have_correct_derivatives) {
  const Index targets[] = {3, 5, 1, 2}, sources[] = {2, 1, 4, 3};
  for (const Build build : kOfPairs) {
    Circuit c;
    build(c, 2);
    CheckOptions options;
    options.dense_parameters = 60;
    const CheckReport report = check_derivatives(c, *gaussian_loss<double>(), pairs_for(c, targets, sources), options);
    EXPECT_TRUE(report.passed()) << report.text() << Plan(c).print();
  }
}

Structure words_of_characters() {
  const Index words[] = {3, 1, 2}, characters[] = {2, 5, 1, 3, 3, 4};
  return Structure::chains(words).with_source(Structure::chains(characters), {0, 1, 2, 3, 4, 5});
}

TEST(Sources, single_position_sources_have_correct_derivatives) {
  Circuit c;
  build_words(c, 2);
  const CheckReport report = check_derivatives(c, *gaussian_loss<double>(), words_of_characters());
  EXPECT_TRUE(report.passed()) << report.text();
}

TEST(Sources, source_bits_are_the_same_alone_and_in_a_ragged_batch) {
  for (const Build build : kOfPairs) {
    Circuit c;
    build(c, 11);
    const Structure structure = pairs_for(c, kTargets, kSources);
    test::Runner<float> batch(c, {}, 2), alone(c);
    const auto all = batch.run(structure);
    for (Index s = 0; s < structure.sequences(); ++s) {
      const auto one = alone.run(pairs_for(c, std::span(kTargets).subspan(static_cast<std::size_t>(s), 1),
                                           std::span(kSources).subspan(static_cast<std::size_t>(s), 1)),
                                 {.sequences = {s}});
      const auto begin = static_cast<std::size_t>(7 * structure.item(s, 0));
      for (auto part : {&test::Results<float>::outputs, &test::Results<float>::tangents})
        EXPECT_TRUE(same_rows(one.*part, std::span(all.*part).subspan(begin, (one.*part).size()))) << "sequence " << s;
    }
  }
}

TEST(Sources, source_bits_do_not_depend_on_threads_or_plan_optimizations) {
  for (const Build build : kOfPairs) {
    Circuit c;
    build(c, 40);
    const Structure structure = pairs_for(c, kTargets, kSources);
    const auto one = test::Runner<float>(c).run(structure);
    const auto expect_same = [&](const test::Results<float>& other, const std::string& what) {
      for (auto part : {&test::Results<float>::outputs, &test::Results<float>::tangents,
                        &test::Results<float>::gradient, &test::Results<float>::squared})
        EXPECT_TRUE(same_rows(other.*part, one.*part)) << what;
    };
    for (const int threads : {2, 3})
      expect_same(test::Runner<float>(c, {}, threads).run(structure), std::to_string(threads) + " threads");
    expect_same(
        test::Runner<float>(
            c, {.hoist = true, .fuse = false, .in_place = false, .scratch = false, .ring = false, .chain = false})
            .run(structure),
        "naive plan");
  }
}

/// Steps of a decoder over a fixed encoding give the bits of the whole pass.
TEST(Sources, sources_can_be_reused_while_chains_are_stepped) {
  for (const Build build : {build_summary, build_additive, build_multiplicative}) {
    Circuit c;
    build(c, 11);
    const Structure whole = pairs_for(c, kTargets, kSources);
    test::Runner<float> at_once(c), stepped(c);
    const auto expected = at_once.run(whole).outputs;
    State<float> state(stepped.unfolding().plan(), whole.sequences());
    const Structure source = *whole.source();
    for (Index t = 0; t < 8; ++t) {
      std::vector<Index> running;
      for (Index s = 0; s < whole.sequences(); ++s)
        if (whole.size(s) > t) running.push_back(s);
      const Structure step = Structure::chains(static_cast<Index>(running.size()), 1).with_source(source, running);
      stepped.lay_kept(step, running, t);
      stepped.unfolding().forward(&state, t > 0);
      const auto found = stepped.outputs();
      for (std::size_t k = 0; k < running.size(); ++k) {
        const auto at = static_cast<std::size_t>(7 * whole.item(running[k], t));
        EXPECT_TRUE(same_rows(std::span(found).subspan(7 * k, 7), std::span(expected).subspan(at, 7)))
            << "sequence " << running[k] << " step " << t;
      }
    }
  }
}

TEST(Sources, sources_are_shared_forward_but_not_backward_through_attention) {
  Circuit c;
  build_additive(c, 4);
  const Index targets[] = {2, 2}, sources[] = {3};
  const Structure shared = Structure::chains(targets).with_source(Structure::chains(sources), {0, 0});
  test::Runner<float> runner(c);
  runner.lay(shared, {.sequences = {0, 0}});
  runner.unfolding().forward();
  const auto outputs = runner.outputs();
  EXPECT_TRUE(same_rows(std::span(outputs).first(14), std::span(outputs).subspan(14)));
  runner.unfolding().clear_adjoints();
  std::vector<float> gradient(static_cast<std::size_t>(c.parameter_count()));
  EXPECT_THROW(runner.unfolding().backward(gradient), UsageError);
}

std::string refusal_of(const std::function<void()>& act) {
  try {
    act();
  } catch (const UsageError& error) {
    return error.what();
  }
  return "nothing";
}

TEST(Sources, unsupported_source_operations_are_named_in_the_error) {
  Circuit c;
  build_additive(c, 3);
  const Index targets[] = {2}, sources[] = {3};
  test::Runner<double> runner(c);
  runner.lay(pairs(targets, sources));
  runner.unfolding().forward();
  runner.unfolding().clear_adjoints();
  std::vector<double> gradient(static_cast<std::size_t>(c.parameter_count()));
  const auto squared = refusal_of([&] { runner.unfolding().backward(gradient, {.algebra = Algebra::squared}); });
  EXPECT_NE(squared.find("additive attention"), std::string::npos) << squared;
  Team team(1);
  EXPECT_NE(refusal_of([&] { PathPass<double> pass(c, team); }).find("not positively homogeneous"), std::string::npos);
  const Parameters<double> parameters(c);
  const auto step = refusal_of([&] { Stepper<double>(std::make_shared<const Plan>(c), parameters, team); });
  EXPECT_NE(step.find("reads along"), std::string::npos) << step;
  Circuit wrong;
  Signal deep;
  {
    const auto inside = wrong.in_part(1);
    deep = wrong.input("deep", 3);
  }
  const Signal near = wrong.input("near", 3);
  EXPECT_NE(refusal_of([&] { wrong.affine("a", 2, {{"W", near}, {"D", deep}}); }).find("part 1"), std::string::npos);
  EXPECT_NE(refusal_of([&] { near + deep; }).find("part 1"), std::string::npos);
  const Signal link = wrong.link(3, Delay::source_last());
  EXPECT_NE(refusal_of([&] { wrong.feed(link, near); }).find("not deeper"), std::string::npos);
  EXPECT_NE(refusal_of([&] { attend(wrong, "up", near, near, near, AttentionScore::additive); }).find("deeper"),
            std::string::npos);
}

/// The definition for one position.
TEST(Attention, attention_is_the_softmax_weighted_mean_of_the_values) {
  for (const AttentionScore score : {AttentionScore::additive, AttentionScore::multiplicative}) {
    const double q[] = {0.3, -0.7}, v[] = {1.5, -0.4}, keys[] = {0.1, 0.9, -1.2, 0.4, 0.6, 0.6},
                 values[] = {1, 2, 3, 4, 5, 6};
    const Index chain[] = {0}, begin[] = {0, 3}, rows[] = {2, 0, 1};
    const auto op = attention(score, 2, 2);
    std::vector<double> scratch(static_cast<std::size_t>(op->scratch() + 3 * op->scratch_per_seen()));
    OperatorRows<double> in{.w = {v, 1, 2, 2}, .x = {q, 1, 2, 2}, .scratch = scratch.data()};
    in.memory = {.keys = {keys, 3, 2, 2}, .values = {values, 3, 2, 2}};
    in.memory.chain = chain, in.memory.chain_begin = begin, in.memory.rows = rows;
    double sum = 0, expected[2] = {}, weights[3];
    for (int k = 0; k < 3; ++k) {
      double e = 0;
      for (int i = 0; i < 2; ++i) {
        const double a = keys[2 * rows[k] + i];
        e += v[i] * (score == AttentionScore::additive ? std::tanh(q[i] + a) : q[i] * a);
      }
      sum += weights[k] = std::exp(e);
      for (int j = 0; j < 2; ++j) expected[j] += weights[k] * values[2 * rows[k] + j];
    }
    double y[] = {10, 20}, found[3];
    op->apply(in, Matrix<double>{y, 1, 2, 2});
    EXPECT_NEAR(y[0], 10 + expected[0] / sum, 1e-14);
    EXPECT_NEAR(y[1], 20 + expected[1] / sum, 1e-14);
    attention_weights<double>(score, in, found);
    for (int k = 0; k < 3; ++k) EXPECT_NEAR(found[k], weights[k] / sum, 1e-15);
  }
}

}  // namespace
}  // namespace unfold
