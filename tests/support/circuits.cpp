#include "tests/support/circuits.h"

#include <algorithm>

#include "unfold/numerics/random.h"

namespace unfold::test {

void small_relu_net(Circuit& c) {
  const Signal x = c.symbols("x", 3);
  const Signal h = c.link(2, Delay::previous(), true), far = c.link(2, Delay::previous(2));
  const Signal a = relu(c.affine("a", 2, {{"W", x}, {"U", h}, {"F", far}}));
  c.feed(h, a);
  c.feed(far, a);
  c.output(c.affine("o", 3, {{"V", a}}));
}

void small_lstm(Circuit& c) {
  const Signal x = c.symbols("x", 4), h = c.link(2), cell = c.link(2);
  const auto [i, f, o, g] = c.split<4>(c.affine("z", 8, {{"W", x}, {"U", h}}));
  const Signal next = sigmoid(f) * cell + sigmoid(i) * tanh(g);
  const Signal y = sigmoid(o) * tanh(next);
  c.feed(cell, next);
  c.feed(h, y);
  c.output(c.affine("o", 4, {{"V", y}}));
}

namespace {

/// Draws are in separate statements because compilers evaluate arguments in different orders.
class Generator {
 public:
  Generator(Circuit& c, Structure::Kind kind, std::uint64_t seed)
      : c_(c), kind_(kind), random_(seed, "random circuit") {}

  void run() {
    pool_.push_back(c_.input("x", 1 + below(3)));
    symbols_ = c_.symbols("s", 2 + below(3));
    const Index layers = 1 + below(3);
    for (Index l = 0; l < layers; ++l) {
      const auto scope = c_.scope("layer" + std::to_string(l));
      add_layer();
    }
    c_.output(affine(1 + below(3)));
    if (below(2)) c_.output(c_.map(Map::copy, any()));
  }

 private:
  Index below(Index n) { return static_cast<Index>(random_.below(static_cast<std::uint64_t>(n))); }
  Signal any() { return pool_[static_cast<std::size_t>(below(static_cast<Index>(pool_.size())))]; }

  /// Returns a delay that a loop may combine: one direction of a chain, one corner of a grid, or the children of a
  /// tree.
  Delay delay() {
    const Index steps = 1 + below(3);
    switch (kind_) {
      case Structure::Kind::chains: return forward_ ? Delay::previous(steps) : Delay::next(steps);
      case Structure::Kind::grids:
        if (below(2)) return forward_ ? Delay::left(1 + below(2)) : Delay::right(1 + below(2));
        return down_ ? Delay::up(1 + below(2)) : Delay::down(1 + below(2));
      case Structure::Kind::trees: {
        const Index which = below(4);
        return which == 3 ? Delay::children() : Delay::child(which);
      }
    }
    return {};
  }

  void add_layer() {
    forward_ = below(3) != 0, down_ = below(3) != 0;
    std::vector<Signal> links;
    const Index count = below(4);
    for (Index i = 0; i < count; ++i) {
      const Index size = 1 + below(4);
      const Delay reach = delay();
      links.push_back(c_.link(size, reach, below(3) == 0));
      pool_.push_back(links.back());
    }
    const Index steps = 3 + below(6);
    for (Index i = 0; i < steps; ++i) add_signal();
    for (std::size_t i = 0; i < links.size(); ++i) feed(links, i);
    // A link to another position of a complete signal is not part of a loop.
    if (below(2)) {
      const Signal source = c_.map(Map::copy, any());
      const Delay reach = delay();
      const Signal look = c_.link(source.size(), reach, below(2) == 0);
      c_.feed(look, source);
      pool_.push_back(look);
    }
  }

  /// Several links may share one source.
  void feed(const std::vector<Signal>& links, std::size_t i) {
    const Signal link = links[i];
    if (i > 0 && below(2) && fed_.size() == link.size()) return c_.feed(link, fed_);
    fed_ = bounded(affine(link.size()));
    if (below(2)) fed_ = gate(link, fed_);
    pool_.push_back(fed_);
    c_.feed(link, fed_);
  }

  Signal gate(Signal old, Signal fresh) {
    const Signal g = sigmoid(affine(old.size()));
    if (below(2) == 0) return old + g * (fresh - old);
    const Signal kept = g * old;
    return kept + one_minus(g) * fresh;
  }

  Signal affine(Index size) {
    std::vector<Term> terms;
    static constexpr const char* kNames[] = {"A", "B", "C"};
    const Index count = 1 + below(3);
    for (Index k = 0; k < count; ++k)
      terms.push_back(below(6) == 0 ? sparse(kNames[k], size) : Term{kNames[k], below(4) == 0 ? symbols_ : any()});
    return c_.affine("z" + std::to_string(c_.nodes().size()), size, terms, Init::uniform(0.5), below(4) != 0);
  }

  /// Returns a sparse term, possibly gated or leaky.
  Term sparse(std::string_view name, Index size) {
    Term term{name, any(), Init::uniform(0.5)};
    const Index inputs = term.source.size();
    std::vector<std::pair<std::int32_t, std::int32_t>> pairs;
    for (std::int32_t j = 0; j < inputs; ++j)
      for (std::int32_t i = 0; i < size; ++i)
        if (below(2) || (i == 0 && j == 0)) pairs.emplace_back(j, i);
    static constexpr Map kActivations[] = {Map::tanh, Map::sigmoid, Map::relu, Map::tanh};
    SparseForm form{.activation = kActivations[below(4)]};
    if (inputs == size && below(2)) term.gate = symbols_, form.gating = below(2) ? Gating::weights : Gating::state;
    form.leaky = inputs == size && below(3) == 0;
    term.op = sparse_operator(std::make_shared<const Edges>(inputs, size, pairs), form);
    return term;
  }

  Signal bounded(Signal x) {
    switch (below(4)) {
      case 0: return tanh(x);
      case 1: return sigmoid(x);
      case 2: return 0.5 * tanh(x);
      default: return tanh(relu(x));
    }
  }

  /// Applies a random map, kept within its domain and away from overflow.
  Signal unary(Signal x) {
    switch (below(12)) {
      case 0: return 0.7 * x;
      case 1: return x + 0.3;
      case 2: return one_minus(x);
      case 3: return sigmoid(x);
      case 4: return relu(x);
      case 5: return softplus(x);
      case 6: return exp(tanh(x));
      case 7: return log(softplus(x) + 0.5);
      case 8: return square(tanh(x));
      case 9: return c_.map(Map::copy, x);
      default: return tanh(x);
    }
  }

  Signal binary(Signal x) {
    Signal y = x;
    for (int tries = 0; tries < 4; ++tries) {
      const Signal other = any();
      if (other.size() == x.size()) y = other;
    }
    switch (below(3)) {
      case 0: return x + y;
      case 1: return x - 0.5 * y;
      default: return tanh(x) * y;
    }
  }

  void add_signal() {
    const Signal x = any();
    switch (below(5)) {
      case 0: return pool_.push_back(affine(1 + below(5)));
      case 1:
        if (x.size() > 1) {
          const Index offset = below(x.size() - 1);
          return pool_.push_back(c_.slice(x, offset, 1 + below(x.size() - offset)));
        }
        [[fallthrough]];
      case 2: return pool_.push_back(binary(x));
      default: return pool_.push_back(unary(x));
    }
  }

  Circuit& c_;
  Structure::Kind kind_;
  Random random_;
  Signal symbols_, fed_;
  std::vector<Signal> pool_;
  bool forward_ = true, down_ = true;
};

}  // namespace

void random_circuit(Circuit& c, Structure::Kind kind, std::uint64_t seed) { Generator(c, kind, seed).run(); }

Tree random_tree(Index nodes, std::uint64_t seed) {
  Random random(seed, "random tree");
  Tree tree{std::vector<std::vector<Index>>(static_cast<std::size_t>(nodes))};
  // Node numbers are shuffled, so no code can rely on a particular order of parents and children.
  std::vector<Index> name(static_cast<std::size_t>(nodes));
  for (std::size_t v = 0; v < name.size(); ++v) name[v] = static_cast<Index>(v);
  for (std::size_t v = name.size(); v > 1; --v) std::swap(name[v - 1], name[random.below(v)]);
  for (std::size_t v = 1; v < name.size(); ++v) {
    auto& children = tree.children[static_cast<std::size_t>(name[random.below(v)])];
    if (random.below(4) == 0) children.push_back(-1);
    children.push_back(name[v]);
  }
  return tree;
}

Structure random_structure(Structure::Kind kind, std::uint64_t seed) {
  Random random(seed, "random structure");
  const auto below = [&](std::uint64_t n) { return static_cast<Index>(random.below(n)); };
  const Index count = 1 + below(5);
  if (kind == Structure::Kind::chains) {
    std::vector<Index> lengths;
    for (Index i = 0; i < count; ++i) lengths.push_back(1 + below(7));
    return Structure::chains(lengths);
  }
  if (kind == Structure::Kind::grids) {
    std::vector<std::pair<Index, Index>> shapes;
    for (Index i = 0; i < count; ++i) {
      const Index rows = 1 + below(4);
      shapes.emplace_back(rows, 1 + below(4));
    }
    return Structure::grids(shapes);
  }
  std::vector<Tree> trees;
  for (Index i = 0; i < count; ++i)
    trees.push_back(random_tree(1 + below(8), seed * 8 + static_cast<std::uint64_t>(i)));
  return Structure::trees(trees);
}

}  // namespace unfold::test
