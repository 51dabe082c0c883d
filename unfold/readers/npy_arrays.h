#pragma once
/// Arrays of NumPy as they are, for who wants them as arrays and not as examples (read_npy.cpp): .npy, one array named
/// "values", and .npz.

#include <string>
#include <vector>

#include "unfold/base/file.h"
#include "unfold/base/types.h"

namespace unfold {

struct NpyArray {
  std::string name;
  std::vector<Index> shape = {};
  std::vector<double> values = {};  ///< the last index runs fastest
};

/// In the order of the archive. Throws DataError.
std::vector<NpyArray> npy_arrays(const Input& input);

}  // namespace unfold
