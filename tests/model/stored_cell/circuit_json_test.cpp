// Circuits as JSON: round trips of every cell and kind of network, and damaged circuits.
#include "model/stored_cell/circuit_json.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <array>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>

#include "graph/cells/kernels.h"
#include "graph/circuit/attention.h"
#include "graph/stored/operator_record.h"
#include "unfold/base/error.h"
#include "unfold/base/formats/json.h"
#include "unfold/gradcheck/derivative_check.h"
#include "unfold/graph/cells/registry.h"
#include "unfold/model/network/network_body.h"

namespace unfold {
namespace {

using Json = nlohmann::json;
using Type = FieldSpecification::Type;

Structure structure_for(const CellEntry& cell) {
  if (cell.reads_trees()) return Structure::trees(std::vector<Tree>{{.children = {{}, {}, {0, 1}, {}, {2, 3}}}});
  if (cell.reads_grids()) return Structure::grids(std::vector<std::pair<Index, Index>>{{3, 4}, {2, 2}});
  return Structure::chains({5, 2, 3});
}

/// The circuit after it was written as text and read.
void expect_same_after_round_trip(const Circuit& circuit, const Structure* structure, const std::string& what) {
  const Json json = circuit_to_json(data_of(circuit));
  Circuit copy;
  add_circuit(copy, circuit_from_json(parse_json(json.dump(), "test")));
  EXPECT_EQ(circuit_to_json(data_of(copy)), json) << what;
  ASSERT_EQ(copy.nodes().size(), circuit.nodes().size()) << what;
  ASSERT_EQ(copy.parameters().size(), circuit.parameters().size()) << what;
  for (std::size_t i = 0; i < copy.parameters().size(); ++i) {
    const ParameterInfo &a = circuit.parameters()[i], &b = copy.parameters()[i];
    EXPECT_TRUE(a.name == b.name && a.rows == b.rows && a.cols == b.cols && a.offset == b.offset) << what << a.name;
  }
  Parameters<double> a(circuit), b(copy);
  a.initialize(3), b.initialize(3);
  EXPECT_TRUE(std::ranges::equal(a.flat(), b.flat())) << what;
  if (structure == nullptr) return;
  Passes before(circuit, *structure, 7), after(copy, *structure, 7);
  EXPECT_EQ(before.outputs(), after.outputs()) << what;
}

void expect_same_cell(const CellEntry& cell, bool symbols, bool trained_initial) {
  constexpr Index kUnits = 8, kSize = 6;
  Circuit c;
  const Signal x = symbols ? c.symbols("x", kSize) : c.input("x", kSize);
  Signal y;
  try {
    const auto scope = c.scope("layer1");
    y = cell.add(c, x, kUnits, cell.options, trained_initial);
  } catch (const UsageError&) {
    return;  // a cell that reads only symbols, or only vectors
  }
  c.output(c.affine("output", 3, {{"V", c.dropout(y, 0.25, Lasts::sequence)}}));
  const Structure structure = structure_for(cell);
  expect_same_after_round_trip(c, &structure, cell.name);
}

TEST(CircuitJson, every_registered_cell_is_the_same_after_a_round_trip) {
  for (const CellEntry& cell : cells())
    for (const bool symbols : {false, true})
      for (const bool trained_initial : {false, true}) expect_same_cell(cell, symbols, trained_initial);
}

DataSpecification fields() {
  return {.source = "table",
          .fields = {{.name = "word", .type = Type::symbols, .size = 4},
                     {.name = "wind", .type = Type::values, .size = 2},
                     {.name = "class", .type = Type::symbols, .size = 2, .once = true}}};
}

void expect_same_network(const std::string& spec, const DataSpecification& data, const NetworkLayout& layout) {
  Circuit circuit;
  build_network<double>(parse_model_spec(spec), data, layout, circuit);
  expect_same_after_round_trip(circuit, nullptr, spec);
}

TEST(CircuitJson, networks_of_every_kind_are_the_same_after_a_round_trip) {
  const NetworkLayout classifier{.reads = {"word", "wind"}, .heads = {{.field = "class"}}};
  const NetworkLayout tagger{.reads = {"wind"}, .heads = {{.field = "word", .loss = "crf"}}};
  for (const char* spec : {"lstm:4,layers=2,residual=norm", "bigru:4,pool=max,dropout=0.5,variational=true",
                           "clockwork:4,trained-initial=true", "lstm:4,embedding=3,wdrop=0.5"})
    expect_same_network(spec, fields(), classifier);
  expect_same_network("gru:4", fields(), tagger);
  expect_same_network("crf", fields(), {.reads = {"word"}, .heads = {{.field = "word"}}});
  expect_same_network("kernels:200", fields(), {.reads = {"wind"}, .heads = {{.field = "class"}}});
  DataSpecification pairs{.source = "pairs",
                          .fields = {{.name = "source", .type = Type::symbols, .size = 4, .source = true},
                                     {.name = "target", .type = Type::symbols, .size = 3}}};
  const NetworkLayout translator{.reads = {"source", "previous target"}, .heads = {{.field = "target"}}};
  for (const char* spec : {"lstm:4,attention=additive", "bigru:4,attention=multiplicative", "rnn:4,condition=start"})
    expect_same_network(spec, pairs, translator);
}

TEST(CircuitJson, every_operator_has_a_record_that_gives_it_back) {
  auto listing = std::make_shared<Listing>();
  *listing = {.alphabets = {2, 3}, .outputs = 4, .begin = {0, 1, 2, 2, 4, 5}, .outputs_of = {0, 3, 1, 2, 2}};
  const std::shared_ptr<const Operator> op = listed_operator(listing);
  const auto record = record_of(*op);
  ASSERT_TRUE(record.has_value());
  const std::vector<Index> alphabets = {2, 3}, others = {2, 4};
  const auto again = record_of(*operator_of(*record, {.inputs = 1, .outputs = 4, .alphabets = alphabets}));
  EXPECT_EQ(again->constants, record->constants);
  EXPECT_THROW(operator_of(*record, {.inputs = 1, .outputs = 4, .alphabets = others}), UsageError);
  EXPECT_THROW(operator_of({.kind = "other"}, {.inputs = 1, .outputs = 1}), UsageError);
}

/// A user-defined operator: y += 2 x.
class Doubled final : public OperatorOf<Doubled> {
 public:
  std::string_view name() const override { return "doubled"; }
  Index inputs() const override { return 2; }
  Index outputs() const override { return 2; }
  ParameterShape parameter_shape(Index) const override { return {0, 2}; }
  double operations() const override { return 2; }
  template <class T>
  void apply_rows(const OperatorRows<T>& in, Matrix<T> y) const {
    for (Index r = 0; r < y.rows; ++r)
      for (Index i = 0; i < 2; ++i) y(r, i) += 2 * in.x(r, i);
  }
  template <class T>
  void transposed_rows(const OperatorRows<T>&, Matrix<const T>, Matrix<T>, bool, bool) const {}
  template <class T>
  void gradient_rows(const OperatorRows<T>&, Matrix<const T>, Matrix<T>, Range, bool) const {}
  template <class T>
  void tangent_rows(const OperatorRows<T>&, Matrix<const T>, Matrix<const T>, Matrix<T>) const {}
};

TEST(CircuitJson, operator_of_the_program_raises_an_error) {
  Circuit c;
  c.output(c.affine("y", 2, {{.parameter = "D", .source = c.input("x", 2), .op = std::make_shared<Doubled>()}}));
  EXPECT_THROW(circuit_to_json(data_of(c)), UsageError);
}

TEST(CircuitJson, circuits_that_cannot_be_computed_raise_errors) {
  const auto refuse = [](const char* nodes) {
    const Json json = parse_json(std::string(R"({"version":1,"outputs":[1],"nodes":[)") + nodes + "]}", "test");
    Circuit c;
    EXPECT_THROW(
        {
          add_circuit(c, circuit_from_json(json));
          Plan plan(c);
        },
        UsageError)
        << nodes;
  };
  const std::string input = R"({"kind":"input","name":"x","size":2},)";
  refuse((input + R"({"kind":"map","map":"tanh","of":[1]})").c_str());              // reads itself
  refuse((input + R"({"kind":"map","map":"tan","of":[0]})").c_str());               // unknown map
  refuse((input + R"({"kind":"map","map":"add","of":[0]})").c_str());               // one operand
  refuse((input + R"({"kind":"spline","of":[0]})").c_str());                        // unknown kind
  refuse((input + R"({"kind":"map","map":"tanh","of":[0],"more":1})").c_str());     // unknown member
  refuse((input + R"({"kind":"slice","of":[0],"offset":1,"size":2})").c_str());     // beyond the end
  refuse((input + R"({"kind":"mask","rate":0.5})").c_str());                        // no product
  refuse((input + R"({"kind":"affine","name":"z","size":2,"terms":[]})").c_str());  // no terms
  refuse((input + R"({"kind":"affine","name":"z","size":3000000000,"terms":[{"name":"W","source":0}]})").c_str());
  refuse((input + R"({"kind":"affine","name":"z","size":4,"terms":[{"name":"W","source":0,)" +
          R"("operator":{"kind":"unitary","constants":{"permutation":[0,0]}}}]})")
             .c_str());
  refuse((input + R"({"kind":"affine","name":"z","size":2,"terms":[{"name":"W","source":0}],"only-where":)" +
          R"({"nonzero":2,"period":2}},{"kind":"map","map":"copy","of":[1]})")
             .c_str());  // a condition that depends on the map
  refuse(
      (input + R"({"kind":"link","size":2,"along":"previous","steps":1,"source":1})").c_str());  // an output is a view
  refuse((input + R"({"kind":"map","map":"add","of":[0,2]},{"kind":"link","size":2,"along":"first","source":1})")
             .c_str());  // reads its own end
}

TEST(CircuitJson, deep_circuits_within_the_bounds_are_planned) {
  Circuit c;
  Signal x = c.input("x", 1);
  for (Index i = 0; i + 2 < kMostStoredNodes; ++i) x = tanh(x);
  c.output(x);
  Circuit copy;
  add_circuit(copy, circuit_from_json(circuit_to_json(data_of(c))));
  EXPECT_EQ(Plan(copy).nodes().size(), c.nodes().size());
  c.output(tanh(tanh(x)));
  EXPECT_THROW(circuit_to_json(data_of(c)), UsageError);
}

/// All values in a JSON document.
void collect(Json& json, std::vector<Json*>& all) {
  all.push_back(&json);
  if (json.is_structured())
    for (Json& child : json) collect(child, all);
}

/// Replaces one value with another.
Json damaged(const Json& value) {
  const int choice = *rc::gen::inRange(0, 8);
  if (choice == 0 && value.is_number_integer()) return value.get<Index>() + *rc::gen::inRange(-3, 4);
  if (choice == 1) return *rc::gen::inRange(-2, 12);
  if (choice == 2) return *rc::gen::element<Index>(0, 1 << 16, 1 << 24, Index{1} << 31, -1, Index{1} << 62);
  if (choice == 3) return *rc::gen::element<double>(0, -1, 0.5, 1e300, 1e9);
  if (choice == 4)
    return *rc::gen::element<std::string>("", "previous", "child", "next", "first", "mul", "add", "link", "input");
  if (choice == 5) return *rc::gen::element<Json>(Json(nullptr), Json::array(), Json::object(), Json(true));
  if (choice == 6 && value.is_array() && !value.empty()) {
    Json shorter = value;
    shorter.erase(at(*rc::gen::inRange<Index>(0, std::ssize(value))));
    return shorter;
  }
  if (choice == 7 && value.is_array() && !value.empty()) {
    Json longer = value;
    longer.push_back(value[at(*rc::gen::inRange<Index>(0, std::ssize(value)))]);
    return longer;
  }
  return 1;
}

/// Runs a circuit over chains, a grid and a tree; all errors are UsageErrors.
void run_if_small(const Circuit& c) {
  constexpr Index kSmall = 20'000;
  Index numbers = c.parameter_count();
  for (const Node& node : c.nodes())
    numbers += (node.kind() == Node::Kind::symbols ? 1 : node.size) *
               (node.kind() == Node::Kind::link ? node.link().delay.steps : 1);
  if (numbers > kSmall) return;
  const CellEntry &tree = cells().get("tree-lstm"), &grid = cells().get("grid-rnn"), &chain = cells().get("rnn");
  for (const CellEntry* cell : {&chain, &grid, &tree}) {
    try {
      Passes(c, structure_for(*cell), 1).outputs();
    } catch (const UsageError&) {
    }
  }
}

RC_GTEST_PROP(CircuitJson, damaged_circuits_raise_errors_or_run, ()) {
  std::vector<const CellEntry*> all;
  for (const CellEntry& cell : cells()) all.push_back(&cell);
  const CellEntry& cell = *all.at(at(*rc::gen::inRange<Index>(0, std::ssize(all))));
  Circuit c;
  const Signal x = *rc::gen::arbitrary<bool>() || cell.name == "tensor-rnn" ? c.symbols("x", 3) : c.input("x", 3);
  try {
    c.output(c.affine("output", 3, {{"V", cell.add(c, x, 4, cell.options, *rc::gen::arbitrary<bool>())}}));
  } catch (const UsageError&) {
    return;
  }
  Json json = circuit_to_json(data_of(c));
  for (int i = *rc::gen::inRange(1, 4); i > 0; --i) {
    std::vector<Json*> values;
    collect(json, values);
    Json& value = *values.at(at(*rc::gen::inRange<Index>(0, std::ssize(values))));
    value = damaged(value);
  }
  try {
    Circuit copy;
    add_circuit(copy, circuit_from_json(json));
    run_if_small(copy);
  } catch (const UsageError&) {
  }
}

}  // namespace
}  // namespace unfold
