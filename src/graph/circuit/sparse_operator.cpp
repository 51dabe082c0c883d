#include "unfold/graph/circuit/sparse_operator.h"

#include <algorithm>

#include "unfold/base/error.h"

namespace unfold {

SparseOperator::SparseOperator(std::shared_ptr<const Edges> edges, const SparseForm& form)
    : edges_(std::move(edges)), form_(form) {
  if (edges_ == nullptr || edges_->count() == 0) throw UsageError("a sparse operator has no edges");
  if ((form.leaky || form.gating != Gating::none) && edges_->inputs() != edges_->outputs())
    throw UsageError("a leaky or gated sparse operator needs as many outputs as inputs, but its edges connect " +
                     std::to_string(edges_->inputs()) + " to " + std::to_string(edges_->outputs()) + " components");
  if (!is_activation(form.activation))
    throw UsageError("a sparse operator cannot use " + std::string(map_info(form.activation).name) +
                     "; use tanh, sigmoid, relu or copy");
}

ParameterShape SparseOperator::parameter_shape(Index alphabet) const {
  switch (form_.gating) {
    case Gating::none: return {form_.weight_rows, edges_->count()};
    case Gating::state: return {1, edges_->count()};
    case Gating::weights: return {alphabet, edges_->count()};
  }
  return {};
}

/// Returns a size that is sufficient for the rules and for the recurrence.
Index SparseOperator::scratch() const {
  return (3 + kSparseChainBlock) * std::max(edges_->inputs(), edges_->outputs());
}

std::shared_ptr<const Operator> SparseOperator::path_reading(std::string_view parameter, Index rows) const {
  if (const MapInfo& info = map_info(form_.activation); !info.homogeneous)
    throw UsageError("path pass: " + std::string(parameter) + " (" + std::string(info.name) +
                     ") is not positively homogeneous, so sums over paths do not describe this circuit; use ReLU, sums "
                     "and affine maps only");
  return sparse_operator(edges_, {.leaky = form_.leaky, .weight_rows = rows});
}

#define UNFOLD_RECURRENCE(T)                                                                                         \
  void SparseOperator::forward(const Recurrence<T>& in, Matrix<T> y) const {                                         \
    sparse_chain_forward<T>(term(in.w, in.gates), in.lookup, in.symbols, in.bias, y, in.scratch);                    \
  }                                                                                                                  \
  void SparseOperator::backward(const Recurrence<T>& in, Matrix<const T> y, Matrix<const T> exit, Matrix<T> adjoint, \
                                bool squared) const {                                                                \
    sparse_chain_backward<T>(term(in.w, in.gates), y, exit, adjoint, squared, in.scratch);                           \
  }
UNFOLD_RECURRENCE(float)
UNFOLD_RECURRENCE(double)
#undef UNFOLD_RECURRENCE

std::shared_ptr<const Operator> sparse_operator(std::shared_ptr<const Edges> edges, const SparseForm& form) {
  return std::make_shared<SparseOperator>(std::move(edges), form);
}

const SparseOperator* as_sparse(const Operator* op) { return dynamic_cast<const SparseOperator*>(op); }

}  // namespace unfold
