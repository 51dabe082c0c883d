#include <cmath>
#include <memory>
#include <utility>

#include "unfold/losses/orderless.h"
#include "unfold/losses/registry.h"
#include "unfold/losses/rows.h"

namespace unfold {
namespace {

/// Each number by its own mixture. Numbers that are known cost nothing: their law is not asked.
template <class T>
class OrderlessNumbersLoss final : public RowLoss<T>, public RowCurvature<T>, public EachNumber<T> {
 public:
  explicit OrderlessNumbersLoss(std::unique_ptr<ComponentLaw<T>> law) : law_(std::move(law)) {}

  std::string_view name() const override { return "deep-rnade"; }
  Index target_size(Index signal_size) const override {
    const Index outputs = law_->outputs();
    if (signal_size < outputs || signal_size % outputs != 0)
      throw UsageError("deep-rnade loss: a signal of " + std::to_string(signal_size) + " numbers, which must be " +
                       std::to_string(outputs) + " for each number predicted");
    return signal_size / outputs;
  }

  void row_losses(Matrix<const T> signal, const Targets<T>& targets, T* nats) const override {
    each_number(signal, targets, [&](const Place& p) {
      if (p.first) nats[p.row] = 0;
      if (p.weight != 0) nats[p.row] += p.weight * law_->nats(p.o, p.x, 1, name());
    });
  }

  void row_gradients(Matrix<const T> signal, const Targets<T>& targets, T scale, T* nats,
                     Matrix<T> adjoint) const override {
    each_number(signal, targets, [&](const Place& p) {
      if (p.first) nats[p.row] = 0;
      T *out = adjoint.row(p.row) + p.offset, *slopes = row_scratch<T, kSlopes>(law_->outputs());
      if (p.weight == 0) return set_row(out, law_->outputs(), T{0});
      nats[p.row] += p.weight * law_->slopes(p.o, p.x, 1, name(), slopes);
      for (Index i = 0; i < law_->outputs(); ++i) out[i] = scale * (p.weight * slopes[i]);
    });
  }

  void row_curvatures(Matrix<const T> signal, const Targets<T>& targets, T scale, Matrix<const T> tangent,
                      Matrix<T> result) const override {
    each_number(signal, targets, [&](const Place& p) {
      T* out = result.row(p.row) + p.offset;
      if (p.weight == 0) return set_row(out, law_->outputs(), T{0});
      law_->curvature(p.o, p.x, 1, tangent.row(p.row) + p.offset, out);
      for (Index i = 0; i < law_->outputs(); ++i) out[i] *= scale * p.weight;
    });
  }

  void row_curvature_roots(Matrix<const T> signal, const Targets<T>& targets, T scale, Matrix<const T> noise,
                           Matrix<T> result) const override {
    each_number(signal, targets, [&](const Place& p) {
      T* out = result.row(p.row) + p.offset;
      if (p.weight == 0) return set_row(out, law_->outputs(), T{0});
      law_->curvature_root(p.o, p.x, 1, noise.row(p.row) + p.offset, out);
      for (Index i = 0; i < law_->outputs(); ++i) out[i] *= scale * std::sqrt(p.weight);
    });
  }

  double mean_of(std::span<const T> signal, Index d) const override {
    return law_->mean(signal.data() + d * law_->outputs());
  }
  T draw(std::span<const T> signal, Index d, Random& random) const override {
    return law_->sample(signal.data() + d * law_->outputs(), random);
  }

 private:
  static constexpr int kSlopes = 13;  // whose row_scratch it is

  /// One number of a row.
  struct Place {
    Index row, offset;  ///< offset: of its outputs in the signal
    bool first;         ///< of its row
    const T *o, *x;
    T weight;  ///< 0 of a number that is known, and where the row is not predicted
  };

  /// Weights may stand behind the numbers; without them all are 1.
  template <class Use>
  void each_number(Matrix<const T> signal, const Targets<T>& targets, const Use& use) const {
    const Index n = target_size(signal.cols);
    const bool weighed = targets.values.cols == 2 * n;
    Targets<T> numbers = targets;
    if (weighed) numbers.values.cols = n;
    require_values<T>(*this, signal, numbers);
    for (Index r = 0; r < signal.rows; ++r) {
      const T* x = targets.values.row(r);
      const bool wanted = is_predicted(targets, r);
      for (Index d = 0; d < n; ++d) {
        const Index offset = d * law_->outputs();
        use({r, offset, d == 0, signal.row(r) + offset, x + d, !wanted ? T{0} : weighed ? x[n + d] : T{1}});
      }
    }
  }

  std::unique_ptr<ComponentLaw<T>> law_;
};

template <class T>
std::unique_ptr<Loss<T>> make_orderless_numbers(const AnyOptions& any) {
  const auto& o = any.as<OrderlessNumbersOptions>();
  return std::make_unique<OrderlessNumbersLoss<T>>(mixture_law<T>(o.components, o.shape));
}

}  // namespace

LossEntry orderless_numbers_entry() {
  return {.name = "deep-rnade",
          .help = "numbers in any order, by layers that know some of them and give each of the others a mixture",
          .of_symbols = false,
          .make_float = make_orderless_numbers<float>,
          .make_double = make_orderless_numbers<double>,
          .options = OrderlessNumbersOptions(),
          .main_option = "units",
          .size_of_signal = [](Index n,
                               const AnyOptions& any) { return 3 * any.as<OrderlessNumbersOptions>().components * n; },
          .density = Density::orderless_numbers};
}

}  // namespace unfold
