/// Parts of a gradient that are announced during a backward pass: they are complete, and the bits of the pass are
/// unchanged.

#include "train/passes/gradient_parts.h"

#include <gtest/gtest.h>

#include "tests/support/circuits.h"
#include "tests/support/runner.h"

namespace unfold {
namespace {

/// Runs a pass whose parts are copied as soon as they are announced; keeps the copies and the gradient.
struct Announced {
  Announced(const Circuit& circuit, const Structure& structure, int threads, Index grain, Index least)
      : runner(circuit, {}, threads), parts(gradient_parts(runner.unfolding().plan(), grain, least)) {
    runner.lay(structure);
    runner.unfolding().forward();
    expected = runner.gradient();
    runner.seed(false);
    gradient.assign(expected.size(), 1234.5);
    copies = gradient;
    std::size_t next = 0;
    const auto copy = [&] {
      const Range r = parts[next++].range;
      std::copy(gradient.begin() + r.begin, gradient.begin() + r.end, copies.begin() + r.begin);
    };
    const SegmentDone done = [&](int segment) {
      segments.push_back(segment);
      while (next < parts.size() && parts[next].segment >= segment) copy();
    };
    runner.unfolding().backward(gradient, {.done = &done});
    early = next;
    while (next < parts.size()) copy();
  }

  test::Runner<double> runner;
  std::vector<GradientPart> parts;
  std::vector<double> expected, gradient, copies;
  std::vector<int> segments;
  std::size_t early = 0;  // parts that were announced before the end
};

class GradientParts : public testing::TestWithParam<Structure::Kind> {};

TEST_P(GradientParts, gradient_parts_are_complete_when_announced) {
  std::size_t early = 0;
  for (std::uint64_t seed = 0; seed < 60; ++seed)
    for (const int threads : {1, 3}) {
      Circuit c;
      test::random_circuit(c, GetParam(), seed);
      const Announced found(c, test::random_structure(GetParam(), seed), threads, 1, 1);
      EXPECT_EQ(found.gradient, found.expected) << seed;
      EXPECT_EQ(found.copies, found.expected) << seed;
      early += found.early;
    }
  EXPECT_GT(early, 60u);
}

INSTANTIATE_TEST_SUITE_P(Structures, GradientParts,
                         testing::Values(Structure::Kind::chains, Structure::Kind::grids, Structure::Kind::trees));

/// Stacked layers.
void stack_layers(Circuit& c, int layers, Index n) {
  Signal x = c.symbols("s", 7);
  for (int layer = 0; layer < layers; ++layer) {
    const std::string name = std::to_string(layer);
    const Signal h = c.link(n, Delay::previous(), layer == 1);
    const Signal y = tanh(c.affine("z" + name, n, {{"W" + name, x}, {"U" + name, h}}));
    c.feed(h, y);
    x = y;
  }
  c.output(c.affine("o", 7, {{"V", x}}));
}

TEST(GradientPartsOfLayers, gradient_parts_arrive_from_the_last_layer_to_the_first) {
  Circuit c;
  stack_layers(c, 3, 16);
  Announced found(c, Structure::chains(4, 9), 2, 1, 1);
  EXPECT_EQ(found.copies, found.expected);
  const auto segments = static_cast<int>(found.runner.unfolding().plan().segments().size());
  ASSERT_EQ(found.segments.size(), static_cast<std::size_t>(segments) + 1);
  for (int k = 0; k <= segments; ++k) EXPECT_EQ(found.segments[static_cast<std::size_t>(k)], segments - k);
  // U2 and W2 are sent while the layers below are computed, U0 and W0 at the end.
  const auto segment_of = [&](const std::string& name) {
    const std::vector<ParameterInfo>& all = found.runner.parameters().info();
    const auto p = std::ranges::find(all, name, &ParameterInfo::name);
    if (p == all.end()) return -2;
    for (const GradientPart& part : found.parts)
      if (part.range.begin <= p->offset && p->offset < part.range.end) return part.segment;
    return -2;
  };
  EXPECT_GT(segment_of("z2/U2"), segment_of("z1/U1"));
  EXPECT_GT(segment_of("z1/U1"), GradientPart::kEnd);
  EXPECT_EQ(segment_of("z0/U0"), GradientPart::kEnd);
  EXPECT_EQ(segment_of("z0/W0"), GradientPart::kEnd);
}

TEST(GradientPartsOfLayers, gradient_parts_are_aligned_and_only_the_last_may_be_small) {
  Circuit c;
  stack_layers(c, 3, 16);
  const Plan plan(c);
  constexpr Index kGrain = 64, kLeast = 300;
  const std::vector<GradientPart> parts = gradient_parts(plan, kGrain, kLeast);
  std::vector<int> times(static_cast<std::size_t>(plan.parameter_count()));
  bool some_early = false;
  for (const GradientPart& part : parts) {
    EXPECT_EQ(part.range.begin % kGrain, 0);
    EXPECT_TRUE(part.segment == GradientPart::kEnd || part.range.size() >= kLeast);
    some_early = some_early || part.segment != GradientPart::kEnd;
    for (Index i = part.range.begin; i < part.range.end; ++i) ++times[static_cast<std::size_t>(i)];
  }
  EXPECT_TRUE(some_early);
  EXPECT_EQ(times, std::vector<int>(times.size(), 1));
  EXPECT_EQ(gradient_parts(plan, kGrain, plan.parameter_count()).size(), 1u);
}

}  // namespace
}  // namespace unfold
