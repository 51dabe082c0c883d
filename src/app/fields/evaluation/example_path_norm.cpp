#include "app/fields/evaluation/example_path_norm.h"

#include <memory>
#include <vector>

#include "app/fields/evaluation/field_metrics.h"
#include "graph/paths/path_pass.h"
#include "numerics/functions.h"

namespace unfold {
namespace {

template <class T>
PathGraph graph_over(const Batch& batch, const Network<T>& network) {
  PathGraph graph{.structure = batch.structure, .ends = {}};
  for (const Head<T>& head : network.heads) {
    const Field& targets = batch.field(head.field);
    graph.ends.push_back({head.signal.id, {}});
    for (Index row = 0; row < rows_of(targets); ++row)
      if (is_present(targets, row)) graph.ends.back().rows.push_back(row);
  }
  return graph;
}

}  // namespace

template <class T>
double mean_log_path_norm(const NetworkModel<T>& model, const ExampleSet& examples, Team& team) {
  PathPass<T> pass(model.circuit(), team);
  std::vector<double> kappa(at(model.parameters().size()));
  ExampleBatchOptions options = batch_options(model.layout());
  options.patches = patches_of(model.spec());
  options.most_positions = positions_at_once(model);
  const std::unique_ptr<BatchReader> reader = example_reader(examples, options);
  ScaledNumber sum;
  for (Batch batch; reader->next(batch);) {
    const PathGraph graph = graph_over(batch, model.network());
    const ScaledNumber norm = pass.run(model.parameters(), {.graph = &graph}, kappa).norm;
    sum.add(norm.mantissa, norm.exponent);
  }
  auto count = static_cast<double>(examples.count());
  vector_log(&count, &count, 1);
  return sum.logarithm() - count;
}

template double mean_log_path_norm(const NetworkModel<float>&, const ExampleSet&, Team&);
template double mean_log_path_norm(const NetworkModel<double>&, const ExampleSet&, Team&);

}  // namespace unfold
