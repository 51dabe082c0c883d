#include "unfold/train/passes/batch_pass.h"

#include <fmt/format.h>

#include <algorithm>

#include "data/text/example_weights.h"
#include "loss/independent_rows.h"
#include "loss/weighted_loss.h"
#include "unfold/base/checks.h"
#include "unfold/base/error.h"
#include "unfold/numerics/vector.h"

namespace unfold {
namespace {

/// Number of pieces of a batch with rounded activations: with this number, the working memory of one piece is small
/// compared with the stored data, but pieces still have many rows.
constexpr Index kRoundedPieces = 8;

bool has_sizes(const Structure& structure, const std::vector<Index>& sizes) {
  if (structure.sequences() != static_cast<Index>(sizes.size())) return false;
  for (Index s = 0; s < structure.sequences(); ++s)
    if (structure.size(s) != sizes[at(s)]) return false;
  return true;
}

}  // namespace

template <class T>
BatchPass<T>::BatchPass(const Network<T>& network, Team& team, std::size_t memory_limit,
                        const PenaltyOptions& penalties)
    : network_(network),
      team_(team),
      unfolding_(network.plan, team, network.precision, network.offload),
      memory_limit_(memory_limit) {
  if (penalties.any()) penalties_.emplace(penalties, network, team);
  smoothing_ = penalties.smoothing;
  if (!(smoothing_ >= 0 && smoothing_ < 1))
    throw UsageError(fmt::format("label smoothing {}: must be at least 0 and below 1", smoothing_));
  if (smoothing_ > 0 && std::ranges::none_of(network.heads, [](const Head<T>& head) {
        return head.loss->template as<Categorical<T>>() != nullptr;
      }))
    throw UsageError(
        fmt::format("label smoothing requires a loss over symbols, but {} has the loss {}; disable label smoothing",
                    network.heads.front().field, network.heads.front().loss->name()));
  if (rounds()) {
    if (sizeof(T) != sizeof(float))
      throw UsageError("bfloat16 activations require float; remove --activations or use --precision float");
    if (memory_limit > 0)
      throw UsageError("--activations bf16 cannot be combined with a memory limit; use only one of them");
    require_pieces("--activations bf16");
  }
  if (memory_limit == 0) return;
  require_pieces("a memory limit");
  // The memory per row is measured rather than computed from the plan, so it always matches the actual allocation.
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

/// Checks that a batch may be read in pieces.
template <class T>
void BatchPass<T>::require_pieces(std::string_view why) const {
  require_rows(why);
  if (penalties_ && penalties_->flows())
    throw UsageError(
        fmt::format("a flow penalty requires the whole batch at once and cannot be combined with {}; leave one of them "
                    "out",
                    why));
  if (!network_.plan->recomputable())
    throw UsageError(
        fmt::format("{} divides sequences into pieces, which networks that read later positions or the ends of a "
                    "sequence do not support; disable it",
                    why));
}

/// Returns the length of the longest pieces that fit: their activations and one state per boundary.
template <class T>
Index BatchPass<T>::piece_steps(const Structure& structure) const {
  const Structure::Order& order = structure.order();
  const Index steps = order.steps();
  if (forced_piece_ > 0) return std::min(forced_piece_, steps);
  if (rounds()) return (steps + kRoundedPieces - 1) / kRoundedPieces;
  if (memory_limit_ == 0) return steps;
  std::size_t least = ~std::size_t{0};
  for (Index pieces = 1; pieces <= steps; ++pieces) {
    const Index length = (steps + pieces - 1) / pieces;
    const std::size_t states = pieces == 1 ? 0 : at(pieces + 2);  // one state per boundary, and two for adjoints
    const std::size_t bytes = at(order.step_begin[at(length)]) * bytes_per_row_ +
                              at(structure.sequences()) * (bytes_per_chain_ + states * bytes_per_state_);
    if (bytes <= memory_limit_) return length;
    least = std::min(least, bytes);
  }
  throw UsageError(
      fmt::format("memory limit of {} bytes: a window of {} steps and {} sequences needs at least {}; increase the "
                  "limit, or use shorter windows or fewer sequences per step",
                  memory_limit_, steps, structure.sequences(), least));
}

template <class T>
void BatchPass<T>::cut(const Batch& batch) {
  const Structure& whole = batch.structure;
  const Structure::Order& order = whole.order();
  if (!has_sizes(whole, cut_sizes_) || forced_piece_ != cut_steps_) {
    cut_sizes_.resize(at(whole.sequences()));
    for (Index s = 0; s < whole.sequences(); ++s) cut_sizes_[at(s)] = whole.size(s);
    cut_steps_ = forced_piece_;
    cuts_.clear();
    const Index steps = order.steps(), length = piece_steps(whole);
    for (Index from = 0; from < steps && (length < steps || rounds()); from += length) {
      const Index to = std::min(from + length, steps);
      std::vector<Index> sizes;  // lengths in the order of places, so that rows keep their order within each step
      for (Index p = 0; p < whole.sequences() && whole.size(whole.sequence_at(p)) > from; ++p)
        sizes.push_back(std::min(whole.size(whole.sequence_at(p)), to) - from);
      const Index first = order.step_begin[at(from)];
      cuts_.push_back({from, first, order.step_begin[at(to)] - first, Structure::chains(sizes), {}});
    }
  }
  for (Cut& piece : cuts_) {
    piece.slots.resize(at(piece.structure.sequences()));
    for (Index p = 0; p < piece.structure.sequences(); ++p)
      piece.slots[at(p)] = batch.carry.slots[at(whole.sequence_at(p))];
  }
  nats_.resize(at(whole.positions()));
}

/// Sets up the network for a piece and sets its inputs; piece -1 is the whole batch.
template <class T>
void BatchPass<T>::enter(const Batch& batch, Index piece) {
  if (piece < 0) {
    unfolding_.lay(batch.structure, batch.carry.slots);
    upload_inputs(batch, 0, batch.structure.positions(), network_, unfolding_);
  } else {
    const Cut& c = cuts_[at(piece)];
    unfolding_.lay(c.structure, c.slots);
    upload_inputs(batch, c.first_row, c.rows, network_, unfolding_);
  }
  if (dropout_seed_) unfolding_.set_dropout_seed(*dropout_seed_, piece < 0 ? 0 : cuts_[at(piece)].first_step);
}

template <class T>
void BatchPass<T>::run(const Batch& batch, Index piece, State<T>& state) {
  enter(batch, piece);
  unfolding_.forward(&state);
  if (penalties_) penalties_->measure(unfolding_, batch.structure, piece < 0 ? 0 : cuts_[at(piece)].first_row);
}

/// Prepares a piece for the backward pass: recomputes it from the boundary state or restores the stored values.
template <class T>
void BatchPass<T>::run_again(const Batch& batch, Index piece) {
  if (!rounds()) {
    // The last piece was run just before, so its values are still available.
    if (piece + 1 < static_cast<Index>(cuts_.size())) run(batch, piece, seams_[at(piece)]);
    return;
  }
  enter(batch, piece);
  unfolding_.recall(kept_[at(piece)], &seams_[at(piece)]);
}

template <class T>
Observed<T> BatchPass<T>::observed(const Batch& batch, const Head<T>& head, Index first_row) const {
  const Matrix<const T> signal = unfolding_.value(head.signal);
  return {.structure = unfolding_.structure(),
          .signal = signal,
          .targets = targets_of<T>(batch.field(head.field), first_row, signal.rows),
          .parameters = parameters_->flat()};
}

namespace {

/// Multiplies losses by the weights of their rows, and adjoints, if there are any.
template <class T>
void weigh_rows(Matrix<const T> weights, std::span<T> nats, Matrix<T> adjoint, Team& team) {
  team.run([&](Member& me) {
    const Range mine = me.share(weights.rows, 8);
    for (Index r = mine.begin; r < mine.end; ++r) {
      const T weight = weights(r, 0);
      nats[at(r)] *= weight;
      for (Index i = 0; i < adjoint.cols; ++i) adjoint(r, i) *= weight;
    }
  });
}

}  // namespace

/// Computes the loss of a single head on the device; returns false if it must be computed on the host.
template <class T>
bool BatchPass<T>::softmax_on_device(const Batch& batch, const Head<T>& head, Index first, T scale, bool wanted) {
  if (network_.offload == nullptr || smoothing_ != 0 || has_weights(batch) ||
      head.loss->template as<Categorical<T>>() == nullptr)
    return false;
  const auto* field = std::get_if<SymbolRows>(&batch.field(head.field));
  if (field == nullptr) return false;
  const std::span<const Symbol> targets(field->symbols.data() + first, at(unfolding_.structure().positions()));
  return unfolding_.softmax(head.signal, targets, scale, wanted, nats_.data() + first);
}

/// Computes the losses over a piece and, with a gradient, their adjoints and the gradient of the losses' parameters.
template <class T>
void BatchPass<T>::read(const Batch& batch, Index piece, double scale, bool wanted, std::span<T> gradient) {
  const Index first = piece < 0 ? 0 : cuts_[at(piece)].first_row;
  if (wanted && !penalties_)
    for (const Signal hidden : network_.hidden) {  // outputs that no loss reads
      const Matrix<T> adjoint = unfolding_.adjoint(hidden);
      std::fill_n(adjoint.data, adjoint.rows * adjoint.cols, T{0});
    }
  for (const Head<T>& head : network_.heads) {
    const bool only = network_.heads.size() == 1 && head.weight == 1;
    if (only && softmax_on_device(batch, head, first, static_cast<T>(scale), wanted)) continue;
    const Observed<T> seen = observed(batch, head, first);
    if (!only) head_nats_.resize(at(seen.signal.rows));
    T* nats = only ? nats_.data() + first : head_nats_.data();
    const Matrix<const T> weights = weights_of_rows<T>(batch, first, seen.signal.rows);
    const bool weighs_itself = weights.data != nullptr && !head.loss->parameter_indices().empty();
    if (!wanted)
      head.loss->negative_log_likelihood(seen, team_, nats);
    else if (weighs_itself)
      head.loss->template need<WeightedLoss<T>>("training with weights")
          .weighted_gradient(seen, {{weights.data, at(weights.rows)}}, static_cast<T>(scale * head.weight), team_, nats,
                             unfolding_.adjoint(head.signal), gradient);
    else
      head.loss->gradient(seen, static_cast<T>(scale * head.weight), team_, nats, unfolding_.adjoint(head.signal),
                          gradient);
    smooth(head, seen, scale, nats, gradient);
    if (weights.data != nullptr)
      weigh_rows(weights, {nats, at(seen.signal.rows)},
                 wanted && !weighs_itself ? unfolding_.adjoint(head.signal) : Matrix<T>{}, team_);
    if (only) continue;
    const bool starts = &head == &network_.heads.front();
    for (Index r = 0; r < seen.signal.rows; ++r) {
      const T share = static_cast<T>(head.weight) * nats[r];
      nats_[at(first + r)] = starts ? share : nats_[at(first + r)] + share;
    }
  }
  if (wanted && penalties_) penalties_->seed(unfolding_, batch.structure, first);
}

/// For symbols y, adds the smoothing fraction times (o_y - mean of o); its gradient is 1 at y minus 1 / K everywhere.
template <class T>
void BatchPass<T>::smooth(const Head<T>& head, const Observed<T>& seen, double scale, T* nats, std::span<T> gradient) {
  if (smoothing_ == 0 || head.loss->template as<Categorical<T>>() == nullptr) return;
  const auto share = static_cast<T>(smoothing_), push = static_cast<T>(scale * head.weight * smoothing_);
  const Index symbols = seen.signal.cols;
  const T each = push / static_cast<T>(symbols);
  const Matrix<T> adjoint = gradient.empty() ? Matrix<T>{} : unfolding_.adjoint(head.signal);
  team_.run([&](Member& me) {
    const Range mine = me.share(seen.signal.rows, 8);
    for (Index r = mine.begin; r < mine.end; ++r) {
      const Symbol y = seen.targets.symbols[r];
      if (y == kNoSymbol) continue;
      const std::span<const T> o(seen.signal.row(r), at(symbols));
      nats[r] += share * (o[at(y)] - static_cast<T>(sum<T>(o)) / static_cast<T>(symbols));
      if (gradient.empty()) continue;
      for (Index k = 0; k < symbols; ++k) adjoint(r, k) -= each;
      adjoint(r, y) += push;
    }
  });
}

template <class T>
std::vector<Matrix<const T>> BatchPass<T>::outputs() const {
  std::vector<Matrix<const T>> result;
  for (const Head<T>& head : network_.heads) result.push_back(unfolding_.value(head.signal));
  return result;
}

template <class T>
void BatchPass<T>::require_rows(std::string_view why) const {
  for (const Head<T>& head : network_.heads)
    if (!has_separate_rows(*head.loss))
      throw UsageError(fmt::format(
          "{} requires independent rows, but the loss {} depends on whole sequences; leave it out, and read whole "
          "sequences (--whole-sequences)",
          why, head.loss->name()));
}

template <class T>
double BatchPass<T>::penalty(const Batch& batch) const {
  return penalties_ ? penalties_->activity_value(batch.structure) + penalties_->flow_value() : 0;
}

template <class T>
double BatchPass<T>::total() const {
  double sum = 0;
  for (const T x : nats_) sum += static_cast<double>(x);
  return sum;
}

/// A loss over whole sequences would treat a segment as a sequence.
template <class T>
void BatchPass<T>::check(const Batch& batch) const {
  require_order(parameters_ != nullptr, "batch pass", "call set_parameters first");
  require_length("batch: the list of state slots", batch.carry.slots.size(), batch.structure.sequences());
  if (!batch.whole) require_rows("reading sequences in segments (--window)");
}

template <class T>
double BatchPass<T>::forward(const Batch& batch, State<T>& state) {
  check(batch);
  cut(batch);
  if (cuts_.empty()) {
    run(batch, -1, state);
    read(batch, -1, 1, false, {});
  }
  for (Index piece = 0; piece < static_cast<Index>(cuts_.size()); ++piece) {
    run(batch, piece, state);
    read(batch, piece, 1, false, {});
  }
  return total();
}

template <class T>
double BatchPass<T>::gradient(const Batch& batch, State<T>& state, double scale, std::span<T> gradient, bool accumulate,
                              const SegmentDone* done) {
  check(batch);
  cut(batch);
  const bool stays = gradient.empty();
  if (stays && resident() == nullptr) throw UsageError("batch pass: an empty gradient requires a device");
  if (!stays) require_length("batch pass: the gradient", gradient.size(), network_.plan->parameter_count());
  if (!accumulate && !stays) network_.clear_own(gradient);
  if (cuts_.empty()) {
    run(batch, -1, state);
    read(batch, -1, scale, true, gradient);
    unfolding_.backward(gradient, {.accumulate = accumulate, .keep_gradient_on_device = stays, .done = done});
    if (penalties_) penalties_->add_flow(unfolding_, *parameters_, gradient);
    return total();
  }
  const auto pieces = static_cast<Index>(cuts_.size());
  seams_.resize(at(pieces));
  if (rounds()) kept_.resize(at(pieces));
  for (Index piece = 0; piece < pieces; ++piece) {
    copy_state(state, seams_[at(piece)]);
    run(batch, piece, state);
    if (rounds()) unfolding_.keep(kept_[at(piece)]);
  }
  State<T> end, start;
  for (Index piece = pieces - 1; piece >= 0; --piece) {
    run_again(batch, piece);
    read(batch, piece, scale, true, gradient);
    const bool last = piece == pieces - 1;
    start = State<T>(*network_.plan, state.slots());  // zero for chains that do not reach this piece
    unfolding_.backward(gradient, {.accumulate = accumulate || !last, .done = piece == 0 ? done : nullptr},
                        last ? nullptr : &end, &start);
    std::swap(start, end);
  }
  return total();
}

template <class T>
Resident<T>* BatchPass<T>::resident() {
  const bool plain = !penalties_ && smoothing_ == 0 && std::ranges::all_of(network_.heads, [](const Head<T>& head) {
    return head.loss->parameter_indices().empty();
  });
  return plain ? unfolding_.resident() : nullptr;
}

template <class T>
std::string BatchPass<T>::find_non_finite(const Batch& batch, State<T> state) {
  cut(batch);
  if (cuts_.empty()) {
    run(batch, -1, state);
    return unfolding_.first_non_finite();
  }
  for (Index piece = 0; piece < static_cast<Index>(cuts_.size()); ++piece) {
    run(batch, piece, state);
    const std::string found = unfolding_.first_non_finite();
    if (found.empty()) continue;
    const Index from = cuts_[at(piece)].first_step;
    return from == 0 ? found : fmt::format("{}, counted from step {} of the window", found, from);
  }
  return {};
}

template <class T>
std::size_t BatchPass<T>::memory_bytes() const {
  std::size_t bytes = unfolding_.memory_bytes();
  for (const State<T>& seam : seams_) bytes += seam.values().size_bytes();
  for (const StoredActivations<T>& kept : kept_) bytes += kept.memory_bytes();
  return bytes;
}

template class BatchPass<float>;
template class BatchPass<double>;

}  // namespace unfold
