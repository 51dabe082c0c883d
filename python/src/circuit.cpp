#include "circuit.h"

#include <nanobind/operators.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <algorithm>
#include <array>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string_view>

#include "graph/circuit/attention.h"
#include "graph/circuit/cell_maps.h"
#include "graph/circuit/concatenation.h"
#include "graph/circuit/quadratic.h"
#include "model/stored_cell/circuit_json.h"
#include "unfold/base/error.h"
#include "unfold/base/formats/json.h"
#include "unfold/graph/cells/register_cell.h"
#include "unfold/graph/cells/registry.h"
#include "unfold/graph/circuit/vector_map.h"
#include "unfold/graph/plan/plan.h"
#include "work.h"

namespace unfold::python {

Circuit& CircuitHandle::get() const {
  if (circuit_ == nullptr)
    throw UsageError("the circuit of a registered cell can be used only while the function of the cell runs");
  return *circuit_;
}

void CircuitHandle::close() {
  while (!scopes_.empty()) scopes_.pop_back();
  circuit_ = nullptr;
}

int CircuitHandle::enter(std::shared_ptr<void> scope) {
  scopes_.emplace_back(++entered_, std::move(scope));
  return entered_;
}

/// Ends the scope, and all scopes that were entered later.
void CircuitHandle::leave(int number) {
  while (!scopes_.empty() && scopes_.back().first >= number) scopes_.pop_back();
}

namespace {

struct PythonOperator {
  std::shared_ptr<const Operator> op;
};

struct PythonTerm {
  PythonSignal source;
  Init init = Init::uniform();
  std::optional<PythonOperator> op = {};
  std::optional<PythonSignal> gate = {}, keys = {}, values = {};
  std::vector<PythonSignal> symbols = {};
};

/// A context manager that changes how nodes are added to a circuit.
class Context {
 public:
  using Enter = std::function<std::shared_ptr<void>(Circuit&)>;
  Context(std::shared_ptr<CircuitHandle> handle, Enter enter) : handle_(std::move(handle)), enter_(std::move(enter)) {}
  void enter() { number_ = handle_->enter(enter_(handle_->get())); }
  void leave() { handle_->leave(number_); }

 private:
  std::shared_ptr<CircuitHandle> handle_;
  Enter enter_;
  int number_ = 0;
};

constexpr std::array<std::pair<std::string_view, Delay::Along>, 16> kAlongNames = {
    {{"previous", Delay::Along::previous},
     {"next", Delay::Along::next},
     {"left", Delay::Along::left},
     {"up", Delay::Along::up},
     {"right", Delay::Along::right},
     {"down", Delay::Along::down},
     {"child", Delay::Along::child},
     {"first", Delay::Along::first},
     {"last", Delay::Along::last},
     {"source_first", Delay::Along::source_first},
     {"source_last", Delay::Along::source_last},
     {"source_start", Delay::Along::source_start},
     {"children", Delay::Along::children},
     {"each_child", Delay::Along::each_child},
     {"parent", Delay::Along::parent},
     {"block", Delay::Along::block}}};

Delay delay_of(const std::string& along, Index steps) {
  const auto found = std::ranges::find(kAlongNames, along, &std::pair<std::string_view, Delay::Along>::first);
  if (found != kAlongNames.end()) return {found->second, steps};
  std::string names;
  for (const auto& [name, value] : kAlongNames) names += (names.empty() ? "" : ", ") + std::string(name);
  throw UsageError("link: along must be one of " + names + ", not \"" + along + "\"");
}

Map map_of(const std::string& name) {
  std::string names;
  for (int m = 0; m < kMapCount; ++m) {
    if (map_info(static_cast<Map>(m)).name == name) return static_cast<Map>(m);
    names += (names.empty() ? "" : ", ") + std::string(map_info(static_cast<Map>(m)).name);
  }
  throw UsageError("map: the map must be one of " + names + ", not \"" + name + "\"");
}

PythonSignal wrap(const std::shared_ptr<CircuitHandle>& handle, Signal signal) { return {handle, signal.id}; }
PythonSignal wrap(const PythonSignal& like, Signal signal) { return {like.handle, signal.id}; }

/// A signal or a Term, as the terms of an affine map.
PythonTerm term_of(nb::handle given) {
  PythonTerm term;
  if (nb::try_cast<PythonTerm>(given, term)) return term;
  PythonSignal source;
  if (!nb::try_cast<PythonSignal>(given, source))
    throw nb::type_error("affine: the terms must be a dictionary of names and signals (or Term)");
  return {.source = source};
}

PythonSignal affine(const PythonCircuit& self, const std::string& name, Index size, const nb::dict& terms,
                    std::optional<Init> bias) {
  std::vector<std::string> names;
  std::vector<PythonTerm> given;
  for (const auto& [key, value] : terms) {
    names.push_back(nb::cast<std::string>(key));
    given.push_back(term_of(value));
  }
  std::vector<Term> made;
  for (std::size_t i = 0; i < given.size(); ++i) {
    const PythonTerm& term = given[i];
    Term one{.parameter = names[i], .source = term.source.get(), .init = term.init};
    if (term.op) one.op = term.op->op;
    if (term.gate) one.gate = term.gate->get();
    if (term.keys) one.keys = term.keys->get();
    if (term.values) one.values = term.values->get();
    for (const PythonSignal& symbols : term.symbols) one.symbols.push_back(symbols.get());
    made.push_back(std::move(one));
  }
  return wrap(self.handle, self.get().affine(name, size, made, bias.value_or(Init::zero()), bias.has_value()));
}

std::vector<Signal> signals_of(const std::vector<PythonSignal>& given) {
  std::vector<Signal> result;
  for (const PythonSignal& signal : given) result.push_back(signal.get());
  return result;
}

std::vector<PythonSignal> split(const PythonSignal& x, Index parts) {
  const Index size = x.get().size();
  if (parts < 1 || size % parts != 0)
    throw UsageError("split: a signal of size " + std::to_string(size) + " cannot be cut into " +
                     std::to_string(parts) + " equal parts");
  std::vector<PythonSignal> result;
  for (Index i = 0; i < parts; ++i)
    result.push_back(wrap(x, x.handle->get().slice(x.get(), i * (size / parts), size / parts)));
  return result;
}

PythonSignal components(const PythonSignal& x, const nb::slice& range) {
  const auto [start, stop, step, length] = range.compute(static_cast<std::size_t>(x.get().size()));
  if (step != 1 || length == 0) throw UsageError("a slice of a signal must be contiguous and not empty");
  return wrap(x, x.handle->get().slice(x.get(), static_cast<Index>(start), static_cast<Index>(length)));
}

std::string json_of(const PythonCircuit& self) { return circuit_to_json(data_of(self.get())).dump(); }

PythonCircuit circuit_of(const std::string& json) {
  PythonCircuit made;
  add_circuit(made.get(), circuit_from_json(parse_json(json, "circuit")));
  return made;
}

/// (name, rows, columns, offset in the vector of all parameters), ordered by name.
nb::list parameters_of(const PythonCircuit& self) {
  std::vector<const ParameterInfo*> sorted;
  for (const ParameterInfo& p : self.get().parameters()) sorted.push_back(&p);
  std::ranges::sort(sorted, {}, &ParameterInfo::offset);
  nb::list result;
  for (const ParameterInfo* p : sorted) result.append(nb::make_tuple(p->name, p->rows, p->cols, p->offset));
  return result;
}

std::string plan_of(const PythonCircuit& self) { return Plan(self.get()).print(); }

PythonSignal add_cell(const PythonCircuit& self, const std::string& name, const PythonSignal& x, Index units,
                      bool trained_initial) {
  const CellEntry& cell = cells().get(name);
  return wrap(self.handle, cell.add(self.get(), x.get(), units, cell.options, trained_initial));
}

/// The functions of cells by name, guarded by the GIL. The entries are never destroyed, because the registry outlives
/// the interpreter; the functions are released when the interpreter exits.
std::map<std::string, nb::object*>& python_cells() {
  static auto* const all = [] {
    auto* cells = new std::map<std::string, nb::object*>;
    nb::module_::import_("atexit").attr("register")(nb::cpp_function([cells] {
      for (auto& [name, function] : *cells) *function = nb::object();
    }));
    return cells;
  }();
  return *all;
}

/// A cell that is a Python function. A second registration replaces the function, so that a cell can be changed in a
/// notebook.
void register_python_cell(const std::string& name, nb::object function, const std::string& help) {
  if (!nb::isinstance<nb::callable>(function)) throw nb::type_error("register_cell: the cell must be a function");
  if (const auto known = python_cells().find(name); known != python_cells().end()) {
    *known->second = std::move(function);
    return;
  }
  auto* kept = new nb::object(std::move(function));
  try {
    register_cell(
        name,
        [kept, name](Circuit& c, Signal x, Index units) {
          const nb::gil_scoped_acquire locked;
          if (!kept->is_valid()) throw UsageError("cell " + name + ": the Python interpreter is exiting");
          PythonCircuit circuit{std::make_shared<CircuitHandle>(c)};
          struct Close {
            CircuitHandle& handle;
            ~Close() { handle.close(); }
          } const close{*circuit.handle};
          const nb::object made = (*kept)(circuit, wrap(circuit.handle, x), units);
          PythonSignal result;
          if (!nb::try_cast<PythonSignal>(made, result) || result.handle != circuit.handle)
            throw UsageError("cell " + name + ": the function must return a signal of the circuit that it receives");
          return result.get();
        },
        help);
    python_cells().emplace(name, kept);
  } catch (...) {
    delete kept;
    throw;
  }
}

void add_init(nb::module_& module) {
  nb::class_<Init>(module, "Init", "Initialization of a parameter.")
      .def_static("zero", &Init::zero, "All values are 0.")
      .def_static("constant", nb::overload_cast<double>(&Init::constant), nb::arg("value"), "All values are `value`.")
      .def_static("block_values", &Init::block_values, nb::arg("values"),
                  "Equal blocks of columns, each with one value.")
      .def_static("uniform", &Init::uniform, nb::arg("scale") = 0.0, "Uniform on [-scale, scale]; 0: 1 / sqrt(inputs).")
      .def_static("positive", &Init::positive, "Uniform on [1/2, 3/2].")
      .def_static("normal", &Init::normal, nb::arg("scale") = 0.0,
                  "Normal with deviation `scale`; 0: 1 / sqrt(inputs).")
      .def_static("normal_columns", &Init::normal_columns, nb::arg("scales"), "A separate scale for each column.")
      .def_static("glorot", &Init::glorot, nb::arg("blocks") = 1, nb::arg("scale") = 1.0, "Glorot and Bengio (2010).")
      .def_static("orthogonal", &Init::orthogonal, nb::arg("blocks") = 1, nb::arg("scale") = 1.0,
                  "Random orthonormal rows or columns.")
      .def_static("identity", &Init::identity, nb::arg("blocks") = 1, nb::arg("scale") = 1.0,
                  "`scale` on the diagonal.")
      .def_static("sparse", &Init::sparse, nb::arg("count") = 15, nb::arg("scale") = 1.0, nb::arg("blocks") = 1,
                  "`count` normal weights for each output; the others are 0.")
      .def_static("normalized", &Init::normalized, nb::arg("blocks") = 1, nb::arg("scale") = 1.0,
                  "Positive definite with largest eigenvalue `scale`.")
      .def_static("chrono", &Init::chrono, nb::arg("signs"), nb::arg("longest"), "Gate biases from time scales.")
      .def("__repr__", [](const Init& self) { return "<Init " + init_to_json(self).dump() + ">"; });
}

void add_operators(nb::module_& module) {
  nb::class_<PythonOperator>(module, "Operator", "An operator that a term applies instead of a matrix.")
      .def_prop_ro("name", [](const PythonOperator& self) { return std::string(self.op->name()); })
      .def_prop_ro("inputs", [](const PythonOperator& self) { return self.op->inputs(); })
      .def_prop_ro("outputs", [](const PythonOperator& self) { return self.op->outputs(); })
      .def_static(
          "layer_norm", [](Index n) { return PythonOperator{layer_norm(n)}; }, nb::arg("size"))
      .def_static(
          "shares", [](Index n) { return PythonOperator{shares(n)}; }, nb::arg("size"))
      .def_static(
          "complex_decay", [](Index n) { return PythonOperator{complex_decay(n)}; }, nb::arg("size"))
      .def_static(
          "complex_gain", [](Index n) { return PythonOperator{complex_gain(n)}; }, nb::arg("size"))
      .def_static(
          "modulus_relu", [](Index n) { return PythonOperator{modulus_relu(n)}; }, nb::arg("size"))
      .def_static(
          "unitary", [](Index n, std::uint64_t seed) { return PythonOperator{unitary_map(n, seed)}; }, nb::arg("size"),
          nb::arg("seed") = 1)
      .def_static(
          "learned_leak", [](Index n) { return PythonOperator{learned_leak(n)}; }, nb::arg("size"))
      .def_static(
          "fixed_leak",
          [](std::vector<double> rates) {
            if (rates.empty()) throw UsageError("fixed_leak needs at least one rate");
            return PythonOperator{fixed_leak(std::move(rates))};
          },
          nb::arg("rates"))
      .def_static(
          "quadratic",
          [](Index inputs, Index outputs, double scale) {
            return PythonOperator{quadratic_form(inputs, outputs, scale)};
          },
          nb::arg("inputs"), nb::arg("outputs"), nb::arg("scale") = 1.0)
      .def_static(
          "sparse",
          [](Index inputs, Index outputs, const std::vector<std::pair<std::int32_t, std::int32_t>>& edges) {
            return PythonOperator{sparse_operator(std::make_shared<const Edges>(inputs, outputs, edges))};
          },
          nb::arg("inputs"), nb::arg("outputs"), nb::arg("edges"));
}

void add_signal(nb::module_& module) {
  const auto unary = [](Map map) {
    return [map](const PythonSignal& x) { return wrap(x, x.handle->get().map(map, x.get())); };
  };
  auto signal = nb::class_<PythonSignal>(module, "Signal", "A vector at every position of a circuit.");
  signal.attr("__array_ufunc__") = nb::none();  // NumPy numbers leave arithmetic to the signal
  signal.def_prop_ro("size", [](const PythonSignal& x) { return x.get().size(); })
      .def(
          "__add__", [](const PythonSignal& x, const PythonSignal& y) { return wrap(x, x.get() + y.get()); },
          nb::is_operator())
      .def(
          "__add__", [](const PythonSignal& x, double k) { return wrap(x, x.get() + k); }, nb::is_operator())
      .def(
          "__radd__", [](const PythonSignal& x, double k) { return wrap(x, x.get() + k); }, nb::is_operator())
      .def(
          "__sub__", [](const PythonSignal& x, const PythonSignal& y) { return wrap(x, x.get() - y.get()); },
          nb::is_operator())
      .def(
          "__sub__", [](const PythonSignal& x, double k) { return wrap(x, x.get() + -k); }, nb::is_operator())
      .def(
          "__rsub__", [](const PythonSignal& x, double k) { return wrap(x, k - x.get()); }, nb::is_operator())
      .def(
          "__mul__", [](const PythonSignal& x, const PythonSignal& y) { return wrap(x, x.get() * y.get()); },
          nb::is_operator())
      .def(
          "__mul__", [](const PythonSignal& x, double k) { return wrap(x, k * x.get()); }, nb::is_operator())
      .def(
          "__rmul__", [](const PythonSignal& x, double k) { return wrap(x, k * x.get()); }, nb::is_operator())
      .def(
          "__truediv__", [](const PythonSignal& x, double k) { return wrap(x, (1 / k) * x.get()); }, nb::is_operator())
      .def("__neg__", [](const PythonSignal& x) { return wrap(x, -1 * x.get()); })
      .def("__getitem__", &components, nb::arg("range"))
      .def("split", &split, nb::arg("parts"), "Cut a signal into equal parts.")
      .def("__repr__", [](const PythonSignal& x) {
        const Circuit& c = x.handle->get();
        const std::string name = x.id < 0 ? "joined" : c.nodes().at(static_cast<std::size_t>(x.id)).name;
        return "<Signal " + name + " [" + std::to_string(x.get().size()) + "]>";
      });
  for (const auto& [name, map] : {std::pair{"tanh", Map::tanh},
                                  {"sigmoid", Map::sigmoid},
                                  {"hard_sigmoid", Map::hard_sigmoid},
                                  {"relu", Map::relu},
                                  {"softplus", Map::softplus},
                                  {"exp", Map::exp},
                                  {"log", Map::log},
                                  {"square", Map::square},
                                  {"one_minus", Map::one_minus},
                                  {"copy", Map::copy}})
    signal.def(name, unary(map));
}

}  // namespace

void add_circuits(nb::module_& module) {
  add_init(module);
  add_operators(module);
  add_signal(module);
  nb::class_<PythonTerm>(module, "Term", "A term of an affine map.")
      .def(
          "__init__",
          [](PythonTerm* self, const PythonSignal& source, std::optional<Init> init, std::optional<PythonOperator> op,
             std::optional<PythonSignal> gate, std::optional<PythonSignal> keys, std::optional<PythonSignal> values,
             const std::vector<PythonSignal>& symbols) {
            new (self) PythonTerm{source, init.value_or(Init::uniform()), op, gate, keys, values, symbols};
          },
          nb::arg("source"), nb::arg("init").none() = nb::none(), nb::kw_only(),
          nb::arg("operator").none() = nb::none(), nb::arg("gate").none() = nb::none(),
          nb::arg("keys").none() = nb::none(), nb::arg("values").none() = nb::none(),
          nb::arg("symbols") = std::vector<PythonSignal>());
  nb::class_<Context>(module, "_Context", "A context manager that changes how nodes are added to a circuit.")
      .def("__enter__", &Context::enter)
      .def("__exit__", [](Context& self, const nb::args&) { self.leave(); });
  nb::class_<PythonCircuit>(module, "Circuit", "One step of a recurrent computation; see unfold.circuits.")
      .def("__init__", [](PythonCircuit* self) { new (self) PythonCircuit; })
      .def(
          "input",
          [](const PythonCircuit& c, const std::string& name, Index size) {
            return wrap(c.handle, c.get().input(name, size));
          },
          nb::arg("name"), nb::arg("size"), "Add a real vector at every position.")
      .def(
          "symbols",
          [](const PythonCircuit& c, const std::string& name, Index alphabet) {
            return wrap(c.handle, c.get().symbols(name, alphabet));
          },
          nb::arg("name"), nb::arg("alphabet"), "Add one symbol at every position.")
      .def(
          "link",
          [](const PythonCircuit& c, Index size, const std::string& along, Index steps, bool trained) {
            return wrap(c.handle, c.get().link(size, delay_of(along, steps), trained));
          },
          nb::arg("size"), nb::arg("along") = "previous", nb::arg("steps") = 1, nb::kw_only(),
          nb::arg("trained_initial") = false, "Add the value of a signal at another position.")
      .def(
          "feed",
          [](const PythonCircuit& c, const PythonSignal& link, const PythonSignal& source) {
            c.get().feed(link.get(), source.get());
          },
          nb::arg("link"), nb::arg("source"), "Set the signal that a link reads.")
      .def("affine", &affine, nb::arg("name"), nb::arg("size"), nb::arg("terms"), nb::kw_only(),
           nb::arg("bias").none() = Init::zero(), "Add bias + a sum of terms.")
      .def(
          "map",
          [](const PythonCircuit& c, const std::string& map, const PythonSignal& x, std::optional<PythonSignal> y,
             double constant) {
            return wrap(c.handle,
                        y ? c.get().map(map_of(map), x.get(), y->get()) : c.get().map(map_of(map), x.get(), constant));
          },
          nb::arg("map"), nb::arg("x"), nb::arg("y").none() = nb::none(), nb::kw_only(), nb::arg("constant") = 0.0,
          "Add an element-wise map by name.")
      .def(
          "join",
          [](const PythonCircuit& c, const std::vector<PythonSignal>& parts) {
            return wrap(c.handle, c.get().join(signals_of(parts)));
          },
          nb::arg("parts"), "Concatenate signals for terms of affine maps.")
      .def(
          "concatenate",
          [](const PythonCircuit& c, const std::string& name, const std::vector<PythonSignal>& parts) {
            return wrap(c.handle, concatenate(c.get(), name, signals_of(parts)));
          },
          nb::arg("name"), nb::arg("parts"), "Concatenate signals for any reader.")
      .def(
          "attend",
          [](const PythonCircuit& c, const std::string& name, const PythonSignal& query, const PythonSignal& keys,
             const PythonSignal& values, bool additive) {
            return wrap(c.handle, attend(c.get(), name, query.get(), keys.get(), values.get(),
                                         additive ? AttentionScore::additive : AttentionScore::multiplicative));
          },
          nb::arg("name"), nb::arg("query"), nb::arg("keys"), nb::arg("values"), nb::kw_only(),
          nb::arg("additive") = true, "Add attention to signals of a deeper part.")
      .def(
          "dropout",
          [](const PythonCircuit& c, const PythonSignal& x, double rate, bool variational) {
            return wrap(c.handle, c.get().dropout(x.get(), rate, variational ? Lasts::sequence : Lasts::position));
          },
          nb::arg("x"), nb::arg("rate"), nb::kw_only(), nb::arg("variational") = false, "Add dropout.")
      .def("cell", &add_cell, nb::arg("name"), nb::arg("x"), nb::arg("units"), nb::kw_only(),
           nb::arg("trained_initial") = false, "Add a cell by name, with its default options.")
      .def(
          "compute_only_where",
          [](const PythonCircuit& c, const PythonSignal& x, const PythonSignal& awake, Index period) {
            c.get().compute_only_where(x.get(), awake.get(), period);
          },
          nb::arg("affine"), nb::arg("awake"), nb::arg("period"),
          "Promise that nothing reads an affine map where `awake` is 0.")
      .def(
          "output", [](const PythonCircuit& c, const PythonSignal& x) { c.get().output(x.get()); }, nb::arg("x"),
          "Declare an output.")
      .def(
          "scope",
          [](const PythonCircuit& c, const std::string& name) {
            return Context(c.handle, [name](Circuit& of) { return std::make_shared<Circuit::Scope>(of, name); });
          },
          nb::arg("name"), "Prefix names in a with block.")
      .def(
          "reversed",
          [](const PythonCircuit& c) {
            return Context(c.handle, [](Circuit& of) { return std::make_shared<Circuit::Reversal>(of); });
          },
          "Reverse links in a with block.")
      .def(
          "mirrored",
          [](const PythonCircuit& c, bool rows, bool columns) {
            return Context(c.handle, [rows, columns](Circuit& of) {
              return std::make_shared<Circuit::Mirror>(of, rows, columns);
            });
          },
          nb::kw_only(), nb::arg("rows") = false, nb::arg("columns") = false, "Mirror links in grids in a with block.")
      .def(
          "in_part",
          [](const PythonCircuit& c, int part) {
            if (part < 0) throw UsageError("circuit: a part must not be negative, but is " + std::to_string(part));
            return Context(c.handle, [part](Circuit& of) { return std::make_shared<Circuit::InPart>(of, part); });
          },
          nb::arg("part"), "Add inputs and links to another part in a with block.")
      .def(
          "with_initial_state",
          [](const PythonCircuit& c, const PythonSignal& signal) {
            return Context(c.handle,
                           [signal](Circuit& of) { return std::make_shared<Circuit::Beginning>(of, signal.get()); });
          },
          nb::arg("signal"), "In a with block, links start from a map of a signal of a deeper part.")
      .def_prop_ro("parameter_count", [](const PythonCircuit& c) { return c.get().parameter_count(); })
      .def("_parameters", &parameters_of)
      .def("plan", &plan_of, "Return the execution plan as text.")
      .def("to_json", &json_of, "Return the circuit as JSON, the form in which model files contain it.")
      .def_static("from_json", &circuit_of, nb::arg("json"), "Read a circuit from JSON.")
      .def("__repr__",
           [](const PythonCircuit& c) {
             return "<Circuit of " + std::to_string(c.get().nodes().size()) + " nodes and " +
                    std::to_string(c.get().parameter_count()) + " parameters>";
           })
      .def("_repr_html_",
           [](const PythonCircuit& c) { return nb::module_::import_("unfold._drawing").attr("svg")(json_of(c)); })
      .def("__getstate__", &json_of)
      .def("__setstate__",
           [](PythonCircuit& self, const std::string& json) { new (&self) PythonCircuit(circuit_of(json)); });
  module.def("register_cell", &register_python_cell, nb::arg("name"), nb::arg("cell"), nb::kw_only(),
             nb::arg("help") = "cell of a Python program", "Add a cell to the models that `train` accepts.");
}

}  // namespace unfold::python
