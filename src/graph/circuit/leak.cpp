/// Leaks of cell_maps.h. Learned: a = 1 / (1 + softplus(rho)), da/drho = -a^2 sigmoid(rho).

#include <cmath>

#include "graph/circuit/cell_maps.h"
#include "graph/circuit/known_operator.h"
#include "numerics/functions.h"
#include "unfold/base/error.h"

namespace unfold {
namespace {

class Leak final : public OperatorOf<Leak>, public ExportableOperator, public RecordedOperator {
 public:
  /// Empty `rates` means learned.
  Leak(Index n, std::vector<double> rates) : n_(n), rates_(std::move(rates)) {
    if (n < 1) throw UsageError("a leak needs at least one unit");
  }

  std::string_view name() const override { return "leak"; }
  Kind known_kind() const override { return Kind::leak; }
  OperatorRecord record() const override { return {"leak", {{"size", one(n_)}, {"rates", rates_}}}; }
  Index inputs() const override { return n_; }
  Index outputs() const override { return n_; }
  ParameterShape parameter_shape(Index) const override { return {rates_.empty() ? 1 : 0, n_}; }
  Index scratch() const override { return 2 * n_; }
  double operations() const override { return 2.0 * static_cast<double>(n_); }
  std::shared_ptr<const Operator> path_reading(std::string_view parameter, Index rows) const override {
    if (rates_.empty()) return Operator::path_reading(parameter, rows);
    std::vector<double> squares(rates_);
    for (double& rate : squares) rate *= rate;
    return std::make_shared<Leak>(n_, std::move(squares));
  }

  template <class T>
  void apply_rows(const OperatorRows<T>& in, Matrix<T> y) const {
    multiply_rows(rates(in), in.x, false, y);
  }

  template <class T>
  void transposed_rows(const OperatorRows<T>& in, Matrix<const T> dy, Matrix<T> dx, bool sets, bool) const {
    multiply_rows(rates(in), dy, sets, dx);
  }

  template <class T>
  void gradient_rows(const OperatorRows<T>& in, Matrix<const T> dy, Matrix<T> g, Range, bool) const {
    if (!rates_.empty()) return;
    const T* slope = slopes(in);
    for (Index r = in.x.rows; r-- > 0;)
      for (Index i = 0; i < n_; ++i) g(0, i) += slope[i] * in.x(r, i) * dy(r, i);
  }

  template <class T>
  void tangent_rows(const OperatorRows<T>& in, Matrix<const T> dw, Matrix<const T> dx, Matrix<T> dy) const {
    if (dx.data != nullptr) multiply_rows(rates(in), dx, false, dy);
    if (!rates_.empty()) return;
    const T* slope = slopes(in);
    for (Index r = 0; r < in.x.rows; ++r)
      for (Index i = 0; i < n_; ++i) dy(r, i) += slope[i] * dw(0, i) * in.x(r, i);
  }

 private:
  /// Computes the rates a of all units, in scratch memory.
  template <class T>
  const T* rates(const OperatorRows<T>& in) const {
    T* a = in.scratch;
    if (rates_.empty()) vector_softplus(in.w.row(0), a, n_);
    for (Index i = 0; i < n_; ++i) a[i] = rates_.empty() ? 1 / (1 + a[i]) : static_cast<T>(rates_[at(i)]);
    return a;
  }
  /// Computes da/drho of all units, in scratch memory.
  template <class T>
  const T* slopes(const OperatorRows<T>& in) const {
    const T* a = rates(in);
    T* slope = in.scratch + n_;
    vector_sigmoid(in.w.row(0), slope, n_);
    for (Index i = 0; i < n_; ++i) slope[i] *= -(a[i] * a[i]);
    return slope;
  }

  template <class T>
  void multiply_rows(const T* a, Matrix<const T> x, bool sets, Matrix<T> y) const {
    for (Index r = 0; r < x.rows; ++r)
      for (Index i = 0; i < n_; ++i) y(r, i) = sets ? a[i] * x(r, i) : y(r, i) + a[i] * x(r, i);
  }

  Index n_;
  std::vector<double> rates_;
};

}  // namespace

std::shared_ptr<const Operator> fixed_leak(std::vector<double> rates) {
  const auto n = static_cast<Index>(rates.size());
  return std::make_shared<Leak>(n, std::move(rates));
}

std::shared_ptr<const Operator> learned_leak(Index n) { return std::make_shared<Leak>(n, std::vector<double>()); }

std::vector<double> initial_time_constants(Index n, double longest) {
  std::vector<double> times(at(n));
  double most = longest;
  vector_log(&most, &most, 1);
  for (Index i = 0; i < n; ++i) times[at(i)] = most * (static_cast<double>(i) + 0.5) / static_cast<double>(n);
  vector_exp(times.data(), times.data(), n);
  return times;
}

std::vector<double> initial_leaks(const std::vector<double>& times) {
  std::vector<double> starts(times);
  for (double& start : starts) {  // softplus(rho) = t:  rho = t + log(1 - exp(-t))
    const double t = start - 1;
    double rest = -t;
    vector_exp(&rest, &rest, 1);
    rest = 1 - rest;
    vector_log(&rest, &rest, 1);
    start = t + rest;
  }
  return starts;
}

}  // namespace unfold
