#include "optim/riemannian/map_metric.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "numerics/moments.h"
#include "optim/riemannian/damped_cholesky.h"
#include "unfold/base/error.h"
#include "unfold/graph/circuit/unit_weights.h"

namespace unfold {
namespace {

constexpr Index kSlopeTile = 64;         // number of positions whose derivatives are stored
constexpr Index kMostParameters = 4096;  // maximum for one matrix: 128 MB

}  // namespace

template <class T>
bool MapMetric<T>::takes(const Node::AffineTerm& term) {
  return !term.dense() && unit_weights(term.op.get()) == nullptr;
}

template <class T>
MapMetric<T>::MapMetric(const CorePass<T>& core, bool full, double damping, bool averages)
    : full_(full), damping_(damping), scratch_(at(core.team().size())) {
  const Plan& plan = core.plan();
  Index most = 0, room = 0;
  for (int i = 0; i < static_cast<int>(plan.nodes().size()); ++i) {
    const Node& node = plan.nodes()[at(i)];
    if (!plan.live(i) || node.kind() != Node::Kind::affine) continue;
    for (std::size_t k = 0; k < node.terms().size(); ++k) {
      const auto& term = node.terms()[k];
      const ParameterInfo& p = plan.parameters()[at(term.parameter)];
      if (!takes(term) || p.size() == 0) continue;
      const auto refuse = [&](const std::string& why) {
        throw UsageError(fmt::format("Riemannian training: the parameters {} of a {} map {}; use sgd or adam", p.name,
                                     term.op->name(), why));
      };
      if (term.op->reads_symbols() > 0) refuse("are selected by the symbols that a position reads");
      if (full && p.size() > kMostParameters)
        refuse(fmt::format("would have a matrix of {} x {} (reduction=quasi-diagonal has its diagonal)", p.size(),
                           p.size()));
      Block block{
          .node = i, .term = k, .offset = p.offset, .count = p.size(), .matrix = {}, .gradient = {}, .average = {}};
      block.matrix.resize(at(full ? block.count * block.count : block.count));
      block.gradient.resize(at(block.count));
      if (averages) block.average.assign(block.matrix.size() + 1, T{0});
      most = std::max(most, block.count);
      room = std::max(room, term.op->scratch());
      blocks_.push_back(std::move(block));
    }
  }
  slopes_.resize(at(kSlopeTile * most));
  for (auto& scratch : scratch_) scratch.resize(at(room));
}

/// Computes g_t for some rows of a tile: the gradient at one position, or the same with squared derivatives.
template <class T>
void MapMetric<T>::find_slopes(const CorePass<T>& core, const Block& block, Range positions, Range rows, bool squared,
                               std::vector<T>& scratch) {
  const Unfolding<T>& u = core.unfolding();
  const Node& node = core.plan().nodes()[at(block.node)];
  const auto& order = u.structure().part(node.part).order();
  const auto& term = node.terms()[block.term];
  const Matrix<const T> b = u.affine_adjoint(core.signal(block.node));
  const Matrix<const T> w = core.parameters()[term.parameter];
  for (Index t = rows.begin; t < rows.end; ++t) {
    const Index row = positions.begin + t;
    const Index step =
        std::upper_bound(order.step_begin.begin(), order.step_begin.end(), row) - order.step_begin.begin() - 1;
    const Matrix<T> g{slopes_.data() + t * block.count, w.rows, w.cols, w.cols};
    std::fill_n(g.data, block.count, T{0});
    OperatorRows<T> in = u.rows_read(node, term, step, row);
    if (term.gate >= 0) in.gates = u.symbols_read(term.gate).data() + row;
    const Index seen = term.op->has_memory() ? static_cast<Index>(in.memory.seen_by(0).size()) : 0;
    const Index room = term.op->scratch() + seen * term.op->scratch_per_seen();
    if (static_cast<Index>(scratch.size()) < room) scratch.resize(at(room));
    in.scratch = scratch.data();
    term.op->gradient(in, b.rows_from(row, 1), g, {0, w.cols}, squared);
  }
}

template <class T>
void MapMetric<T>::sum(const CorePass<T>& core, double share, bool first, bool gradients) {
  for (Block& block : blocks_) {
    const Index all = core.unfolding().structure().part(core.plan().nodes()[at(block.node)].part).positions();
    if (first) std::ranges::fill(block.matrix, 0.0);
    if (gradients) std::ranges::fill(block.gradient, 0.0);
    for (Index begin = 0; begin < all; begin += kSlopeTile) {
      const Range tile{begin, std::min(all, begin + kSlopeTile)};
      core.team().run(
          [&](Member& me) { find_slopes(core, block, tile, me.share(tile.size()), false, scratch_[at(me.id())]); });
      core.team().run([&](Member& me) {
        const Range mine = me.share(block.count);
        for (Index t = 0; t < tile.size(); ++t) {
          const T* g = slopes_.data() + t * block.count;
          for (Index i = mine.begin; i < mine.end; ++i) {
            const double gi = static_cast<double>(g[i]);
            if (gradients) block.gradient[at(i)] += gi;
            if (!full_) block.matrix[at(i)] += share * (gi * gi);
            for (Index j = 0; j <= i && full_; ++j)
              block.matrix[at(i * block.count + j)] += share * (gi * static_cast<double>(g[j]));
          }
        }
      });
    }
  }
}

template <class T>
void MapMetric<T>::measure_moduli(const CorePass<T>& core) {
  for (Block& block : blocks_) {
    std::ranges::fill(block.matrix, 0.0);
    const Index all = core.unfolding().structure().part(core.plan().nodes()[at(block.node)].part).positions();
    for (Index begin = 0; begin < all; begin += kSlopeTile) {
      const Range tile{begin, std::min(all, begin + kSlopeTile)};
      core.team().run(
          [&](Member& me) { find_slopes(core, block, tile, me.share(tile.size()), true, scratch_[at(me.id())]); });
      for (Index t = 0; t < tile.size(); ++t)
        for (Index i = 0; i < block.count; ++i)
          block.matrix[at(full_ ? i * block.count + i : i)] += static_cast<double>(slopes_[t * block.count + i]);
    }
  }
}

template <class T>
void MapMetric<T>::take_matrices(const MapMetric& other, double share, bool first) {
  for (std::size_t k = 0; k < blocks_.size(); ++k)
    for (std::size_t i = 0; i < blocks_[k].matrix.size(); ++i)
      blocks_[k].matrix[i] = (first ? 0 : blocks_[k].matrix[i]) + share * other.blocks_[k].matrix[i];
}

/// Replaces M by its running average.
template <class T>
void MapMetric<T>::average(Block& block, double keep) const {
  const auto mix = [&](T& mean, double present) {
    mean = static_cast<T>(keep * static_cast<double>(mean) + (1 - keep) * present);
  };
  mix(block.average.back(), 1);
  for (std::size_t i = 0; i < block.matrix.size(); ++i) {
    mix(block.average[i], block.matrix[i]);
    block.matrix[i] = static_cast<double>(block.average[i]) / static_cast<double>(block.average.back());
  }
}

template <class T>
void MapMetric<T>::direction(double keep, std::span<double> direction, std::span<double> gradient) {
  for (Block& block : blocks_) {
    if (keep > 0) average(block, keep);
    const Index n = block.count;
    std::vector<double> d = block.gradient;
    if (full_) {
      std::vector<double> l = block.matrix;
      for (Index i = 0; i < n; ++i) l[at(i * n + i)] += damping_;
      raised_factor(l.data(), n);
      solve_lower(l.data(), n, n, d.data());
      solve_upper(l.data(), n, n, d.data());
    } else {
      for (Index i = 0; i < n; ++i) d[at(i)] /= block.matrix[at(i)] + damping_;
    }
    for (Index i = 0; i < n; ++i) {
      gradient[at(block.offset + i)] = block.gradient[at(i)];
      // A parameter with an infinite metric is not changed.
      direction[at(block.offset + i)] = std::isfinite(d[at(i)]) ? d[at(i)] : 0;
    }
  }
}

template <class T>
void MapMetric<T>::visit_averages(StateVisitor<T>& visitor) {
  for (std::size_t k = 0; k < blocks_.size(); ++k)
    visitor("average/map" + std::to_string(k), std::span<T>(blocks_[k].average));
}

template class MapMetric<float>;
template class MapMetric<double>;

}  // namespace unfold
