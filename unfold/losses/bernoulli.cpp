#include <cmath>
#include <memory>

#include "unfold/losses/components.h"
#include "unfold/losses/registry.h"
#include "unfold/numerics/functions.h"
#include "unfold/numerics/vector.h"

namespace unfold {
namespace {

template <class T>
class BernoulliLoss final : public NaturalLoss<T> {
 public:
  std::string_view name() const override { return "bernoulli"; }

 protected:
  /// sum_i softplus(o_i) - y_i o_i, written so that nothing cancels and y may be anything in [0, 1]:
  /// log(1 + exp(-|o|)) + |o| (o > 0 ? 1 - y : y).
  T row_nats(const T* o, const T* y, Index n) const override {
    T* z = row_scratch<T>(n);
    for (Index i = 0; i < n; ++i) z[i] = -std::fabs(o[i]);
    vector_softplus(z, z, n);
    for (Index i = 0; i < n; ++i) z[i] += o[i] > 0 ? o[i] * (1 - y[i]) : -o[i] * y[i];
    return static_cast<T>(sum(span_of<T>(z, n)));
  }

  void row_slopes(const T* o, const T* y, Index n, T* out) const override {
    vector_sigmoid(o, out, n);
    for (Index i = 0; i < n; ++i) out[i] -= y[i];
  }

  /// p (1 - p).
  void row_fisher(const T* o, Index n, T* out) const override {
    vector_sigmoid(o, out, n);
    for (Index i = 0; i < n; ++i) out[i] *= 1 - out[i];
  }
};

}  // namespace

template <class T>
std::unique_ptr<Loss<T>> bernoulli_loss() {
  return std::make_unique<BernoulliLoss<T>>();
}
template std::unique_ptr<Loss<float>> bernoulli_loss<float>();
template std::unique_ptr<Loss<double>> bernoulli_loss<double>();

LossEntry bernoulli_entry() {
  return {.name = "bernoulli",
          .help = "independent bits: p(y_i = 1) = sigmoid(o_i)",
          .of_symbols = false,
          .make_float = bernoulli_loss<float>,
          .make_double = bernoulli_loss<double>};
}

}  // namespace unfold
