#pragma once
/// Marking of missing entries while a column of examples is filled.

#include "unfold/data/examples/examples.h"

namespace unfold {

/// Marks the last entry of a column as missing or present; the flags are created with the first missing entry.
void mark_entry(ExampleColumn& column, bool missing);

}  // namespace unfold
