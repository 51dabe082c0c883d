/// The gated and sparse networks, compared with their equations in scalars; their graphs and initialization.

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <functional>
#include <map>

#include "graph/circuit/mixed_sparse.h"
#include "tests/support/runner.h"
#include "unfold/gradcheck/derivative_check.h"
#include "unfold/graph/cells/cells.h"
#include "unfold/numerics/random.h"

namespace unfold {
namespace {

using Add = Signal (*)(Circuit&, Signal, Index, const SparseOptions&);
struct Kind {
  const char* name;
  Add add;
  bool gated, leaky;
};

Signal plain_sparse_rnn(Circuit& c, Signal x, Index n, const SparseOptions& options) {
  return sparse_rnn(c, x, n, SparseRnnOptions{options});
}

Signal leaky_sparse_rnn(Circuit& c, Signal x, Index n, const SparseOptions& options) {
  return sparse_rnn(c, x, n, SparseRnnOptions{options, false, true});
}

const Kind kKinds[] = {{"glnn", glnn, true, true},
                       {"gnn", gnn, true, false},
                       {"sparse-rnn", plain_sparse_rnn, false, false},
                       {"sparse-rnn,leak=true", leaky_sparse_rnn, false, true}};

struct Built {
  Signal x, a, logits;
};

Built build_on(Circuit& c, Signal x, Add add, Index n, const SparseOptions& options) {
  const Signal a = add(c, x, n, options);
  const Signal logits = c.affine("output", 3, {{"V", a}});
  c.output(logits);
  return {x, a, logits};
}

Built build(Circuit& c, Add add, Index n, const SparseOptions& options) {
  return build_on(c, c.symbols("x", 3), add, n, options);
}

Built build_of_vectors(Circuit& c, Add add, Index inputs, Index n, const SparseOptions& options) {
  return build_on(c, c.input("x", inputs), add, n, options);
}

void expect_correct_derivatives(const std::function<Signal(Circuit&)>& read) {
  const Index lengths[] = {4, 1, 3};
  for (const Kind& kind : kKinds)
    for (const Map activation : {Map::tanh, Map::sigmoid, Map::relu}) {
      Circuit c;
      build_on(c, read(c), kind.add, 4, {.edges = 2, .graph = 3, .activation = activation});
      CheckOptions options;
      options.dense_parameters = 0;
      const CheckReport report = check_derivatives(c, *softmax_loss<double>(), Structure::chains(lengths), options);
      EXPECT_TRUE(report.passed()) << kind.name << "\n" << report.text();
    }
}

TEST(SparseCells, sparse_cells_have_correct_derivatives) {
  expect_correct_derivatives([](Circuit& c) { return c.symbols("x", 3); });
}

/// a^t emits x_t, then a^{t+1} is computed from a^t and x_t: position p reads x_{p-1} and predicts x_p.
TEST(SparseCells, sparse_cells_follow_their_equations) {
  constexpr Index n = 4, length = 5;
  for (const Kind& kind : kKinds) {
    Circuit c;
    const Built net = build(c, kind.add, n, {.edges = 2, .graph = 1});
    const auto edges = random_edges(n, 2, 1);
    Parameters<double> p = test::some_parameters<double>(c);
    Team team(1);
    Unfolding<double> u(std::make_shared<const Plan>(c), team);
    u.lay(Structure::chains(1, length));
    u.set_parameters(p);
    const Symbol text[length] = {2, 0, 1, 1, 0};
    for (Index t = 0; t < length; ++t) u.symbols(net.x)[static_cast<std::size_t>(t)] = t == 0 ? kNoSymbol : text[t - 1];
    u.forward();

    const Matrix<double> tau = p.at("V/tau"), rho = p.at("V/rho"), w = p.at("output/V"), b = p.at("output/bias");
    const Matrix<double> start = p.at("link1/start");
    std::vector<double> v(start.data, start.data + n);
    for (Index t = 0; t < length; ++t) {
      for (Index y = 0; y < 3; ++y) {
        double logit = b(0, y);
        for (Index i = 0; i < n; ++i) logit += std::tanh(v[static_cast<std::size_t>(i)]) * w(i, y);
        EXPECT_NEAR(u.value(net.logits)(t, y), logit, 1e-13) << kind.name << " " << t;
      }
      std::vector<double> next(v.size());
      for (Index i = 0; i < n; ++i) {
        next[static_cast<std::size_t>(i)] = (kind.leaky ? v[static_cast<std::size_t>(i)] : 0) + rho(text[t], i);
        for (Index e = 0; e < edges->count(); ++e)
          if (edges->to()[static_cast<std::size_t>(e)] == i)
            next[static_cast<std::size_t>(i)] +=
                tau(kind.gated ? text[t] : 0, e) *
                std::tanh(v[static_cast<std::size_t>(edges->from()[static_cast<std::size_t>(e)])]);
      }
      v = next;
    }
  }
}

TEST(Graph, random_graph_has_self_loops_and_depends_only_on_its_seed) {
  const auto edges = random_edges(20, 3, 5);
  EXPECT_EQ(edges->count(), 60);
  for (Index j = 0; j < 20; ++j) {
    const auto at = static_cast<std::size_t>(j);
    EXPECT_EQ(edges->leaving()[at + 1] - edges->leaving()[at], 3);
    EXPECT_GE(edges->loops()[at], 0);
  }
  EXPECT_EQ(edges->from(), random_edges(20, 3, 5)->from());
  EXPECT_NE(edges->from(), random_edges(20, 3, 6)->from());
  // These edges must never change: model files store the seed, not the edges.
  const auto small = random_edges(4, 2, 1);
  std::string text;
  for (std::size_t e = 0; e < 8; ++e)
    text += std::to_string(small->from()[e]) + ">" + std::to_string(small->to()[e]) + " ";
  EXPECT_EQ(text, "0>0 2>0 1>1 3>1 1>2 2>2 0>3 3>3 ");
}

TEST(Graph, graph_is_complete_if_edges_reach_the_number_of_units) {
  EXPECT_EQ(random_edges(4, 4, 1)->count(), 16);
  EXPECT_EQ(random_edges(4, 100, 1)->count(), 16);
  EXPECT_THROW(random_edges(4, 0, 1), UsageError);
}

// Vector inputs (remark 2 of the source): the input mixes the weights.

TEST(SparseCells, sparse_cells_with_vector_inputs_have_correct_derivatives) {
  expect_correct_derivatives([](Circuit& c) { return c.input("x", 2); });
}

TEST(SparseCells, sparse_cells_with_layers_and_embeddings_have_correct_derivatives) {
  const Index lengths[] = {4, 2};
  for (const Kind& kind : kKinds) {
    Circuit c;
    const Signal embedded = c.affine("embedding", 2, {{"E", c.symbols("x", 3)}}, Init::zero(), false);
    Signal above = embedded;
    for (const char* name : {"layer1", "layer2"}) {
      const auto layer = c.scope(name);
      above = kind.add(c, above, 3, {.edges = 2, .graph = 3});
    }
    c.output(c.affine("output", 3, {{"V", above}}));
    CheckOptions options;
    options.dense_parameters = 0;
    const CheckReport report = check_derivatives(c, *softmax_loss<double>(), Structure::chains(lengths), options);
    EXPECT_TRUE(report.passed()) << kind.name << "\n" << report.text();
  }
}

TEST(SparseCells, sparse_cells_with_vector_inputs_follow_their_equations) {
  constexpr Index n = 4, inputs = 2, length = 5;
  for (const Kind& kind : kKinds) {
    Circuit c;
    const Built net = build_of_vectors(c, kind.add, inputs, n, {.edges = 2, .graph = 1});
    const auto edges = random_edges(n, 2, 1);
    Parameters<double> p = test::some_parameters<double>(c);
    Team team(1);
    Unfolding<double> u(std::make_shared<const Plan>(c), team);
    u.lay(Structure::chains(1, length));
    u.set_parameters(p);
    Random random(4, "x");
    std::vector<std::vector<double>> read;
    for (Index t = 0; t < length; ++t) {
      read.push_back({1, random.normal(), random.normal()});
      for (Index k = 0; k < inputs; ++k) u.input(net.x)(t, k) = read.back()[static_cast<std::size_t>(k + 1)];
    }
    u.forward();
    const Matrix<double> tau = p.at("V/tau"), rho = p.at("V/rho"), bias = p.at("V/bias"), start = p.at("link1/start");
    // Columns of tau: by target unit, by k, by source unit.
    std::map<std::array<Index, 3>, Index> column;
    for (Index i = 0, next = 0; i < n; ++i)
      for (Index k = 0; k <= (kind.gated ? inputs : 0); ++k)
        for (Index j = 0; j < n; ++j)
          for (Index e = 0; e < edges->count(); ++e)
            if (edges->from()[static_cast<std::size_t>(e)] == j && edges->to()[static_cast<std::size_t>(e)] == i)
              column[{i, k, j}] = next++;
    std::vector<double> v(start.data, start.data + n);
    for (const auto& x : read) {
      std::vector<double> next(v.size());
      for (Index i = 0; i < n; ++i) {
        double& sum = next[static_cast<std::size_t>(i)];
        sum = (kind.leaky ? v[static_cast<std::size_t>(i)] : 0) + bias(0, i);
        for (Index k = 0; k < inputs; ++k) sum += x[static_cast<std::size_t>(k + 1)] * rho(k, i);
      }
      for (const auto& [place, at] : column)
        next[static_cast<std::size_t>(place[0])] +=
            x[static_cast<std::size_t>(place[1])] * tau(0, at) * std::tanh(v[static_cast<std::size_t>(place[2])]);
      v = next;
      const auto t = static_cast<Index>(&x - read.data());
      for (Index i = 0; i < n; ++i)
        EXPECT_NEAR(u.value(net.a)(t, i), std::tanh(v[static_cast<std::size_t>(i)]), 1e-13) << kind.name << " " << t;
    }
  }
}

/// The one-hot vector of the symbol.
TEST(SparseCells, one_hot_vectors_equal_symbols) {
  constexpr Index n = 4, length = 6;
  for (const Kind& kind : {kKinds[0], kKinds[1]}) {
    Circuit by_symbol, by_vector;
    const SparseOptions options = {.edges = 2, .graph = 1};
    const Built one = build(by_symbol, kind.add, n, options);
    const Built other = build_of_vectors(by_vector, kind.add, 3, n, options);
    Parameters<double> p = test::some_parameters<double>(by_symbol);
    Parameters<double> q(by_vector);
    const auto edges = random_edges(n, 2, 1);
    const MixedSparse mixed(edges, 3, {.activation = Map::tanh, .leaky = kind.leaky});
    for (Index x = 0; x < 3; ++x) {
      for (Index e = 0; e < edges->count(); ++e) q.at("V/tau")(0, mixed.column(x + 1, e)) = p.at("V/tau")(x, e);
      for (Index i = 0; i < n; ++i) q.at("V/rho")(x, i) = p.at("V/rho")(x, i);
    }
    for (Index e = 0; e < edges->count(); ++e) q.at("V/tau")(0, mixed.column(0, e)) = 0;
    for (Index i = 0; i < n; ++i) q.at("V/bias")(0, i) = 0;
    for (const char* name : {"link1/start", "output/V", "output/bias"})
      std::copy_n(p.at(name).data, p.at(name).rows * p.at(name).cols, q.at(name).data);
    Team team(1);
    Unfolding<double> a(std::make_shared<const Plan>(by_symbol), team),
        b(std::make_shared<const Plan>(by_vector), team);
    const Symbol text[length] = {2, 0, 1, 1, 0, 2};
    a.lay(Structure::chains(1, length)), b.lay(Structure::chains(1, length));
    a.set_parameters(p), b.set_parameters(q);
    for (Index t = 0; t < length; ++t) {
      a.symbols(one.x)[static_cast<std::size_t>(t)] = text[t];
      for (Index x = 0; x < 3; ++x) b.input(other.x)(t, x) = text[t] == x;
    }
    a.forward(), b.forward();
    for (Index t = 0; t < length; ++t)
      for (Index y = 0; y < 3; ++y) EXPECT_NEAR(a.value(one.logits)(t, y), b.value(other.logits)(t, y), 1e-13);
  }
}

TEST(Start, initialized_vector_units_forget_at_their_rates) {
  constexpr Index n = 5, inputs = 2000;
  for (const Kind& kind : kKinds)
    for (const Map activation : {Map::tanh, Map::sigmoid}) {
      Circuit c;
      build_of_vectors(c, kind.add, inputs, n, {.edges = 2, .graph = 2, .activation = activation});
      Parameters<double> p(c);
      p.initialize(1);
      const auto edges = random_edges(n, 2, 2);
      const MixedSparse mixed(edges, inputs, {.activation = activation});
      double others = 0, loops = 0;
      for (Index e = 0; e < p.at("V/tau").cols; ++e) others += std::abs(p.at("V/tau")(0, e));
      for (Index i = 0; i < n; ++i) {
        const Index e = edges->loops()[static_cast<std::size_t>(i)];
        const double loop = p.at("V/tau")(0, kind.gated ? mixed.column(0, e) : e);
        const double alpha = 1.0 / static_cast<double>(i + 2), slope = activation == Map::sigmoid ? 0.25 : 1;
        EXPECT_NEAR((kind.leaky ? 1 : 0) + slope * loop, 1 - alpha, 1e-14);
        EXPECT_NEAR(p.at("V/bias")(0, i) + loop * (activation == Map::sigmoid ? 0.5 : 0), 0, 1e-14);
        loops += std::abs(loop);
        double variance = 0;  // variance of the increment of a step, for inputs of variance 1
        for (Index k = 0; k < inputs; ++k) variance += p.at("V/rho")(k, i) * p.at("V/rho")(k, i);
        EXPECT_NEAR(variance / (1 - (1 - alpha) * (1 - alpha)), 0.25, 0.04);
      }
      EXPECT_NEAR(others, loops, 1e-12);  // all other weights are 0
    }
}

/// For symbols and for vectors: each unit forgets at its given rate, and in the stationary state V_i has the variance
/// 1/4.
TEST(Start, chosen_rates_set_the_initial_self_loops) {
  constexpr Index n = 4;
  const std::vector<double> frequencies = {5, 2, 3};
  for (const Kind& kind : kKinds)
    for (const SparseOptions& chosen :
         {SparseOptions{.edges = 2, .graph = 1, .alpha = 0.2}, SparseOptions{.edges = 2, .graph = 1, .longest = 32}}) {
      std::vector<double> alphas;
      for (Index i = 0; i < n; ++i)  // logarithms of the time constants are evenly spaced over 2 .. 32
        alphas.push_back(chosen.alpha > 0 ? chosen.alpha : 1 / (2 * std::pow(16, (static_cast<double>(i) + 0.5) / n)));
      const auto edges = random_edges(n, 2, 1);
      Circuit of_symbols, of_vectors;
      const Built net = build(of_symbols, kind.add, n, chosen);
      build_of_vectors(of_vectors, kind.add, 2, n, chosen);
      Parameters<double> p(of_symbols), q(of_vectors);
      p.initialize(1), q.initialize(1);
      initialize_from_frequencies<double>(of_symbols, net.logits, frequencies, frequencies, 1, p);
      const MixedSparse mixed(edges, 2, {.activation = Map::tanh});
      for (Index i = 0; i < n; ++i) {
        const double alpha = alphas[static_cast<std::size_t>(i)];
        const Index e = edges->loops()[static_cast<std::size_t>(i)];
        const Matrix<double> tau = p.at("V/tau"), rho = p.at("V/rho");
        double mean = 0, variance = 0;
        for (Index x = 0; x < 3; ++x) mean += 0.1 * frequencies[static_cast<std::size_t>(x)] * rho(x, i);
        for (Index x = 0; x < 3; ++x)
          variance += 0.1 * frequencies[static_cast<std::size_t>(x)] * (rho(x, i) - mean) * (rho(x, i) - mean);
        for (Index x = 0; x < tau.rows; ++x) EXPECT_NEAR((kind.leaky ? 1 : 0) + tau(x, e), 1 - alpha, 1e-14);
        EXPECT_NEAR(variance / (1 - (1 - alpha) * (1 - alpha)), 0.25, 1e-12) << kind.name;
        const double loop = q.at("V/tau")(0, kind.gated ? mixed.column(0, static_cast<std::int32_t>(e)) : e);
        EXPECT_NEAR((kind.leaky ? 1 : 0) + loop, 1 - alpha, 1e-14);
      }
    }
}

TEST(MixedSparse, invalid_mixed_sparse_terms_are_rejected) {
  const auto edges = random_edges(3, 2, 1);
  EXPECT_THROW(mixed_sparse(nullptr, 2), UsageError);
  EXPECT_THROW(mixed_sparse(edges, 0), UsageError);
  EXPECT_THROW(mixed_sparse(edges, 2, {.activation = Map::exp}), UsageError);
  EXPECT_THROW(mixed_sparse(edges, Index{1} << 40), UsageError);
  using Pairs = std::vector<std::pair<std::int32_t, std::int32_t>>;
  EXPECT_THROW(mixed_sparse(std::make_shared<const Edges>(2, 3, Pairs{{0, 1}}), 2), UsageError);
}

/// The untrained model is the i.i.d. model; in the linear regime V_i has standard deviation 1/2 and decays at its rate.
TEST(Start, initialized_units_remember_symbols) {
  for (const Kind& kind : kKinds)
    for (const Map activation : {Map::tanh, Map::sigmoid}) {
      Circuit c;
      const Built net = build(c, kind.add, 5, {.graph = 2, .activation = activation});
      Parameters<double> p(c);
      const double frequencies[] = {50, 30, 20}, predicted[] = {8, 2, 0};
      initialize_from_frequencies<double>(c, net.logits, frequencies, predicted, 1, p);
      EXPECT_NEAR(p.at("output/bias")(0, 0), std::log(0.8), 1e-14);
      EXPECT_NEAR(p.at("output/bias")(0, 2), std::log(0.05), 1e-14);  // never seen: counts as one half
      for (Index i = 0; i < 5; ++i)
        for (Index y = 0; y < 3; ++y) EXPECT_EQ(p.at("output/V")(i, y), 0);
      const auto edges = random_edges(5, 3, 2);
      const double offset = activation == Map::sigmoid ? 0.5 : 0, slope = activation == Map::sigmoid ? 0.25 : 1;
      for (Index i = 0; i < 5; ++i) {
        const Index e = edges->loops()[static_cast<std::size_t>(i)];
        const double alpha = 1.0 / static_cast<double>(i + 2), loop = p.at("V/tau")(0, e);
        EXPECT_NEAR((kind.leaky ? 1 : 0) + slope * loop, 1 - alpha, 1e-14);
        double mean = 0, variance = 0;
        for (Index x = 0; x < 3; ++x) {
          const double input = p.at("V/rho")(x, i) + loop * offset;
          mean += frequencies[x] / 100 * input, variance += frequencies[x] / 100 * input * input;
        }
        EXPECT_NEAR(mean, 0, 1e-14);
        EXPECT_NEAR(variance / (1 - (1 - alpha) * (1 - alpha)), 0.25, 1e-12);  // variance of a first-order filter
      }
    }
}

TEST(Start, initialization_with_one_symbol_is_finite) {
  Circuit c;
  const Signal x = c.symbols("x", 1), a = glnn(c, x, 3);
  const Signal logits = c.affine("output", 1, {{"V", a}});
  c.output(logits);
  Parameters<float> p(c);
  const double one[] = {7};
  initialize_from_frequencies<float>(c, logits, one, one, 1, p);
  for (const float v : p.flat()) EXPECT_TRUE(std::isfinite(v));
}

}  // namespace
}  // namespace unfold
