#include "model/series/kernel_thresholds.h"

#include <algorithm>
#include <numeric>

#include "graph/cells/kernels.h"
#include "graph/circuit/random_kernels.h"
#include "unfold/data/examples/example_batches.h"
#include "unfold/numerics/random.h"

namespace unfold {
namespace {

constexpr Index kMostExamples = 512;

/// Returns the numbers of a random subset of examples.
std::vector<Index> draw_examples(Index count, std::uint64_t seed) {
  std::vector<Index> order(at(count));
  std::iota(order.begin(), order.end(), Index{0});
  if (count <= kMostExamples) return order;
  Random random(seed, "kernels/examples");
  for (Index i = 0; i < kMostExamples; ++i)
    std::swap(order[at(i)], order[at(i) + random.below(static_cast<std::uint64_t>(count - i))]);
  order.resize(at(kMostExamples));
  std::ranges::sort(order);
  return order;
}

/// Returns the series of a batch in the layout of the network, with the inputs concatenated position by position.
std::vector<float> channels_of(const Batch& batch, const std::vector<NetworkInput>& inputs, Index chain) {
  const Structure& whole = batch.structure.part(1);
  std::vector<float> series;
  for (Index t = 0; t < whole.size(chain); ++t)
    for (const NetworkInput& input : inputs) {
      const Matrix<const float> row =
          std::get<ValueRows>(batch.field(input.field)).values<float>(whole.row(chain, t), 1);
      series.insert(series.end(), row.data, row.data + row.cols);
    }
  return series;
}

/// The kernels of a circuit and their parameter.
struct FoundKernels {
  const KernelBank* bank = nullptr;
  int parameter = -1;
};

FoundKernels find_kernels(const Circuit& circuit) {
  for (const Node& node : circuit.nodes())
    for (const auto& term : node.terms())
      if (const KernelBank* bank = as_random_kernels(term.op.get())) return {bank, term.parameter};
  throw UsageError("the model has no random kernels");
}

}  // namespace

bool has_random_kernels(const ModelSpec& spec) { return spec.cell == &kernels_model(); }

ModelSpec with_typical_length(ModelSpec spec, const ExampleSet& training) {
  auto& options = spec.options.as<KernelsOptions>();
  if (options.length > 0) return spec;
  std::vector<Index> lengths;
  for (Index e = 0; e < training.count(); ++e) lengths.push_back(training.length(e));
  const auto middle = lengths.begin() + static_cast<std::ptrdiff_t>(lengths.size() / 2);
  std::ranges::nth_element(lengths, middle);
  options.length = *middle;
  return spec;
}

template <class T>
void select_kernel_thresholds(NetworkModel<T>& model, const ExampleSet& training, std::uint64_t seed) {
  const FoundKernels found = find_kernels(model.circuit());
  const ExampleSet drawn = training.subset(draw_examples(training.count(), seed));
  ExampleBatchOptions reading{.reads = model.layout().reads, .patches = patches_of(model.spec())};
  const auto reader = example_reader(drawn, reading);
  std::vector<std::vector<float>> series;
  for (Batch batch; reader->next(batch);)
    for (Index chain = 0; chain < batch.structure.sequences(); ++chain)
      series.push_back(channels_of(batch, model.network().inputs, chain));
  const Index channels = found.bank->options().channels;
  const std::vector<float> thresholds = found.bank->select_thresholds(
      static_cast<Index>(series.size()),
      [&](Index i) {
        const std::vector<float>& own = series[at(i)];
        return Matrix<const float>{own.data(), static_cast<Index>(own.size()) / channels, channels, channels};
      },
      seed);
  const Matrix<T> into = model.parameters()[found.parameter];
  for (Index i = 0; i < into.cols; ++i) into(0, i) = static_cast<T>(thresholds[at(i)]);
}

template void select_kernel_thresholds(NetworkModel<float>&, const ExampleSet&, std::uint64_t);
template void select_kernel_thresholds(NetworkModel<double>&, const ExampleSet&, std::uint64_t);

}  // namespace unfold
