#pragma once
/// The streams of a model as Python objects.

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <memory>
#include <string>
#include <vector>

#include "unfold/model/symbol_model.h"

namespace unfold::python {

namespace nb = nanobind;

using Numbers = nb::ndarray<nb::numpy, float, nb::ndim<1>>;
using Symbols = nb::ndarray<nb::numpy, std::int32_t, nb::ndim<1>>;

/// Returns an array that owns its numbers.
template <class T>
nb::ndarray<nb::numpy, T, nb::ndim<1>> owned(std::vector<T> numbers) {
  auto* kept = new std::vector<T>(std::move(numbers));
  const nb::capsule owner(kept, [](void* p) noexcept { delete static_cast<std::vector<T>*>(p); });
  return nb::ndarray<nb::numpy, T, nb::ndim<1>>(kept->data(), {kept->size()}, owner);
}

/// Returns the symbol given by its index, its text or its byte. Throws UsageError, TypeError.
Symbol symbol_of(const Alphabet& alphabet, nb::handle given);

/// Predicts the next symbol of a stream. All results of one stream share one array, `log_probabilities`.
class Stream {
 public:
  Stream(std::shared_ptr<const SymbolModel> model, std::unique_ptr<Predictor> predictor)
      : model_(std::move(model)),
        predictor_(std::move(predictor)),
        numbers_(std::make_shared<std::vector<float>>(at(model_->alphabet().size()))) {
    make_array();
    refresh();
  }

  const SymbolModel& model() const { return *model_; }
  Stream* clone() const { return new Stream(model_, predictor_->clone()); }
  void push(Symbol symbol) {
    predictor_->observe(symbol);
    refresh();
  }
  void reset() {
    predictor_->reset();
    refresh();
  }
  double surprisal(Symbol symbol) { return predictor_->surprisal(symbol); }
  const std::vector<float>& numbers() const { return *numbers_; }
  const nb::object& array() const { return array_; }
  void set_learning(bool on) { predictor_->set_learning(on); }

 private:
  void make_array();
  void refresh();

  std::shared_ptr<const SymbolModel> model_;
  std::unique_ptr<Predictor> predictor_;
  std::shared_ptr<std::vector<float>> numbers_;
  nb::object array_;  // a view of the numbers, which it keeps alive; created only once, because creating it takes
                      // longer than a step
};

void add_models(nb::module_& module);
void add_streams(nb::module_& module);
void add_training(nb::module_& module);
void add_coding(nb::module_& module);
void add_command(nb::module_& module);
void add_forecasting(nb::module_& module);
void add_hidden_markov(nb::module_& module);

}  // namespace unfold::python
