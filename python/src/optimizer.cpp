/// Optimizers that run step by step on an objective that is a Python function.

#include <nanobind/ndarray.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>

#include <algorithm>
#include <memory>

#include "circuit.h"
#include "unfold/base/error.h"
#include "unfold/optim/optimizer.h"
#include "work.h"

namespace unfold::python {
namespace {

template <class T>
using Vector = nb::ndarray<const T, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
template <class T>
using Target = nb::ndarray<T, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

/// An objective whose loss and gradient are computed by a Python function: function(parameters) -> (loss, gradient).
/// A second function, of (parameters, vector), computes the product of the curvature with a vector.
template <class T>
class PythonObjective final : public Objective<T> {
 public:
  explicit PythonObjective(const Circuit& circuit) : parameters_(circuit), team_(1) {}

  void set(nb::handle function, nb::handle curvature) { function_ = function, curvature_ = curvature; }
  Parameters<T>& parameters() override { return parameters_; }
  Team& team() override { return team_; }
  double gradient(std::span<T> gradient) override {
    const nb::object made = function_(array());
    const auto [loss, slope] = nb::cast<std::pair<double, nb::object>>(made);
    copy(slope, gradient, "the objective must return (loss, gradient)");
    return loss;
  }
  double loss() override { return nb::cast<double>(nb::object(function_(array())[nb::int_(0)])); }
  bool repeats() const override { return false; }
  void start_curvature(double, Distance damping) override {
    if (curvature_.is_none()) throw UsageError("this optimizer needs curvature=, a function of (parameters, vector)");
    if (damping != Distance::none)
      throw UsageError("structural damping needs a network, not a function; add structural=0 to the SPEC");
  }
  void curvature_sample(std::uint64_t, double, std::span<T>) override {
    throw UsageError("the preconditioner needs a network, not a function; add probes=0 to the SPEC");
  }
  void curvature_product(std::span<const T> v, double, std::span<T> result) override {
    copy(curvature_(array(), array_of(v)), result, "curvature must return a vector");
  }

 private:
  static nb::object array_of(std::span<const T> values) {
    auto* numbers = new T[values.size()];
    std::ranges::copy(values, numbers);
    const nb::capsule owner(numbers, [](void* p) noexcept { delete[] static_cast<T*>(p); });
    return nb::cast(nb::ndarray<nb::numpy, T, nb::ndim<1>>(numbers, {values.size()}, owner));
  }
  nb::object array() const { return array_of(parameters_.flat()); }
  static void copy(nb::handle from, std::span<T> to, const char* what) {
    Vector<T> values;
    if (!nb::try_cast<Vector<T>>(from, values) || values.size() != to.size())
      throw UsageError(std::string(what) + " of " + std::to_string(to.size()) + " numbers");
    std::copy_n(values.data(), values.size(), to.begin());
  }

  Parameters<T> parameters_;
  Team team_;
  nb::handle function_, curvature_;
};

template <class T>
class StepwiseOptimizer {
 public:
  StepwiseOptimizer(const std::string& spec, Index size) {
    if (size < 1) throw UsageError("an optimizer needs at least one parameter");
    Circuit circuit;
    circuit.parameter("parameters", 1, size, Init::zero());
    objective_ = std::make_unique<PythonObjective<T>>(circuit);
    optimizer_ = make_optimizer<T>(spec, size);
    optimizer_->attach(*objective_);
  }
  std::string spec() const { return optimizer_->spec(); }
  Index steps() const { return steps_; }

  /// Updates `parameters` in place.
  nb::dict step(const Target<T>& parameters, nb::handle function, nb::handle curvature, double fraction,
                double factor) {
    const std::span<T> flat = objective_->parameters().flat();
    if (parameters.size() != flat.size())
      throw UsageError("the optimizer was made for " + std::to_string(flat.size()) + " parameters, not " +
                       std::to_string(parameters.size()));
    std::copy_n(parameters.data(), parameters.size(), flat.begin());
    objective_->set(function, curvature);
    const StepReport report = optimizer_->step(*objective_, {.step = steps_, .fraction = fraction}, factor);
    ++steps_;
    const std::span<const T> moved = std::as_const(objective_->parameters()).flat();
    std::ranges::copy(moved, parameters.data());
    nb::dict result;
    result["loss"] = report.loss;
    result["gradient_norm"] = report.gradient_norm;
    result["rate"] = report.rate;
    result["finite"] = report.finite;
    result["converged"] = report.converged;
    return result;
  }
  /// Returns the averaged parameters if the optimizer keeps an average; otherwise None.
  nb::object average() const {
    const std::span<const T> average = optimizer_->average();
    if (average.empty()) return nb::none();
    auto* numbers = new T[average.size()];
    std::ranges::copy(average, numbers);
    const nb::capsule owner(numbers, [](void* p) noexcept { delete[] static_cast<T*>(p); });
    return nb::cast(nb::ndarray<nb::numpy, T, nb::ndim<1>>(numbers, {average.size()}, owner));
  }

 private:
  std::unique_ptr<PythonObjective<T>> objective_;
  std::unique_ptr<Optimizer<T>> optimizer_;
  Index steps_ = 0;
};

template <class T>
void add_of_type(nb::module_& module, const char* name) {
  using Stepwise = StepwiseOptimizer<T>;
  nb::class_<Stepwise>(module, name, "An optimizer of a Python function; see unfold.circuits.Optimizer.")
      .def(nb::init<const std::string&, Index>(), nb::arg("spec"), nb::arg("size"))
      .def_prop_ro("spec", &Stepwise::spec)
      .def_prop_ro("steps", &Stepwise::steps)
      .def("step", &Stepwise::step, nb::arg("parameters"), nb::arg("function"), nb::arg("curvature").none(),
           nb::arg("fraction"), nb::arg("factor"))
      .def("average", &Stepwise::average);
}

}  // namespace

void add_optimizer(nb::module_& module) {
  add_of_type<float>(module, "OptimizerFloat32");
  add_of_type<double>(module, "OptimizerFloat64");
}

}  // namespace unfold::python
