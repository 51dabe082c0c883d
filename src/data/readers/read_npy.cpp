/// The format `npy`: NumPy arrays, .npy and .npz; [T] and [T, n] are one example, [N, T, n] are N examples.

#include "data/examples/array_examples.h"
#include "data/files/npy_arrays.h"
#include "data/files/zip_members.h"
#include "data/readers/reader_text.h"

namespace unfold {
namespace {

Examples read_npy(const Input& input, const ReaderOptions&) {
  return examples_of_arrays(input.name(), read_npy_arrays(input));
}

std::string guess_npy(const DataSample& sample) {
  if (is_npy(sample.bytes)) return "a NumPy array";
  const bool first_is_array = sample.bytes.substr(0, 512).find(".npy") != std::string_view::npos;
  return is_zip(sample.bytes) && (first_is_array || ends_in(sample.name, {".npz"})) ? "an archive of NumPy arrays" : "";
}

}  // namespace

ReaderEntry npy_reader() {
  return {.name = "npy",
          .help = "NumPy arrays (.npy, .npz): [positions], [positions, numbers], [examples, positions, numbers]",
          .guess = guess_npy,
          .read = read_npy};
}

}  // namespace unfold
