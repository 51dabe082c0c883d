#pragma once
/// The literal word `<eos>` in a text of words. It is not the symbol `<eos>`, which represents line endings: an
/// alphabet is not built from a text that contains it, and an alphabet treats it as an unknown word.

#include <string_view>

#include "unfold/base/error.h"
#include "unfold/base/types.h"

namespace unfold {

/// Returns the error "WHERE line L: the word <eos> stands for line endings, ...".
DataError line_end_word_error(std::string_view where, Index line);

}  // namespace unfold
