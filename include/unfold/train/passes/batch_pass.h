#pragma once
/// Forward pass, losses and backward pass over one batch, as a whole or, to use less memory, in pieces.
///
/// Recomputation (gradient checkpointing) divides the steps of a batch into pieces. A first sweep runs forward through
/// the pieces and stores only the state at each boundary. A second sweep goes from the last piece to the first: it runs
/// forward again, then backward, and passes the adjoint of the state on to the previous piece. With pieces of about
/// sqrt(T) steps, memory is O(sqrt T), at the cost of one more forward pass. Gradient sums run over rows from the last
/// to the first, so the result is bit-identical to the plain pass.
///
/// With Network::activations in bfloat16, the first sweep stores the activations of each piece in half the memory, and
/// the second restores them instead of running forward again (graph/engine/stored_activations.h). Losses are exact
/// because outputs are not rounded; gradients are computed from the rounded activations and do not depend on the piece
/// boundaries.
///
/// Label smoothing (Szegedy et al. 2016): the target of a row is y with probability 1 - s and any of K symbols with
/// probability s / K each. With logits o, the loss of the row increases by s (o_y - mean of o), which is included in
/// the nats of the row.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "unfold/data/text/batch.h"
#include "unfold/graph/engine/stored_activations.h"
#include "unfold/train/passes/penalty.h"

namespace unfold {

template <class T>
class BatchPass {
 public:
  /// `memory_limit`: bytes for the activations of one batch; 0: no limit. Throws UsageError if a memory limit and
  /// rounded activations are combined with each other, with a penalty on the gradient flow, or with a loss over whole
  /// sequences; for rounded activations in double precision; and for smoothing if no head is a softmax over symbols.
  BatchPass(const Network<T>& network, Team& team, std::size_t memory_limit = 0, const PenaltyOptions& penalties = {});

  void set_parameters(const Parameters<T>& parameters) {
    parameters_ = &parameters;
    unfolding_.set_parameters(parameters);
  }
  /// Enables dropout with this seed; dropout is off until this is called.
  void set_dropout_seed(std::uint64_t seed) { dropout_seed_ = seed; }

  /// Returns the sum of nats over the targets of a batch, weighted by head. `enter_batch` must have been called for the
  /// state, which is updated.
  double forward(const Batch& batch, State<T>& state);
  /// Like `forward`; in addition sets (with `accumulate`: adds to) gradient [parameters] = scale * d nats / d
  /// parameters. Throws a UsageError that states the required memory if the batch does not fit into the memory limit.
  /// `done`: callback of the last backward pass (BackwardOptions::done). If `gradient` is empty, the gradient stays on
  /// the device. REQUIRES resident() in that case.
  double gradient(const Batch& batch, State<T>& state, double scale, std::span<T> gradient, bool accumulate = false,
                  const SegmentDone* done = nullptr);
  /// Returns the object that takes optimizer steps on the device (a GPU); null if steps run on the host.
  Resident<T>* resident();

  /// After `forward` without a memory limit: returns the activations of the whole batch, for further passes.
  Unfolding<T>& unfolding() { return unfolding_; }

  /// After a pass: returns the contribution of the penalties to the loss; their gradient is included in `gradient`. The
  /// flow penalty is computed only by `gradient` and stored.
  double penalty(const Batch& batch) const;
  /// After a pass: returns the nats of each row of the batch, summed over all heads with their weights.
  std::span<const T> nats() const { return nats_; }
  /// After `forward` without a memory limit: returns the inputs of the losses, one matrix [rows x size] per head.
  std::vector<Matrix<const T>> outputs() const;
  /// After `forward` without a memory limit: returns the input of a head's loss.
  Observed<T> observed(const Batch& batch, const Head<T>& head) const { return observed(batch, head, 0); }
  /// Runs a forward pass and returns the first signal and position whose value is not finite; empty if all values are
  /// finite.
  std::string find_non_finite(const Batch& batch, State<T> state);
  std::size_t memory_bytes() const;
  /// Divides the following batches into pieces of this many steps, regardless of the memory limit; 0: as required by
  /// the limit.
  void set_piece(Index steps) { forced_piece_ = steps; }

 private:
  /// Consecutive steps of a batch: rows [first_row, first_row + rows).
  struct Cut {
    Index first_step, first_row, rows;
    Structure structure;
    std::vector<Index> slots;
  };
  void require_pieces(std::string_view why) const;
  bool rounds() const { return network_.activations == Precision::bf16; }
  void cut(const Batch& batch);
  Index piece_steps(const Structure& structure) const;
  void enter(const Batch& batch, Index piece);
  void run(const Batch& batch, Index piece, State<T>& state);
  void run_again(const Batch& batch, Index piece);
  void read(const Batch& batch, Index piece, double scale, bool wanted, std::span<T> gradient);
  bool softmax_on_device(const Batch& batch, const Head<T>& head, Index first, T scale, bool wanted);
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
  std::vector<Index> cut_sizes_;  // chain lengths of the structure that cuts_ belong to
  std::vector<Cut> cuts_;
  std::vector<State<T>> seams_;
  std::vector<StoredActivations<T>> kept_;  // stored values of each piece, if activations are rounded
  std::vector<T> nats_;
  std::vector<T> head_nats_;  // nats of one head if there are several
};

}  // namespace unfold
