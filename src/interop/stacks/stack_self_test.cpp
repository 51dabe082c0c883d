#include "interop/stacks/stack_self_test.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "unfold/base/error.h"
#include "unfold/base/formats/json.h"
#include "unfold/numerics/random.h"

namespace unfold {
namespace {

using Rows = std::vector<std::vector<double>>;

std::size_t index_of(Index i) { return static_cast<std::size_t>(i); }

void make_log_probabilities(std::vector<double>& logits) {
  const double top = *std::ranges::max_element(logits);
  double sum = 0;
  for (const double x : logits) sum += std::exp(x - top);
  for (double& x : logits) x -= top + std::log(sum);
}

/// Returns the symbol read at position t: the preceding symbol for a model that predicts the next one.
Symbol read_at(const TestInput& trial, Index t, bool next_symbol, Symbol first) {
  if (!next_symbol) return trial.symbols[index_of(t)];
  return t == 0 ? first : trial.symbols[index_of(t - 1)];
}

/// Returns the index of the component of the output at position t that is stored with the weights.
std::size_t stored_component(std::size_t t, std::size_t size) { return (7 * t) % size; }

}  // namespace

template <class T>
TestInput make_test_input(const StackModel<T>& model, Index positions) {
  TestInput trial;
  Random random(1, "trial");
  const Index size = model.input().size();
  for (Index t = 0; t < positions; ++t) {
    if (model.reads_symbols()) {
      trial.symbols.push_back(static_cast<Symbol>(random.below(static_cast<std::uint64_t>(size))));
      continue;
    }
    std::vector<double> x;
    const StackScale back = model.read.inverse();
    for (Index j = 0; j < size; ++j)
      x.push_back(back(static_cast<double>(static_cast<float>(random.uniform(-2, 2))), j));
    trial.values.push_back(std::move(x));
  }
  return trial;
}

template <class T>
Rows outputs_of(const StackModel<T>& model, const Parameters<T>& parameters, const TestInput& trial, bool next_symbol) {
  Team team(1);
  Unfolding<T> u(model.network.plan, team);
  u.lay(Structure::chains(1, trial.positions()));
  u.set_parameters(parameters);
  if (model.reads_symbols()) {
    for (Index t = 0; t < trial.positions(); ++t)
      u.symbols(model.input())[index_of(t)] = read_at(trial, t, next_symbol, kNoSymbol);
  } else {
    const Matrix<T> x = u.input(model.input());
    for (Index t = 0; t < x.rows; ++t)
      for (Index j = 0; j < x.cols; ++j)
        x(t, j) = static_cast<T>(model.read(trial.values[index_of(t)][index_of(j)], j));
  }
  u.forward();
  const Matrix<const T> y = u.value(model.output());
  const StackScale back = model.given.inverse();
  Rows outputs;
  for (Index t = 0; t < y.rows; ++t) {
    std::vector<double> row;
    for (Index j = 0; j < y.cols; ++j) row.push_back(back(static_cast<double>(y(t, j)), j));
    if (model.gives_symbols) make_log_probabilities(row);
    outputs.push_back(std::move(row));
  }
  return outputs;
}

Rows outputs_of(const StackWeights& stack, const TestInput& trial, bool next_symbol, Symbol first, bool of_symbols) {
  Rows x = trial.values;
  for (Index t = 0; !trial.symbols.empty() && t < trial.positions(); ++t)
    x.push_back(stack.vector_of(read_at(trial, t, next_symbol, first)));
  Rows outputs = reference(stack, x);
  if (of_symbols)
    for (std::vector<double>& row : outputs) make_log_probabilities(row);
  return outputs;
}

/// Returns a maximum that propagates NaN from `b`.
double larger_difference(double a, double b) { return std::isnan(b) || b > a ? b : a; }

double largest_difference(const Rows& a, const Rows& b, bool of_symbols) {
  double largest = 0;
  for (std::size_t t = 0; t < a.size(); ++t)
    for (std::size_t j = 0; j < a[t].size(); ++j) {
      const double unit = of_symbols ? 1 : 1 + std::fabs(b[t][j]);
      largest = larger_difference(largest, std::fabs(a[t][j] - b[t][j]) / unit);
    }
  return largest;
}

nlohmann::json to_json(const TestInput& trial, const Rows& outputs) {
  nlohmann::json told;
  if (trial.symbols.empty())
    told["read"] = trial.values;
  else
    told["read"] = trial.symbols;
  for (std::size_t t = 0; t < outputs.size(); ++t) {
    const std::size_t k = stored_component(t, outputs[t].size());
    told["component"].push_back(k);
    told["given"].push_back(outputs[t][k]);
  }
  return told;
}

template <class T>
double difference_from(const nlohmann::json& told, const StackModel<T>& model, const Parameters<T>& parameters,
                       bool next_symbol) {
  try {
    TestInput trial;
    if (model.reads_symbols()) {
      for (const nlohmann::json& told_symbol : told.at("read")) {
        trial.symbols.push_back(whole_number<Symbol>(told_symbol).value_or(kNoSymbol));
        if (trial.symbols.back() < 0 || trial.symbols.back() >= model.input().size())
          throw ModelError("the input symbols of the test pair stored with the weights are invalid");
      }
    } else {
      trial.values = told.at("read").get<Rows>();
      for (const std::vector<double>& x : trial.values)
        if (static_cast<Index>(x.size()) != model.input().size())
          throw ModelError("the input vectors of the test pair stored with the weights have the wrong size");
    }
    if (trial.positions() == 0) throw ModelError("the test pair stored with the weights is empty");
    const Rows outputs = outputs_of(model, parameters, trial, next_symbol);
    double largest = 0;
    for (std::size_t t = 0; t < outputs.size(); ++t) {
      const double theirs = told.at("given").at(t).get<double>(),
                   ours = outputs[t].at(
                       static_cast<std::size_t>(whole_number<Index>(told.at("component").at(t)).value_or(-1)));
      largest =
          larger_difference(largest, std::fabs(ours - theirs) / (model.gives_symbols ? 1 : 1 + std::fabs(theirs)));
    }
    return largest;
  } catch (const nlohmann::json::exception&) {
    throw ModelError("the test pair stored with the weights is invalid");
  } catch (const std::out_of_range&) {
    throw ModelError("the test pair stored with the weights is invalid");
  }
}

#define UNFOLD_INSTANTIATE(T)                                                                   \
  template TestInput make_test_input(const StackModel<T>&, Index);                              \
  template Rows outputs_of(const StackModel<T>&, const Parameters<T>&, const TestInput&, bool); \
  template double difference_from(const nlohmann::json&, const StackModel<T>&, const Parameters<T>&, bool);
UNFOLD_INSTANTIATE(float)
UNFOLD_INSTANTIATE(double)
#undef UNFOLD_INSTANTIATE

}  // namespace unfold
