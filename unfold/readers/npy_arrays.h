#pragma once
/// Arrays of NumPy, whatever is made of them: .npy
/// (https://numpy.org/doc/stable/reference/generated/numpy.lib.format.html, versions 1 to 3) and .npz, a zip archive of
/// them.

#include <string>
#include <vector>

#include "unfold/readers/example_reader.h"

namespace unfold {

struct NpyArray {
  std::string name;
  std::vector<Index> shape = {};
  std::vector<double> values = {};  ///< the last index runs fastest
};

bool is_npy(std::string_view bytes);  ///< by its first bytes
/// All arrays of an input; that of an .npy file is called "values". Throws DataError: no array, elements that are no
/// numbers, damaged or cut short.
std::vector<NpyArray> read_npy_arrays(const Input& input);

}  // namespace unfold
