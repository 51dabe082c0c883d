#pragma once
/// Chooses between whole sequences and windows if the user set neither. Optimizers that compare losses (ruop, rbpm, and
/// ascent with step control) test whether a step has decreased the loss on the same data. With windows and carried
/// state, the two losses are not values of one function, and training ends far above the loss that whole sequences
/// reach. These optimizers therefore read whole sequences if memory allows.

#include <cstddef>
#include <string>

#include "app/settings/train_settings.h"
#include "unfold/data/text/split.h"
#include "unfold/graph/plan/plan.h"

namespace unfold {

/// Returns whether a choice must be made: neither whole sequences nor a window was set, the optimizer compares losses,
/// and no other setting requires windows.
bool chooses_sequences(const TrainSettings& settings, const Given& given);

/// Estimates the memory in bytes for training on `batch` whole sequences of a part at once, taking the longest ones.
/// These optimizers keep only the values below the logits for a whole sequence, `outputs` numbers per position.
std::size_t whole_sequence_bytes(const Plan& plan, Index outputs, const Split& part, Index batch,
                                 std::size_t element_bytes);

struct SequenceChoice {
  bool whole = false;
  std::string remark;  ///< a note: the choice, the reason, and how to override it
};
SequenceChoice choose_sequences(const TrainSettings& settings, std::size_t needed, std::size_t available);

/// Formats a number of bytes: "1.5 GB", "320 MB".
std::string bytes_text(std::size_t bytes);

}  // namespace unfold
