#include "app/sample/hidden_markov.h"

#include <fmt/format.h>

#include <algorithm>

#include "app/fields/density_data.h"
#include "app/fields/evaluation/field_metrics.h"
#include "app/fields/field_model.h"
#include "model/network/density_model.h"
#include "model/network/fitting/hmm_fit.h"
#include "unfold/base/error.h"

namespace unfold {

bool holds_hidden_markov(const std::string& model) {
  const std::unique_ptr<Model> loaded = load_model_file(model_file(model));
  const auto* network = loaded->as<NetworkHolder>();
  return network != nullptr && is_hidden_markov(network->spec());
}

template <class T>
HiddenMarkovModel<T>::HiddenMarkovModel(const NetworkModel<T>& model)
    : names_(vector_parts(model)), field_(model.data().field(kVector)), hmm_(states_of(model)) {}

template <class T>
DrawnRun HiddenMarkovModel<T>::draw(Index length, std::uint64_t seed, Index number, double* nats) const {
  Random random(seed, fmt::format("states/{}", number));
  DrawnRun run = sample(hmm_, length, random);
  if (nats != nullptr) {
    Team team(1);
    const Matrix<const double> rows{run.rows.data(), length, field_.size, field_.size};
    *nats = static_cast<double>(length) * log_scale(field_) - log_likelihood(hmm_, {rows, {length}}, team);
  }
  for (std::size_t k = 0; k < run.rows.size(); ++k)
    run.rows[k] = restored(field_, static_cast<Index>(k) % field_.size, run.rows[k]);
  return run;
}

template <class T>
std::vector<double> HiddenMarkovModel<T>::last_states(const ExampleSet& examples, Index example) const {
  const FieldColumn& column = examples.column(kVector);
  const Index begin = examples.begin(example), length = examples.length(example), n = field_.size;
  const auto from = column.present.begin() + begin;
  if (const auto missing = std::find(from, from + length, char{0}); missing != from + length)
    throw DataError(fmt::format("{}: a vector is missing at position {} of sequence {}; fill or remove the row",
                                examples.source(), missing - from + 1, example + 1));
  const std::vector<double> rows(column.values.begin() + begin * n, column.values.begin() + (begin + length) * n);
  const std::vector<double> states = state_posteriors(hmm_, {rows.data(), length, n, n});
  return {states.end() - hmm_.shape.states, states.end()};
}

template <class T>
HiddenMarkovModel<T> HiddenMarkovModel<T>::after(std::span<const double> states) const {
  const Index count = hmm_.shape.states;
  HiddenMarkovModel next = *this;
  std::ranges::fill(next.hmm_.start, 0.0);
  for (Index i = 0; i < count; ++i)
    for (Index j = 0; j < count; ++j) next.hmm_.start[at(j)] += states[at(i)] * hmm_.transitions[at(i * count + j)];
  return next;
}

template class HiddenMarkovModel<float>;
template class HiddenMarkovModel<double>;

}  // namespace unfold
