/// The outputs of the layers and the gates of a network, and the states of a hidden Markov model, as arrays.

#include <nanobind/ndarray.h>

#include <map>

#include "app/explain/input_gradients.h"
#include "app/fields/field_model.h"
#include "arguments.h"
#include "interruption.h"
#include "memory_data.h"
#include "model/hmm/hmm.h"
#include "model/network/transduce.h"
#include "states.h"
#include "stream.h"
#include "unfold/base/error.h"
#include "unfold/data/examples/example_batches.h"
#include "unfold/model/network/language_model.h"
#include "work.h"

namespace unfold::python {
namespace {

/// A signal of one sequence: [positions x units].
struct Recorded {
  std::vector<double> numbers;
  Index units = 0;
};
using States = std::vector<std::pair<std::string, Recorded>>;

/// Runs a network over sequences and records its layers and, if `gates`, its gates.
template <class T>
class Recorder {
 public:
  Recorder(const ModelSpec& spec, const DataSpecification& data, const NetworkLayout& layout,
           const Parameters<T>& parameters, bool gates)
      : team_(1), watched_(spec, data, layout, parameters), run_(watched_, team_) {
    for (std::size_t l = 0; l < watched_.hidden().size(); ++l)
      signals_.emplace_back("layer" + std::to_string(l + 1), watched_.hidden()[l]);
    if (gates)
      for (const Gate& gate : watched_.gates()) signals_.emplace_back(gate.name, gate.signal);
  }

  /// Records the positions of the only chain of a batch from `from` on.
  States record(const Batch& batch, Index from) {
    if (batch.structure.sequences() != 1) throw UsageError("states: the data must be sequences");
    run_.read(batch);
    States states;
    for (const auto& [name, signal] : signals_) {
      const Matrix<const T> value = run_.value(signal);
      Recorded recorded{.numbers = {}, .units = value.cols};
      for (Index p = from; p < batch.structure.size(0); ++p) {
        const T* row = value.row(batch.structure.row(0, p));
        recorded.numbers.insert(recorded.numbers.end(), row, row + value.cols);
      }
      states.emplace_back(name, std::move(recorded));
    }
    return states;
  }

 private:
  Team team_;
  Watched<T> watched_;
  Gradients<T> run_;
  std::vector<std::pair<std::string, Signal>> signals_;
};

/// The states after each symbol of a text.
template <class T>
States states_of_text(const LanguageModel<T>& model, const std::string& text, bool gates) {
  const std::vector<Symbol> symbols = model.alphabet().encode(text);
  if (symbols.empty()) throw UsageError("states: the text is empty");
  Batch batch;
  const auto length = static_cast<Index>(symbols.size()) + 1;  // a position reads the previous symbol
  batch.structure = Structure::chains(1, length);
  SymbolRows& read = batch.symbol_field(kPreviousSymbol);
  batch.symbol_field(kSymbol).clear(length);
  read.clear(length);
  read.symbols[0] = kNoSymbol;
  for (Index t = 1; t < length; ++t) read.symbols[at(batch.structure.row(0, t))] = symbols[at(t - 1)];
  return Recorder<T>(model.spec(), model.data(), NetworkLayout::language_model(), model.parameters(), gates)
      .record(batch, 1);
}

std::vector<States> states_of_examples(const Model& model, const std::string& name, const DataArgument& data,
                                       bool gates) {
  return with_network_model(model, name, [&]<class T>(const NetworkModel<T>& network) {
    if (network.data().trees || network.data().grids || reads_source(network.data()))
      throw UsageError("states: the data must be sequences, not trees, grids or pairs");
    const ExampleSet set(read_for(network, data.files), std::make_shared<const DataSpecification>(network.data()), {},
                         UnknownPolicy::skip);
    const auto reader = example_reader(set, {.reads = network.layout().reads, .batch = 1});
    Recorder<T> recorder(network.spec(), network.data(), network.layout(), network.parameters(), gates);
    std::vector<States> all;
    for (Batch batch; reader->next(batch);) all.push_back(recorder.record(batch, 0));
    return all;
  });
}

nb::dict to_arrays(States states) {
  nb::dict result;
  for (auto& [name, recorded] : states) {
    auto* kept = new std::vector<double>(std::move(recorded.numbers));
    const nb::capsule owner(kept, [](void* p) noexcept { delete static_cast<std::vector<double>*>(p); });
    const auto units = static_cast<std::size_t>(recorded.units);
    result[name.c_str()] = nb::ndarray<nb::numpy, double, nb::ndim<2>>(
        kept->data(), {units == 0 ? 0 : kept->size() / units, units}, owner);
  }
  return result;
}

/// Returns the most probable states of a hidden Markov model for a text, numbered from 0, and the probability of each
/// state at each position.
nb::dict hidden_states_of_text(const HmmModel& model, const std::string& text) {
  std::vector<std::int64_t> path;
  Recorded posteriors{.numbers = {}, .units = model.parameters().states};
  PythonReporter reporter{nb::none()};
  run_interruptibly(reporter, [&] {
    const std::vector<Symbol> symbols = model.alphabet().encode(text);
    if (symbols.empty()) throw UsageError("states: the text is empty");
    const std::vector<Index> best = most_probable_states(model.parameters(), symbols);
    path.assign(best.begin(), best.end());
    posteriors.numbers = state_posteriors(model.parameters(), symbols);
  });
  States states;
  states.emplace_back("probabilities", std::move(posteriors));
  nb::dict result = to_arrays(std::move(states));
  result["state"] = owned(std::move(path));
  return result;
}

}  // namespace

nb::object states_of(const Model& model, const std::string& name, nb::handle data, nb::handle text, bool gates) {
  if (data.is_none() == text.is_none()) throw UsageError("states needs exactly one of data and text=");
  PythonReporter reporter{nb::none()};
  if (!text.is_none()) {
    const std::string bytes = text_of(text);
    if (const auto* hidden = model.as<HmmModel>()) return hidden_states_of_text(*hidden, bytes);
    States states;
    run_interruptibly(reporter, [&] {
      if (const auto* single = model.as<LanguageModel<float>>())
        states = states_of_text(*single, bytes, gates);
      else if (const auto* exact = model.as<LanguageModel<double>>())
        states = states_of_text(*exact, bytes, gates);
      else
        throw UsageError("states: " + model.spec_text() +
                         " is neither a network that reads text nor a hidden Markov model of text");
    });
    return to_arrays(std::move(states));
  }
  const DataArgument source = data_of(data, "states: data");
  std::vector<States> all;
  with_os_errors(source.files, [&] {
    run_interruptibly(reporter, [&] {
      const MemoryFiles in_memory(source.memory);
      all = states_of_examples(model, name, source, gates);
    });
  });
  nb::list result;
  for (States& states : all) result.append(to_arrays(std::move(states)));
  return result;
}

}  // namespace unfold::python
