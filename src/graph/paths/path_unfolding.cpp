#include "graph/paths/path_unfolding.h"

#include <algorithm>
#include <limits>
#include <numbers>

#include "numerics/functions.h"
#include "unfold/numerics/vector.h"

namespace unfold {
namespace {

constexpr Index kFirstPiece = 32;  // steps of the first piece, tried after the whole chain has left the range of T

/// Returns the next shorter piece length to try; 0 if there is none.
Index shorter(Index piece) { return piece > kFirstPiece ? kFirstPiece : piece / 2; }

template <class T>
T power_of_two(int exponent) {
  return std::ldexp(T{1}, exponent);
}

/// Scales a state so that its largest value is near one; returns the power of two taken out. The exponent never falls
/// below `lowest`, so that inputs stay significant relative to a shrinking state.
template <class T>
int normalize(State<T>& state, int exponent, int lowest) {
  const T largest = largest_magnitude<T>(state.values());
  const int target = largest > 0 ? std::max(lowest, exponent + std::ilogb(largest)) : std::max(lowest, exponent);
  if (target != exponent) scale<T>(power_of_two<T>(exponent - target), state.values());
  return target;
}

/// Returns whether an output is read before the last step of a chain.
bool ends_early(const PathGraph& graph) {
  const Index last = graph.structure.positions() - 1;
  return std::ranges::any_of(graph.ends,
                             [&](const PathEnds& end) { return !end.rows.empty() && end.rows.front() < last; });
}

}  // namespace

bool is_one_chain(const Structure& structure) {
  return structure.kind() == Structure::Kind::chains && structure.parts() == 1 && structure.sequences() == 1;
}

double ScaledNumber::logarithm() const {
  double result = mantissa;
  vector_log(&result, &result, 1);
  return result + static_cast<double>(exponent) * std::numbers::ln2;
}

void ScaledNumber::add(double m, int e) {
  if (m == 0) return;
  if (mantissa == 0) exponent = e;
  const int larger = std::max(exponent, e);
  mantissa = std::ldexp(mantissa, exponent - larger) + std::ldexp(m, e - larger);
  exponent = larger;
}

bool has_products(const Circuit& squared) {
  return std::ranges::any_of(squared.nodes(), [](const Node& node) {
    return node.kind() == Node::Kind::pointwise && node.pointwise().map == Map::mul;
  });
}

void add_scaled(std::span<double> sum, int& exponent, std::span<double> part, int part_exponent) {
  const int larger = std::max(exponent, part_exponent);
  if (exponent != larger) scale<double>(std::ldexp(1.0, exponent - larger), sum);
  if (part_exponent != larger) scale<double>(std::ldexp(1.0, part_exponent - larger), part);
  axpy<double>(1, part, sum);
  exponent = larger;
}

template <class T>
PathUnfolding<T>::PathUnfolding(const Circuit& squared, Team& team, int probe)
    : circuit_(squared), probe_(probe), unfolding_(std::make_shared<const Plan>(squared), team) {
  divisible_ = unfolding_.plan().recomputable() && !has_products(squared);
}

template <class T>
void PathUnfolding<T>::fill_inputs(T value) {
  for (std::size_t i = 0; i < circuit_.nodes().size(); ++i)
    if (circuit_.nodes()[i].kind() == Node::Kind::input && unfolding_.plan().live(static_cast<int>(i))) {
      Matrix<T> rows = unfolding_.input(signal(static_cast<int>(i)));
      std::fill_n(rows.data, rows.rows * rows.cols, static_cast<int>(i) == probe_ ? T{0} : value);
    }
}

/// Returns the sum of the ends in `rows`, which the unfolding counts from the first of them. Sets their adjoints to
/// `seed` and all others to zero.
template <class T>
double PathUnfolding<T>::read_outputs(std::span<const PathEnds> ends, Range rows, T seed) {
  double total = 0;
  unfolding_.clear_adjoints();
  for (const PathEnds& end : ends) {
    const Matrix<const T> sums = unfolding_.value(signal(end.output));
    const bool moves = unfolding_.plan().needs_adjoint(unfolding_.plan().outside(end.output));
    const Matrix<T> seeds = moves ? unfolding_.adjoint(signal(end.output)) : Matrix<T>{};
    for (const Index row : end.rows) {
      if (row < rows.begin || row >= rows.end) continue;
      const Index r = row - rows.begin;
      for (Index c = 0; c < sums.cols; ++c) {
        total += static_cast<double>(sums(r, c));
        if (moves) seeds(r, c) = seed;
      }
    }
  }
  return total;
}

template <class T>
void PathUnfolding<T>::refuse() const {
  throw DivergedError(
      "path metric: the sums over paths overflow, even in the shortest pieces that the circuit allows; the squared "
      "weights are too large: use smaller initial weights, a smaller learning rate or a smaller clip");
}

template <class T>
PathSums PathUnfolding<T>::run(const Parameters<T>& squares, const PathGraph& graph, std::span<double> kappa,
                               const Visit& visit) {
  for (Index piece = graph.structure.order().steps(); piece > 0; piece = shorter(piece)) {
    if (const auto sums = attempt(squares, piece, graph, kappa, visit)) return *sums;
    if (!is_one_chain(graph.structure) || !divisible_) break;
  }
  refuse();
}

template <class T>
std::optional<PathSums> PathUnfolding<T>::attempt_whole(const Parameters<T>& squares, const PathGraph& graph,
                                                        std::span<double> kappa) {
  unfolding_.set_parameters(squares);
  unfolding_.lay(graph.structure);
  fill_inputs(T{1});
  unfolding_.forward();
  const double total = read_outputs(graph.ends, {0, std::numeric_limits<Index>::max()}, T{1});
  part_.resize(kappa.size());
  unfolding_.backward(part_);
  if (!std::isfinite(total) || !all_finite<T>(part_)) return std::nullopt;
  std::copy(part_.begin(), part_.end(), kappa.begin());
  PathSums sums;
  sums.norm.add(total, 0);
  return sums;
}

template <class T>
std::optional<PathSums> PathUnfolding<T>::attempt(const Parameters<T>& squares, Index piece, const PathGraph& graph,
                                                  std::span<double> kappa, const Visit& visit) {
  if (!is_one_chain(graph.structure)) return attempt_whole(squares, graph, kappa);
  const Index length = graph.structure.positions();
  const bool early = ends_early(graph);
  unfolding_.set_parameters(squares);
  const Index pieces = (length + piece - 1) / piece;
  const auto length_of = [&](Index k) { return std::min(piece, length - k * piece); };
  const auto forward = [&](const Seam& seam, Index k, State<T>& state) {
    unfolding_.lay(Structure::chains(1, length_of(k)));
    fill_inputs(power_of_two<T>(-seam.exponent));
    state = seam.state;
    unfolding_.forward(&state);
  };
  std::vector<Seam> seams = {{State<T>(unfolding_.plan(), 1), 0}};
  State<T> state;
  for (Index k = 0; k + 1 < pieces; ++k) {
    forward(seams.back(), k, state);
    if (!all_finite<T>(state.values())) return std::nullopt;
    const int exponent = normalize(state, seams.back().exponent, 0);
    seams.push_back({state, exponent});
  }

  PathSums sums;
  int adjoint_exponent = 0;
  State<T> end(unfolding_.plan(), 1), start(unfolding_.plan(), 1);
  part_.resize(kappa.size());
  std::fill(kappa.begin(), kappa.end(), 0.0);
  for (Index k = pieces - 1; k >= 0; --k) {
    const Seam& seam = seams[static_cast<std::size_t>(k)];
    forward(seam, k, state);
    const bool last = k == pieces - 1;
    const double total =
        read_outputs(graph.ends, {k * piece, k * piece + length_of(k)}, power_of_two<T>(-adjoint_exponent));
    unfolding_.backward(part_, {}, last ? nullptr : &end, &start);
    if (!std::isfinite(total) || !all_finite<T>(part_) || !all_finite<T>(start.values())) return std::nullopt;
    sums.norm.add(total, seam.exponent);
    if (visit) visit({k * piece, length_of(k), seam.exponent, adjoint_exponent}, unfolding_);
    if (last) sums.exponent = seam.exponent;  // no contributions yet
    wide_.assign(part_.begin(), part_.end());
    add_scaled(kappa, sums.exponent, wide_, seam.exponent + adjoint_exponent);
    // If outputs are read before the last step, seeds enter earlier pieces and must stay significant.
    adjoint_exponent = normalize(start, adjoint_exponent, early ? 0 : std::numeric_limits<int>::min() / 4);
    std::swap(start, end);
  }
  if (!std::isfinite(sums.norm.mantissa) || !all_finite<double>(kappa)) return std::nullopt;
  return sums;
}

template <class T>
void PathUnfolding<T>::respond(const Parameters<T>& squares, Signal input, Index first, Index count, Index length,
                               const Visit& visit) {
  unfolding_.set_parameters(squares);
  for (Index piece = length; piece > 0; piece = shorter(piece)) {
    if (respond_in(piece, input, first, count, length, visit)) return;
    if (!divisible_) break;
  }
  refuse();
}

template <class T>
bool PathUnfolding<T>::respond_in(Index piece, Signal input, Index first, Index count, Index length,
                                  const Visit& visit) {
  State<T> state(unfolding_.plan(), count);
  std::fill(state.values().begin(), state.values().end(), T{0});
  for (Index i = 0; i < count; ++i) state.mark_carried(i);  // do not use the trained initial value
  int exponent = 0;
  for (Index begin = 0; begin < length; begin += piece) {
    const Index steps = std::min(piece, length - begin);
    unfolding_.lay(Structure::chains(count, steps));
    fill_inputs(T{0});
    if (begin == 0) {
      Matrix<T> impulse = unfolding_.input(input);
      for (Index i = 0; i < count; ++i) impulse(unfolding_.structure().row(i, 0), first + i) = 1;
    }
    unfolding_.forward(&state);
    if (!all_finite<T>(state.values())) return false;
    visit({begin, steps, exponent, 0}, unfolding_);
    exponent = normalize(state, exponent, std::numeric_limits<int>::min() / 4);
  }
  return true;
}

template class PathUnfolding<float>;
template class PathUnfolding<double>;

}  // namespace unfold
