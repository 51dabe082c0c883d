#include "unfold/train/passes/penalty.h"

#include <algorithm>
#include <cmath>

#include "unfold/base/error.h"
#include "unfold/numerics/vector.h"

namespace unfold {
namespace {

/// Calls use(earlier row, later row) for consecutive positions.
template <class Use>
void for_each_pair(const Structure& s, Use&& use) {
  const Structure::Order& order = s.order();
  for (Index step = 1; step < order.steps(); ++step) {
    const Range now = order.step(step), before = order.step(step - 1);
    for (Index p = 0; p < now.size(); ++p) use(before.begin + p, now.begin + p);
  }
}

Index pairs(const Structure& s) { return s.positions() - s.sequences(); }

template <class T>
std::span<const T> row_of(Matrix<const T> m, Index r) {
  return {&m(r, 0), at(m.cols)};
}

}  // namespace

template <class T>
Penalties<T>::Penalties(const PenaltyOptions& options, const Network<T>& network, Team& team)
    : options_(options), team_(team) {
  if (!(options.activity >= 0) || !(options.flow >= 0)) throw UsageError("penalties: weights cannot be negative");
  for (const Signal hidden : network.hidden) {
    layers_.push_back({.hidden = hidden});
    if (flows()) find_matrix(layers_.back(), network.circuit());
  }
  if (options.any() && layers_.empty())
    throw UsageError("penalties: the model has no hidden signal to act on; leave them out");
}

/// Finds the single matrix through which earlier outputs of a layer affect its current output.
template <class T>
void Penalties<T>::find_matrix(Layer& layer, const Circuit& circuit) const {
  const auto& nodes = circuit.nodes();
  const std::string name = nodes[at(layer.hidden.id)].name;
  const auto refuse = [&](const std::string& why) {
    throw UsageError("flow penalty: " + name + ": " + why +
                     "; it supports only rnn and mrnn without delays and leak; leave --flow-penalty out");
  };
  const std::string scope = name.substr(0, name.rfind('/') + 1);
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    if (nodes[i].kind() != Node::Kind::link || !nodes[i].name.starts_with(scope)) continue;
    if (nodes[i].link().source != layer.hidden.id)
      refuse("the layer also carries " + nodes[at(nodes[i].link().source)].name);
    for (std::size_t reader = 0; reader < nodes.size(); ++reader) {
      const Node::Kind kind = nodes[reader].kind();
      if (kind != Node::Kind::affine && kind != Node::Kind::link &&
          std::ranges::count(nodes[reader].reads(), static_cast<int>(i)) > 0)
        refuse("its previous state is read by " + nodes[reader].name + ", not by a matrix");
      for (const auto& term : nodes[reader].terms()) {
        if (term.source != static_cast<int>(i)) continue;
        if (!term.dense())
          refuse("its previous state is read by a " + std::string(term.op->name()) + " map, not by a matrix");
        if (layer.matrix >= 0) refuse("its previous state is read by two matrices");
        layer.affine = {layer.hidden.circuit, static_cast<int>(reader)};
        layer.matrix = term.parameter;
      }
    }
  }
  if (layer.matrix < 0) refuse("it has no recurrence");
}

template <class T>
void Penalties<T>::measure(const Unfolding<T>& unfolding, const Structure& window, Index first_row) {
  if (!(options_.activity > 0)) return;
  for (Layer& layer : layers_) {
    layer.norms.resize(at(window.positions()));
    const Matrix<const T> h = unfolding.value(layer.hidden);
    team_.run([&](Member& me) {
      const Range mine = me.share(h.rows, 8);
      for (Index r = mine.begin; r < mine.end; ++r)
        layer.norms[at(first_row + r)] = std::sqrt(sum_of_squares<T>(row_of<T>(h, r)));
    });
  }
}

template <class T>
double Penalties<T>::activity_value(const Structure& window) const {
  if (!(options_.activity > 0) || pairs(window) == 0) return 0;
  double total = 0;
  for (const Layer& layer : layers_)
    for_each_pair(window, [&](Index before, Index now) {
      const double change = layer.norms[at(now)] - layer.norms[at(before)];
      total += change * change;
    });
  return options_.activity * total / static_cast<double>(pairs(window));
}

/// d/dh_t = 2 beta / pairs * ((|h_t| - |h_{t-1}|) - (|h_{t+1}| - |h_t|)) h_t / |h_t|
template <class T>
void Penalties<T>::seed(Unfolding<T>& unfolding, const Structure& window, Index first_row) {
  for (Layer& layer : layers_) {
    const Matrix<const T> h = unfolding.value(layer.hidden);
    const Matrix<T> adjoint = unfolding.adjoint(layer.hidden);
    std::vector<double> push(layer.norms.size(), 0.0);
    if (options_.activity > 0)
      for_each_pair(window, [&](Index before, Index now) {
        const double change = layer.norms[at(now)] - layer.norms[at(before)];
        push[at(now)] += change, push[at(before)] -= change;
      });
    const double factor = 2 * options_.activity / static_cast<double>(std::max<Index>(1, pairs(window)));
    for (Index r = 0; r < h.rows; ++r) {
      const double norm = push.empty() ? 0 : layer.norms[at(first_row + r)];
      const T scale = norm > 0 ? static_cast<T>(factor * push[at(first_row + r)] / norm) : T{0};
      for (Index c = 0; c < h.cols; ++c) adjoint(r, c) = scale * h(r, c);
    }
  }
}

template <class T>
void Penalties<T>::add_flow(Unfolding<T>& unfolding, const Parameters<T>& parameters, std::span<T> gradient) {
  flow_value_ = 0;
  if (!flows()) return;
  const Structure& window = unfolding.structure();
  const double weight = options_.flow / static_cast<double>(window.sequences());
  for (const Layer& layer : layers_) {
    const Matrix<const T> u = parameters[layer.matrix], delta = unfolding.affine_adjoint(layer.affine);
    const Matrix<const T> outer = unfolding.adjoint(layer.hidden);  // the part of d that does not come from t + 1
    back_.resize(delta.rows * u.rows);
    const Matrix<T> v{back_.data(), delta.rows, u.rows, u.rows};
    packed_.pack_transposed(u);
    multiply<T>(delta, packed_, v, {0, packed_.panels()}, Start::zero);
    // The value that row r propagates back belongs to the predecessor of r: v_t is row t + 1 of v.
    std::vector<Index> successor(at(delta.rows), -1);
    std::vector<char> has_past(at(delta.rows), 0);
    for_each_pair(window, [&](Index before, Index now) { successor[at(before)] = now, has_past[at(now)] = 1; });
    std::vector<double> coefficient(at(delta.rows), 0.0);
    std::vector<T> d(at(u.rows));
    for (Index r = 0; r < delta.rows; ++r) {
      if (!has_past[at(r)]) continue;
      for (Index c = 0; c < u.rows; ++c)
        d[at(c)] = successor[at(r)] < 0 ? outer(r, c) : outer(r, c) + v(successor[at(r)], c);
      const double whole = std::sqrt(sum_of_squares<T>(d)), sent = std::sqrt(sum_of_squares<T>(row_of<T>(v, r)));
      if (!(whole > 0) || !(sent > 0)) continue;
      const double excess = sent / whole - 1;
      flow_value_ += weight * excess * excess;
      coefficient[at(r)] = 2 * weight * excess / (whole * sent);
    }
    for (Index r = 0; r < delta.rows; ++r)
      for (Index c = 0; c < v.cols; ++c) v(r, c) = static_cast<T>(coefficient[at(r)] * static_cast<double>(v(r, c)));
    const Matrix<T> target = parameters.view(gradient.data(), layer.matrix);
    team_.run([&](Member& me) { accumulate_outer<T>(v, delta, target, me.share(u.rows, 8), Start::accumulate); });
  }
}

template class Penalties<float>;
template class Penalties<double>;

}  // namespace unfold
