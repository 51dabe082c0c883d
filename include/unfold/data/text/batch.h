#pragma once
/// Batches: the input of one training or evaluation step, regardless of its source: text (text_batches.h), the examples
/// of a task (task_batches.h), or files with fields (example_batches.h).
///
/// A batch consists of a structure, its fields row by row, and the carried state: chains of the same stream, which are
/// read one after another, share a slot of the state.

#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "unfold/graph/engine/unfolding.h"
#include "unfold/loss/field.h"
#include "unfold/loss/network.h"

namespace unfold {

/// How the state is carried from batch to batch: one slot per chain.
struct Carry {
  std::vector<Index> slots;                    ///< slot of each chain
  std::vector<Index> fresh;                    ///< slots to reset before the forward pass
  std::vector<std::pair<Index, Index>> moves;  ///< (from, to) slots to copy after the backward pass
  Index slots_needed = 0;
};

/// Parts of the structure of encoder-decoder examples: the positions of the target attend to a single summary position,
/// which attends to the positions of the source. Fields of the source have rows over the source part.
inline constexpr int kSummaryPart = 1, kSourcePart = 2;
/// The part of the structure with the characters of words: a position attends to the chain of its characters, and
/// occurrences of the same word in a batch share a chain.
inline constexpr int kSpellingPart = 1;

struct Batch {
  Structure structure = Structure::chains(1, 1);
  std::map<std::string, Field, std::less<>> fields;
  Carry carry;
  std::vector<Index> passages;  ///< one per chain: index of its passage; the scores of a passage are added up
  std::vector<Index> places;    ///< one per chain: index of its first position
  Index predicted = 0;          ///< number of rows that are predicted
  Index symbols = 0;            ///< rows in scored segments, predicted or not
  bool whole = false;           ///< every chain is a whole sequence that no other batch continues

  /// Throws UsageError with the nearest name if there is no such field.
  const Field& field(std::string_view name) const;
  /// Makes every chain a whole example that starts from the initial state.
  void reset_all_chains();

  SymbolRows& symbol_field(std::string_view name) { return rows_of_kind<SymbolRows>(name); }
  ValueRows& value_field(std::string_view name) { return rows_of_kind<ValueRows>(name); }

 private:
  /// Reuses the memory of the previous batch.
  template <class Rows>
  Rows& rows_of_kind(std::string_view name) {
    auto found = fields.find(name);
    if (found == fields.end()) found = fields.emplace(std::string(name), Rows()).first;
    if (!std::holds_alternative<Rows>(found->second)) found->second = Rows();
    return std::get<Rows>(found->second);
  }
};

/// The rows that at least one head of a network predicts.
class PredictedRows {
 public:
  template <class T>
  PredictedRows(const Batch& batch, const Network<T>& network) {
    for (const Head<T>& head : network.heads) targets_.push_back(&batch.field(head.field));
  }
  bool operator[](Index row) const {
    for (const Field* target : targets_)
      if (is_present(*target, row)) return true;
    return false;
  }

 private:
  std::vector<const Field*> targets_;
};

/// `enter_batch` prepares the state for a batch and enlarges it if needed; `leave_batch` afterwards moves the state of
/// each stream to its slot.
template <class T>
void enter_batch(const Batch& batch, const Plan& plan, State<T>& state);
template <class T>
void leave_batch(const Batch& batch, State<T>& state);
/// Copies `from` to `to`, without allocation if both have the same slots.
template <class T>
void copy_state(const State<T>& from, State<T>& to);

/// Passes rows [first_row, first_row + rows) of the fields that a network reads, and all rows of sources, to an
/// unfolding over these rows. Inputs that the plan of the unfolding does not use are skipped. Throws UsageError for a
/// field that is missing or has the wrong kind or size.
template <class T>
void upload_inputs(const Batch& batch, Index first_row, Index rows, const Network<T>& network, Unfolding<T>& unfolding);

/// Like the function above, but passes only the fields of deeper parts, which belong to sources.
template <class T>
void set_source_inputs(const Batch& batch, const Network<T>& network, Unfolding<T>& unfolding);

/// A finite sequence of batches.
class BatchReader {
 public:
  virtual ~BatchReader() = default;
  virtual bool next(Batch& batch) = 0;  ///< false at the end
};

/// An infinite sequence of training batches. A position is (epoch, batch), which determines the batch.
class BatchSource {
 public:
  virtual ~BatchSource() = default;
  virtual const Batch& batch() const = 0;  ///< the current batch
  virtual void advance() = 0;
  virtual void seek(Index epoch, Index batch) = 0;
  virtual Index epoch() const = 0;
  virtual Index position() const = 0;                ///< index of the batch within the epoch
  virtual double epochs_done() const = 0;            ///< stays 0 if there are no epochs
  virtual Index streams() const = 0;                 ///< state slots carried from batch to batch
  virtual bool unchanging() const { return false; }  ///< every epoch consists of the same single batch
  virtual bool shortened() const = 0;                ///< a curriculum is still truncating sequences
};

}  // namespace unfold
