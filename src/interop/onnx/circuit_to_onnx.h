#pragma once
/// The step of a circuit as nodes of an ONNX graph over a batch of sequences (export_onnx.h). Internal to interop/.

#include <map>
#include <string>
#include <vector>

#include "interop/onnx/onnx_message.h"
#include "interop/steps/value_locations.h"
#include "unfold/graph/circuit/parameters.h"

namespace unfold {

/// A state carried between steps: a matrix [batch x size] with the last values of a node, latest first.
struct OnnxState {
  std::string name;
  Index size;
  std::vector<double> start;  ///< value before the first symbol; empty: zeros
};

template <class T>
class OnnxStep {
 public:
  static constexpr OnnxType kType = sizeof(T) == sizeof(double) ? OnnxType::f64 : OnnxType::f32;

  /// Constants are added to `constants`, the outer graph. Throws a UsageError that names the unsupported part of the
  /// model.
  OnnxStep(const Plan& plan, const Parameters<T>& parameters, int output, const StepInputs& inputs,
           OnnxGraph& constants);

  const std::vector<OnnxState>& states() const { return states_; }
  /// Adds the step to `body`. Its inputs are one per state, with the state's name, and "symbol" [batch] (-1 for none),
  /// or "read_now" [batch x texts] and "x" [batch x numbers]; "lengths" [batch] belongs to the outer graph. Returns the
  /// name of the output [batch x size] and stores the names of the new states in `next`.
  std::string write(OnnxGraph& body, std::vector<std::string>& next);

 private:
  // onnx_step.cpp
  struct Read {
    std::string row, known;  // the symbol, or 0 if missing; a mask [batch x 1] of symbols that are present
  };
  void find_states();
  void take_inputs();
  const Read& read(int node);
  std::string value(int node);
  std::string columns(const std::string& x, Index from, Index to);
  void affine(const Item& item);
  void pointwise(const Item& item);
  std::string softplus(const std::string& x);
  std::string map(const Node& n, const std::string& x, const std::string& y);

  // onnx_terms.cpp
  std::string term(const Node& n, const Node::AffineTerm& term, const std::string& sum);
  std::string lookup(const Node::AffineTerm& term);
  std::string layer_norm(const Node::AffineTerm& term, const std::string& x);
  std::string complex_turn(const Node::AffineTerm& term, const std::string& x);
  std::string modulus_relu(const Node::AffineTerm& term, const std::string& x);
  std::string sparse(const Node::AffineTerm& term, const std::string& sum, const std::string& x);
  std::vector<T> response(const Node::AffineTerm& term, const std::vector<T>& x) const;
  std::vector<T> dense_weights(const Node::AffineTerm& term, Index row) const;

  std::string constant(const std::vector<Index>& shape, const std::vector<T>& numbers) {
    return constants_.constant(kType, shape, numbers);
  }
  std::string scalar(double x) { return constant({}, {static_cast<T>(x)}); }
  std::string add(const std::string& a, const std::string& b) { return body_->add("Add", {a, b}); }
  std::string mul(const std::string& a, const std::string& b) { return body_->add("Mul", {a, b}); }
  const Node& node(int i) const { return plan_.nodes()[static_cast<std::size_t>(i)]; }

  const Plan& plan_;
  const Parameters<T>& parameters_;
  ValueLocations places_;
  int output_;
  const StepInputs& inputs_;
  OnnxGraph& constants_;
  OnnxGraph* body_ = nullptr;
  std::vector<OnnxState> states_ = {};
  std::map<int, std::string> values_ = {};           // names by node
  std::map<std::string, std::string> columns_ = {};  // slices that exist already
  std::map<int, Read> reads_ = {};
  std::string zeros_;  // [batch x 1]
};

}  // namespace unfold
