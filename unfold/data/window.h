#pragma once
/// Windows: what a step of training or evaluation reads, and where windows come from, whatever they are made of: text
/// (batches.h) or the examples of a task (task_windows.h).

#include <span>
#include <utility>
#include <vector>

#include "unfold/engine/unfolding.h"
#include "unfold/losses/network.h"
#include "unfold/losses/readout.h"

namespace unfold {

/// Numbers, one row of them for every row of a window. They are floats; both precisions hold the same.
class RowValues {
 public:
  void resize(Index rows, Index cols) {
    cols_ = cols;
    single_.assign(static_cast<std::size_t>(rows * cols), 0);
    exact_.assign(static_cast<std::size_t>(rows * cols), 0);
  }
  void set(Index row, Index col, float x) {
    single_[static_cast<std::size_t>(row * cols_ + col)] = x;
    exact_[static_cast<std::size_t>(row * cols_ + col)] = static_cast<double>(x);
  }
  bool empty() const { return single_.empty(); }
  Index cols() const { return cols_; }
  /// The rows [first, first + rows).
  template <class T>
  Matrix<const T> rows(Index first, Index rows) const {
    if constexpr (sizeof(T) == sizeof(float))
      return {single_.data() + first * cols_, rows, cols_, cols_};
    else
      return {exact_.data() + first * cols_, rows, cols_, cols_};
  }

 private:
  Index cols_ = 0;
  std::vector<float> single_;
  std::vector<double> exact_;
};

/// One batch. Row vectors are in the order of the structure's rows. A network reads symbols or vectors and predicts
/// symbols or vectors; of each pair the other one is empty.
struct Window {
  Structure structure = Structure::chains(1, 1);
  std::vector<Index> slots;                    ///< one per chain
  std::vector<Index> fresh;                    ///< slots to be reset before the forward pass
  std::vector<std::pair<Index, Index>> moves;  ///< after the backward pass: (from, to) slots
  std::vector<Symbol> inputs, targets;         ///< [rows]
  RowValues input_values, target_values;       ///< [rows x size]
  std::vector<char> predicted_rows;            ///< [rows], with target_values: 0 where nothing is to be predicted
  std::vector<Index> runs;                     ///< one per chain: number of its run
  std::vector<Index> places;                   ///< one per chain: place of its first symbol
  Index slots_needed = 0;
  Index predicted = 0;  ///< rows that are to be predicted
  Index symbols = 0;    ///< rows that belong to scored stretches, predicted or not

  bool is_predicted(Index row) const {
    const auto r = static_cast<std::size_t>(row);
    return target_values.empty() ? targets[r] != kNoSymbol : predicted_rows[r] != 0;
  }
};

/// Readies the state for a window (it grows when needed), and hands lanes over afterwards.
template <class T>
void enter_window(const Window& window, const Plan& plan, State<T>& state);
template <class T>
void leave_window(const Window& window, State<T>& state);
/// to = from, without allocating where they have the same slots.
template <class T>
void copy_state(const State<T>& from, State<T>& to);

/// Hands rows [first_row, first_row + rows) of a window to an unfolding that was laid over them.
template <class T>
void give_inputs(const Window& window, Index first_row, Index rows, const Network<T>& network, Unfolding<T>& unfolding);
/// What was observed at rows [first_row, first_row + rows).
template <class T>
Targets<T> targets_of(const Window& window, Index first_row, Index rows) {
  if (window.target_values.empty())
    return {.symbols = window.targets.data() + first_row, .values = {}, .predicted = nullptr};
  return {.symbols = nullptr,
          .values = window.target_values.rows<T>(first_row, rows),
          .predicted = window.predicted_rows.data() + first_row};
}

/// A finite row of windows.
class WindowStream {
 public:
  virtual ~WindowStream() = default;
  virtual bool next(Window& window) = 0;  ///< false at the end
};

/// Windows to train on, without end. A position is (epoch, window); the window there is a function of it.
class WindowSource {
 public:
  virtual ~WindowSource() = default;
  virtual const Window& window() const = 0;  ///< the current one
  virtual void advance() = 0;
  virtual void seek(Index epoch, Index window) = 0;
  virtual Index epoch() const = 0;
  virtual Index position() const = 0;      ///< window within the epoch
  virtual double epochs_done() const = 0;  ///< stays 0 where there are no epochs
  virtual Index lanes() const = 0;         ///< state slots carried from window to window
  virtual bool shortened() const = 0;      ///< a curriculum still cuts sequences short
};

}  // namespace unfold
