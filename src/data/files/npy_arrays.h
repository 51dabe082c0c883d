#pragma once
/// Reads NumPy arrays: .npy (https://numpy.org/doc/stable/reference/generated/numpy.lib.format.html, versions 1 to 3)
/// and .npz, a zip archive of .npy files.

#include <string>
#include <string_view>
#include <vector>

#include "unfold/base/formats/file.h"

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

}  // namespace unfold
