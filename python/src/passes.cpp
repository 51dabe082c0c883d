/// The passes over a circuit and the losses, on arrays whose rows are positions, sequence by sequence; the base of
/// unfold.circuits and of unfold.torch.Cell.

#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <memory>
#include <optional>

#include "circuit.h"
#include "graph/paths/path_pass.h"
#include "graph/stored/circuit_data.h"
#include "optim/rtrl/forward_gradient.h"
#include "unfold/base/error.h"
#include "unfold/data/text/batch.h"
#include "unfold/gradcheck/derivative_check.h"
#include "unfold/graph/engine/unfolding.h"
#include "unfold/loss/registry.h"
#include "unfold/optim/rtrl/gradient_method.h"
#include "work.h"

namespace unfold::python {
namespace {

template <class T>
using Vector = nb::ndarray<const T, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
template <class T>
using Table = nb::ndarray<const T, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
using SymbolVector = nb::ndarray<const Symbol, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using Lengths = nb::ndarray<const std::int64_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

template <class T>
nb::ndarray<nb::numpy, T, nb::ndim<2>> new_table(std::unique_ptr<T[]> numbers, Index rows, Index cols) {
  T* data = numbers.release();
  const nb::capsule owner(data, [](void* p) noexcept { delete[] static_cast<T*>(p); });
  return {data, {at(rows), at(cols)}, owner};
}
template <class T>
nb::ndarray<nb::numpy, T, nb::ndim<1>> new_vector(std::unique_ptr<T[]> numbers, Index size) {
  T* data = numbers.release();
  const nb::capsule owner(data, [](void* p) noexcept { delete[] static_cast<T*>(p); });
  return {data, {at(size)}, owner};
}

/// Marks an object as in use while the GIL is released.
class Busy {
 public:
  explicit Busy(bool& flag) : flag_(flag) { flag_ = true; }
  Busy(const Busy&) = delete;
  Busy& operator=(const Busy&) = delete;
  ~Busy() { flag_ = false; }

 private:
  bool& flag_;
};

/// A circuit over chains with its parameters, inputs and outputs. A call while another thread runs a pass throws
/// UsageError.
template <class T>
class ArrayPasses {
 public:
  ArrayPasses(const PythonCircuit& circuit, int threads)
      : circuit_(copied(circuit.get())),
        plan_(std::make_shared<const Plan>(*circuit_, PlanOptions{.input_derivatives = true})),
        team_(threads),
        unfolding_(plan_, team_),
        parameters_(*circuit_) {
    const std::vector<int> inputs = data_of(*circuit_).inputs();
    for (const int id : inputs) inputs_.push_back({circuit_.get(), id});
    for (const int id : circuit_->outputs()) outputs_.push_back({circuit_.get(), id});
  }

  /// (name, size, whether it is symbols) of each input, and the sizes of the outputs.
  nb::list inputs() const {
    nb::list result;
    for (const Signal input : inputs_)
      result.append(nb::make_tuple(node(input).name, input.size(), circuit_->is_symbols(input)));
    return result;
  }
  std::vector<Index> outputs() const {
    std::vector<Index> sizes;
    for (const Signal output : outputs_) sizes.push_back(output.size());
    return sizes;
  }
  Index parameter_count() const { return parameters_.size(); }
  nb::ndarray<nb::numpy, T, nb::ndim<1>> initial(std::uint64_t seed) const {
    Parameters<T> drawn(*circuit_);
    drawn.initialize(seed);
    auto numbers = std::make_unique<T[]>(at(drawn.size()));
    std::ranges::copy(std::as_const(drawn).flat(), numbers.get());
    return new_vector(std::move(numbers), drawn.size());
  }

  void set_parameters(const Vector<T>& values) {
    require_idle();
    require_size(values);
    std::copy_n(values.data(), values.size(), parameters_.flat().begin());
    unfolding_.set_parameters(parameters_);
    is_ready_ = false;
  }
  void lay(const Lengths& lengths) {
    require_idle();
    std::vector<Index> sizes(lengths.data(), lengths.data() + lengths.size());
    if (sizes.empty()) throw UsageError("a circuit needs at least one sequence");
    unfolding_.lay(Structure::chains(sizes));
    is_ready_ = false;
  }
  void set_values(std::size_t input, const Table<T>& values) {
    require_idle();
    const Matrix<T> to = unfolding_.input(checked_input(input, false));
    write(values, to);
    is_ready_ = false;
  }
  void set_symbols(std::size_t input, const SymbolVector& values) {
    require_idle();
    const Signal signal = checked_input(input, true);
    const std::span<Symbol> to = unfolding_.symbols(signal);
    if (values.size() != to.size()) throw_rows(values.size(), to.size());
    for (std::size_t i = 0; i < to.size(); ++i) {
      const Symbol x = values.data()[i];
      if (x != kNoSymbol && (x < 0 || x >= signal.size()))
        throw UsageError(node(signal).name + ": " + std::to_string(x) + " is not a symbol from 0 to " +
                         std::to_string(signal.size() - 1) + ", nor -1 for none");
      to[at(row(static_cast<Index>(i)))] = x;
    }
    is_ready_ = false;
  }
  void forward(std::optional<std::uint64_t> dropout_seed) {
    require_idle();
    const Busy busy(is_busy_);
    const nb::gil_scoped_release unlocked;
    if (dropout_seed)
      unfolding_.set_dropout_seed(*dropout_seed);
    else
      unfolding_.disable_dropout();
    unfolding_.forward();
    is_ready_ = true;
  }
  nb::ndarray<nb::numpy, T, nb::ndim<2>> output(std::size_t k) { return read(unfolding_.value(checked_output(k))); }
  /// The gradient of the sum of outputs times seeds.
  nb::ndarray<nb::numpy, T, nb::ndim<1>> backward(const std::vector<Table<T>>& seeds, bool squared) {
    require_forward();
    if (seeds.size() != outputs_.size())
      throw UsageError("backward needs one array for each output: " + std::to_string(outputs_.size()) + ", not " +
                       std::to_string(seeds.size()));
    for (std::size_t k = 0; k < seeds.size(); ++k) write(seeds[k], unfolding_.adjoint(outputs_[k]));
    auto gradient = std::make_unique<T[]>(at(parameters_.size()));
    {
      const Busy busy(is_busy_);
      const nb::gil_scoped_release unlocked;
      unfolding_.backward({gradient.get(), at(parameters_.size())},
                          {.algebra = squared ? Algebra::squared : Algebra::linear});
    }
    return new_vector(std::move(gradient), parameters_.size());
  }
  nb::ndarray<nb::numpy, T, nb::ndim<2>> input_adjoint(std::size_t input) {
    return read(unfolding_.input_adjoint(checked_input(input, false)));
  }
  /// Computes the tangents of the outputs; inputs that are not in `moving` are fixed.
  void tangent(const Vector<T>& direction, const nb::dict& moving) {
    require_forward();
    require_size(direction);
    for (std::size_t i = 0; i < inputs_.size(); ++i) {
      if (circuit_->is_symbols(inputs_[i])) continue;
      const Matrix<T> to = unfolding_.input_tangent(inputs_[i]);
      const nb::object given = moving.contains(nb::int_(i)) ? nb::object(moving[nb::int_(i)]) : nb::object();
      if (given.is_valid()) {
        write(nb::cast<Table<T>>(given), to);
      } else {
        for (Index r = 0; r < to.rows; ++r) std::fill_n(to.row(r), to.cols, T{0});
      }
    }
    const Busy busy(is_busy_);
    const nb::gil_scoped_release unlocked;
    unfolding_.tangent({direction.data(), direction.size()}, nullptr, nullptr);
  }
  nb::ndarray<nb::numpy, T, nb::ndim<2>> tangent_of(std::size_t k) {
    return read(unfolding_.tangent_of(checked_output(k)));
  }
  /// (gamma^2 as mantissa and exponent, kappa and its exponent); graph/paths/path_pass.h.
  nb::tuple path(Index length, bool every_step, bool with_second) {
    require_idle();
    require_range("path: the length", 1, length, Index{1} << 32);
    auto kappa = std::make_unique<double[]>(at(parameters_.size()));
    PathSums sums;
    {
      const Busy busy(is_busy_);
      const nb::gil_scoped_release unlocked;
      PathPass<T> pass(*circuit_, team_);
      sums = pass.run(parameters_, {.length = length, .every_step = every_step, .with_second = with_second},
                      {kappa.get(), at(parameters_.size())});
    }
    return nb::make_tuple(sums.norm.mantissa, sums.norm.exponent, new_vector(std::move(kappa), parameters_.size()),
                          sums.exponent);
  }
  /// (nats, gradient) by a method that does not look back, such as "rtrl"; optim/rtrl/gradient_method.h. Reads the
  /// inputs that have been set; `targets` as for the losses.
  nb::tuple forward_gradient(const std::string& method, const std::string& loss, nb::handle targets,
                             std::uint64_t seed) {
    require_idle();
    const GradientMethod how = GradientMethod::parse(method);
    if (how.looks_back()) throw UsageError("forward_gradient: use loss_and_gradient for the method bptt");
    Batch batch;
    batch.structure = unfolding_.structure();
    const Network<T> network = predicting(loss, targets, batch);
    auto gradient = std::make_unique<T[]>(at(parameters_.size()));
    double nats = 0;
    {
      const Busy busy(is_busy_);
      const nb::gil_scoped_release unlocked;
      const Index chains = batch.structure.sequences();
      ForwardGradient<T> pass(network, how, {.streams = chains, .seed = seed}, team_);
      State<T> state(*plan_, chains);
      batch.reset_all_chains();
      enter_batch(batch, *plan_, state);
      nats = pass.gradient(batch, state, parameters_, 0, 1, {gradient.get(), at(parameters_.size())});
    }
    return nb::make_tuple(nats, new_vector(std::move(gradient), parameters_.size()));
  }
  std::string plan() const { return plan_->print(); }
  std::string first_non_finite() const { return unfolding_.first_non_finite(); }

 private:
  static constexpr const char* kTarget = "\x01target";

  /// Returns the circuit as a network with one loss; fills the fields of the batch with its inputs and targets.
  Network<T> predicting(const std::string& loss, nb::handle targets, Batch& batch) {
    const ChosenLoss chosen = choose_loss(loss);
    Network<T> network;
    network.plan = plan_;
    const Index rows = batch.structure.positions();
    for (const Signal input : inputs_) {
      const std::string& name = node(input).name;
      network.inputs.push_back({name, input});
      if (circuit_->is_symbols(input)) {
        const std::span<const Symbol> from = unfolding_.symbols(input);
        batch.symbol_field(name).symbols.assign(from.begin(), from.end());
      } else {
        put_rows(unfolding_.input(input), batch.value_field(name));
      }
    }
    network.heads.push_back({.field = kTarget, .signal = checked_output(0), .loss = chosen.make<T>()});
    network.heads.front().loss->template need<RowLoss<T>>("forward_gradient");
    if (chosen.entry.of_symbols) {
      const auto given = nb::cast<SymbolVector>(targets);
      if (static_cast<Index>(given.size()) != rows) throw_rows(given.size(), at(rows));
      SymbolRows& field = batch.symbol_field(kTarget);
      field.clear(rows);
      for (Index i = 0; i < rows; ++i) field.symbols[at(row(i))] = given.data()[i];
    } else {
      const auto given = nb::cast<Table<T>>(targets);
      std::vector<T> laid(given.size());
      const auto cols = static_cast<Index>(given.shape(1));
      write(given, {laid.data(), rows, cols, cols});
      put_rows({laid.data(), rows, cols, cols}, batch.value_field(kTarget));
    }
    batch.predicted = batch.symbols = rows;
    return network;
  }
  static void put_rows(Matrix<const T> from, ValueRows& to) {
    to.clear(from.rows, from.cols);
    for (Index r = 0; r < from.rows; ++r)
      for (Index i = 0; i < from.cols; ++i) to.set(r, i, static_cast<float>(from(r, i)));
  }
  static std::unique_ptr<Circuit> copied(const Circuit& from) {
    auto copy = std::make_unique<Circuit>();
    add_circuit(*copy, data_of(from));
    return copy;
  }
  const Node& node(Signal signal) const { return circuit_->nodes()[at(signal.id)]; }
  Index row(Index item) const { return unfolding_.structure().order().rows[at(item)]; }
  [[noreturn]] static void throw_rows(std::size_t given, std::size_t wanted) {
    throw UsageError("an array has " + std::to_string(given) + " rows, but there are " + std::to_string(wanted) +
                     " positions");
  }
  void require_idle() const {
    if (is_busy_) throw UsageError("these passes are running in another thread; use one Function per thread");
  }
  void require_size(const Vector<T>& values) const {
    if (static_cast<Index>(values.size()) != parameters_.size())
      throw UsageError("the circuit has " + std::to_string(parameters_.size()) + " parameters, but the vector has " +
                       std::to_string(values.size()));
  }
  void require_forward() const {
    require_idle();
    if (!is_ready_) throw UsageError("call forward first: parameters, inputs or lengths have changed since");
  }
  Signal checked_input(std::size_t i, bool symbols) const {
    require_index("circuit: input", static_cast<Index>(i), static_cast<Index>(inputs_.size()));
    if (circuit_->is_symbols(inputs_[i]) != symbols)
      throw UsageError("circuit: input " + node(inputs_[i]).name + (symbols ? " reads numbers" : " reads symbols"));
    return inputs_[i];
  }
  Signal checked_output(std::size_t k) const {
    require_index("circuit: output", static_cast<Index>(k), static_cast<Index>(outputs_.size()));
    return outputs_[k];
  }
  void write(const Table<T>& from, Matrix<T> to) const {
    if (static_cast<Index>(from.shape(0)) != to.rows) throw_rows(from.shape(0), at(to.rows));
    if (static_cast<Index>(from.shape(1)) != to.cols)
      throw UsageError("an array has " + std::to_string(from.shape(1)) + " columns instead of " +
                       std::to_string(to.cols));
    for (Index i = 0; i < to.rows; ++i) std::copy_n(from.data() + i * to.cols, to.cols, to.row(row(i)));
  }
  nb::ndarray<nb::numpy, T, nb::ndim<2>> read(Matrix<const T> from) const {
    auto numbers = std::make_unique<T[]>(at(from.rows * from.cols));
    for (Index i = 0; i < from.rows; ++i) std::copy_n(from.row(row(i)), from.cols, numbers.get() + i * from.cols);
    return new_table(std::move(numbers), from.rows, from.cols);
  }

  std::unique_ptr<Circuit> circuit_;
  std::shared_ptr<const Plan> plan_;
  Team team_;
  Unfolding<T> unfolding_;
  Parameters<T> parameters_;
  std::vector<Signal> inputs_, outputs_;
  bool is_busy_ = false;   // a pass is running; guarded by the GIL
  bool is_ready_ = false;  // the values are those of the current parameters and inputs
};

/// A loss with independent rows.
template <class T>
class ArrayLoss {
 public:
  explicit ArrayLoss(const std::string& spec) : chosen_(choose_loss(spec)), loss_(chosen_.make<T>()) {
    loss_->template need<RowLoss<T>>("a loss of arrays");
  }
  bool of_symbols() const { return chosen_.entry.of_symbols; }
  Index target_size(Index signal_size) const { return loss_->target_size(signal_size); }

  nb::ndarray<nb::numpy, T, nb::ndim<1>> nats(const Table<T>& signal, nb::handle targets) const {
    auto result = std::make_unique<T[]>(signal.shape(0));
    rows()->row_losses(matrix(signal), observed(signal, targets), result.get());
    return new_vector(std::move(result), static_cast<Index>(signal.shape(0)));
  }
  nb::ndarray<nb::numpy, T, nb::ndim<2>> gradient(const Table<T>& signal, nb::handle targets) const {
    const Index n = static_cast<Index>(signal.shape(0)), size = static_cast<Index>(signal.shape(1));
    std::vector<T> nats(at(n));
    auto result = std::make_unique<T[]>(at(n * size));
    rows()->row_gradients(matrix(signal), observed(signal, targets), T{1}, nats.data(), {result.get(), n, size, size});
    return new_table(std::move(result), n, size);
  }
  /// The Hessian of the loss with respect to the signal times the tangent, row by row.
  nb::ndarray<nb::numpy, T, nb::ndim<2>> curvature(const Table<T>& signal, nb::handle targets,
                                                   const Table<T>& tangent) const {
    if (tangent.shape(0) != signal.shape(0) || tangent.shape(1) != signal.shape(1))
      throw UsageError("a loss needs a tangent with the shape of the signal, " + std::to_string(signal.shape(0)) +
                       " x " + std::to_string(signal.shape(1)) + ", not " + std::to_string(tangent.shape(0)) + " x " +
                       std::to_string(tangent.shape(1)));
    const Index n = static_cast<Index>(signal.shape(0)), size = static_cast<Index>(signal.shape(1));
    const auto& curved = dynamic_cast<const RowCurvature<T>*>(&loss_->template need<LossCurvature<T>>("gauss_newton"));
    if (curved == nullptr) throw UsageError("gauss_newton: the curvature of this loss depends on several rows");
    auto result = std::make_unique<T[]>(at(n * size));
    curved->row_curvatures(matrix(signal), observed(signal, targets), T{1}, matrix(tangent),
                           {result.get(), n, size, size});
    return new_table(std::move(result), n, size);
  }

 private:
  const RowLoss<T>* rows() const { return loss_->template as<RowLoss<T>>(); }
  static Matrix<const T> matrix(const Table<T>& table) {
    const auto cols = static_cast<Index>(table.shape(1));
    return {table.data(), static_cast<Index>(table.shape(0)), cols, cols};
  }
  Targets<T> observed(const Table<T>& signal, nb::handle targets) const {
    const Index size = target_size(static_cast<Index>(signal.shape(1)));
    if (of_symbols()) {
      const auto symbols = nb::cast<SymbolVector>(targets);
      if (symbols.size() != signal.shape(0))
        throw UsageError("a loss needs one target for each position: " + std::to_string(signal.shape(0)) + ", not " +
                         std::to_string(symbols.size()));
      for (std::size_t i = 0; i < symbols.size(); ++i)
        if (const Symbol x = symbols.data()[i]; x != kNoSymbol && (x < 0 || x >= size))
          throw UsageError("a target is " + std::to_string(x) + ", which is not a symbol from 0 to " +
                           std::to_string(size - 1) + ", nor -1 for none");
      return {.symbols = symbols.data(), .values = {}, .predicted = nullptr};
    }
    const auto values = nb::cast<Table<T>>(targets);
    if (values.shape(0) != signal.shape(0) || static_cast<Index>(values.shape(1)) != size)
      throw UsageError("a loss needs targets of " + std::to_string(size) + " numbers for each position");
    return {.symbols = nullptr, .values = matrix(values), .predicted = nullptr};
  }

  ChosenLoss chosen_;
  std::unique_ptr<Loss<T>> loss_;
};

/// Returns (whether all checks passed, the report, the results as tuples).
nb::tuple checked_derivatives(const PythonCircuit& circuit, const std::string& loss, const Lengths& lengths,
                              std::uint64_t seed) {
  const std::vector<Index> sizes(lengths.data(), lengths.data() + lengths.size());
  const std::unique_ptr<Loss<double>> made = choose_loss(loss).make<double>();
  CheckReport report;
  {
    const Circuit& c = circuit.get();
    const nb::gil_scoped_release unlocked;
    report = check_derivatives(c, *made, Structure::chains(sizes), {.seed = seed});
  }
  nb::list results;
  for (const CheckResult& r : report.results)
    results.append(nb::make_tuple(r.name, r.what, r.worst, r.bound, r.run, r.where));
  return nb::make_tuple(report.passed(), report.text(), results);
}

template <class T>
void add_of_type(nb::module_& module, const char* passes, const char* loss) {
  using Passes = ArrayPasses<T>;
  nb::class_<Passes>(module, passes, "The passes over a circuit, on arrays; see unfold.circuits.Function.")
      .def(nb::init<const PythonCircuit&, int>(), nb::arg("circuit"), nb::arg("threads"))
      .def("inputs", &Passes::inputs)
      .def("outputs", &Passes::outputs)
      .def("parameter_count", &Passes::parameter_count)
      .def("initial", &Passes::initial, nb::arg("seed"))
      .def("set_parameters", &Passes::set_parameters, nb::arg("values"))
      .def("lay", &Passes::lay, nb::arg("lengths"))
      .def("set_values", &Passes::set_values, nb::arg("input"), nb::arg("values"))
      .def("set_symbols", &Passes::set_symbols, nb::arg("input"), nb::arg("values"))
      .def("forward", &Passes::forward, nb::arg("dropout_seed").none() = nb::none())
      .def("output", &Passes::output, nb::arg("output"))
      .def("backward", &Passes::backward, nb::arg("seeds"), nb::arg("squared") = false)
      .def("input_adjoint", &Passes::input_adjoint, nb::arg("input"))
      .def("tangent", &Passes::tangent, nb::arg("direction"), nb::arg("moving"))
      .def("tangent_of", &Passes::tangent_of, nb::arg("output"))
      .def("path", &Passes::path, nb::arg("length"), nb::arg("every_step"), nb::arg("with_second"))
      .def("forward_gradient", &Passes::forward_gradient, nb::arg("method"), nb::arg("loss"), nb::arg("targets"),
           nb::arg("seed"))
      .def("plan", &Passes::plan)
      .def("first_non_finite", &Passes::first_non_finite);
  using Losses = ArrayLoss<T>;
  nb::class_<Losses>(module, loss, "A loss on arrays; see unfold.circuits.Function.")
      .def(nb::init<const std::string&>(), nb::arg("spec"))
      .def("of_symbols", &Losses::of_symbols)
      .def("target_size", &Losses::target_size, nb::arg("signal_size"))
      .def("nats", &Losses::nats, nb::arg("signal"), nb::arg("targets"))
      .def("gradient", &Losses::gradient, nb::arg("signal"), nb::arg("targets"))
      .def("curvature", &Losses::curvature, nb::arg("signal"), nb::arg("targets"), nb::arg("tangent"));
}

}  // namespace

void add_passes(nb::module_& module) {
  add_of_type<float>(module, "PassesFloat32", "LossFloat32");
  add_of_type<double>(module, "PassesFloat64", "LossFloat64");
  module.def("_check_derivatives", &checked_derivatives, nb::arg("circuit"), nb::arg("loss"), nb::arg("lengths"),
             nb::arg("seed"));
}

}  // namespace unfold::python
