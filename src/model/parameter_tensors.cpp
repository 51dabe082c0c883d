#include "unfold/model/parameter_tensors.h"

#include <fmt/format.h>

#include <algorithm>

#include "unfold/base/error.h"
#include "unfold/numerics/vector.h"

namespace unfold {

template <class T>
void check_tensors(const Circuit& circuit, const SafetensorsFile& file, const std::vector<std::string>& others) {
  for (const ParameterInfo& p : circuit.parameters()) {
    const Tensor& tensor = file.tensor(p.name);
    if (tensor.dtype != DtypeOf<T>::value)
      throw ModelError(fmt::format("{}: tensor {} has type {}, but the model needs {}", file.name(), p.name,
                                   to_string(tensor.dtype), to_string(DtypeOf<T>::value)));
    if (tensor.shape != std::vector<Index>{p.rows, p.cols})
      throw ModelError(fmt::format("{}: tensor {} has shape [{}], but the model needs [{}, {}]", file.name(), p.name,
                                   fmt::join(tensor.shape, ", "), p.rows, p.cols));
  }
  for (const Tensor& tensor : file.tensors()) {
    if (std::ranges::find(others, tensor.name) != others.end()) continue;
    const auto same = [&](const ParameterInfo& p) { return p.name == tensor.name; };
    if (std::none_of(circuit.parameters().begin(), circuit.parameters().end(), same))
      throw ModelError(fmt::format("{}: tensor {} is not a parameter of the model", file.name(), tensor.name));
  }
}

template <class T>
void read_tensors(const SafetensorsFile& file, Parameters<T>& parameters) {
  for (const ParameterInfo& p : parameters.info()) {
    const auto values =
        parameters.flat().subspan(static_cast<std::size_t>(p.offset), static_cast<std::size_t>(p.size()));
    file.read<T>(p.name, {p.rows, p.cols}, values);
    if (!all_finite<T>(values))
      throw ModelError(fmt::format("{}: tensor {} contains a value that is not finite", file.name(), p.name));
  }
}

template <class T>
void add_tensors(SafetensorsWriter& writer, const Parameters<T>& parameters) {
  for (const ParameterInfo& p : parameters.info())
    writer.add<T>(p.name, {p.rows, p.cols},
                  parameters.flat().subspan(static_cast<std::size_t>(p.offset), static_cast<std::size_t>(p.size())));
}

template void check_tensors<float>(const Circuit&, const SafetensorsFile&, const std::vector<std::string>&);
template void check_tensors<double>(const Circuit&, const SafetensorsFile&, const std::vector<std::string>&);
template void read_tensors(const SafetensorsFile&, Parameters<float>&);
template void read_tensors(const SafetensorsFile&, Parameters<double>&);
template void add_tensors(SafetensorsWriter&, const Parameters<float>&);
template void add_tensors(SafetensorsWriter&, const Parameters<double>&);

}  // namespace unfold
