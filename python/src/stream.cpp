#include "stream.h"

#include <algorithm>

#include "arguments.h"
#include "numerics/functions.h"

namespace unfold::python {

Symbol symbol_of(const Alphabet& alphabet, nb::handle given) {
  if (nb::isinstance<nb::str>(given) || nb::isinstance<nb::bytes>(given)) return alphabet.parse(text_of(given));
  return symbol_number(alphabet, given);
}

void Stream::refresh() {
  const auto now = predictor_->log_probabilities();
  std::copy(now.begin(), now.end(), numbers_->begin());
}

void Stream::make_array() {
  auto* kept = new std::shared_ptr<std::vector<float>>(numbers_);
  const nb::capsule owner(kept, [](void* p) noexcept { delete static_cast<std::shared_ptr<std::vector<float>>*>(p); });
  array_ = nb::cast(nb::ndarray<nb::numpy, const float, nb::ndim<1>>(numbers_->data(), {numbers_->size()}, owner));
}

namespace {

Numbers probabilities(const Stream& stream) {
  std::vector<float> p(stream.numbers());
  vector_exp(p.data(), p.data(), static_cast<Index>(p.size()));
  return owned(std::move(p));
}

}  // namespace

void add_streams(nb::module_& module) {
  nb::class_<Stream>(module, "Stream",
                     "A stream of symbols with a prediction of the next one, created by `Model.stream()`.")
      .def(
          "push",
          [](Stream& stream, nb::handle symbol) {
            stream.push(symbol_of(stream.model().alphabet(), symbol));
            return stream.array();
          },
          nb::arg("symbol").none(),
          "Read a symbol, given by its index or its text. Returns `log_probabilities` of the following symbol. If the "
          "model reads lines, the next line begins after a line ending.")
      .def_prop_ro(
          "log_probabilities", [](const Stream& stream) { return stream.array(); },
          "Log-probabilities (natural) of the next symbol, as a read-only view of the stream's memory that the next "
          "`push` overwrites. Copy it to keep it.")
      .def("probabilities", &probabilities, "The probabilities of the next symbol, as a new array.")
      .def(
          "surprisal",
          [](Stream& stream, nb::handle symbol) {
            return stream.surprisal(symbol_of(stream.model().alphabet(), symbol));
          },
          nb::arg("symbol").none(), "The surprisal of a symbol in nats if it came next.")
      .def("reset", &Stream::reset,
           "Reset the stream to the beginning of a sequence. An adaptive model keeps what it has learned.")
      .def("clone", &Stream::clone, nb::rv_policy::take_ownership, "An independent stream in the same state.")
      .def("__copy__", &Stream::clone, nb::rv_policy::take_ownership)
      .def(
          "__deepcopy__", [](const Stream& stream, nb::handle) { return stream.clone(); },
          nb::rv_policy::take_ownership)
      .def("set_learning", &Stream::set_learning, nb::arg("on"),
           "Enable or disable learning in an adaptive model (ppm, ctw, mixtures). Has no effect on other models.");
}

}  // namespace unfold::python
