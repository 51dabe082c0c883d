/// Cells over trees: derivatives, identical bits alone and in a batch, a recursive reference, and a sum over children
/// that does not depend on their order.

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <map>
#include <numeric>

#include "tests/support/circuits.h"
#include "tests/support/runner.h"
#include "unfold/gradcheck/derivative_check.h"
#include "unfold/graph/cells/cells.h"
#include "unfold/graph/cells/registry.h"

namespace unfold {
namespace {

using Vector = std::vector<double>;

constexpr Index kTreeWords = 5;
const char* const kTreeCells[] = {"recursive", "recursive-tensor", "tree-lstm", "child-sum-lstm"};

void add_tree_net(Circuit& c, const std::string& name, Index n) {
  const CellEntry& cell = cells().get(name);
  Signal top = c.symbols("x", kTreeWords);
  for (const char* layer : {"layer1", "layer2"}) {
    const auto scope = c.scope(layer);
    top = cell.add(c, top, n, cell.options, false);
  }
  c.output(c.affine("o", 3, {{"V", top}}));
}

TEST(TreeCells, registry_lists_the_expected_tree_cells) {
  std::vector<std::string> names;
  for (const CellEntry& cell : cells())
    if (cell.reads_trees()) names.push_back(cell.name);
  EXPECT_EQ(names, std::vector<std::string>(std::begin(kTreeCells), std::end(kTreeCells)));
}

TEST(TreeCells, tree_cells_have_correct_derivatives) {
  for (const char* name : kTreeCells)
    for (std::uint64_t seed = 1; seed <= 3; ++seed) {
      Circuit c;
      add_tree_net(c, name, 2);
      const CheckReport report = check_derivatives(
          c, *softmax_loss<double>(), test::random_structure(Structure::Kind::trees, seed), {.seed = seed});
      EXPECT_TRUE(report.passed()) << name << "\n" << report.text();
    }
}

template <class T>
bool same(std::span<const T> a, std::span<const T> b) {
  return a.size() == b.size() && (a.empty() || std::memcmp(a.data(), b.data(), a.size_bytes()) == 0);
}

TEST(TreeCells, tree_cells_have_the_same_bits_alone_in_a_batch_and_on_any_number_of_threads) {
  const Tree trees[] = {test::random_tree(9, 1), test::random_tree(1, 2), test::random_tree(30, 3),
                        test::random_tree(4, 4)};
  for (const char* name : kTreeCells) {
    Circuit c;
    add_tree_net(c, name, 16);
    const Structure batch = Structure::trees(trees);
    test::Runner<float> runner(c), alone(c), threads(c, {}, 3);
    const auto all = runner.run(batch);
    for (Index s = 0; s < batch.sequences(); ++s) {
      const auto one = alone.run(Structure::trees(std::span(trees).subspan(at(s), 1)), {.sequences = {s}});
      const auto part = [&](const std::vector<float>& x) {
        return std::span(x).subspan(at(3 * batch.item(s, 0)), at(3 * batch.size(s)));
      };
      EXPECT_TRUE(same<float>(one.outputs, part(all.outputs))) << name;
      EXPECT_TRUE(same<float>(one.tangents, part(all.tangents))) << name;
    }
    for (int pass = 0; pass < 4; ++pass) {
      const auto many = threads.run(batch);
      EXPECT_TRUE(same<float>(many.outputs, all.outputs)) << name;
      EXPECT_TRUE(same<float>(many.tangents, all.tangents)) << name;
      EXPECT_TRUE(same<float>(many.gradient, all.gradient)) << name;
      EXPECT_TRUE(same<float>(many.squared, all.squared)) << name;
    }
  }
}

/// One layer over one tree, evaluated recursively with the equations of the papers.
class TreeReference {
 public:
  TreeReference(const Circuit& c, const Parameters<double>& p, const Tree& tree, std::vector<Symbol> words, Index n)
      : circuit_(c), parameters_(p), tree_(tree), words_(std::move(words)), n_(n) {}

  struct State {
    Vector h, c;
  };

  State recursive(Index v, bool tensor, Index arity) const {
    const std::vector<State> kids = below(v, [&](Index k) { return recursive(k, tensor, arity); });
    Vector z = sum({word("z/W", v), bias("z/bias")});
    Vector both;
    for (Index k = 0; k < arity; ++k) {
      const Vector h = at(k) < kids.size() ? kids[at(k)].h : Vector(at(n_), 0.0);
      z = sum({z, times(h, "z/U" + std::to_string(k + 1))});
      both.insert(both.end(), h.begin(), h.end());
    }
    const Index wide = static_cast<Index>(both.size());
    for (Index i = 0, pair = 0; tensor && i < wide; ++i)
      for (Index j = i; j < wide; ++j, ++pair)
        for (Index k = 0; k < n_; ++k)
          z[at(k)] += matrix("z/V")(pair, k) * both[at(i)] * both[at(j)] / static_cast<double>(wide);
    for (double& x : z) x = std::tanh(x);
    return {.h = z, .c = {}};
  }

  State nary(Index v) const {
    std::vector<State> kids = below(v, [&](Index k) { return nary(k); });
    kids.resize(2, {.h = Vector(at(n_), 0.0), .c = Vector(at(n_), 0.0)});
    Vector h = kids[0].h;
    h.insert(h.end(), kids[1].h.begin(), kids[1].h.end());
    const Vector z = sum({word("z/W", v), times(h, "z/U"), bias("z/bias")});
    const Vector f = sum({times(h, "f/F"), bias("f/bias")});
    State s = start(z);
    for (Index j = 0; j < n_; ++j)
      s.c[at(j)] += squash(f[at(j)]) * kids[0].c[at(j)] + squash(f[at(n_ + j)]) * kids[1].c[at(j)];
    return finish(z, s);
  }

  State child_sum(Index v) const {
    const std::vector<State> kids = below(v, [&](Index k) { return child_sum(k); });
    Vector h(at(n_), 0.0);
    for (const State& kid : kids) h = sum({h, kid.h});
    const Vector z = sum({word("z/W", v), times(h, "z/U"), bias("z/bias")});
    State s = start(z);
    for (const State& kid : kids) {
      const Vector f = sum({word("asked/W", v), bias("asked/bias"), times(kid.h, "f/U")});
      for (Index j = 0; j < n_; ++j) s.c[at(j)] += squash(f[at(j)]) * kid.c[at(j)];
    }
    return finish(z, s);
  }

 private:
  static double squash(double x) { return 1 / (1 + std::exp(-x)); }
  template <class Of>
  std::vector<State> below(Index v, Of&& of) const {
    std::vector<State> kids;
    for (const Index k : tree_.children[at(v)])
      kids.push_back(k < 0 ? State{.h = Vector(at(n_), 0.0), .c = Vector(at(n_), 0.0)} : of(k));
    return kids;
  }
  State start(const Vector& z) const {
    State s{.h = {}, .c = Vector(at(n_))};
    for (Index j = 0; j < n_; ++j) s.c[at(j)] = squash(z[at(j)]) * std::tanh(z[at(2 * n_ + j)]);
    return s;
  }
  State finish(const Vector& z, State s) const {
    s.h.resize(at(n_));
    for (Index j = 0; j < n_; ++j) s.h[at(j)] = squash(z[at(n_ + j)]) * std::tanh(s.c[at(j)]);
    return s;
  }
  Matrix<const double> matrix(const std::string& name) const {
    for (std::size_t i = 0; i < circuit_.parameters().size(); ++i)
      if (circuit_.parameters()[i].name == name) return parameters_[static_cast<int>(i)];
    ADD_FAILURE() << "no parameter " << name;
    return {};
  }
  Vector word(const std::string& name, Index v) const {
    const Matrix<const double> w = matrix(name);
    Vector row(at(w.cols), 0.0);
    if (const Symbol x = words_[at(v)]; x != kNoSymbol) row.assign(w.row(x), w.row(x) + w.cols);
    return row;
  }
  Vector bias(const std::string& name) const { return {matrix(name).data, matrix(name).data + matrix(name).cols}; }
  Vector times(const Vector& x, const std::string& name) const {
    const Matrix<const double> w = matrix(name);
    Vector y(at(w.cols), 0.0);
    for (Index i = 0; i < w.rows; ++i)
      for (Index j = 0; j < w.cols; ++j) y[at(j)] += x[at(i)] * w(i, j);
    return y;
  }
  static Vector sum(const std::vector<Vector>& all) {
    Vector total = all[0];
    for (std::size_t k = 1; k < all.size(); ++k)
      for (std::size_t j = 0; j < total.size(); ++j) total[j] += all[k][j];
    return total;
  }

  const Circuit& circuit_;
  const Parameters<double>& parameters_;
  const Tree& tree_;
  std::vector<Symbol> words_;
  Index n_;
};

/// A single cell over trees, in double.
class TreeRun {
 public:
  TreeRun(const std::string& name, Index n) : team_(1) {
    const CellEntry& cell = cells().get(name);
    const Signal x = circuit_.symbols("x", kTreeWords);
    top_ = cell.add(circuit_, x, n, cell.options, false);
    circuit_.output(top_);
    parameters_ = std::make_unique<Parameters<double>>(test::some_parameters<double>(circuit_));
    unfolding_ = std::make_unique<Unfolding<double>>(std::make_shared<const Plan>(circuit_), team_);
    unfolding_->set_parameters(*parameters_);
  }
  const Circuit& circuit() const { return circuit_; }
  const Parameters<double>& parameters() const { return *parameters_; }

  /// Returns the output at the nodes, in their order.
  std::vector<Vector> run(const Tree& tree, const std::vector<Symbol>& words) {
    const Structure structure = Structure::trees({&tree, 1});
    unfolding_->lay(structure);
    for (std::size_t v = 0; v < words.size(); ++v)
      unfolding_->symbols(Signal{&circuit_, 0})[at(structure.row(0, static_cast<Index>(v)))] = words[v];
    unfolding_->forward();
    std::vector<Vector> result;
    const Matrix<const double> y = unfolding_->value(top_);
    for (std::size_t v = 0; v < words.size(); ++v) {
      const double* row = y.row(structure.row(0, static_cast<Index>(v)));
      result.emplace_back(row, row + y.cols);
    }
    return result;
  }

 private:
  Circuit circuit_;
  Signal top_;
  std::unique_ptr<Parameters<double>> parameters_;
  Team team_;
  std::unique_ptr<Unfolding<double>> unfolding_;
};

std::vector<Symbol> some_words(std::size_t count, std::uint64_t seed) {
  Random random(seed, "words");
  std::vector<Symbol> words;
  for (std::size_t v = 0; v < count; ++v) {
    const auto drawn = static_cast<Symbol>(random.below(kTreeWords + 1));
    words.push_back(drawn == kTreeWords ? kNoSymbol : drawn);
  }
  return words;
}

/// Returns a tree with at most two children per node, some of them absent.
Tree binary_tree(Index nodes, std::uint64_t seed) {
  Tree tree = test::random_tree(nodes, seed);
  for (auto& children : tree.children)
    while (children.size() > 2) {
      // Excess children become children of the first child that is present.
      const Index moved = children.back();
      children.pop_back();
      const auto child = std::find_if(children.begin(), children.end(), [](Index k) { return k >= 0; });
      if (moved < 0) continue;
      if (child == children.end())
        children.back() = moved;
      else
        tree.children[at(*child)].push_back(moved);
    }
  for (auto& children : tree.children)
    if (children.size() > 2) return binary_tree(nodes, seed + 1000);
  return tree;
}

TEST(TreeCells, tree_cells_equal_a_recursive_reference) {
  constexpr Index kUnits = 3;
  for (std::uint64_t seed = 0; seed < 12; ++seed)
    for (const std::string name : kTreeCells) {
      const Tree tree = name == "child-sum-lstm" ? test::random_tree(11, seed) : binary_tree(11, seed);
      const std::vector<Symbol> words = some_words(tree.children.size(), seed);
      TreeRun run(name, kUnits);
      const std::vector<Vector> found = run.run(tree, words);
      const TreeReference reference(run.circuit(), run.parameters(), tree, words, kUnits);
      for (Index v = 0; v < static_cast<Index>(words.size()); ++v) {
        const Vector expected = name == "tree-lstm"        ? reference.nary(v).h
                                : name == "child-sum-lstm" ? reference.child_sum(v).h
                                                           : reference.recursive(v, name == "recursive-tensor", 2).h;
        for (std::size_t j = 0; j < expected.size(); ++j)
          EXPECT_NEAR(found[at(v)][j], expected[j], 1e-12) << name << ", seed " << seed << ", node " << v;
      }
    }
}

TEST(ChildSumLstm, child_sum_lstm_does_not_depend_on_the_order_of_children) {
  TreeRun run("child-sum-lstm", 8);
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    Tree tree = test::random_tree(25, seed);
    tree.children[0].push_back(-1);
    const std::vector<Symbol> words = some_words(tree.children.size(), seed);
    const std::vector<Vector> expected = run.run(tree, words);
    Random random(seed, "renumbering");
    const auto shuffle = [&](auto& list) {
      for (std::size_t i = list.size(); i > 1; --i) std::swap(list[i - 1], list[random.below(i)]);
    };
    std::vector<Index> name(tree.children.size());
    std::iota(name.begin(), name.end(), Index{0});
    shuffle(name);
    Tree other{std::vector<std::vector<Index>>(name.size())};
    std::vector<Symbol> other_words(name.size());
    for (std::size_t v = 0; v < name.size(); ++v) {
      other_words[at(name[v])] = words[v];
      for (const Index child : tree.children[v])
        if (child >= 0) other.children[at(name[v])].push_back(name[at(child)]);
      shuffle(other.children[at(name[v])]);
    }
    const std::vector<Vector> found = run.run(other, other_words);
    for (std::size_t v = 0; v < name.size(); ++v)
      EXPECT_TRUE(same<double>(found[at(name[v])], expected[v])) << seed << ", node " << v;
  }
}

TEST(TreeCells, tree_cells_support_a_thousand_children_and_a_thousand_levels) {
  Tree wide{std::vector<std::vector<Index>>(1001)}, deep{std::vector<std::vector<Index>>(1001)};
  for (Index v = 1; v <= 1000; ++v) {
    wide.children[0].push_back(v);
    deep.children[at(v)].push_back(v - 1);
  }
  TreeRun run("child-sum-lstm", 4);
  const std::vector<Symbol> words = some_words(1001, 1);
  for (const Tree& tree : {wide, deep})
    for (const Vector& h : run.run(tree, words))
      for (const double x : h) EXPECT_LE(std::fabs(x), 1);
}

}  // namespace
}  // namespace unfold
