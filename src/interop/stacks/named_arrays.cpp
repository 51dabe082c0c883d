#include "interop/stacks/named_arrays.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>

#include "unfold/base/error.h"

namespace unfold {
namespace {

constexpr std::size_t kHeadBytes = 16;  // enough to recognize the format

/// Returns whether an archive is a PyTorch file, which contains a pickle.
bool is_pickle(std::string_view bytes) {
  return bytes.starts_with("\x80") || bytes.substr(0, 4096).find("data.pkl") != std::string_view::npos;
}

template <class T>
std::vector<double> as_doubles(const SafetensorsFile& file, const Tensor& tensor) {
  const std::vector<T> values = file.values<T>(tensor.name);
  return {values.begin(), values.end()};
}

std::vector<double> numbers_of(const SafetensorsFile& file, const Tensor& tensor) {
  switch (tensor.dtype) {
    case Dtype::f32: return as_doubles<float>(file, tensor);
    case Dtype::f64: return as_doubles<double>(file, tensor);
    case Dtype::u8: return as_doubles<std::uint8_t>(file, tensor);
    case Dtype::i32: return as_doubles<std::int32_t>(file, tensor);
    case Dtype::u32: return as_doubles<std::uint32_t>(file, tensor);
    case Dtype::i64: return as_doubles<std::int64_t>(file, tensor);
    case Dtype::u64: return as_doubles<std::uint64_t>(file, tensor);
  }
  return {};
}

}  // namespace

NamedArrays NamedArrays::open(const std::string& path) {
  const Input input = Input::open(path);
  const std::string_view head = input.bytes().substr(0, kHeadBytes);
  const bool safetensors = head.size() > 8 && head[8] == '{';  // checked first: the preceding length may have any bytes
  if (!safetensors && is_pickle(input.bytes()))
    throw ModelError(
        fmt::format("{}: this is a pickle, which can run any program when it is loaded; save the weights with "
                    "safetensors.torch.save_file(model.state_dict(), \"model.safetensors\")",
                    path));
  if (!safetensors && head.starts_with("PK")) {
    NamedArrays result(path, read_npy_arrays(input));
    result.require_finite();
    return result;
  }
  if (!safetensors && head.starts_with("\x89HDF"))
    throw ModelError(fmt::format(
        "{}: HDF5 is not supported; save the weights with numpy.savez(\"w.npz\", **{{w.path: w.numpy() for w in "
        "model.weights}})",
        path));
  const SafetensorsFile file =
      SafetensorsFile::from_bytes(std::string(input.bytes()), input.name(), Checksum::optional);
  std::vector<NpyArray> arrays;
  arrays.reserve(file.tensors().size());
  for (const Tensor& tensor : file.tensors()) arrays.push_back({tensor.name, tensor.shape, numbers_of(file, tensor)});
  NamedArrays result(path, std::move(arrays));
  result.require_finite();
  result.metadata_ = file.metadata();
  result.wide_ = std::ranges::any_of(file.tensors(), [](const Tensor& t) { return t.dtype == Dtype::f64; });
  return result;
}

void NamedArrays::require_finite() const {
  for (const NpyArray& array : arrays_)
    if (!std::ranges::all_of(array.values, [](double x) { return std::isfinite(x); }))
      fail(fmt::format("{} contains a value that is not finite", array.name));
}

const NpyArray* NamedArrays::find(std::string_view name) const {
  const auto found = std::ranges::find_if(arrays_, [&](const NpyArray& array) { return array.name == name; });
  return found == arrays_.end() ? nullptr : &*found;
}

StackMatrix NamedArrays::matrix(const NpyArray& array) const {
  if (array.shape.size() != 2)
    fail(fmt::format("{} has shape [{}], but two dimensions are required", array.name, fmt::join(array.shape, ", ")));
  StackMatrix result(array.shape[0], array.shape[1]);
  result.numbers = array.values;
  return result;
}

StackMatrix NamedArrays::matrix(const NpyArray& array, Index rows, Index cols) const {
  StackMatrix result = matrix(array);
  if (result.rows != rows || result.cols != cols)
    fail(fmt::format("{} has shape [{}], not [{}, {}]", array.name, fmt::join(array.shape, ", "), rows, cols));
  return result;
}

std::vector<double> NamedArrays::vector(std::string_view name, Index size) const {
  const NpyArray* array = find(name);
  if (array == nullptr) return std::vector<double>(static_cast<std::size_t>(size));
  if (array->shape != std::vector<Index>{size})
    fail(fmt::format("{} has shape [{}], not [{}]", name, fmt::join(array->shape, ", "), size));
  return array->values;
}

const std::string* NamedArrays::metadata(const std::string& key) const {
  const auto found = metadata_.find(key);
  return found == metadata_.end() ? nullptr : &found->second;
}

void NamedArrays::fail(const std::string& what) const { throw ModelError(fmt::format("{}: {}", source_, what)); }

}  // namespace unfold
