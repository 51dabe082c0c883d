/// Defines a custom loss, quantile regression (Koenker & Bassett 1978): the value is below the output with probability
/// 0.9. Trains an LSTM with this loss on a noisy series and checks the derivatives of the loss.
///
///   own_loss

#include <cmath>
#include <iostream>

#include "unfold/gradcheck/derivative_check.h"
#include "unfold/graph/cells/cells.h"
#include "unfold/loss/components.h"
#include "unfold/train/evaluate.h"
#include "unfold/train/sources/example_sources.h"

using namespace unfold;

/// The asymmetric Laplace distribution: nats = s q (y - o) for values above the output, s (1 - q) (o - y) below it.
template <class T>
class QuantileLoss final : public ComponentLoss<T> {
 public:
  std::string_view name() const override { return "quantile"; }

 protected:
  T row_nats(const T* o, const T* y, Index n) const override {
    T nats = 0;
    for (Index i = 0; i < n; ++i) nats += y[i] > o[i] ? kShare * (y[i] - o[i]) : (1 - kShare) * (o[i] - y[i]);
    return nats;
  }
  void row_slopes(const T* o, const T* y, Index n, T* out) const override {
    for (Index i = 0; i < n; ++i) out[i] = y[i] > o[i] ? -kShare : 1 - kShare;
  }
  void row_fisher(const T*, Index n, T* out) const override { std::fill_n(out, n, kShare * (1 - kShare)); }

 private:
  static constexpr T kShare = static_cast<T>(0.9);
};

/// Reads the previous value and predicts the next one. The same circuit works for float and double.
template <class T>
Network<T> network_on(Circuit& c) {
  const Signal x = c.input("previous value", 1), o = c.affine("quantile", 1, {{"V", lstm(c, x, 8)}});
  c.output(o);
  return Network<T>::of(std::make_shared<const Plan>(c), {"previous value", x},
                        {"value", o, std::make_shared<QuantileLoss<T>>()});
}

int main() try {
  Circuit checked, c;
  const CheckReport report = check_derivatives(network_on<double>(checked), Structure::chains({4, 1, 3}));
  std::cout << "derivatives: " << (report.passed() ? "right" : report.text()) << "\n";

  // The data consists of 40 waves whose noise level varies. Numeric fields are standardized.
  Examples series{.source = "waves", .columns = {{.name = "value", .width = 1}}};
  Random noise(/*seed=*/1, "noise");
  for (Index position = 0; position < 4000; ++position) {
    const double phase = 0.2 * static_cast<double>(position);
    series.columns[0].numbers.push_back(std::sin(phase) + (1.2 + std::cos(phase)) * (noise.uniform() - 0.5));
    if (position % 100 == 99) series.ends.push_back(position + 1);
  }
  const auto data = std::make_shared<const DataSpecification>(
      specify(series, {.reads = {"value"}, .predicts = {"value"}}, series.source));
  const ExampleBatchOptions batches{.reads = {"previous value"}, .predicts = {"value"}, .batch = 10};
  const ExampleSet all(series, data, batches.predicts);

  const Network<float> network = network_on<float>(c);
  Parameters<float> parameters(c);
  parameters.initialize(/*seed=*/1);
  Team team(available_threads());
  Trainer<float>(network, parameters, example_sources<float>(all, all.subset({}), batches, 1),
                 {.optimizer = "adam:rate=0.02,clip=1,schedule=cosine", .epochs = 60}, team)
      .run();

  Index below = 0;
  const Evaluation found = Evaluator<float>(network, team)
                               .run(parameters, *example_reader(all, batches), {},
                                    [&](const Batch& batch, std::span<const Matrix<const float>> outputs) {
                                      const Matrix<const float> y =
                                          targets_of<float>(batch.field("value"), 0, outputs[0].rows).values;
                                      for (Index row = 0; row < y.rows; ++row)
                                        below += y(row, 0) < outputs[0](row, 0) ? 1 : 0;
                                    });
  const double share = static_cast<double>(below) / static_cast<double>(found.predicted);
  std::cout << "of " << found.predicted << " values, " << std::lround(100 * share) << " % lie below the output\n";
  return report.passed() && std::abs(share - 0.9) < 0.03 ? 0 : 1;
} catch (const Error& error) {
  std::cerr << "own_loss: " << error.what() << "\n";
  return static_cast<int>(error.code());
}
