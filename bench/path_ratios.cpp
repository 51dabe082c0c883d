/// |kappa2| / |kappa1| of a recurrent matrix for several lengths and sizes: the table in figure 2 of Neyshabur et al.
/// 2016. Prints a table in Markdown, the appendix of bench/tables/path.toml.

#include <fmt/format.h>

#include <cmath>
#include <memory>

#include "app/plots/table.h"
#include "graph/paths/path_pass.h"
#include "unfold/graph/cells/cells.h"

namespace unfold {
namespace {

/// Ratios for one ReLU layer over 50 symbols, with all weights uniform in +-0.1.
struct Ratios {
  explicit Ratios(Index units) {
    const Init start = Init::uniform(0.1);
    const Signal h = rnn(circuit, circuit.symbols("x", kSymbols), units,
                         {.activation = Map::relu, .recurrent = start, .input = start});
    circuit.output(circuit.affine("output", kSymbols, {{"V", h, start}}));
    parameters = Parameters<double>(circuit);
    parameters.initialize(1);
    pass = std::make_unique<PathPass<double>>(circuit, team);
    first.resize(parameters.flat().size());
    both = first;
  }
  double over(Index length) {
    // Both sums are scaled by powers of two.
    const PathSums one = pass->run(parameters, {.length = length}, first);
    const PathSums two = pass->run(parameters, {.length = length, .with_second = true}, both);
    const Matrix<double> u = parameters.at("z/U");
    double squares = 0, second_squares = 0;
    for (Index i = 0; i < u.rows * u.cols; ++i) {
      const auto k = at(u.data - parameters.flat().data() + i);
      const double second = std::ldexp(both[k], two.exponent - one.exponent) - first[k];
      squares += first[k] * first[k];
      second_squares += second * second;
    }
    return std::sqrt(second_squares / squares);
  }

  static constexpr Index kSymbols = 50;
  Circuit circuit;
  Parameters<double> parameters;
  Team team{1};
  std::unique_ptr<PathPass<double>> pass;
  std::vector<double> first, both;
};

std::string path_ratio_table() {
  TextTable table{{"units", "T = 10", "T = 20", "T = 40", "T = 80"}, {}};
  for (const Index units : {50, 100, 200, 400}) {
    Ratios ratios(units);
    table.rows.push_back({std::to_string(units)});
    for (const Index length : {10, 20, 40, 80}) table.rows.back().push_back(fmt::format("{:.2e}", ratios.over(length)));
  }
  return "### The second term of the metric\n\n|kappa2| / |kappa1| of the recurrent matrix, 50 symbols, all weights "
         "uniform in +-0.1.\n\n" +
         to_markdown(table);
}

}  // namespace
}  // namespace unfold

int main() {
  fmt::print("{}", unfold::path_ratio_table());
  return 0;
}
