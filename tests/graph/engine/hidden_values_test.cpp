/// Signals that are not outputs: reading a value or a tangent returns what a copy of the signal that is an output
/// contains, or raises UsageError.

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <functional>
#include <span>

#include "tests/support/circuits.h"
#include "tests/support/runner.h"
#include "tests/support/usage_error.h"
#include "unfold/graph/cells/registry.h"
#include "unfold/graph/engine/stepper.h"

namespace unfold {
namespace {

using testing_support::usage_error;

using AddCircuit = std::function<void(Circuit&)>;

/// Adds a copy of every signal of numbers as an output; returns the copies by node.
std::vector<Signal> add_copies(Circuit& c) {
  std::vector<Signal> copies(c.nodes().size());
  for (std::size_t i = 0; i < copies.size(); ++i) {
    if (c.nodes()[i].kind() == Node::Kind::symbols) continue;
    copies[i] = c.map(Map::copy, {&c, static_cast<int>(i)});
    c.output(copies[i]);
  }
  return copies;
}

struct Counts {
  int read = 0, refused = 0;
};

/// Reads a matrix and compares it with the expected one, unless reading raises UsageError.
template <class Read>
void compare(const Read& read, const Matrix<const double>& expected, double tolerance, const std::string& what,
             Counts& counts) {
  Matrix<const double> found;
  const std::string refusal = usage_error([&] { found = read(); });
  if (!refusal.empty()) {
    EXPECT_NE(refusal.find("is not kept"), std::string::npos) << what << ": " << refusal;
    ++counts.refused;
    return;
  }
  ++counts.read;
  ASSERT_EQ(found.rows, expected.rows) << what;
  ASSERT_EQ(found.cols, expected.cols) << what;
  for (Index r = 0; r < found.rows; ++r)
    for (Index j = 0; j < found.cols; ++j)
      ASSERT_LE(std::fabs(found(r, j) - expected(r, j)), tolerance * (1 + std::fabs(expected(r, j))))
          << what << ", row " << r << ", column " << j;
}

/// Compares the values and tangents of all signals of a circuit with those of outputs.
void expect_own_values(const AddCircuit& build, const Structure& structure, const std::string& what, Counts& values,
                       Counts& tangents) {
  Circuit circuit, with_copies;
  build(circuit), build(with_copies);
  const std::vector<Signal> copies = add_copies(with_copies);
  test::Runner<double> tested(circuit), expected(with_copies, {.in_place = false, .scratch = false});
  for (test::Runner<double>* runner : {&tested, &expected}) {
    runner->lay(structure);
    runner->unfolding().forward();
    runner->unfolding().tangent(test::some_direction<double>(circuit));
  }
  const Unfolding<double>&t = tested.unfolding(), &e = expected.unfolding();
  for (std::size_t i = 0; i < copies.size(); ++i) {
    const Signal signal{&circuit, static_cast<int>(i)}, copy = copies[i];
    if (copy.circuit == nullptr || !t.plan().live(signal.id)) continue;
    const std::string name = what + ", " + circuit.nodes()[i].name;
    compare([&] { return t.value(signal); }, e.value(copy), 0, name, values);
    if (!t.plan().needs_adjoint(t.plan().outside(signal.id))) continue;
    compare([&] { return t.tangent_of(signal); }, e.tangent_of(copy), 1e-11, name + ", tangent", tangents);
  }
}

/// Like expect_own_values, for the values of a stepper.
void expect_own_steps(const AddCircuit& build, const std::string& what, Counts& counts) {
  Circuit circuit, with_copies;
  build(circuit), build(with_copies);
  const std::vector<Signal> copies = add_copies(with_copies);
  Team team(1);
  const auto parameters = test::some_parameters<double>(circuit);
  Stepper<double> tested(std::make_shared<const Plan>(circuit), parameters, team),
      expected(std::make_shared<const Plan>(with_copies), parameters, team);
  const Signal symbols{&circuit, 0};
  const bool reads_symbols = circuit.is_symbols(symbols);
  for (Index step = 0; step < 4; ++step) {
    for (Stepper<double>* stepper : {&tested, &expected}) {
      const Signal x{stepper == &tested ? &circuit : &with_copies, 0};
      if (reads_symbols)
        stepper->symbols(x)[0] = static_cast<Symbol>(step);
      else
        std::fill_n(stepper->input(x).data, x.size(), 0.5 - static_cast<double>(step));
      stepper->step();
    }
    for (std::size_t i = 0; i < copies.size(); ++i)
      if (copies[i].circuit != nullptr)
        compare(
            [&] {
              return tested.value({&circuit, static_cast<int>(i)});
            },
            expected.value(copies[i]), 0, what + ", stepped, " + circuit.nodes()[i].name, counts);
  }
}

/// A cell over symbols or numbers, and a map of its output. Returns false if the cell does not read such an input.
bool add_cell(Circuit& c, const CellEntry& cell, bool symbols) {
  const Signal x = symbols ? c.symbols("x", 6) : c.input("x", 6);
  try {
    const Signal y = cell.add(c, x, 8, cell.options, true);
    c.output(c.affine("output", 3, {{"V", tanh(y)}}));
    return true;
  } catch (const UsageError&) {
    return false;
  }
}

std::vector<Structure> structures_for(const CellEntry& cell) {
  if (cell.reads_trees()) return {Structure::trees(std::vector<Tree>{{.children = {{}, {}, {0, 1}, {}, {2, 3}}}})};
  if (cell.reads_grids()) return {Structure::grids(std::vector<std::pair<Index, Index>>{{3, 4}, {2, 2}})};
  return {Structure::chains({5, 2, 3}), Structure::chains(2, 4)};
}

TEST(HiddenValues, SignalsOfEveryCellHaveTheirOwnValuesOrAreRefused) {
  Counts values, tangents, steps;
  for (const CellEntry& cell : cells())
    for (const bool symbols : {false, true}) {
      if (Circuit c; !add_cell(c, cell, symbols)) continue;
      const auto build = [&](Circuit& c) { add_cell(c, cell, symbols); };
      for (const Structure& structure : structures_for(cell))
        expect_own_values(build, structure, cell.name, values, tangents);
      Circuit c;
      build(c);
      const std::string not_stepped = usage_error([&] {
        Team team(1);
        Stepper<double>(std::make_shared<const Plan>(c), test::some_parameters<double>(c), team);
      });
      if (not_stepped.empty()) expect_own_steps(build, cell.name, steps);
    }
  for (const Counts& counts : {values, tangents, steps}) {
    EXPECT_GT(counts.read, 100);
    EXPECT_GT(counts.refused, 100);
  }
}

TEST(HiddenValues, SignalsOfRandomCircuitsHaveTheirOwnValuesOrAreRefused) {
  using Shape = Structure::Kind;
  for (const Shape kind : {Shape::chains, Shape::grids, Shape::trees}) {
    Counts values, tangents;
    for (std::uint64_t seed = 0; seed < 60; ++seed)
      expect_own_values([&](Circuit& c) { test::random_circuit(c, kind, seed); }, test::random_structure(kind, seed),
                        "circuit " + std::to_string(seed), values, tangents);
    for (const Counts& counts : {values, tangents}) {
      EXPECT_GT(counts.read, 100);
      EXPECT_GT(counts.refused, 100);
    }
  }
}

/// exp(z) computed in place of z.
struct Overwritten {
  Overwritten() { c.output(y); }
  Circuit c;
  Signal x = c.input("x", 1), z = c.affine("z", 1, {{"W", x, Init::constant(1)}}), y = exp(z);
};

TEST(HiddenValues, OverwrittenSignalCannotBeRead) {
  Overwritten net;
  test::Runner<double> runner(net.c);
  runner.lay(Structure::chains({2}));
  Unfolding<double>& u = runner.unfolding();
  u.forward();
  EXPECT_USAGE_ERROR(u.value(net.z), "z is not kept; declare it an output of the circuit");
  EXPECT_USAGE_ERROR(u.source_row(net.z.id, 0, 0), "z is not kept");
  std::array<double, 2> rows{};
  EXPECT_FALSE(u.bind_value(net.z, {rows.data(), 2, 1, 1}));
  EXPECT_TRUE(u.bind_value(net.y, {rows.data(), 2, 1, 1}));
  u.forward();
  const std::span<const double> p = runner.parameters().flat();
  EXPECT_NEAR(rows[1], std::exp(p[0] * u.input(net.x)(1, 0) + p[1]), 1e-9);
}

TEST(HiddenValues, FirstNonfiniteSignalIsNotOneThatWasOverwritten) {
  Overwritten net;
  test::Runner<double> runner(net.c);
  runner.lay(Structure::chains({2}));
  runner.unfolding().input(net.x)(1, 0) = 1e6;
  runner.unfolding().forward();
  const std::string& name = net.c.nodes()[at(net.y.id)].name;
  EXPECT_EQ(runner.unfolding().first_non_finite(), name + " at position 1 of sequence 0");
}

TEST(HiddenValues, ErrorNamesTheSignalThatAViewReads) {
  Circuit c;
  const Signal x = c.input("x", 2), z = c.affine("z", 4, {{"W", x}});
  const auto [a, b] = c.split<2>(z);
  const Signal h = c.link(2), next = sigmoid(a) * tanh(b) + h;
  c.feed(h, next);
  c.output(c.affine("y", 1, {{"V", next}}));
  test::Runner<double> runner(c);
  runner.lay(Structure::chains({3, 1}));
  runner.unfolding().forward();
  const std::string source = c.nodes()[at(next.id)].name;
  EXPECT_USAGE_ERROR(runner.unfolding().value(b), "z[2] is not kept; declare z, which it reads, an output");
  EXPECT_USAGE_ERROR(runner.unfolding().value(h), "is not kept; declare " + source + ", which it reads, an output");
  runner.lay(Structure::chains(2, 2));
  runner.unfolding().forward();
  EXPECT_EQ(runner.unfolding().value(h)(2, 1), runner.unfolding().value(next)(0, 1));
  EXPECT_USAGE_ERROR(runner.unfolding().value(c.slice(x, 0, 1)), "out of range");  // not in the plan
}

TEST(HiddenValues, ErrorForSymbolsNamesTheFunctionThatReadsThem) {
  Circuit c;
  const Signal x = c.symbols("x", 3);
  c.output(c.affine("y", 1, {{"V", x}}));
  test::Runner<double> runner(c);
  runner.lay(Structure::chains({2}));
  runner.unfolding().forward();
  EXPECT_USAGE_ERROR(runner.unfolding().value(x), "x is not kept as numbers; read it with `symbols`");
}

}  // namespace
}  // namespace unfold
