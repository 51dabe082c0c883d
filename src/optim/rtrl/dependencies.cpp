#include "optim/rtrl/dependencies.h"

#include <algorithm>
#include <bit>
#include <map>

#include "graph/circuit/concatenation.h"
#include "graph/circuit/known_operator.h"

namespace unfold {

bool IndexSet::take(const IndexSet& other) {
  if (words_.size() < other.words_.size()) words_.resize(other.words_.size(), 0);
  std::uint64_t fresh = 0;
  for (std::size_t w = 0; w < other.words_.size(); ++w) {
    fresh |= other.words_[w] & ~words_[w];
    words_[w] |= other.words_[w];
  }
  return fresh != 0;
}

bool IndexSet::meets(const IndexSet& other) const {
  for (std::size_t w = 0; w < std::min(words_.size(), other.words_.size()); ++w)
    if ((words_[w] & other.words_[w]) != 0) return true;
  return false;
}

bool IndexSet::empty() const {
  return std::ranges::all_of(words_, [](std::uint64_t w) { return w == 0; });
}

Index IndexSet::count() const {
  Index total = 0;
  for (const std::uint64_t w : words_) total += std::popcount(w);
  return total;
}

std::vector<Index> IndexSet::elements() const {
  std::vector<Index> result;
  for (Index i = 0; i < static_cast<Index>(words_.size()) * 64; ++i)
    if (has(i)) result.push_back(i);
  return result;
}

namespace {

/// Interface for recording the dependencies of an operator's outputs `to` on an input component or on a column of its
/// parameter.
class OperatorEdges {
 public:
  virtual ~OperatorEdges() = default;
  virtual void input(Index from, Index to) = 0;
  virtual void column(Index column, Index to) = 0;
};

/// For n complex numbers, stored as n real and then n imaginary parts: each complex number depends only on itself.
void record_complex(Index n, Index columns, OperatorEdges& edges) {
  for (Index k = 0; k < n; ++k)
    for (const Index to : {k, n + k}) {
      edges.input(k, to);
      edges.input(n + k, to);
      for (Index c = k; c < columns; c += n) edges.column(c, to);
    }
}

void record_sparse(const SparseOperator& op, OperatorEdges& edges) {
  const Edges& e = op.edges();
  for (Index i = 0; i < e.count(); ++i) {
    edges.input(e.from()[at(i)], e.to()[at(i)]);
    edges.column(i, e.to()[at(i)]);
  }
  if (op.form().leaky || op.form().gating != Gating::none)
    for (Index i = 0; i < e.inputs(); ++i) edges.input(i, i);
}

/// For an unknown operator, every output is assumed to depend on every input.
void record_edges(const Operator& op, Index columns, OperatorEdges& edges) {
  if (const SparseOperator* sparse = as_sparse(&op)) return record_sparse(*sparse, edges);
  if (const auto* known = dynamic_cast<const ExportableOperator*>(&op)) {
    using Kind = ExportableOperator::Kind;
    switch (known->known_kind()) {
      case Kind::leak:
        for (Index k = 0; k < op.outputs(); ++k) {
          edges.input(k, k);
          edges.column(k, k);
        }
        return;
      case Kind::complex_decay:
      case Kind::complex_gain:
      case Kind::modulus_relu: return record_complex(op.outputs() / 2, columns, edges);
      case Kind::placed: {
        const Index offset = as_concatenation(&op)->offset();
        for (Index k = 0; k < op.inputs(); ++k) edges.input(k, offset + k);
        return;
      }
      case Kind::layer_norm:
      case Kind::share:
      case Kind::unitary: break;
    }
  }
  for (Index to = 0; to < op.outputs(); ++to) {
    for (Index from = 0; from < op.inputs() && op.reads_symbols() == 0; ++from) edges.input(from, to);
    for (Index c = 0; c < columns; ++c) edges.column(c, to);
  }
}

/// Traverses the circuit from the next state back to the origin of each component.
class Reading {
 public:
  explicit Reading(const OpenCircuit& open) : open_(open), nodes_(open.circuit.nodes()), reached_(nodes_.size()) {
    for (std::size_t i = 0; i < nodes_.size(); ++i)
      if (nodes_[i].kind() != Node::Kind::symbols) reached_[i].resize(at(nodes_[i].size));
    for (const StateBlock& block : open.blocks)
      for (Index k = 0; k < block.size; ++k) {
        IndexSet& set = of(block.after.id, k) = IndexSet(open.state);
        set.add(block.offset + k);
      }
  }

  Reach run() {
    for (std::size_t i = nodes_.size(); i-- > 0;) pass_back(static_cast<int>(i));
    Reach result{
        .state = open_.state, .from_state = std::vector<IndexSet>(at(open_.state)), .within = {}, .starts = {}};
    for (const StateBlock& block : open_.blocks)
      for (Index k = 0; k < block.size; ++k) result.from_state[at(block.offset + k)] = of(block.before.id, k);
    for (auto& [states, parameters] : found_) result.within.push_back({states, std::move(parameters)});
    std::map<Index, IndexSet> started;
    for (const StateBlock& block : open_.blocks)
      for (Index k = 0; block.initial >= 0 && k < block.size; ++k) {
        auto& set = started.try_emplace(block.initial + k, open_.state).first->second;
        set.add(block.offset + k);
      }
    for (auto& [parameter, states] : started)
      result.starts.push_back({std::move(states), {{.begin = parameter, .stride = 1, .count = 1}}});
    return result;
  }

 private:
  IndexSet& of(int node, Index component) { return reached_[at(node)][at(component)]; }
  const ParameterInfo& info(int parameter) const { return open_.circuit.parameters()[at(parameter)]; }
  void find(const IndexSet& states, const ParameterRange& range) {
    if (!states.empty() && range.count > 0 && range.begin < open_.parameters) found_[states].push_back(range);
  }

  void pass_back(int i) {
    const Node& n = nodes_[at(i)];
    if (n.kind() == Node::Kind::affine) return pass_back_affine(i);
    if (n.kind() == Node::Kind::slice)
      for (Index k = 0; k < n.size; ++k) of(n.slice().operand, n.slice().offset + k).take(of(i, k));
    if (n.kind() != Node::Kind::pointwise) return;
    for (const int operand : n.pointwise().operands)
      for (Index k = 0; operand >= 0 && k < n.size; ++k) of(operand, k).take(of(i, k));
  }

  void pass_back_affine(int i) {
    const Node& n = nodes_[at(i)];
    IndexSet any;
    for (Index k = 0; k < n.size; ++k) any.take(of(i, k));
    if (any.empty()) return;
    for (Index k = 0; k < n.size && n.affine().bias >= 0; ++k) find(of(i, k), {info(n.affine().bias).offset + k, 1, 1});
    for (const Node::AffineTerm& term : n.terms()) {
      if (!term.dense()) {
        pass_back_operator(i, term);
        continue;
      }
      const ParameterInfo& w = info(term.parameter);
      for (Index k = 0; k < n.size; ++k) find(of(i, k), {w.offset + k, w.cols, w.rows});
      for (IndexSet& source : reached_[at(term.source)]) source.take(any);
    }
  }

  void pass_back_operator(int i, const Node::AffineTerm& term) {
    struct Told final : OperatorEdges {
      Reading* reading = nullptr;
      int node = 0, source = 0;
      std::map<Index, IndexSet> columns = {};
      void input(Index from, Index to) override { reading->of(source, from).take(reading->of(node, to)); }
      void column(Index column, Index to) override { columns[column].take(reading->of(node, to)); }
    } told;
    told.reading = this, told.node = i, told.source = term.source;
    const ParameterInfo& w = info(term.parameter);
    record_edges(*term.op, w.rows > 0 ? w.cols : 0, told);
    for (const auto& [column, states] : told.columns) find(states, {w.offset + column, w.cols, w.rows});
  }

  const OpenCircuit& open_;
  const std::vector<Node>& nodes_;
  std::vector<std::vector<IndexSet>> reached_;  // [node][component]: components of the next state
  std::map<IndexSet, std::vector<ParameterRange>> found_;
};

}  // namespace

Reach reach_of(const OpenCircuit& open) { return Reading(open).run(); }

}  // namespace unfold
