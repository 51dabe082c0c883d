#include "model/network/initialization/frequency_init.h"

#include "data/examples/transformations/weight_column.h"
#include "model/network/density_model.h"
#include "numerics/functions.h"

namespace unfold {

template <class T>
void initialize_from_means(NetworkModel<T>& model, const ExampleSet& training) {
  if (!is_density(model.spec())) return;
  const std::vector<double> weights = weights_with_mean_one(training);
  for (const ParameterInfo& p : model.circuit().parameters()) {
    if (!p.name.ends_with("/nade/s")) continue;
    const std::vector<float>& values = training.column(kVector).values;
    const Index rows = static_cast<Index>(values.size()) / p.size();
    for (Index d = 0; d < p.size(); ++d) {
      double counts[] = {1, 1};  // NOLINT: zeros and ones
      for (Index r = 0; r < rows; ++r) counts[values[at(r * p.size() + d)] != 0 ? 1 : 0] += weights[at(r)];
      vector_log(counts, counts, 2);
      model.parameters().flat()[at(p.offset + d)] = static_cast<T>(counts[1] - counts[0]);
    }
  }
}

template void initialize_from_means(NetworkModel<float>&, const ExampleSet&);
template void initialize_from_means(NetworkModel<double>&, const ExampleSet&);

}  // namespace unfold
