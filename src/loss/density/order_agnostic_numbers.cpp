#include <cmath>
#include <memory>
#include <utility>

#include "loss/density/order_agnostic.h"
#include "unfold/loss/registry.h"
#include "unfold/loss/rows.h"

namespace unfold {
namespace {

/// Each number has a separate distribution. Known numbers have weight 0, and their distribution is not evaluated.
template <class T>
class OrderlessNumbersLoss final : public RowLoss<T>, public RowCurvature<T>, public MarginalDistributions<T> {
 public:
  OrderlessNumbersLoss(std::string name, ColumnDistributions<T> laws)
      : name_(std::move(name)), laws_(std::move(laws)) {}

  std::string_view name() const override { return name_; }
  Index target_size(Index signal_size) const override { return laws_.numbers_of(signal_size, 0, name_); }

  void row_losses(Matrix<const T> signal, const Targets<T>& targets, T* nats) const override {
    each_number(signal, targets, [&](const Place& p) {
      if (p.first) nats[p.row] = 0;
      if (p.weight != 0) nats[p.row] += p.weight * p.law->nats(p.o, p.x, 1, name_);
    });
  }

  void row_gradients(Matrix<const T> signal, const Targets<T>& targets, T scale, T* nats,
                     Matrix<T> adjoint) const override {
    each_number(signal, targets, [&](const Place& p) {
      if (p.first) nats[p.row] = 0;
      T *out = adjoint.row(p.row) + p.offset, *slopes = row_scratch<T, kSlopes>(p.law->outputs());
      if (p.weight == 0) return set_row(out, p.law->outputs(), T{0});
      nats[p.row] += p.weight * p.law->slopes(p.o, p.x, 1, name_, slopes);
      for (Index i = 0; i < p.law->outputs(); ++i) out[i] = scale * (p.weight * slopes[i]);
    });
  }

  void row_curvatures(Matrix<const T> signal, const Targets<T>& targets, T scale, Matrix<const T> tangent,
                      Matrix<T> result) const override {
    each_number(signal, targets, [&](const Place& p) {
      T* out = result.row(p.row) + p.offset;
      if (p.weight == 0) return set_row(out, p.law->outputs(), T{0});
      p.law->curvature(p.o, p.x, 1, tangent.row(p.row) + p.offset, out);
      for (Index i = 0; i < p.law->outputs(); ++i) out[i] *= scale * p.weight;
    });
  }

  void row_curvature_roots(Matrix<const T> signal, const Targets<T>& targets, T scale, Matrix<const T> noise,
                           Matrix<T> result) const override {
    each_number(signal, targets, [&](const Place& p) {
      T* out = result.row(p.row) + p.offset;
      if (p.weight == 0) return set_row(out, p.law->outputs(), T{0});
      p.law->curvature_root(p.o, p.x, 1, noise.row(p.row) + p.offset, out);
      for (Index i = 0; i < p.law->outputs(); ++i) out[i] *= scale * std::sqrt(p.weight);
    });
  }

  VectorShape shape_of(Index signal_size) const override { return laws_.shape(target_size(signal_size)); }
  T nats_of(const T* o, Index d, T x) const override { return laws_.of(d).nats(o, &x, 1, name_); }
  double mean_of(const T* o, Index d) const override { return laws_.of(d).mean(o); }
  std::vector<double> probabilities_of(const T* o, Index d) const override { return laws_.of(d).probabilities(o); }
  T draw(const T* o, Index d, Random& random) const override { return laws_.of(d).sample(o, random); }

 private:
  static constexpr int kSlopes = 13;  // `user` of row_scratch

  /// One number of a row.
  struct Place {
    const ComponentDistribution<T>* law;
    Index row, offset;  ///< offset: position of its outputs in the signal
    bool first;         ///< whether this is the first number of the row
    const T *o, *x;
    T weight;  ///< 0 for a known number, and where the row has no target
  };

  /// Weights may follow the numbers; otherwise all weights are 1.
  template <class Use>
  void each_number(Matrix<const T> signal, const Targets<T>& targets, const Use& use) const {
    const VectorShape shape = shape_of(signal.cols);
    const Index n = shape.numbers();
    const bool weighed = targets.values.cols == 2 * n;
    Targets<T> numbers = targets;
    if (weighed) numbers.values.cols = n;
    require_values<T>(*this, signal, numbers);
    for (Index r = 0; r < signal.rows; ++r) {
      const T* x = targets.values.row(r);
      const bool wanted = is_predicted(targets, r);
      if (wanted) shape.require_classes(x, name_);
      for (Index d = 0; d < n; ++d) {
        const Index offset = shape.first_output(d);
        use({&laws_.of(d), r, offset, d == 0, signal.row(r) + offset, x + d,
             !wanted   ? T{0}
             : weighed ? x[n + d]
                       : T{1}});
      }
    }
  }

  std::string name_;
  ColumnDistributions<T> laws_;
};

template <class T>
ColumnDistributions<T> laws_of_any_order(const OrderlessNumbersOptions& o) {
  std::unique_ptr<ComponentDistribution<T>> mixture = mixture_distribution<T>(o.components, o.shape, o.background);
  if (o.net.columns.empty()) return ColumnDistributions<T>(std::move(mixture));
  return ColumnDistributions<T>(parse_columns(o.net.columns), std::move(mixture), "deep-rnade");
}

template <class T>
std::unique_ptr<Loss<T>> make_orderless_numbers(const AnyOptions& any) {
  return orderless_numbers<T>("deep-rnade", laws_of_any_order<T>(any.as<OrderlessNumbersOptions>()));
}

}  // namespace

template <class T>
std::unique_ptr<Loss<T>> orderless_numbers(std::string name, ColumnDistributions<T> laws) {
  return std::make_unique<OrderlessNumbersLoss<T>>(std::move(name), std::move(laws));
}

template std::unique_ptr<Loss<float>> orderless_numbers(std::string, ColumnDistributions<float>);
template std::unique_ptr<Loss<double>> orderless_numbers(std::string, ColumnDistributions<double>);

LossEntry orderless_numbers_entry() {
  return {.name = "deep-rnade",
          .help = "numbers in any order: layers read the known numbers and predict a mixture for each of the others",
          .of_symbols = false,
          .make_float = make_orderless_numbers<float>,
          .make_double = make_orderless_numbers<double>,
          .options = OrderlessNumbersOptions(),
          .main_option = "units",
          .size_of_signal =
              [](Index n, const AnyOptions& any) {
                return laws_of_any_order<float>(any.as<OrderlessNumbersOptions>()).shape(n).all_outputs();
              },
          .density = Density::orderless_numbers};
}

}  // namespace unfold
