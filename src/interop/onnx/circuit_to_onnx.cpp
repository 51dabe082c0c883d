#include "interop/onnx/circuit_to_onnx.h"

#include <fmt/format.h>

#include <algorithm>

#include "unfold/base/error.h"

namespace unfold {

template <class T>
OnnxStep<T>::OnnxStep(const Plan& plan, const Parameters<T>& parameters, int output, const StepInputs& inputs,
                      OnnxGraph& constants)
    : plan_(plan),
      parameters_(parameters),
      places_(plan, output, !inputs.numbers.empty()),
      output_(output),
      inputs_(inputs),
      constants_(constants) {
  find_states();
}

template <class T>
void OnnxStep<T>::find_states() {
  for (const auto& [base, steps] : places_.history())
    states_.push_back({fmt::format("state_{}", states_.size()), steps * node(base).size, {}});
  for (const Plan::Carried& carried : plan_.carried()) {
    if (carried.initial < 0) continue;
    const ValueLocation place = places_.find(carried.source);
    const auto found = places_.history().find(place.base);
    if (found == places_.history().end()) continue;
    OnnxState& state = states_[static_cast<std::size_t>(std::distance(places_.history().begin(), found))];
    if (state.start.empty()) state.start.resize(static_cast<std::size_t>(state.size));
    const Matrix<const T> start = parameters_[carried.initial];
    for (Index row = 0; row < carried.steps; ++row)
      for (Index j = 0; j < start.cols; ++j)
        state.start[static_cast<std::size_t>(row * node(place.base).size + place.offset + j)] =
            static_cast<double>(start(0, j));
  }
}

template <class T>
std::string OnnxStep<T>::write(OnnxGraph& body, std::vector<std::string>& next) {
  body_ = &body;
  take_inputs();
  for (const Segment& segment : plan_.segments())
    for (const Item& item : segment.items) {
      if (item.kind == Item::Kind::affine) affine(item);
      if (item.kind == Item::Kind::pointwise) pointwise(item);
    }
  std::size_t k = 0;
  for (const auto& [base, steps] : places_.history()) {
    const Index size = node(base).size;
    const OnnxState& state = states_[k++];
    next.push_back(steps == 1 ? values_.at(base)
                              : body.add("Concat", {values_.at(base), columns(state.name, 0, (steps - 1) * size)},
                                         {onnx_attribute("axis", 1)}));
  }
  return value(output_);
}

template <class T>
void OnnxStep<T>::take_inputs() {
  const std::string rows =
      constants_.add("Cast", {"lengths"}, {onnx_attribute("to", static_cast<std::int64_t>(kType))});
  zeros_ = constants_.add("Mul", {constants_.add("Unsqueeze", {rows, constants_.numbers({1})}), scalar(0)});
  Index all = 0, first = 0;
  for (const int i : inputs_.numbers) all += node(i).size;
  for (const int i : inputs_.numbers) {
    values_[i] = node(i).size == all ? "x" : columns("x", first, first + node(i).size);
    first += node(i).size;
  }
}

template <class T>
const typename OnnxStep<T>::Read& OnnxStep<T>::read(int i) {
  Read& known = reads_[i];
  if (!known.row.empty()) return known;
  std::string symbol = "symbol";
  if (!inputs_.texts.empty()) {
    const auto found = std::ranges::find(inputs_.texts, i);
    if (found == inputs_.texts.end()) throw UsageError("it reads symbols at other positions: " + node(i).name);
    symbol = body_->add("Gather", {"read_now", constants_.number(found - inputs_.texts.begin())},
                        {onnx_attribute("axis", 1)});
  }
  known.known =
      body_->add("Unsqueeze", {body_->add("GreaterOrEqual", {symbol, constants_.number(0)}), constants_.numbers({1})});
  known.row = body_->add("Max", {symbol, constants_.number(0)});
  return known;
}

/// Columns [from, to).
template <class T>
std::string OnnxStep<T>::columns(const std::string& x, Index from, Index to) {
  std::string& known = columns_[fmt::format("{} {} {}", x, from, to)];
  if (known.empty())
    known = body_->add("Slice", {x, constants_.numbers({from}), constants_.numbers({to}), constants_.numbers({1})});
  return known;
}

template <class T>
std::string OnnxStep<T>::value(int i) {
  const ValueLocation place = places_.find(i);
  if (place.ones) return scalar(1);
  const Index size = node(i).size, whole = node(place.base).size;
  if (place.shift == 0)
    return size == whole ? values_.at(place.base) : columns(values_.at(place.base), place.offset, place.offset + size);
  const auto found = places_.history().find(place.base);
  const OnnxState& state = states_[static_cast<std::size_t>(std::distance(places_.history().begin(), found))];
  const Index from = (place.shift - 1) * whole + place.offset;
  return size == state.size ? state.name : columns(state.name, from, from + size);
}

/// Bias, lookups, other terms, in the order of the plan.
template <class T>
void OnnxStep<T>::affine(const Item& item) {
  const Node& n = node(item.node);
  if (item.parts.empty() && !item.start) return;
  std::string& sum = values_[item.node];
  if (item.start) {
    std::vector<T> bias(static_cast<std::size_t>(n.size), T{0});
    if (n.affine().bias >= 0) std::copy_n(parameters_[n.affine().bias].data, n.size, bias.begin());
    sum = add(constant({n.size}, bias), zeros_);  // broadcast: one row for each sequence
  }
  for (const Item::Part& part : item.parts) sum = term(n, n.terms()[static_cast<std::size_t>(part.term)], sum);
}

template <class T>
void OnnxStep<T>::pointwise(const Item& item) {
  for (const int i : item.nodes) {
    if (plan_.is_exit(i)) continue;
    const Node& n = node(i);
    const auto operand = [&](std::size_t k) {
      const int read = n.pointwise().operands[k];
      return read < 0 ? "" : value(read);
    };
    values_[i] = map(n, operand(0), operand(1));
  }
}

/// ONNX Runtime has no Softplus of doubles: max(x, 0) + log(1 + exp(-|x|)).
template <class T>
std::string OnnxStep<T>::softplus(const std::string& x) {
  if constexpr (std::is_same_v<T, float>) {
    return body_->add("Softplus", {x});
  } else {
    const std::string tail = body_->add("Exp", {body_->add("Neg", {body_->add("Abs", {x})})});
    return add(body_->add("Relu", {x}), body_->add("Log", {add(scalar(1), tail)}));
  }
}

template <class T>
std::string OnnxStep<T>::map(const Node& n, const std::string& x, const std::string& y) {
  switch (n.pointwise().map) {
    case Map::add: return add(x, y);
    case Map::sub: return body_->add("Sub", {x, y});
    case Map::mul: return mul(x, y);
    case Map::scale: return mul(x, scalar(n.pointwise().constant));
    case Map::shift: return add(x, scalar(n.pointwise().constant));
    case Map::one_minus: return body_->add("Sub", {scalar(1), x});
    case Map::sigmoid: return body_->add("Sigmoid", {x});
    case Map::tanh: return body_->add("Tanh", {x});
    case Map::hard_sigmoid: return body_->add("Clip", {add(mul(x, scalar(0.25)), scalar(0.5)), scalar(0), scalar(1)});
    case Map::relu: return body_->add("Relu", {x});
    case Map::softplus: return softplus(x);
    case Map::exp: return body_->add("Exp", {x});
    case Map::log: return body_->add("Log", {x});
    case Map::square: return mul(x, x);
    case Map::copy: return x;
    default:
      throw UsageError("it has the map " + std::string(map_info(n.pointwise().map).name) + ", which is not supported");
  }
}

template class OnnxStep<float>;
template class OnnxStep<double>;

}  // namespace unfold
