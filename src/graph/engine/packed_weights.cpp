#include "graph/engine/packed_weights.h"

#include <algorithm>

namespace unfold {

bool is_product(const Plan& plan, const Node::AffineTerm& term) {
  return term.dense() && !plan.is_symbols(term.source);
}

template <class T>
PackedWeights<T>::PackedWeights(const Plan& plan, Precision precision)
    : precision_(precision),
      dense_(plan.parameters().size(), 0),
      bound_(plan.parameters().size()),
      gradients_(plan.parameters().size()) {
  for (Set& set : sets_) set.matrices.resize(dense_.size()), set.changed.assign(dense_.size(), 1);
  for (std::size_t i = 0; i < plan.nodes().size(); ++i)
    if (plan.live(static_cast<int>(i)))
      for (const auto& term : plan.nodes()[i].terms())
        if (is_product(plan, term)) dense_[at(term.parameter)] = 1;
}

template <class T>
void PackedWeights<T>::mark_changed() {
  for (const Form form : {Form::plain, Form::transposed, Form::squared})
    std::fill(set(form).changed.begin(), set(form).changed.end(), char{1});
}

template <class T>
void PackedWeights<T>::mark_direction_changed() {
  std::fill(set(Form::direction).changed.begin(), set(Form::direction).changed.end(), char{1});
}

/// Squares every weight. Only the first thread does the work.
template <class T>
Matrix<const T> PackedWeights<T>::square(Member& me, Matrix<const T> w) {
  if (me.id() == 0) {
    if (squares_.size() < w.rows * w.cols) squares_.resize(w.rows * w.cols);
    for (Index r = 0; r < w.rows; ++r)
      for (Index c = 0; c < w.cols; ++c) squares_[r * w.cols + c] = w(r, c) * w(r, c);
  }
  me.sync();
  return {squares_.data(), w.rows, w.cols, w.cols};
}

template <class T>
void PackedWeights<T>::pack(Member& me, Form form, const Parameters<T>& parameters, const T* flat, Account* account) {
  const bool squared = form == Form::squared, transposed = squared || form == Form::transposed;
  auto& [into, changed] = set(form);
  for (std::size_t p = 0; p < into.size(); ++p) {
    if (!dense_[p] || !changed[p]) continue;
    const bool output_major = form != Form::direction && bound_[p].data != nullptr;
    Matrix<const T> w = output_major ? bound_[p] : parameters.view(flat, static_cast<int>(p));
    if (squared) w = square(me, w);
    const bool turned = transposed != output_major;
    const Precision of_product = squared ? Precision::exact : precision_;
    if (me.id() == 0) turned ? into[p].resize(w.cols, w.rows, of_product) : into[p].resize(w.rows, w.cols, of_product);
    me.sync();
    const StageTimer timer(account, me.id(), Stage::pack);
    const Range panels = me.share(into[p].panels());
    turned ? into[p].pack_transposed(w, panels) : into[p].pack(w, panels);
    if (squared) me.sync();
  }
  {
    const StageTimer timer(account, me.id(), Stage::waiting);
    me.sync();
  }
  if (me.id() == 0) std::fill(changed.begin(), changed.end(), char{0});
  me.sync();
}

template <class T>
std::size_t PackedWeights<T>::memory_bytes() const {
  std::size_t bytes = at(squares_.size()) * sizeof(T);
  for (const Set& set : sets_)
    for (const auto& matrix : set.matrices) bytes += matrix.bytes();
  return bytes;
}

template class PackedWeights<float>;
template class PackedWeights<double>;

}  // namespace unfold
