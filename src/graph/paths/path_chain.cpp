#include "graph/paths/path_chain.h"

#include <algorithm>
#include <limits>

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

}  // namespace

void ScaledNumber::add(double m, int e) {
  if (m == 0) return;
  if (mantissa == 0) exponent = e;
  const int larger = std::max(exponent, e);
  mantissa = std::ldexp(mantissa, exponent - larger) + std::ldexp(m, e - larger);
  exponent = larger;
}

void add_scaled(std::span<double> sum, int& exponent, std::span<double> part, int part_exponent) {
  const int larger = std::max(exponent, part_exponent);
  if (exponent != larger) scale<double>(std::ldexp(1.0, exponent - larger), sum);
  if (part_exponent != larger) scale<double>(std::ldexp(1.0, part_exponent - larger), part);
  axpy<double>(1, part, sum);
  exponent = larger;
}

template <class T>
PathChain<T>::PathChain(const Circuit& squared, Team& team, int probe)
    : circuit_(squared), probe_(probe), unfolding_(std::make_shared<const Plan>(squared), team) {}

template <class T>
void PathChain<T>::fill_inputs(T value) {
  for (std::size_t i = 0; i < circuit_.nodes().size(); ++i)
    if (circuit_.nodes()[i].kind() == Node::Kind::input && unfolding_.plan().live(static_cast<int>(i))) {
      Matrix<T> rows = unfolding_.input(signal(static_cast<int>(i)));
      std::fill_n(rows.data, rows.rows * rows.cols, static_cast<int>(i) == probe_ ? T{0} : value);
    }
}

/// Returns the sum of the outputs from `first_row` on. Sets their adjoints to `seed` and all others to zero.
template <class T>
double PathChain<T>::read_outputs(std::span<const int> read, Index first_row, T seed) {
  double total = 0;
  unfolding_.clear_adjoints();
  for (const int output : read) {
    const Matrix<const T> sums = unfolding_.value(signal(output));
    const bool moves = unfolding_.plan().needs_adjoint(unfolding_.plan().outside(output));
    const Matrix<T> seeds = moves ? unfolding_.adjoint(signal(output)) : Matrix<T>{};
    for (Index r = first_row; r < sums.rows; ++r)
      for (Index c = 0; c < sums.cols; ++c) {
        total += static_cast<double>(sums(r, c));
        if (moves) seeds(r, c) = seed;
      }
  }
  return total;
}

template <class T>
void PathChain<T>::refuse() const {
  throw DivergedError(
      "path metric: the sums over paths overflow, even in the shortest pieces that the circuit allows; the squared "
      "weights are too large: use smaller initial weights, a smaller learning rate or a smaller clip");
}

template <class T>
PathSums PathChain<T>::run(const Parameters<T>& squares, const PathOptions& options, std::span<const int> read,
                           std::span<double> kappa, const Visit& visit) {
  for (Index piece = options.length; piece > 0; piece = shorter(piece)) {
    if (const auto sums = attempt(squares, piece, options, read, kappa, visit)) return *sums;
    if (!unfolding_.plan().recomputable()) break;
  }
  refuse();
}

template <class T>
std::optional<PathSums> PathChain<T>::attempt(const Parameters<T>& squares, Index piece, const PathOptions& options,
                                              std::span<const int> read, std::span<double> kappa, const Visit& visit) {
  unfolding_.set_parameters(squares);
  const Index pieces = (options.length + piece - 1) / piece;
  const auto length_of = [&](Index k) { return std::min(piece, options.length - k * piece); };
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
    const Index first_row = options.every_step ? 0 : last ? length_of(k) - 1 : length_of(k);
    const double total = read_outputs(read, first_row, power_of_two<T>(-adjoint_exponent));
    unfolding_.backward(part_, {}, last ? nullptr : &end, &start);
    if (!std::isfinite(total) || !all_finite<T>(part_) || !all_finite<T>(start.values())) return std::nullopt;
    sums.norm.add(total, seam.exponent);
    if (visit) visit({k * piece, length_of(k), seam.exponent, adjoint_exponent}, unfolding_);
    if (last) sums.exponent = seam.exponent;  // no contributions yet
    wide_.assign(part_.begin(), part_.end());
    add_scaled(kappa, sums.exponent, wide_, seam.exponent + adjoint_exponent);
    // If outputs are read at every step, seeds enter every piece and must stay significant.
    adjoint_exponent = normalize(start, adjoint_exponent, options.every_step ? 0 : std::numeric_limits<int>::min() / 4);
    std::swap(start, end);
  }
  if (!std::isfinite(sums.norm.mantissa) || !all_finite<double>(kappa)) return std::nullopt;
  return sums;
}

template <class T>
void PathChain<T>::respond(const Parameters<T>& squares, Signal input, Index first, Index count, Index length,
                           const Visit& visit) {
  unfolding_.set_parameters(squares);
  for (Index piece = length; piece > 0; piece = shorter(piece)) {
    if (respond_in(piece, input, first, count, length, visit)) return;
    if (!unfolding_.plan().recomputable()) break;
  }
  refuse();
}

template <class T>
bool PathChain<T>::respond_in(Index piece, Signal input, Index first, Index count, Index length, const Visit& visit) {
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

template class PathChain<float>;
template class PathChain<double>;

}  // namespace unfold
