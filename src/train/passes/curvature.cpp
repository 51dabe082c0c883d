#include "train/passes/curvature.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "unfold/numerics/random.h"

namespace unfold {
namespace {

/// Returns D for an activation. The tangent of a saturated unit is 0; the bound only avoids 0 / 0.
template <class T>
T metric(Damped::Kind kind, T h) {
  constexpr T kLeast = std::numeric_limits<T>::epsilon() / 2;
  if (kind == Damped::Kind::tanh) return 1 / std::max(kLeast, 1 - h * h);
  if (kind == Damped::Kind::logistic) return 1 / std::max(kLeast, h * (1 - h));
  return T{1};
}

/// Returns the random stream of the noise at a head.
std::uint64_t head_stream(std::size_t head) {
  return stream_of(head == 0 ? "curvature" : "curvature/" + std::to_string(head));
}

template <class T>
Network<T> watching(const Network<T>& network, const std::vector<Damped>& damped) {
  if (damped.empty()) return network;
  std::vector<Signal> signals;
  signals.reserve(damped.size());
  for (const Damped& d : damped) signals.push_back(d.signal);
  Network<T> result = network;
  result.plan = std::make_shared<const Plan>(network.circuit(), PlanOptions{}, signals);
  return result;
}

/// The outputs that penalties act on have no curvature.
template <class T>
void clear_penalized(const Network<T>& network, Unfolding<T>& u) {
  for (const Signal hidden : network.hidden) {
    const Matrix<T> seed = u.adjoint(hidden);
    std::fill_n(seed.data, seed.rows * seed.cols, T{0});
  }
}

}  // namespace

template <class T>
std::vector<Damped> damped_signals(const Network<T>& network, Distance distance) {
  std::vector<Damped> result;
  if (distance == Distance::none) return result;
  const Plan& plan = *network.plan;
  Circuit& circuit = *network.heads.front().signal.circuit;
  const auto is_head = [&](std::size_t node) {
    return std::any_of(network.heads.begin(), network.heads.end(),
                       [&](const Head<T>& head) { return head.signal.id == static_cast<int>(node); });
  };
  const auto& nodes = circuit.nodes();
  std::vector<char> carried(nodes.size(), 0);
  for (std::size_t i = 0; i < nodes.size(); ++i)
    if (nodes[i].kind() == Node::Kind::link && plan.live(static_cast<int>(i)) &&
        plan.needs_adjoint(nodes[i].link().source))
      carried[static_cast<std::size_t>(nodes[i].link().source)] = 1;
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    if (!carried[i] || is_head(i)) continue;
    Damped::Kind kind = Damped::Kind::squared;
    if (distance == Distance::matching && nodes[i].kind() == Node::Kind::pointwise) {
      if (nodes[i].pointwise().map == Map::tanh) kind = Damped::Kind::tanh;
      if (nodes[i].pointwise().map == Map::sigmoid) kind = Damped::Kind::logistic;
    }
    result.push_back({{&circuit, static_cast<int>(i)}, kind});
  }
  return result;
}

template <class T>
struct Curvature<T>::Piece {
  Piece(const Network<T>& network, Team& team) : pass(network, team) {}

  /// Calls use(first row, rows) for each thread's rows.
  template <class Use>
  void divide(Team& team, Index rows, Use&& use) {
    team.run([&](Member& me) {
      const Range mine = me.share(rows, 8);
      if (!mine.empty()) use(mine.begin, mine.size());
    });
  }

  BatchPass<T> pass;
  const Batch* batch = nullptr;
};

template <class T>
Curvature<T>::Curvature(const Network<T>& network, Distance distance, Team& team)
    : damped_(damped_signals(network, distance)), team_(team) {
  network_ = watching(network, damped_);
  for (const Head<T>& head : network_.heads)
    if (head.loss->template as<LossCurvature<T>>() == nullptr)
      throw UsageError(fmt::format(
          "hf or natural: the optimizer requires a curvature, which the loss {} does not support; use --optimizer adam "
          "or lbfgs",
          head.loss->name()));
}

template <class T>
Curvature<T>::~Curvature() = default;

template <class T>
void Curvature<T>::start(const Parameters<T>& parameters, std::span<const CurvaturePart<T>> parts, double predicted) {
  while (pieces_.size() < parts.size()) pieces_.push_back(std::make_unique<Piece>(network_, team_));
  used_ = parts.size();
  predicted_ = 0;
  for (std::size_t i = 0; i < used_; ++i) {
    Piece& piece = *pieces_[i];
    piece.batch = parts[i].batch;
    piece.pass.set_parameters(parameters);
    if (parts[i].dropout_seed) piece.pass.set_dropout_seed(*parts[i].dropout_seed);
    State<T> state = *parts[i].state;
    piece.pass.forward(*piece.batch, state);
    predicted_ += static_cast<double>(piece.batch->predicted);
  }
  if (predicted > 0) predicted_ = predicted;
}

template <class T>
void Curvature<T>::backward(std::span<T> result, std::size_t piece) {
  pieces_[piece]->pass.unfolding().backward(result, {.accumulate = piece > 0});
}

template <class T>
void Curvature<T>::product(std::span<const T> v, double structural, std::span<T> result) {
  const T damping = static_cast<T>(structural / predicted_);
  network_.clear_own(result);
  for (std::size_t i = 0; i < used_; ++i) {
    Piece& piece = *pieces_[i];
    Unfolding<T>& u = piece.pass.unfolding();
    u.tangent(v);
    clear_penalized(network_, u);
    for (const Head<T>& head : network_.heads)
      head.loss->template as<LossCurvature<T>>()->curvature(
          piece.pass.observed(*piece.batch, head), static_cast<T>(head.weight / predicted_), team_,
          u.tangent_of(head.signal), v, u.adjoint(head.signal), result);
    for (const Damped& d : damped_) {
      const Matrix<const T> h = u.value(d.signal), move = u.tangent_of(d.signal);
      const Matrix<T> seed = u.adjoint(d.signal);
      piece.divide(team_, h.rows, [&](Index first, Index rows) {
        for (Index r = first; r < first + rows; ++r)
          for (Index c = 0; c < h.cols; ++c) seed(r, c) = damping * (metric(d.kind, h(r, c)) * move(r, c));
      });
    }
    backward(result, i);
  }
}

template <class T>
void Curvature<T>::sample(std::uint64_t seed, double structural, std::span<T> result) {
  const T damping = static_cast<T>(std::sqrt(structural / predicted_));
  network_.clear_own(result);
  for (std::size_t i = 0; i < used_; ++i) {
    Piece& piece = *pieces_[i];
    Unfolding<T>& u = piece.pass.unfolding();
    clear_penalized(network_, u);
    for (std::size_t k = 0; k < network_.heads.size(); ++k) {
      const Head<T>& head = network_.heads[k];
      head.loss->template as<LossCurvature<T>>()->curvature_sample(
          piece.pass.observed(*piece.batch, head), static_cast<T>(std::sqrt(head.weight / predicted_)), team_, seed,
          head_stream(k) + i, u.adjoint(head.signal), result);
    }
    for (std::size_t k = 0; k < damped_.size(); ++k) {
      const Damped& d = damped_[k];
      const Matrix<const T> h = u.value(d.signal);
      const Matrix<T> noise = u.adjoint(d.signal);
      const std::uint64_t own = stream_of("damping") + i * damped_.size() + k;
      piece.divide(team_, h.rows, [&](Index first, Index rows) {
        fill_signs(seed, own, first, noise.rows_from(first, rows));
        for (Index r = first; r < first + rows; ++r)
          for (Index c = 0; c < h.cols; ++c) noise(r, c) *= damping * std::sqrt(metric(d.kind, h(r, c)));
      });
    }
    backward(result, i);
  }
}

template std::vector<Damped> damped_signals(const Network<float>&, Distance);
template std::vector<Damped> damped_signals(const Network<double>&, Distance);
template class Curvature<float>;
template class Curvature<double>;

}  // namespace unfold
