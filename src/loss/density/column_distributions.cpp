#include <string>

#include "loss/density/component_distribution.h"
#include "unfold/base/error.h"
#include "unfold/numerics/vector.h"

namespace unfold {

template <class T>
ColumnDistributions<T>::ColumnDistributions(std::unique_ptr<ComponentDistribution<T>> alike)
    : alike_(std::move(alike)) {}

template <class T>
ColumnDistributions<T>::ColumnDistributions(std::vector<Column> columns,
                                            std::unique_ptr<ComponentDistribution<T>> of_numbers, std::string_view who)
    : columns_(std::move(columns)), alike_(std::move(of_numbers)), bits_(bit_distribution<T>()) {
  for (const Column& column : columns_) {
    if (column.kind == Column::Kind::number && alike_ == nullptr)
      throw UsageError(std::string(who) +
                       " supports only bits and classes; use rnade or deep-rnade for numeric columns");
    if (column.kind != Column::Kind::classes) continue;
    if (static_cast<Index>(classes_.size()) <= column.classes) classes_.resize(at(column.classes + 1));
    if (!classes_[at(column.classes)]) classes_[at(column.classes)] = class_distribution<T>(column.classes);
  }
}

template <class T>
const ComponentDistribution<T>* ColumnDistributions<T>::law_of(const Column& column) const {
  switch (column.kind) {
    case Column::Kind::bit: return bits_.get();
    case Column::Kind::number: return alike_.get();
    case Column::Kind::classes: break;
  }
  return classes_[at(column.classes)].get();
}

template <class T>
Index ColumnDistributions<T>::numbers_of(Index signal, Index beside, std::string_view who) const {
  const std::string given =
      std::string(who) + " loss: the signal has " + std::to_string(signal) + " numbers, but must have ";
  const std::string more = beside > 0 ? " and " + std::to_string(beside) + " more" : "";
  if (!columns_.empty()) {
    const auto numbers = static_cast<Index>(columns_.size());
    const Index wanted = shape(numbers).all_outputs();
    if (signal - beside != wanted)
      throw UsageError(given + std::to_string(wanted) + " for the columns " + to_string(columns_) + more);
    return numbers;
  }
  const Index each = alike_->outputs(), outputs = signal - beside;
  if (outputs < each || outputs % each != 0)
    throw UsageError(given + std::to_string(each) + " for each predicted number" + more);
  return outputs / each;
}

template <class T>
VectorShape ColumnDistributions<T>::shape(Index numbers) const {
  if (columns_.empty()) return VectorShape::alike(numbers, alike_->outputs());
  std::vector<Index> outputs;
  outputs.reserve(columns_.size());
  for (const Column& column : columns_) outputs.push_back(law_of(column)->outputs());
  return {columns_, outputs};
}

template <class T>
template <class Use>
void ColumnDistributions<T>::each_run(const VectorShape& shape, const Use& use) const {
  if (columns_.empty()) return use(*alike_, Index{0}, shape.numbers());
  for (std::size_t begin = 0, end = 0; begin < columns_.size(); begin = end) {
    while (end < columns_.size() && columns_[end] == columns_[begin]) ++end;
    use(*law_of(columns_[begin]), static_cast<Index>(begin), static_cast<Index>(end - begin));
  }
}

template <class T>
T ColumnDistributions<T>::nats(const VectorShape& shape, const T* o, const T* x, std::string_view who) const {
  T total = 0;
  each_run(shape, [&](const ComponentDistribution<T>& law, Index first, Index count) {
    total += law.nats(o + shape.first_output(first), x + first, count, who);
  });
  return total;
}

template <class T>
T ColumnDistributions<T>::slopes(const VectorShape& shape, const T* o, const T* x, std::string_view who, T* out) const {
  T total = 0;
  each_run(shape, [&](const ComponentDistribution<T>& law, Index first, Index count) {
    const Index place = shape.first_output(first);
    total += law.slopes(o + place, x + first, count, who, out + place);
  });
  return total;
}

template <class T>
void ColumnDistributions<T>::curvature(const VectorShape& shape, const T* o, const T* x, const T* v, T* out) const {
  each_run(shape, [&](const ComponentDistribution<T>& law, Index first, Index count) {
    const Index place = shape.first_output(first);
    law.curvature(o + place, x + first, count, v + place, out + place);
  });
}

template <class T>
void ColumnDistributions<T>::curvature_root(const VectorShape& shape, const T* o, const T* x, const T* noise,
                                            T* out) const {
  each_run(shape, [&](const ComponentDistribution<T>& law, Index first, Index count) {
    const Index place = shape.first_output(first);
    law.curvature_root(o + place, x + first, count, noise + place, out + place);
  });
}

template class ColumnDistributions<float>;
template class ColumnDistributions<double>;

}  // namespace unfold
