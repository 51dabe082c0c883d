#include "parallel_streams.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "arguments.h"

namespace unfold::python {
namespace {

using Rows = nb::ndarray<nb::numpy, float, nb::ndim<2>>;

bool is_absent(nb::handle given) {
  return given.is_none() || (nb::isinstance<nb::int_>(given) && PyLong_AsLong(given.ptr()) == kNoSymbol);
}

}  // namespace

std::vector<Symbol> ParallelStreams::symbols_of(nb::handle given) const {
  if (std::optional<std::vector<Symbol>> array = array_of_symbols_or_none(model_->alphabet(), given))
    return *std::move(array);
  if (nb::isinstance<nb::str>(given) || nb::isinstance<nb::bytes>(given) || !nb::hasattr(given, "__iter__"))
    throw nb::type_error(
        ("symbols must be an array or a list with one symbol for each stream, not " + name_of_type(given)).c_str());
  std::vector<Symbol> symbols;
  for (nb::handle one : nb::iter(given))
    symbols.push_back(is_absent(one) ? kNoSymbol : symbol_of(model_->alphabet(), one));
  return symbols;
}

nb::object ParallelStreams::log_probabilities() {
  auto* kept = new std::vector<float>(at(streams_->count() * streams_->alphabet()));
  const nb::capsule owner(kept, [](void* p) noexcept { delete static_cast<std::vector<float>*>(p); });
  {
    const nb::gil_scoped_release unlocked;
    const Matrix<const float> rows = streams_->log_probabilities();
    for (Index i = 0; i < rows.rows; ++i) std::copy_n(rows.row(i), rows.cols, kept->data() + i * rows.cols);
  }
  return nb::cast(Rows(kept->data(), {at(streams_->count()), at(streams_->alphabet())}, owner));
}

nb::object ParallelStreams::push(nb::handle given) {
  const std::vector<Symbol> symbols = symbols_of(given);
  {
    const nb::gil_scoped_release unlocked;
    streams_->observe(symbols);
  }
  return log_probabilities();
}

nb::object ParallelStreams::score(nb::handle given) {
  const std::vector<Symbol> symbols = symbols_of(given);
  std::vector<double> nats(symbols.size());
  {
    const nb::gil_scoped_release unlocked;
    streams_->surprisals(symbols, nats);
    streams_->observe(symbols);
  }
  return nb::cast(owned(std::vector<float>(nats.begin(), nats.end())));
}

void ParallelStreams::reset(nb::handle given) {
  if (given.is_none()) return streams_->reset_all();
  if (!nb::hasattr(given, "__iter__")) return streams_->reset(nb::cast<Index>(given));
  for (nb::handle one : nb::iter(given)) streams_->reset(nb::cast<Index>(one));
}

void add_parallel_streams(nb::module_& module) {
  nb::class_<ParallelStreams>(module, "Streams",
                              "Many streams of a model, read side by side; created by `Model.streams(count)`. Each has "
                              "the results of a separate `Stream`. Use it in one thread at a time.")
      .def("__len__", &ParallelStreams::count)
      .def(
          "push", &ParallelStreams::push, nb::arg("symbols").none(),
          "Read the next symbol of each stream: an array or a list of indices or texts; -1 or None where no symbol has "
          "arrived. Returns `log_probabilities`.")
      .def("score", &ParallelStreams::score, nb::arg("symbols").none(),
           "Read the next symbol of each stream, like `push`. Returns their surprisals in nats, [streams]; 0 where no "
           "symbol has arrived.")
      .def_prop_ro("log_probabilities", &ParallelStreams::log_probabilities,
                   "Log-probabilities (natural) of the next symbol of each stream, [streams, symbols], as a new array.")
      .def("reset", &ParallelStreams::reset, nb::arg("streams").none() = nb::none(),
           "Reset one stream, several streams, or all of them to the beginning of a sequence.");
}

}  // namespace unfold::python
