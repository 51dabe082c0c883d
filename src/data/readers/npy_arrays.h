#pragma once
/// Reads NumPy arrays: .npy (https://numpy.org/doc/stable/reference/generated/numpy.lib.format.html, versions 1 to 3)
/// and .npz, a zip archive of .npy files.

#include <string>
#include <vector>

#include "data/readers/example_reader.h"

namespace unfold {

struct NpyArray {
  std::string name;
  std::vector<Index> shape = {};
  std::vector<double> values = {};  ///< elements in C order
};

bool is_npy(std::string_view bytes);  ///< checks the first bytes
/// Returns all arrays of an input; the array of an .npy file is named "values". Throws DataError if there is no array,
/// if elements are not numbers, or if the file is damaged or truncated.
std::vector<NpyArray> read_npy_arrays(const Input& input);
/// Returns the examples that arrays contain: an array [N, T, n] gives N examples; otherwise there is one example. NaN
/// is a missing value. `source` is the name of the data in messages. Throws DataError.
Examples examples_of_arrays(const std::string& source, std::vector<NpyArray> arrays);

}  // namespace unfold
