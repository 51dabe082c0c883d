#pragma once
/// Whether training reads whole sequences when nobody says so. Optimisers that compare losses (ruop, rbpm, ascent under
/// their own control) ask whether a step has lowered the loss of the text; on windows with a carried state that is no
/// question about one function, and they end far above what whole sequences reach. So they read whole sequences where
/// memory allows.

#include <cstddef>
#include <string>

#include "unfold/data/split.h"
#include "unfold/engine/plan.h"
#include "unfold/runs/train_settings.h"

namespace unfold {

/// True when the choice is open: neither whole sequences nor a window was given, the optimiser compares losses, and
/// nothing asks for windows.
bool chooses_sequences(const TrainSettings& settings, const Given& given);

/// Bytes that training needs, about, to read `batch` whole sequences of a part at once: those of the longest ones. The
/// optimisers in question lay only what is below the logits over a sequence, `outputs` of them at each position.
std::size_t whole_sequence_bytes(const Plan& plan, Index outputs, const Split& part, Index batch,
                                 std::size_t element_bytes);

struct SequenceChoice {
  bool whole = false;
  std::string remark;  ///< what was chosen, why, and how to choose otherwise
};
SequenceChoice choose_sequences(const TrainSettings& settings, std::size_t needed, std::size_t available);

/// "1.5 GB", "320 MB".
std::string bytes_text(std::size_t bytes);

}  // namespace unfold
