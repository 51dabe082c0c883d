#include "loss/quantiles.h"

#include <cmath>
#include <string>

#include "unfold/loss/rows.h"

namespace unfold {
namespace {

template <class T>
class QuantileLoss final : public RowLoss<T> {
 public:
  explicit QuantileLoss(const std::vector<double>& levels) {
    if (levels.empty()) throw UsageError("quantile loss: no level was given");
    for (const double level : levels) {
      require_level(level);
      levels_.push_back(static_cast<T>(level));
    }
  }

  std::string_view name() const override { return "quantiles"; }
  Index target_size(Index signal_size) const override {
    const Index count = static_cast<Index>(levels_.size());
    if (signal_size % count != 0)
      throw UsageError("quantile loss: the size " + std::to_string(signal_size) +
                       " of the signal is not a multiple of " + std::to_string(count) + " levels");
    return signal_size / count;
  }

  void row_losses(Matrix<const T> signal, const Targets<T>& targets, T* nats) const override {
    require_values(*this, signal, targets);
    for (Index r = 0; r < signal.rows; ++r)
      nats[r] = is_predicted(targets, r) ? row(signal.row(r), targets.values.row(r), signal.cols, 0, nullptr) : T{0};
  }

  void row_gradients(Matrix<const T> signal, const Targets<T>& targets, T scale, T* nats,
                     Matrix<T> adjoint) const override {
    require_values(*this, signal, targets);
    for (Index r = 0; r < signal.rows; ++r) {
      nats[r] = 0;
      T* out = adjoint.row(r);
      if (is_predicted(targets, r))
        nats[r] = row(signal.row(r), targets.values.row(r), signal.cols, scale, out);
      else
        for (Index i = 0; i < signal.cols; ++i) out[i] = 0;
    }
  }

 private:
  /// Returns the loss; sets `adjoint` unless it is null.
  T row(const T* o, const T* y, Index cols, T scale, T* adjoint) const {
    const Index n = cols / static_cast<Index>(levels_.size());
    T sum = 0;
    for (const T level : levels_) {
      for (Index i = 0; i < n; ++i) {
        const T error = y[i] - o[i];
        T slope = error > 0 ? level : error < 0 ? level - 1 : T{0};
        if (std::isnan(y[i]))
          slope = 0;
        else
          sum += 2 * slope * error;
        if (adjoint != nullptr) adjoint[i] = -2 * scale * slope;
      }
      o += n;
      if (adjoint != nullptr) adjoint += n;
    }
    return sum;
  }

  std::vector<T> levels_;
};

}  // namespace

template <class T>
std::unique_ptr<Loss<T>> quantile_loss(const std::vector<double>& levels) {
  return std::make_unique<QuantileLoss<T>>(levels);
}

template std::unique_ptr<Loss<float>> quantile_loss<float>(const std::vector<double>&);
template std::unique_ptr<Loss<double>> quantile_loss<double>(const std::vector<double>&);

}  // namespace unfold
