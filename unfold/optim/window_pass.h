#pragma once
/// Forward, readout and backward over one window, in one piece or, within a memory limit, by recomputation.
///
/// Recomputation cuts the steps of a window into pieces. A first sweep runs forward through the pieces and keeps only
/// the state at each seam; a second one goes from the last piece to the first: forward again, backward, and the
/// adjoint of the state handed on. With pieces of about sqrt(T) steps memory is O(sqrt T), for one more forward pass.
/// Sums of gradients run over rows from the last to the first, so the result has the bits of the plain pass.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "unfold/data/window.h"
#include "unfold/optim/penalty.h"

namespace unfold {

template <class T>
class WindowPass {
 public:
  /// `memory_limit` in bytes for the activities of one window; 0: none.
  /// Penalties on the flow of the gradient exclude a memory limit (UsageError).
  WindowPass(const Network<T>& network, Team& team, std::size_t memory_limit = 0, const PenaltyOptions& penalties = {});

  void set_parameters(const Parameters<T>& parameters) {
    parameters_ = &parameters;
    unfolding_.set_parameters(parameters);
  }
  /// Dropout by this seed from now on; none before.
  void set_dropout_seed(std::uint64_t seed) { dropout_seed_ = seed; }

  /// Sum of nats over the predicted targets of a window. The state must have entered the window (enter_window) and
  /// carries over.
  double forward(const Window& window, State<T>& state);
  /// The same, and gradient [parameters] = (with `accumulate` +=) scale * d nats / d parameters. Throws UsageError when
  /// the window does not fit the memory limit, saying what it needs.
  double gradient(const Window& window, State<T>& state, double scale, std::span<T> gradient, bool accumulate = false);

  /// After `forward` without a memory limit: the activities of the whole window, for further passes over them.
  Unfolding<T>& unfolding() { return unfolding_; }

  /// After a pass: what the penalties add to the loss, with their gradient in `gradient`. The penalty on the flow is
  /// measured by `gradient` alone, and kept.
  double penalty(const Window& window) const;
  /// After a pass: nats of each row of the window.
  std::span<const T> nats() const { return nats_; }
  /// After `forward` without a memory limit: what the readout read, [rows x size].
  Matrix<const T> output() const { return unfolding_.value(network_.output); }
  /// Runs forward and names the first signal and position that is not finite; empty if there is none.
  std::string find_non_finite(const Window& window, State<T> state);
  std::size_t memory_bytes() const;
  /// Cuts windows into pieces of this many steps from now on, whatever the memory limit; 0: as the limit asks.
  void set_piece(Index steps) { forced_piece_ = steps; }

 private:
  /// Consecutive steps of a window: the rows [first_row, first_row + rows).
  struct Cut {
    Index first_step, first_row, rows;
    Structure structure;
    std::vector<Index> slots;
  };
  void cut(const Window& window);
  Index piece_steps(const Structure& structure) const;
  void run(const Window& window, Index piece, State<T>& state);
  void read(const Window& window, Index piece, double scale, bool with_adjoint);
  double total() const;

  Network<T> network_;
  Team& team_;
  Unfolding<T> unfolding_;
  std::optional<Penalties<T>> penalties_;
  const Parameters<T>* parameters_ = nullptr;
  std::size_t memory_limit_, bytes_per_row_ = 0, bytes_per_chain_ = 0, bytes_per_state_ = 0;
  std::optional<std::uint64_t> dropout_seed_;
  Index forced_piece_ = 0, cut_steps_ = 0;
  std::vector<Index> cut_sizes_;  // the structure that cuts_ belong to
  std::vector<Cut> cuts_;
  std::vector<State<T>> seams_;
  std::vector<T> nats_;
};

}  // namespace unfold
