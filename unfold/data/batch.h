#pragma once
/// Batches: what a step of training or evaluation reads, and where batches come from, whatever they are made of: text
/// (text_batches.h), the examples of a task (task_batches.h), files of fields.
///
/// A batch is a structure with its fields, row by row, and what is carried between batches: chains of one stream, which
/// are read one after another, share a slot of the state.

#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "unfold/engine/unfolding.h"
#include "unfold/losses/field.h"
#include "unfold/losses/network.h"

namespace unfold {

/// How the state goes from batch to batch: one slot per chain.
struct Carry {
  std::vector<Index> slots;                    ///< one per chain
  std::vector<Index> fresh;                    ///< slots to be reset before the forward pass
  std::vector<std::pair<Index, Index>> moves;  ///< after the backward pass: (from, to) slots
  Index slots_needed = 0;
};

/// Examples of two chains: the positions of one look at a single position, which looks at those of its source. Fields
/// of the source have rows over that part of the structure.
inline constexpr int kSummaryPart = 1, kSourcePart = 2;
/// Positions that are spelt look at the chains of their characters; equal ones of a batch look at the same.
inline constexpr int kSpellingPart = 1;

struct Batch {
  Structure structure = Structure::chains(1, 1);
  std::map<std::string, Field, std::less<>> fields;
  Carry carry;
  std::vector<Index> passages;  ///< one per chain: number of its passage, whose scores are summed apart
  std::vector<Index> places;    ///< one per chain: place of its first position
  Index predicted = 0;          ///< rows that are to be predicted
  Index symbols = 0;            ///< rows that belong to scored stretches, predicted or not
  bool whole = false;           ///< every chain is a whole sequence: no other batch goes on with it

  /// Throws UsageError with the nearest name when there is no such field.
  const Field& field(std::string_view name) const;
  /// Every chain is a whole example, read from a fresh state.
  void start_afresh();

  SymbolRows& symbol_field(std::string_view name) { return rows_of_kind<SymbolRows>(name); }
  ValueRows& value_field(std::string_view name) { return rows_of_kind<ValueRows>(name); }

 private:
  /// Keeps the memory of the last batch.
  template <class Rows>
  Rows& rows_of_kind(std::string_view name) {
    auto found = fields.find(name);
    if (found == fields.end()) found = fields.emplace(std::string(name), Rows()).first;
    if (!std::holds_alternative<Rows>(found->second)) found->second = Rows();
    return std::get<Rows>(found->second);
  }
};

/// The rows that some head of a network is to predict.
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

/// Readies the state for a batch (it grows when needed), and hands streams over afterwards.
template <class T>
void enter_batch(const Batch& batch, const Plan& plan, State<T>& state);
template <class T>
void leave_batch(const Batch& batch, State<T>& state);
/// to = from, without allocating where they have the same slots.
template <class T>
void copy_state(const State<T>& from, State<T>& to);

/// Hands rows [first_row, first_row + rows) of the fields, of sources all, that a network reads to an unfolding that
/// was laid over them. Inputs that the unfolding's plan has no use for are left out. UsageError: a field that is
/// missing, of the wrong kind or size.
template <class T>
void give_inputs(const Batch& batch, Index first_row, Index rows, const Network<T>& network, Unfolding<T>& unfolding);

/// Only the fields of deeper parts: those of sources.
template <class T>
void give_sources(const Batch& batch, const Network<T>& network, Unfolding<T>& unfolding);

/// A finite row of batches.
class BatchReader {
 public:
  virtual ~BatchReader() = default;
  virtual bool next(Batch& batch) = 0;  ///< false at the end
};

/// Batches to train on, without end. A position is (epoch, batch); the batch there is a function of it.
class BatchSource {
 public:
  virtual ~BatchSource() = default;
  virtual const Batch& batch() const = 0;  ///< the current one
  virtual void advance() = 0;
  virtual void seek(Index epoch, Index batch) = 0;
  virtual Index epoch() const = 0;
  virtual Index position() const = 0;                ///< batch within the epoch
  virtual double epochs_done() const = 0;            ///< stays 0 where there are no epochs
  virtual Index streams() const = 0;                 ///< state slots carried from batch to batch
  virtual bool unchanging() const { return false; }  ///< there is one batch, the same in every epoch
  virtual bool shortened() const = 0;                ///< a curriculum still cuts sequences short
};

}  // namespace unfold
