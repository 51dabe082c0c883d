#pragma once
/// Conversion of NumPy arrays to examples: [T] and [T, n] are one example, [N, T, n] are N examples.

#include <string>
#include <vector>

#include "data/files/npy_arrays.h"
#include "unfold/data/examples/examples.h"

namespace unfold {

/// Returns the examples that arrays contain: an array [N, T, n] gives N examples; otherwise there is one example. NaN
/// is a missing value. `source` is the name of the data in messages. Throws DataError.
Examples examples_of_arrays(const std::string& source, std::vector<NpyArray> arrays);

}  // namespace unfold
