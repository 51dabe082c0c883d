#include "unfold/optim/window_pass.h"

#include <fmt/format.h>

#include <algorithm>

#include "unfold/base/error.h"

namespace unfold {
namespace {

bool has_sizes(const Structure& structure, const std::vector<Index>& sizes) {
  if (structure.sequences() != static_cast<Index>(sizes.size())) return false;
  for (Index s = 0; s < structure.sequences(); ++s)
    if (structure.size(s) != sizes[at(s)]) return false;
  return true;
}

}  // namespace

template <class T>
WindowPass<T>::WindowPass(const Network<T>& network, Team& team, std::size_t memory_limit,
                          const PenaltyOptions& penalties)
    : network_(network), team_(team), unfolding_(network.plan, team, network.precision), memory_limit_(memory_limit) {
  if (penalties.any()) penalties_.emplace(penalties, network, team);
  if (penalties.flow > 0 && memory_limit > 0)
    throw UsageError("a flow penalty needs the whole window at once: leave out the memory limit");
  if (memory_limit == 0) return;
  // What a row costs is measured, not computed from the plan: it cannot disagree with what is really allocated.
  const auto measure = [&](Index chains, Index length) {
    unfolding_.lay(Structure::chains(chains, length));
    unfolding_.clear_adjoints();
    return unfolding_.memory_bytes();
  };
  constexpr Index kRows = 64;
  const std::size_t few = measure(1, kRows), more = measure(1, 2 * kRows), wide = measure(kRows, 2);
  bytes_per_row_ = std::max<std::size_t>(1, (more - few) / kRows);
  bytes_per_chain_ = (wide - more) / (kRows - 1);
  bytes_per_state_ = sizeof(T) * at(State<T>(*network.plan, 1).width());
}

/// The longest pieces that fit: their activities and one state per seam.
template <class T>
Index WindowPass<T>::piece_steps(const Structure& structure) const {
  const Structure::Order& order = structure.order();
  const Index steps = order.steps();
  if (forced_piece_ > 0) return std::min(forced_piece_, steps);
  if (memory_limit_ == 0) return steps;
  std::size_t least = ~std::size_t{0};
  for (Index pieces = 1; pieces <= steps; ++pieces) {
    const Index length = (steps + pieces - 1) / pieces;
    const std::size_t states = pieces == 1 ? 0 : at(pieces + 2);  // the seams, and two for adjoints
    const std::size_t bytes = at(order.step_begin[at(length)]) * bytes_per_row_ +
                              at(structure.sequences()) * (bytes_per_chain_ + states * bytes_per_state_);
    if (bytes <= memory_limit_) return length;
    least = std::min(least, bytes);
  }
  throw UsageError(
      fmt::format("memory limit of {} bytes: a window of {} steps and {} sequences needs at least {}; "
                  "raise the limit or lower window or batch",
                  memory_limit_, steps, structure.sequences(), least));
}

template <class T>
void WindowPass<T>::cut(const Window& window) {
  const Structure& whole = window.structure;
  const Structure::Order& order = whole.order();
  if (!has_sizes(whole, cut_sizes_) || forced_piece_ != cut_steps_) {
    cut_sizes_.resize(at(whole.sequences()));
    for (Index s = 0; s < whole.sequences(); ++s) cut_sizes_[at(s)] = whole.size(s);
    cut_steps_ = forced_piece_;
    cuts_.clear();
    const Index steps = order.steps(), length = piece_steps(whole);
    for (Index from = 0; from < steps && length < steps; from += length) {
      const Index to = std::min(from + length, steps);
      std::vector<Index> sizes;  // in order of place, so that rows keep their order within each step
      for (Index p = 0; p < whole.sequences() && whole.size(whole.sequence_at(p)) > from; ++p)
        sizes.push_back(std::min(whole.size(whole.sequence_at(p)), to) - from);
      const Index first = order.step_begin[at(from)];
      cuts_.push_back({from, first, order.step_begin[at(to)] - first, Structure::chains(sizes), {}});
    }
  }
  for (Cut& piece : cuts_) {
    piece.slots.resize(at(piece.structure.sequences()));
    for (Index p = 0; p < piece.structure.sequences(); ++p) piece.slots[at(p)] = window.slots[at(whole.sequence_at(p))];
  }
  nats_.resize(at(whole.positions()));
}

/// Forward over a piece; piece -1 is the whole window.
template <class T>
void WindowPass<T>::run(const Window& window, Index piece, State<T>& state) {
  if (piece < 0) {
    unfolding_.lay(window.structure, window.slots);
    give_inputs(window, 0, window.structure.positions(), network_, unfolding_);
  } else {
    const Cut& c = cuts_[at(piece)];
    unfolding_.lay(c.structure, c.slots);
    give_inputs(window, c.first_row, c.rows, network_, unfolding_);
  }
  if (dropout_seed_) unfolding_.set_dropout_seed(*dropout_seed_, piece < 0 ? 0 : cuts_[at(piece)].first_step);
  unfolding_.forward(&state);
  if (penalties_) penalties_->measure(unfolding_, window.structure, piece < 0 ? 0 : cuts_[at(piece)].first_row);
}

template <class T>
void WindowPass<T>::read(const Window& window, Index piece, double scale, bool with_adjoint) {
  const Index first = piece < 0 ? 0 : cuts_[at(piece)].first_row;
  const Matrix<const T> value = unfolding_.value(network_.output);
  const Matrix<T> adjoint = with_adjoint ? unfolding_.adjoint(network_.output) : Matrix<T>{};
  team_.run([&](Member& me) {
    const Range mine = me.share(value.rows, 8);
    if (mine.empty()) return;
    const auto observed = targets_of<T>(window, first + mine.begin, mine.size());
    const auto rows = value.rows_from(mine.begin, mine.size());
    T* nats = nats_.data() + first + mine.begin;
    if (with_adjoint)
      network_.readout->gradient(rows, observed, static_cast<T>(scale), nats,
                                 adjoint.rows_from(mine.begin, mine.size()));
    else
      network_.readout->nats(rows, observed, nats);
  });
  if (with_adjoint && penalties_) penalties_->seed(unfolding_, window.structure, first);
}

template <class T>
double WindowPass<T>::penalty(const Window& window) const {
  return penalties_ ? penalties_->activity_value(window.structure) + penalties_->flow_value() : 0;
}

template <class T>
double WindowPass<T>::total() const {
  double sum = 0;
  for (const T x : nats_) sum += static_cast<double>(x);
  return sum;
}

template <class T>
double WindowPass<T>::forward(const Window& window, State<T>& state) {
  cut(window);
  if (cuts_.empty()) {
    run(window, -1, state);
    read(window, -1, 1, false);
  }
  for (Index piece = 0; piece < static_cast<Index>(cuts_.size()); ++piece) {
    run(window, piece, state);
    read(window, piece, 1, false);
  }
  return total();
}

template <class T>
double WindowPass<T>::gradient(const Window& window, State<T>& state, double scale, std::span<T> gradient,
                               bool accumulate) {
  cut(window);
  if (cuts_.empty()) {
    run(window, -1, state);
    read(window, -1, scale, true);
    unfolding_.backward(gradient, {.accumulate = accumulate});
    if (penalties_) penalties_->add_flow(unfolding_, *parameters_, gradient);
    return total();
  }
  const auto pieces = static_cast<Index>(cuts_.size());
  seams_.resize(at(pieces));
  for (Index piece = 0; piece < pieces; ++piece) {
    copy_state(state, seams_[at(piece)]);
    run(window, piece, state);
  }
  State<T> end, start;
  for (Index piece = pieces - 1; piece >= 0; --piece) {
    if (piece < pieces - 1) run(window, piece, seams_[at(piece)]);
    read(window, piece, scale, true);
    const bool last = piece == pieces - 1;
    start = State<T>(*network_.plan, state.slots());  // zero for chains that do not reach this piece
    unfolding_.backward(gradient, {.accumulate = accumulate || !last}, last ? nullptr : &end, &start);
    std::swap(start, end);
  }
  return total();
}

template <class T>
std::string WindowPass<T>::find_non_finite(const Window& window, State<T> state) {
  cut(window);
  if (cuts_.empty()) {
    run(window, -1, state);
    return unfolding_.first_non_finite();
  }
  for (Index piece = 0; piece < static_cast<Index>(cuts_.size()); ++piece) {
    run(window, piece, state);
    const std::string found = unfolding_.first_non_finite();
    if (found.empty()) continue;
    const Index from = cuts_[at(piece)].first_step;
    return from == 0 ? found : fmt::format("{}, counted from step {} of the window", found, from);
  }
  return {};
}

template <class T>
std::size_t WindowPass<T>::memory_bytes() const {
  std::size_t bytes = unfolding_.memory_bytes();
  for (const State<T>& seam : seams_) bytes += seam.values().size_bytes();
  return bytes;
}

template class WindowPass<float>;
template class WindowPass<double>;

}  // namespace unfold
