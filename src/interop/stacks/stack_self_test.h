#pragma once
/// Numeric self-test of import and export: compares a model with the equations documented by PyTorch, evaluated in
/// double (`reference` in stack_weights.h). Internal to interop/.

#include <nlohmann/json_fwd.hpp>

#include "interop/stacks/stack_model.h"

namespace unfold {

/// Tolerance for float rounding: absolute for log-probabilities, relative to 1 + |value| for values.
inline constexpr double kMostDifference = 1e-4;

/// Random test input, a symbol or a vector per position.
struct TestInput {
  std::vector<Symbol> symbols = {};
  std::vector<std::vector<double>> values = {};
  Index positions() const { return static_cast<Index>(symbols.empty() ? values.size() : symbols.size()); }
};
template <class T>
TestInput make_test_input(const StackModel<T>& model, Index positions);

/// Outputs by position: log-probabilities of the symbols, or values in units of the data. A model that predicts the
/// next symbol reads the preceding symbol at each position. `first` is read at position 0: kNoSymbol for models of this
/// library, the start symbol of the other program otherwise.
template <class T>
std::vector<std::vector<double>> outputs_of(const StackModel<T>& model, const Parameters<T>& parameters,
                                            const TestInput& trial, bool next_symbol);
std::vector<std::vector<double>> outputs_of(const StackWeights& stack, const TestInput& trial, bool next_symbol,
                                            Symbol first, bool of_symbols);
/// Returns the largest difference; for values, relative to 1 + |value|.
double largest_difference(const std::vector<std::vector<double>>& a, const std::vector<std::vector<double>>& b,
                          bool of_symbols);

/// Converts a trial and one component of the output per position to JSON, to be stored with the weights.
/// difference_from returns the largest difference of a model from such a record; it throws ModelError if the JSON is
/// invalid.
nlohmann::json to_json(const TestInput& trial, const std::vector<std::vector<double>>& outputs);
template <class T>
double difference_from(const nlohmann::json& told, const StackModel<T>& model, const Parameters<T>& parameters,
                       bool next_symbol);

}  // namespace unfold
