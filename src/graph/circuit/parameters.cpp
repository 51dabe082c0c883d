#include "unfold/graph/circuit/parameters.h"

namespace unfold {

template <class T>
Parameters<T>::Parameters(const Circuit& circuit) : info_(circuit.parameters()), flat_(circuit.parameter_count()) {}

template <class T>
void Parameters<T>::initialize(std::uint64_t seed) {
  std::vector<double> drawn;
  for (const ParameterInfo& p : info_) {
    drawn.assign(static_cast<std::size_t>(p.size()), 0.0);
    fill(p.init, seed, p.name, p.rows, p.cols, drawn.data());
    for (Index i = 0; i < p.size(); ++i) flat_[p.offset + i] = static_cast<T>(drawn[static_cast<std::size_t>(i)]);
  }
}

template <class T>
Matrix<T> Parameters<T>::at(std::string_view name) {
  std::string known;
  for (std::size_t i = 0; i < info_.size(); ++i) {
    if (info_[i].name == name) return (*this)[static_cast<int>(i)];
    known += (known.empty() ? "" : ", ") + info_[i].name;
  }
  throw UsageError("no parameter is named " + std::string(name) + "; the parameters are " + known);
}

template class Parameters<float>;
template class Parameters<double>;

}  // namespace unfold
