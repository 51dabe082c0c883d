#include "graph/stored/operator_record.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <string_view>
#include <utility>

#include "graph/circuit/attention.h"
#include "graph/circuit/cell_maps.h"
#include "graph/circuit/concatenation.h"
#include "graph/circuit/mixed_sparse.h"
#include "graph/circuit/quadratic.h"
#include "graph/circuit/random_kernels.h"
#include "unfold/base/error.h"
#include "unfold/graph/circuit/sparse_lookup.h"
#include "unfold/graph/circuit/sparse_operator.h"

namespace unfold {
namespace {

/// The activations of sparse operators and their numbers in records.
constexpr std::array kRecordedActivations = {Map::copy, Map::tanh, Map::sigmoid, Map::relu};

std::vector<double> as_number(Index number) { return {static_cast<double>(number)}; }

std::vector<double> activation_number(Map map) {
  const auto found = std::ranges::find(kRecordedActivations, map);
  return as_number(found - kRecordedActivations.begin());
}

std::vector<double> as_numbers(const std::vector<std::int32_t>& list) { return {list.begin(), list.end()}; }

OperatorRecord sparse_record(const SparseOperator& op) {
  const Edges& edges = op.edges();
  return {"sparse",
          {{"inputs", as_number(edges.inputs())},
           {"outputs", as_number(edges.outputs())},
           {"from", as_numbers(edges.from())},
           {"to", as_numbers(edges.to())},
           {"activation", activation_number(op.form().activation)},
           {"leaky", as_number(op.form().leaky ? 1 : 0)},
           {"gating", as_number(static_cast<Index>(op.form().gating))},
           {"weight-rows", as_number(op.form().weight_rows)}}};
}

OperatorRecord mixed_record(const MixedSparse& op) {
  const Edges& edges = op.edges();
  return {"mixed-sparse",
          {{"inputs", as_number(op.mixing())},
           {"units", as_number(edges.outputs())},
           {"from", as_numbers(edges.from())},
           {"to", as_numbers(edges.to())},
           {"activation", activation_number(op.form().activation)},
           {"leaky", as_number(op.form().leaky ? 1 : 0)}}};
}

/// Reads the constants of a record and requires that all constants are read.
class Constants {
 public:
  explicit Constants(const OperatorRecord& record) : record_(record) {}

  [[noreturn]] void fail(const std::string& what) const {
    throw UsageError(fmt::format("operator {}: {}", record_.kind, what));
  }

  const std::vector<double>& list(const char* name) {
    const auto found = record_.constants.find(name);
    if (found == record_.constants.end()) fail(fmt::format("\"{}\" is missing", name));
    ++read_;
    return found->second;
  }
  double number(const char* name) {
    const std::vector<double>& all = list(name);
    if (all.size() != 1) fail(fmt::format("\"{}\" must be one number", name));
    return all.front();
  }
  Index whole(const char* name, Index low, Index high) { return whole(name, number(name), low, high); }
  template <class Whole>
  std::vector<Whole> wholes(const char* name, Index low, Index high) {
    std::vector<Whole> result;
    for (const double x : list(name)) result.push_back(static_cast<Whole>(whole(name, x, low, high)));
    return result;
  }
  /// Checks a constant whose value is determined by the circuit.
  void require(const char* name, Index wanted) {
    if (const double given = number(name); given != static_cast<double>(wanted))
      fail(fmt::format("\"{}\" is {}, but the circuit requires {}", name, given, wanted));
  }
  bool flag(const char* name) { return whole(name, 0, 1) == 1; }
  void require_all_read() const {
    if (read_ != record_.constants.size()) fail("it has constants that do not belong to it");
  }

 private:
  Index whole(const char* name, double x, Index low, Index high) const {
    if (!(x >= static_cast<double>(low) && x <= static_cast<double>(high)) || x != std::floor(x))
      fail(fmt::format("\"{}\" contains {}, which is not an integer from {} to {}", name, x, low, high));
    return static_cast<Index>(x);
  }

  const OperatorRecord& record_;
  std::size_t read_ = 0;
};

using Made = std::shared_ptr<const Operator>;

/// Returns half of an even size.
Index half(Constants& c, Index size) {
  if (size % 2 != 0) c.fail("it needs an even number of components");
  return size / 2;
}

template <auto make>
Made of_size(Constants& c, const OperatorSizes& sizes) {
  c.require("size", sizes.inputs);
  return make(sizes.inputs);
}

template <auto make>
Made of_complex(Constants& c, const OperatorSizes& sizes) {
  const Index n = half(c, sizes.inputs);
  c.require("size", n);
  return make(n);
}

Made make_leak(Constants& c, const OperatorSizes& sizes) {
  c.require("size", sizes.inputs);
  const std::vector<double>& rates = c.list("rates");
  if (rates.empty()) return learned_leak(sizes.inputs);
  if (static_cast<Index>(rates.size()) != sizes.inputs) c.fail("it needs one rate for each component");
  return fixed_leak(rates);
}

Made make_placed(Constants& c, const OperatorSizes& sizes) {
  c.require("inputs", sizes.inputs);
  c.require("outputs", sizes.outputs);
  return std::make_shared<const Placed>(sizes.inputs, sizes.outputs, c.whole("offset", 0, sizes.outputs));
}

Made make_unitary(Constants& c, const OperatorSizes& sizes) {
  const Index n = half(c, sizes.inputs);
  std::vector<Index> permutation = c.wholes<Index>("permutation", 0, n - 1);
  if (static_cast<Index>(permutation.size()) != n) c.fail("its permutation has the wrong size");
  return unitary_map_of(std::move(permutation));
}

Made make_quadratic(Constants& c, const OperatorSizes& sizes) {
  c.require("inputs", sizes.inputs);
  c.require("outputs", sizes.outputs);
  return quadratic_form(sizes.inputs, sizes.outputs, c.number("scale"));
}

Made make_listed(Constants& c, const OperatorSizes& sizes) {
  constexpr Index kMost = (Index{1} << 31) - 1;
  auto listing = std::make_shared<Listing>();
  listing->alphabets = c.wholes<Index>("alphabets", 1, kMost);
  if (!std::ranges::equal(listing->alphabets, sizes.alphabets))
    c.fail("its alphabets do not match those of the symbols that it reads");
  c.require("outputs", sizes.outputs);
  listing->outputs = sizes.outputs;
  listing->begin = c.wholes<std::int32_t>("begin", 0, kMost);
  listing->outputs_of = c.wholes<std::int32_t>("outputs-of", 0, kMost);
  return listed_operator(std::move(listing));
}

template <AttentionScore score>
Made make_attention(Constants& c, const OperatorSizes& sizes) {
  c.require("keys", sizes.inputs);
  c.require("values", sizes.outputs);
  return attention(score, sizes.inputs, sizes.outputs);
}

Made make_random_kernels(Constants& c, const OperatorSizes& sizes) {
  constexpr Index kMostFeatures = Index{1} << 20, kMostLength = Index{1} << 24, kMostChannels = 64;
  c.require("channels", sizes.inputs);
  if (sizes.inputs > kMostChannels) c.fail(fmt::format("it has more than {} channels", kMostChannels));
  return random_kernels({.features = c.whole("features", 1, kMostFeatures),
                         .channels = sizes.inputs,
                         .length = c.whole("length", 1, kMostLength),
                         .standardized = c.flag("standardized")});
}

/// Reads the edges from the constants "from" and "to".
std::shared_ptr<const Edges> edges_of(Constants& c, Index inputs, Index outputs) {
  const auto from = c.wholes<std::int32_t>("from", 0, inputs - 1), to = c.wholes<std::int32_t>("to", 0, outputs - 1);
  if (from.size() != to.size()) c.fail("its edges have different numbers of sources and destinations");
  std::vector<std::pair<std::int32_t, std::int32_t>> pairs;
  pairs.reserve(from.size());
  for (std::size_t e = 0; e < from.size(); ++e) pairs.emplace_back(from[e], to[e]);
  return std::make_shared<const Edges>(inputs, outputs, std::move(pairs));
}

Map activation_of(Constants& c) {
  return kRecordedActivations.at(at(c.whole("activation", 0, std::ssize(kRecordedActivations) - 1)));
}

Made make_sparse(Constants& c, const OperatorSizes& sizes) {
  constexpr Index kMostRows = Index{1} << 20;
  c.require("inputs", sizes.inputs);
  c.require("outputs", sizes.outputs);
  auto edges = edges_of(c, sizes.inputs, sizes.outputs);
  return sparse_operator(std::move(edges),
                         {.activation = activation_of(c),
                          .leaky = c.flag("leaky"),
                          .gating = static_cast<Gating>(c.whole("gating", 0, static_cast<Index>(Gating::weights))),
                          .weight_rows = c.whole("weight-rows", 1, kMostRows)});
}

Made make_mixed_sparse(Constants& c, const OperatorSizes& sizes) {
  constexpr Index kMostEdges = Index{1} << 24;
  const Index mixing = sizes.inputs - sizes.outputs;
  if (mixing < 1) c.fail("its source is too small");
  c.require("inputs", mixing);
  c.require("units", sizes.outputs);
  auto edges = edges_of(c, sizes.outputs, sizes.outputs);
  if (edges->count() > kMostEdges / (mixing + 1)) c.fail("it has too many edges");
  if (sizes.outputs > kMostEdges / (mixing + 1)) c.fail("it has too many units");
  return mixed_sparse(std::move(edges), mixing, {.activation = activation_of(c), .leaky = c.flag("leaky")});
}

using MakeOperator = Made (*)(Constants&, const OperatorSizes&);

constexpr std::array<std::pair<std::string_view, MakeOperator>, 15> kOperatorKinds = {
    {{"leak", make_leak},
     {"layer-norm", of_size<layer_norm>},
     {"share", of_size<shares>},
     {"modulus-relu", of_complex<modulus_relu>},
     {"complex-decay", of_complex<complex_decay>},
     {"complex-gain", of_complex<complex_gain>},
     {"placed", make_placed},
     {"unitary", make_unitary},
     {"quadratic-form", make_quadratic},
     {"listed", make_listed},
     {"additive-attention", make_attention<AttentionScore::additive>},
     {"multiplicative-attention", make_attention<AttentionScore::multiplicative>},
     {"random-kernels", make_random_kernels},
     {"sparse", make_sparse},
     {"mixed-sparse", make_mixed_sparse}}};

}  // namespace

std::optional<OperatorRecord> record_of(const Operator& op) {
  if (const auto* recorded = dynamic_cast<const RecordedOperator*>(&op)) return recorded->record();
  if (const SparseOperator* sparse = as_sparse(&op)) return sparse_record(*sparse);
  if (const MixedSparse* mixed = as_mixed_sparse(&op)) return mixed_record(*mixed);
  return {};
}

std::shared_ptr<const Operator> operator_of(const OperatorRecord& record, const OperatorSizes& sizes) {
  Constants constants(record);
  for (const auto& [kind, make] : kOperatorKinds) {
    if (kind != record.kind) continue;
    Made made = make(constants, sizes);
    constants.require_all_read();
    return made;
  }
  throw UsageError("circuit: the operator is of an unknown kind; a later version of Unfold may support it");
}

}  // namespace unfold
