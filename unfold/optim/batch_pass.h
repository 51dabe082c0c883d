#pragma once
/// Forward, losses and backward over one batch, in one piece or, to need less memory, in pieces.
///
/// Recomputation cuts the steps of a batch into pieces. A first sweep runs forward through the pieces and keeps only
/// the state at each seam; a second one goes from the last piece to the first: forward again, backward, and the
/// adjoint of the state handed on. With pieces of about sqrt(T) steps memory is O(sqrt T), for one more forward pass.
/// Sums of gradients run over rows from the last to the first, so the result has the bits of the plain pass.
///
/// With Network::activities in bfloat16 the first sweep puts the activities of each piece away in half the memory, and
/// the second has them back instead of running forward again (engine/kept_values.h). Losses are exact, for outputs are
/// not rounded; gradients are those of the rounded activities, wherever the cuts are.
///
/// Label smoothing (Szegedy et al. 2016): the target of a row is y with probability 1 - s and any of K symbols with s /
/// K each. With logits o the loss of the row is larger by s (o_y - mean of o), which is counted in its nats.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "unfold/data/batch.h"
#include "unfold/engine/kept_values.h"
#include "unfold/optim/penalty.h"

namespace unfold {

template <class T>
class BatchPass {
 public:
  /// `memory_limit` in bytes for the activities of one batch; 0: none.
  /// UsageError: a memory limit or rounded activities with each other, with a penalty on the flow of the gradient, or
  /// with a loss that needs whole sequences; rounded activities of doubles; smoothing where no head is a softmax over
  /// symbols.
  BatchPass(const Network<T>& network, Team& team, std::size_t memory_limit = 0, const PenaltyOptions& penalties = {});

  void set_parameters(const Parameters<T>& parameters) {
    parameters_ = &parameters;
    unfolding_.set_parameters(parameters);
  }
  /// Dropout by this seed from now on; none before.
  void set_dropout_seed(std::uint64_t seed) { dropout_seed_ = seed; }

  /// Sum of nats over the predicted targets of a batch, each head with its weight. The state must have entered the
  /// batch (enter_batch) and carries over.
  double forward(const Batch& batch, State<T>& state);
  /// The same, and gradient [parameters] = (with `accumulate` +=) scale * d nats / d parameters. Throws UsageError when
  /// the batch does not fit the memory limit, saying what it needs.
  /// `done`: of the last backward pass (BackwardOptions::done).
  /// An empty gradient stays where the pass runs. REQUIRES resident() then.
  double gradient(const Batch& batch, State<T>& state, double scale, std::span<T> gradient, bool accumulate = false,
                  const SegmentDone* done = nullptr);
  /// Where an optimiser may step (engine/backend.h); null: on the host.
  Resident<T>* resident();

  /// After `forward` without a memory limit: the activities of the whole batch, for further passes over them.
  Unfolding<T>& unfolding() { return unfolding_; }

  /// After a pass: what the penalties add to the loss, with their gradient in `gradient`. The penalty on the flow is
  /// measured by `gradient` alone, and kept.
  double penalty(const Batch& batch) const;
  /// After a pass: nats of each row of the batch, over all heads with their weights.
  std::span<const T> nats() const { return nats_; }
  /// After `forward` without a memory limit: what the losses read, one matrix [rows x size] a head.
  std::vector<Matrix<const T>> outputs() const;
  /// After `forward` without a memory limit: what a head's loss sees.
  Observed<T> observed(const Batch& batch, const Head<T>& head) const { return observed(batch, head, 0); }
  /// Runs forward and names the first signal and position that is not finite; empty if there is none.
  std::string find_non_finite(const Batch& batch, State<T> state);
  std::size_t memory_bytes() const;
  /// Cuts batches into pieces of this many steps from now on, whatever the memory limit; 0: as the limit asks.
  void set_piece(Index steps) { forced_piece_ = steps; }

 private:
  /// Consecutive steps of a batch: the rows [first_row, first_row + rows).
  struct Cut {
    Index first_step, first_row, rows;
    Structure structure;
    std::vector<Index> slots;
  };
  void require_pieces(std::string_view why) const;
  bool rounds() const { return network_.activities == Precision::bf16; }
  void cut(const Batch& batch);
  Index piece_steps(const Structure& structure) const;
  void enter(const Batch& batch, Index piece);
  void run(const Batch& batch, Index piece, State<T>& state);
  void run_again(const Batch& batch, Index piece);
  void read(const Batch& batch, Index piece, double scale, bool wanted, std::span<T> gradient);
  bool softmax_there(const Batch& batch, const Head<T>& head, Index first, T scale, bool wanted);
  Observed<T> observed(const Batch& batch, const Head<T>& head, Index first_row) const;
  void smooth(const Head<T>& head, const Observed<T>& seen, double scale, T* nats, std::span<T> gradient);
  void require_rows(std::string_view why) const;
  void check(const Batch& batch) const;
  double total() const;

  Network<T> network_;
  Team& team_;
  Unfolding<T> unfolding_;
  std::optional<Penalties<T>> penalties_;
  const Parameters<T>* parameters_ = nullptr;
  std::size_t memory_limit_, bytes_per_row_ = 0, bytes_per_chain_ = 0, bytes_per_state_ = 0;
  std::optional<std::uint64_t> dropout_seed_;
  double smoothing_ = 0;
  Index forced_piece_ = 0, cut_steps_ = 0;
  std::vector<Index> cut_sizes_;  // the structure that cuts_ belong to
  std::vector<Cut> cuts_;
  std::vector<State<T>> seams_;
  std::vector<KeptValues<T>> kept_;  // of each piece, with rounded activities
  std::vector<T> nats_;
  std::vector<T> head_nats_;  // of a head that is not the only one
};

}  // namespace unfold
