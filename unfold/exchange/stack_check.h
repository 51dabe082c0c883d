#pragma once
/// The numeric self-test of what is exchanged: a model of ours beside the equations that PyTorch documents, in double
/// (stack_weights.h, `reference`). Internal to exchange/.

#include <nlohmann/json_fwd.hpp>

#include "unfold/exchange/stack_model.h"

namespace unfold {

/// Log-probabilities may differ by so much, and values by so much of 1 plus their size: rounding of floats.
inline constexpr double kMostDifference = 1e-4;

/// What a model is tried on: so many positions. What is read is a symbol or a vector.
struct StackTrial {
  std::vector<Symbol> symbols = {};
  std::vector<std::vector<double>> values = {};
  Index positions() const { return static_cast<Index>(symbols.empty() ? values.size() : symbols.size()); }
};
template <class T>
StackTrial make_trial(const StackHolder<T>& model, Index positions);

/// Log-probabilities of the symbols, or values as they are in the data, position by position. A model that predicts the
/// next symbol reads at each position the symbol before; `first` is what stands before the first one: of ours always
/// kNoSymbol, of theirs the symbol that their program reads then.
template <class T>
std::vector<std::vector<double>> outputs_of(const StackHolder<T>& model, const Parameters<T>& parameters,
                                            const StackTrial& trial, bool next_symbol);
std::vector<std::vector<double>> outputs_of(const StackWeights& stack, const StackTrial& trial, bool next_symbol,
                                            Symbol first, bool of_symbols);
/// The largest difference, of values in units of 1 plus their size.
double largest_difference(const std::vector<std::vector<double>>& a, const std::vector<std::vector<double>>& b,
                          bool of_symbols);

/// What is read and one number of what is given at each position, as JSON, to go with the weights; and the largest
/// difference from it. Throws ModelError for a text that is none.
nlohmann::json to_json(const StackTrial& trial, const std::vector<std::vector<double>>& outputs);
template <class T>
double difference_from(const nlohmann::json& told, const StackHolder<T>& model, const Parameters<T>& parameters,
                       bool next_symbol);

}  // namespace unfold
