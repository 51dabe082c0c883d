/// Sparse, gated and leaky terms: all derivative checks, and the chain kernel compared with the generic traversal.

#include <gtest/gtest.h>

#include "numerics/simd.h"
#include "tests/support/runner.h"
#include "unfold/gradcheck/derivative_check.h"

namespace unfold {
namespace {

struct Case {
  bool gated, gated_weights, leaky;
  Map activation;
  std::string text() const {
    return std::string(gated ? gated_weights ? "gated " : "shared " : "plain ") + (leaky ? "leaky " : "") +
           std::string(map_info(activation).name);
  }
};

const std::vector<Case> kCases = {{true, true, true, Map::tanh},      {true, true, false, Map::tanh},
                                  {true, false, false, Map::tanh},    {true, false, true, Map::sigmoid},
                                  {false, false, true, Map::sigmoid}, {false, false, false, Map::relu},
                                  {true, true, true, Map::relu},      {true, true, true, Map::copy}};

using Pairs = std::vector<std::pair<std::int32_t, std::int32_t>>;

std::shared_ptr<const Edges> some_edges(Index n) {
  Pairs pairs;
  for (std::int32_t j = 0; j < n; ++j)
    for (std::int32_t i = 0; i < n; ++i)
      if ((i == j && j != 1) || (i + 2 * j) % 3 == 0) pairs.emplace_back(j, i);  // unit 1 has no loop
  return std::make_shared<const Edges>(n, n, pairs);
}

/// V = [V] + rho + sum tau s(V), read by s(V); or with a second map added, which no chain kernel supports.
void build(Circuit& c, const Case& k, Index n, bool plain_loop = true) {
  const Signal x = c.symbols("x", 3), v = c.link(n, Delay::previous(), true);
  const Gating gating = !k.gated ? Gating::none : k.gated_weights ? Gating::weights : Gating::state;
  Term tau{.parameter = "tau", .source = v, .init = Init::normal(0.4)};
  tau.op = sparse_operator(some_edges(n), {.activation = k.activation, .leaky = k.leaky, .gating = gating});
  if (k.gated) tau.gate = x;
  Signal next = c.affine("V", n, {{"rho", x}, tau}, Init::zero(), !plain_loop);
  if (!plain_loop) next = next + 0.5 * v;
  c.feed(v, next);
  c.output(c.affine("o", 3, {{"V", c.map(k.activation, next)}}));
}

TEST(SparseTerm, sparse_term_has_correct_derivatives_in_a_loop) {
  const Index lengths[] = {3, 6, 1, 4};
  for (const Case& k : kCases)
    for (const bool plain : {true, false}) {
      Circuit c;
      build(c, k, 3, plain);
      CheckOptions options;
      options.dense_parameters = 60;
      const CheckReport report = check_derivatives(c, *softmax_loss<double>(), Structure::chains(lengths), options);
      EXPECT_TRUE(report.passed()) << k.text() << "\n" << report.text() << Plan(c).print();
    }
}

TEST(SparseTerm, sparse_term_has_correct_derivatives_outside_a_loop) {
  Circuit c;
  const Signal x = c.symbols("x", 3), y = tanh(c.affine("y", 3, {{"W", x}}));
  const std::vector<std::pair<std::int32_t, std::int32_t>> pairs = {{0, 0}, {2, 0}, {1, 1}};
  const auto narrow = sparse_operator(std::make_shared<Edges>(3, 2, pairs));
  const auto gated = sparse_operator(some_edges(3), {.gating = Gating::weights});
  const Signal z = c.affine("z", 2, {{.parameter = "S", .source = y, .op = narrow}});
  const Signal w = c.affine("w", 3, {{.parameter = "G", .source = y, .op = gated, .gate = x}}, {}, false);
  c.output(c.affine("o", 3, {{"Z", z}, {"W", w}}));
  const Index lengths[] = {3, 2};
  const CheckReport report = check_derivatives(c, *softmax_loss<double>(), Structure::chains(lengths));
  EXPECT_TRUE(report.passed()) << report.text();
}

/// The leak and the loop are one entry of the Jacobian: a pass that squares them as two paths fails.
TEST(SparseTerm, separate_leak_and_loop_paths_fail_the_modulus_check) {
  class TwoPaths final : public Passes {
   public:
    TwoPaths(const Circuit& c, const Circuit& other, const Structure& s) : Passes(c, s, 5), other_(other, s, 5) {}
    std::vector<double> transposed(std::span<const double> seeds, Algebra algebra) override {
      if (algebra == Algebra::linear) return Passes::transposed(seeds, algebra);
      other_.set_parameters(parameters());
      other_.outputs();
      return other_.transposed(seeds, algebra);
    }

   private:
    Passes other_;
  };
  Circuit merged, split;
  build(merged, {true, true, true, Map::tanh}, 3);
  const Signal x = split.symbols("x", 3), v = split.link(3, Delay::previous(), true);
  const auto op = sparse_operator(some_edges(3), {.activation = Map::tanh, .gating = Gating::weights});
  const Term tau{.parameter = "tau", .source = v, .init = Init::normal(0.4), .op = op, .gate = x};
  const Signal next = v + split.affine("V", 3, {{"rho", x}, tau}, Init::zero(), false);
  split.feed(v, next);
  split.output(split.affine("o", 3, {{"V", tanh(next)}}));
  const Structure structure = Structure::chains(2, 4);
  TwoPaths passes(merged, split, structure);
  for (const CheckResult& result : check_derivatives(passes, *softmax_loss<double>()).results)
    EXPECT_EQ(result.passed(), result.name != "modulus") << result.name << " " << result.worst;
}

template <class T>
void expect_equal(const test::Results<T>& a, const test::Results<T>& b, const std::string& what) {
  EXPECT_EQ(a.outputs, b.outputs) << what;
  EXPECT_EQ(a.tangents, b.tangents) << what;
  EXPECT_EQ(a.gradient, b.gradient) << what;
  EXPECT_EQ(a.squared, b.squared) << what;
}

TEST(ChainKernel, chain_kernel_has_the_bits_of_the_generic_traversal) {
  for (const Case& k : kCases)
    for (const Index n : {3, 21}) {
      Circuit c;
      build(c, k, n);
      const Structure structure = Structure::chains(1, 40);
      PlanOptions generic;
      generic.chain = false;
      expect_equal(test::Runner<float>(c).run(structure), test::Runner<float>(c, generic).run(structure), k.text());
      expect_equal(test::Runner<double>(c).run(structure), test::Runner<double>(c, generic, 2).run(structure),
                   k.text());
      expect_equal(test::Runner<float>(c, {}, 2).run(structure), test::Runner<float>(c).run(structure), k.text());
    }
}

TEST(ChainKernel, chain_kernel_does_not_depend_on_the_instruction_set) {
  Circuit c;
  build(c, kCases[0], 21);
  const Structure structure = Structure::chains(1, 40);
  const auto best = test::Runner<float>(c).run(structure);
  for (const std::string& simd : simd_available()) {
    simd_limit(simd);
    expect_equal(test::Runner<float>(c).run(structure), best, simd);
  }
  simd_limit(simd_available().front());
}

TEST(ChainKernel, chain_kernel_carries_state_and_adjoint_across_windows) {
  Circuit c;
  build(c, kCases[0], 5);
  const Index length = 17, seam = 6;
  test::Runner<double> whole(c), parts(c);
  const auto all = whole.run(Structure::chains(1, length));
  State<double> state(parts.unfolding().plan(), 1), before = state;
  auto first = parts.run(Structure::chains(1, seam), {}, &state);
  before = state;
  parts.lay(Structure::chains(1, length - seam), {.begin = seam});
  parts.unfolding().forward(&state);
  const auto outputs = parts.outputs();
  first.outputs.insert(first.outputs.end(), outputs.begin(), outputs.end());
  EXPECT_EQ(first.outputs, all.outputs);
  State<double> handed(parts.unfolding().plan(), 1);
  auto gradient = parts.gradient(Algebra::linear, nullptr, &handed);
  parts.lay(Structure::chains(1, seam));
  parts.unfolding().forward();
  const auto rest = parts.gradient(Algebra::linear, &handed);
  for (std::size_t i = 0; i < rest.size(); ++i) EXPECT_NEAR(gradient[i] + rest[i], all.gradient[i], 1e-12);
}

TEST(SparseTerm, sparse_term_has_the_same_bits_alone_and_in_a_batch) {
  Circuit c;
  build(c, kCases[0], 9);
  const Index lengths[] = {5, 12, 1, 7};
  const Structure structure = Structure::chains(lengths);
  const auto all = test::Runner<float>(c, {}, 2).run(structure);
  for (Index s = 0; s < structure.sequences(); ++s) {
    const auto one = test::Runner<float>(c).run(Structure::chains(1, structure.size(s)), {.sequences = {s}});
    const auto begin = all.outputs.begin() + structure.item(s, 0) * 3;
    EXPECT_EQ(one.outputs, std::vector<float>(begin, begin + structure.size(s) * 3));
  }
}

TEST(SparseTerm, invalid_sparse_terms_are_rejected) {
  Circuit c;
  const Signal x = c.symbols("x", 3), v = c.link(4);
  const auto term = [&](Term t) { return [&c, t] { c.affine("z", 3, {t}); }; };
  const auto plain = sparse_operator(some_edges(3)), gated = sparse_operator(some_edges(3), {.gating = Gating::state});
  EXPECT_THROW(term({.parameter = "a", .source = v, .op = plain})(), UsageError);
  EXPECT_THROW(term({.parameter = "b", .source = x, .op = plain})(), UsageError);
  EXPECT_THROW(term({.parameter = "c", .source = v, .gate = x})(), UsageError);
  const Signal y = c.input("y", 3);
  EXPECT_THROW(term({.parameter = "d", .source = y, .op = plain, .gate = x})(), UsageError);
  EXPECT_THROW(term({.parameter = "e", .source = y, .op = gated})(), UsageError);
  EXPECT_THROW(term({.parameter = "f", .source = y, .op = gated, .gate = v})(), UsageError);
  const auto narrow = std::make_shared<const Edges>(3, 2, Pairs{{0, 0}});
  EXPECT_THROW(sparse_operator(narrow, {.leaky = true}), UsageError);
  EXPECT_THROW(sparse_operator(narrow, {.gating = Gating::state}), UsageError);
  EXPECT_THROW(sparse_operator(some_edges(3), {.activation = Map::exp}), UsageError);
  EXPECT_THROW(sparse_operator(std::make_shared<const Edges>(3, 3, Pairs{})), UsageError);
  EXPECT_THROW(Edges(2, 2, {{0, 2}}), UsageError);
  EXPECT_THROW(Edges(2, 2, {{0, 1}, {0, 1}}), UsageError);
}

}  // namespace
}  // namespace unfold
