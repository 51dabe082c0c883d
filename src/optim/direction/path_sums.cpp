#include "optim/direction/path_sums.h"

#include <algorithm>
#include <numeric>

#include "unfold/base/error.h"

namespace unfold {
namespace {

/// Returns the last rows of a structure: the ends of sequences, the corners at which grids end, the roots of trees.
std::vector<Index> last_rows(const Structure& structure) {
  std::vector<Index> rows;
  if (structure.kind() == Structure::Kind::trees) {
    const std::vector<Index> parents = structure.predecessors(Delay::parent(), Corner::top_left);
    for (std::size_t row = 0; row < parents.size(); ++row)
      if (parents[row] < 0) rows.push_back(static_cast<Index>(row));
    return rows;
  }
  rows.reserve(at(structure.sequences()));
  for (Index s = 0; s < structure.sequences(); ++s) rows.push_back(structure.row(s, structure.size(s) - 1));
  std::ranges::sort(rows);
  return rows;
}

/// Returns the graph with outputs that are read at all rows or at the last ones.
PathGraph with_outputs(PathGraph graph, const Circuit& circuit, PathOutputs outputs) {
  for (PathEnds& end : graph.ends) {
    const Structure& own = graph.structure.part(circuit.nodes()[at(end.output)].part);
    if (outputs == PathOutputs::last) {
      end.rows = last_rows(own);
    } else {
      end.rows.resize(at(own.positions()));
      std::iota(end.rows.begin(), end.rows.end(), Index{0});
    }
  }
  return graph;
}

/// Adds the derivatives of both uses of each tied weight.
template <class T>
void add_uses(const Parameters<T>& parameters, std::span<const WeightTie> ties, std::span<double> kappa) {
  for (const WeightTie& tie : ties) {
    const Matrix<double> own = parameters.view(kappa.data(), tie.parameter);
    const Matrix<double> other = parameters.view(kappa.data(), tie.transposed);
    for (Index r = 0; r < own.rows; ++r)
      for (Index c = 0; c < own.cols; ++c) own(r, c) = other(c, r) = own(r, c) + other(c, r);
  }
}

}  // namespace

template <class T>
PathSums path_sums(PathPass<T>& pass, Objective<T>& objective, const PathReading& reading,
                   const PathMetricOptions& options, std::span<double> kappa) {
  const bool second = options.kappa == PathKappa::both;
  if (second && !reading.ties.empty())
    throw UsageError(
        "path pass: the second term of the metric supports only weights with one use per position, and tied weights "
        "have two; use kappa=1");
  PathSums sums;
  if (reading.graph == nullptr) {
    const bool every =
        options.outputs == PathOutputs::task ? reading.every_step : options.outputs == PathOutputs::every;
    sums = pass.run(objective.parameters(),
                    {.length = options.length > 0 ? options.length : reading.length,
                     .every_step = every,
                     .with_second = second,
                     .output = reading.output},
                    kappa);
  } else {
    if (options.length > 0)
      throw UsageError(
          "path: length= applies to one predicted field of sequences without a source; leave it out: paths are as long "
          "as the examples");
    const PathGraph graph = options.outputs == PathOutputs::task
                                ? *reading.graph
                                : with_outputs(*reading.graph, *reading.circuit, options.outputs);
    sums = pass.run(objective.parameters(), {.with_second = second, .graph = &graph}, kappa);
  }
  add_uses(objective.parameters(), reading.ties, kappa);
  return sums;
}

template PathSums path_sums(PathPass<float>&, Objective<float>&, const PathReading&, const PathMetricOptions&,
                            std::span<double>);
template PathSums path_sums(PathPass<double>&, Objective<double>&, const PathReading&, const PathMetricOptions&,
                            std::span<double>);

}  // namespace unfold
