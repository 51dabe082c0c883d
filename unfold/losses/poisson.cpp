#include <memory>

#include "unfold/losses/components.h"
#include "unfold/losses/registry.h"
#include "unfold/numerics/functions.h"

namespace unfold {
namespace {

template <class T>
class PoissonLoss final : public NaturalLoss<T> {
 public:
  std::string_view name() const override { return "poisson"; }

 protected:
  T row_nats(const T* o, const T* y, Index n) const override {
    T* z = row_scratch<T>(n);
    vector_exp(o, z, n);
    for (Index i = 0; i < n; ++i) {
      if (y[i] < 0) throw UsageError("poisson loss: a count is negative");
      z[i] -= y[i] * o[i];
    }
    return static_cast<T>(sum(span_of<T>(z, n)));
  }

  void row_slopes(const T* o, const T* y, Index n, T* out) const override {
    vector_exp(o, out, n);
    for (Index i = 0; i < n; ++i) out[i] -= y[i];
  }

  void row_fisher(const T* o, Index n, T* out) const override { vector_exp(o, out, n); }
};

}  // namespace

template <class T>
std::unique_ptr<Loss<T>> poisson_loss() {
  return std::make_unique<PoissonLoss<T>>();
}
template std::unique_ptr<Loss<float>> poisson_loss<float>();
template std::unique_ptr<Loss<double>> poisson_loss<double>();

LossEntry poisson_entry() {
  return {.name = "poisson",
          .help = "counts: y ~ Poisson(exp(o))",
          .of_symbols = false,
          .make_float = poisson_loss<float>,
          .make_double = poisson_loss<double>};
}

}  // namespace unfold
