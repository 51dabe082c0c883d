#include "unfold/optim/curvature.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "unfold/numerics/random.h"

namespace unfold {
namespace {

/// Independent signs, a function of (seed, stream, row, column).
template <class T>
void fill_signs(std::uint64_t seed, std::uint64_t stream, Index first_row, Matrix<T> m) {
  constexpr Index kBits = 128;  // of one draw
  const Index blocks = (m.cols + kBits - 1) / kBits;
  for (Index r = 0; r < m.rows; ++r)
    for (Index block = 0; block < blocks; ++block) {
      const auto words = philox(seed, stream, static_cast<std::uint64_t>((first_row + r) * blocks + block));
      for (Index c = block * kBits; c < std::min(m.cols, (block + 1) * kBits); ++c)
        m(r, c) = (words[static_cast<std::size_t>(c % kBits / 32)] >> (c % 32) & 1u) != 0 ? T{1} : T{-1};
    }
}

/// D of an activity. A saturated unit does not move (its tangent is 0): the bound only keeps 0 / 0 away.
template <class T>
T metric(Damped::Kind kind, T h) {
  constexpr T kLeast = std::numeric_limits<T>::epsilon() / 2;
  if (kind == Damped::Kind::tanh) return 1 / std::max(kLeast, 1 - h * h);
  if (kind == Damped::Kind::logistic) return 1 / std::max(kLeast, h * (1 - h));
  return T{1};
}

template <class T>
Network<T> watching(const Network<T>& network, const std::vector<Damped>& damped) {
  if (damped.empty()) return network;
  std::vector<Signal> signals;
  signals.reserve(damped.size());
  for (const Damped& d : damped) signals.push_back(d.signal);
  Network<T> result = network;
  result.plan = std::make_shared<const Plan>(*network.output.circuit, PlanOptions{}, signals);
  return result;
}

}  // namespace

template <class T>
std::vector<Damped> damped_signals(const Network<T>& network, Distance distance) {
  std::vector<Damped> result;
  if (distance == Distance::none) return result;
  const Plan& plan = *network.plan;
  Circuit& circuit = *network.output.circuit;
  const auto& nodes = circuit.nodes();
  std::vector<char> carried(nodes.size(), 0);
  for (std::size_t i = 0; i < nodes.size(); ++i)
    if (nodes[i].kind == Node::Kind::link && plan.live(static_cast<int>(i)) && plan.needs_adjoint(nodes[i].source))
      carried[static_cast<std::size_t>(nodes[i].source)] = 1;
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    if (!carried[i] || static_cast<int>(i) == network.output.id) continue;
    Damped::Kind kind = Damped::Kind::squared;
    if (distance == Distance::matching && nodes[i].kind == Node::Kind::map) {
      if (nodes[i].map == Map::tanh) kind = Damped::Kind::tanh;
      if (nodes[i].map == Map::sigmoid) kind = Damped::Kind::logistic;
    }
    result.push_back({{&circuit, static_cast<int>(i)}, kind});
  }
  return result;
}

template <class T>
struct Curvature<T>::Piece {
  Piece(const Network<T>& network, Team& team) : pass(network, team) {}

  /// Calls use(first row, rows) for each member's rows.
  template <class Use>
  void divide(Team& team, Index rows, Use&& use) {
    team.run([&](Member& me) {
      const Range mine = me.share(rows, 8);
      if (!mine.empty()) use(mine.begin, mine.size());
    });
  }

  WindowPass<T> pass;
  const Window* window = nullptr;
};

template <class T>
Curvature<T>::Curvature(const Network<T>& network, Distance distance, Team& team)
    : damped_(damped_signals(network, distance)), team_(team) {
  network_ = watching(network, damped_);
}

template <class T>
Curvature<T>::~Curvature() = default;

template <class T>
void Curvature<T>::start(const Parameters<T>& parameters, std::span<const CurvaturePart<T>> parts) {
  while (pieces_.size() < parts.size()) pieces_.push_back(std::make_unique<Piece>(network_, team_));
  used_ = parts.size();
  predicted_ = 0;
  for (std::size_t i = 0; i < used_; ++i) {
    Piece& piece = *pieces_[i];
    piece.window = parts[i].window;
    piece.pass.set_parameters(parameters);
    if (parts[i].dropout_seed) piece.pass.set_dropout_seed(*parts[i].dropout_seed);
    State<T> state = *parts[i].state;
    piece.pass.forward(*piece.window, state);
    predicted_ += static_cast<double>(piece.window->predicted);
  }
}

template <class T>
void Curvature<T>::backward(std::span<T> result, std::size_t piece) {
  pieces_[piece]->pass.unfolding().backward(result, {.accumulate = piece > 0});
}

template <class T>
void Curvature<T>::product(std::span<const T> v, double structural, std::span<T> result) {
  const T scale = static_cast<T>(1 / predicted_), damping = static_cast<T>(structural / predicted_);
  for (std::size_t i = 0; i < used_; ++i) {
    Piece& piece = *pieces_[i];
    Unfolding<T>& u = piece.pass.unfolding();
    u.tangent(v);
    const Matrix<const T> value = u.value(network_.output), tangent = u.tangent_of(network_.output);
    const Matrix<T> adjoint = u.adjoint(network_.output);
    piece.divide(team_, value.rows, [&](Index first, Index rows) {
      network_.readout->curvature(value.rows_from(first, rows), targets_of<T>(*piece.window, first, rows), scale,
                                  tangent.rows_from(first, rows), adjoint.rows_from(first, rows));
    });
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
  const T scale = static_cast<T>(std::sqrt(1 / predicted_)),
          damping = static_cast<T>(std::sqrt(structural / predicted_));
  for (std::size_t i = 0; i < used_; ++i) {
    Piece& piece = *pieces_[i];
    Unfolding<T>& u = piece.pass.unfolding();
    const Matrix<const T> value = u.value(network_.output);
    const Matrix<T> adjoint = u.adjoint(network_.output);
    const std::uint64_t stream = stream_of("curvature") + i;
    piece.divide(team_, value.rows, [&](Index first, Index rows) {
      const Matrix<T> noise = adjoint.rows_from(first, rows);
      fill_signs(seed, stream, first, noise);
      network_.readout->curvature_root(value.rows_from(first, rows), targets_of<T>(*piece.window, first, rows), scale,
                                       noise, noise);
    });
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
