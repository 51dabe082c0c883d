/// Terms of affine maps and operators as ONNX (circuit_to_onnx.h).

#include <fmt/format.h>

#include "graph/circuit/concatenation.h"
#include "graph/circuit/known_operator.h"
#include "interop/onnx/circuit_to_onnx.h"
#include "unfold/base/error.h"
#include "unfold/graph/circuit/sparse_operator.h"

namespace unfold {
namespace {

constexpr Index kMostWeights = Index{1} << 27;  // limit for sparse weights stored as dense matrices

}  // namespace

/// Returns the sum with the term added.
template <class T>
std::string OnnxStep<T>::term(const Node& n, const Node::AffineTerm& term, const std::string& sum) {
  using Kind = ExportableOperator::Kind;
  if (term.dense() && node(term.source).kind() == Node::Kind::symbols) return add(sum, lookup(term));
  const Matrix<const T> w = parameters_[term.parameter];
  if (term.dense()) {
    const std::vector<T> weights(w.data, w.data + w.rows * w.cols);
    return add(sum, body_->add("MatMul", {value(term.source), constant({w.rows, w.cols}, weights)}));
  }
  const Operator& op = *term.op;
  if (as_sparse(&op) != nullptr) return sparse(term, sum, value(term.source));
  const auto* known = dynamic_cast<const ExportableOperator*>(&op);
  if (known == nullptr)
    throw UsageError(fmt::format("{} has the operator \"{}\", which is not supported", n.name, op.name()));
  const std::string x = value(term.source);
  const auto ones = [&](Index count) {
    std::vector<T> v(static_cast<std::size_t>(op.inputs()), T{0});
    std::fill_n(v.begin(), count, T{1});
    return v;
  };
  switch (known->known_kind()) {
    case Kind::layer_norm: return add(sum, layer_norm(term, x));
    case Kind::leak:  // the rates do not depend on x; read off from the response
    case Kind::complex_gain: return add(sum, mul(x, constant({op.outputs()}, response(term, ones(op.inputs())))));
    case Kind::complex_decay: return add(sum, complex_turn(term, x));
    case Kind::modulus_relu: return add(sum, modulus_relu(term, x));
    case Kind::placed: {  // a matrix of zeros and ones
      std::vector<T> matrix(static_cast<std::size_t>(op.inputs() * op.outputs()), T{0});
      for (Index r = 0; r < op.inputs(); ++r)
        matrix[static_cast<std::size_t>(r * op.outputs() + as_concatenation(&op)->offset() + r)] = T{1};
      return add(sum, body_->add("MatMul", {x, constant({op.inputs(), op.outputs()}, matrix)}));
    }
    case Kind::share:
      return add(
          sum,
          body_->add("Div", {x, body_->add("ReduceSum", {x, body_->numbers({1})}, {onnx_attribute("keepdims", 1)})}));
    case Kind::unitary: {  // a linear map: its matrix, row by row
      std::vector<T> matrix;
      for (Index r = 0; r < op.inputs(); ++r) {
        std::vector<T> unit(static_cast<std::size_t>(op.inputs()), T{0});
        unit[static_cast<std::size_t>(r)] = T{1};
        const std::vector<T> row = response(term, unit);
        matrix.insert(matrix.end(), row.begin(), row.end());
      }
      return add(sum, body_->add("MatMul", {x, constant({op.inputs(), op.outputs()}, matrix)}));
    }
  }
  return sum;
}

/// The row of the input symbol; zeros if it is missing.
template <class T>
std::string OnnxStep<T>::lookup(const Node::AffineTerm& term) {
  const Matrix<const T> w = parameters_[term.parameter];
  const std::vector<T> table(w.data, w.data + w.rows * w.cols);
  const std::string rows = body_->add("Gather", {constant({w.rows, w.cols}, table), read(term.source).row});
  return body_->add("Where", {read(term.source).known, rows, scalar(0)});
}

template <class T>
std::vector<T> OnnxStep<T>::response(const Node::AffineTerm& term, const std::vector<T>& x) const {
  const Operator& op = *term.op;
  std::vector<T> from(x), y(static_cast<std::size_t>(op.outputs()), T{0}),
      scratch(static_cast<std::size_t>(op.scratch()), T{0});
  OperatorRows<T> rows;
  rows.w = parameters_[term.parameter];
  rows.x = {from.data(), 1, op.inputs(), op.inputs()};
  rows.scratch = scratch.data();
  op.apply(rows, {y.data(), 1, op.outputs(), op.outputs()});
  return y;
}

/// Gains times x, normalized to mean 0 and variance 1 (graph/circuit/layer_norm_operator.cpp).
template <class T>
std::string OnnxStep<T>::layer_norm(const Node::AffineTerm& term, const std::string& x) {
  const std::vector<ProtoMessage> last = {onnx_attribute("axes", std::vector<Index>{1}), onnx_attribute("keepdims", 1)};
  const Matrix<const T> gains = parameters_[term.parameter];
  const std::string centered = body_->add("Sub", {x, body_->add("ReduceMean", {x}, last)});
  const std::string variance = body_->add("ReduceMean", {mul(centered, centered)}, last);
  const std::string normal = body_->add("Div", {centered, body_->add("Sqrt", {add(variance, scalar(1e-5))})});
  return mul(normal, constant({gains.cols}, {gains.data, gains.data + gains.cols}));
}

/// l x, for complex numbers stored as n real parts followed by n imaginary parts.
template <class T>
std::string OnnxStep<T>::complex_turn(const Node::AffineTerm& term, const std::string& x) {
  const Index n = term.op->inputs() / 2;
  std::vector<T> ones(static_cast<std::size_t>(2 * n), T{0});
  std::fill_n(ones.begin(), n, T{1});
  const std::vector<T> l = response(term, ones);
  const std::string re = columns(x, 0, n), im = columns(x, n, 2 * n), lr = constant({n}, {l.begin(), l.begin() + n}),
                    li = constant({n}, {l.begin() + n, l.end()});
  return body_->add("Concat", {body_->add("Sub", {mul(lr, re), mul(li, im)}), add(mul(lr, im), mul(li, re))},
                    {onnx_attribute("axis", 1)});
}

/// x with each modulus increased by b, or set to 0 if negative (graph/circuit/modulus_relu.cpp).
template <class T>
std::string OnnxStep<T>::modulus_relu(const Node::AffineTerm& term, const std::string& x) {
  const Index n = term.op->inputs() / 2;
  const Matrix<const T> w = parameters_[term.parameter];
  const std::string re = columns(x, 0, n), im = columns(x, n, 2 * n), b = constant({n}, {w.data, w.data + n});
  const std::string m = body_->add("Sqrt", {add(add(mul(re, re), mul(im, im)), scalar(1e-5))});
  const std::string on = add(body_->add("Div", {b, m}), scalar(1));
  const std::string s = body_->add("Where", {body_->add("Greater", {add(m, b), scalar(0)}), on, scalar(0)});
  return body_->add("Concat", {mul(s, re), mul(s, im)}, {onnx_attribute("axis", 1)});
}

/// One row of sparse weights as a dense matrix [inputs x outputs].
template <class T>
std::vector<T> OnnxStep<T>::dense_weights(const Node::AffineTerm& term, Index row) const {
  const Edges& edges = as_sparse(term.op.get())->edges();
  const Matrix<const T> w = parameters_[term.parameter];
  std::vector<T> matrix(static_cast<std::size_t>(edges.inputs() * edges.outputs()), T{0});
  for (Index i = 0; i < edges.outputs(); ++i)
    for (auto e = edges.entering()[static_cast<std::size_t>(i)]; e < edges.entering()[static_cast<std::size_t>(i + 1)];
         ++e)
      matrix[static_cast<std::size_t>(edges.from()[static_cast<std::size_t>(e)] * edges.outputs() + i)] += w(row, e);
  return matrix;
}

/// Sparse weights as dense matrices. A gate selects one of them or keeps the state.
template <class T>
std::string OnnxStep<T>::sparse(const Node::AffineTerm& term, const std::string& sum, const std::string& x) {
  const SparseOperator& op = *as_sparse(term.op.get());
  const Index inputs = op.inputs(), outputs = op.outputs(), rows = parameters_[term.parameter].rows;
  if (rows * inputs * outputs > kMostWeights)
    throw UsageError(fmt::format("its sparse weights would need {} dense matrices of {} x {}, which is too large", rows,
                                 inputs, outputs));
  std::vector<T> weights;
  for (Index r = 0; r < rows; ++r) {
    const std::vector<T> matrix = dense_weights(term, r);
    weights.insert(weights.end(), matrix.begin(), matrix.end());
  }
  std::string s = x, result = sum;
  switch (op.form().activation) {
    case Map::copy: break;
    case Map::tanh: s = body_->add("Tanh", {x}); break;
    case Map::sigmoid: s = body_->add("Sigmoid", {x}); break;
    case Map::relu: s = body_->add("Relu", {x}); break;
    default:
      throw UsageError("its edges have the map " + std::string(map_info(op.form().activation).name) +
                       ", which is not supported");
  }
  if (op.form().leaky) result = add(result, x);
  if (op.reads_gate() && rows > 1) {
    const std::string chosen = body_->add("Gather", {constant({rows, inputs, outputs}, weights), read(term.gate).row});
    const std::string row = body_->add("Unsqueeze", {s, constants_.numbers({1})});
    result = add(result, body_->add("Squeeze", {body_->add("MatMul", {row, chosen}), constants_.numbers({1})}));
  } else {
    for (Index r = 0; r < rows; ++r) {
      const auto begin = weights.begin() + r * inputs * outputs;
      result = add(result, body_->add("MatMul", {s, constant({inputs, outputs}, {begin, begin + inputs * outputs})}));
    }
  }
  return op.reads_gate() ? body_->add("Where", {read(term.gate).known, result, add(sum, x)}) : result;
}

#define UNFOLD_INSTANTIATE(T) \
  template std::string OnnxStep<T>::term(const Node&, const Node::AffineTerm&, const std::string&);
UNFOLD_INSTANTIATE(float)
UNFOLD_INSTANTIATE(double)
#undef UNFOLD_INSTANTIATE

}  // namespace unfold
