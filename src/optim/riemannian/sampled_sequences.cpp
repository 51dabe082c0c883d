#include "optim/riemannian/sampled_sequences.h"

#include "numerics/functions.h"
#include "unfold/base/error.h"
#include "unfold/data/text/text_batches.h"

namespace unfold {
namespace {

const std::vector<Symbol>& symbols_in(const Batch& batch, const char* field) {
  return std::get<SymbolRows>(batch.field(field)).symbols;
}

}  // namespace

template <class T>
SampledSequences<T>::SampledSequences(const Network<T>& network) : plan_(network.plan) {
  const bool writes = network.inputs.size() == 1 && network.inputs.front().field == kPreviousSymbol &&
                      network.heads.size() == 1 && network.heads.front().field == kSymbol &&
                      network.heads.front().loss->template as<Categorical<T>>() != nullptr;
  if (!writes)
    throw UsageError(
        "Riemannian training: own= requires a text model that reads exactly what it predicts; leave it out");
  symbols_ = network.inputs.front().signal;
  logits_ = network.heads.front().signal;
  log_probabilities_.resize(at(logits_.size()));
}

template <class T>
const Batch& SampledSequences<T>::draw(const Batch& batch, const Parameters<T>& parameters, const State<T>& entering,
                                       std::uint64_t draw, std::uint64_t stream) {
  own_ = batch;
  Stepper<T> stepper(plan_, parameters, team_);
  for (Index s = 0; s < batch.structure.sequences(); ++s) {
    stepper.state().copy_slot(entering, batch.carry.slots[at(s)], 0);
    // Streams are far enough apart that chains of different streams never share random numbers.
    write(stepper, batch, s,
          Random(draw, stream_of("own sequences") + (stream << 32U) + static_cast<std::uint64_t>(s)));
  }
  return own_;
}

template <class T>
void SampledSequences<T>::write(Stepper<T>& stepper, const Batch& text, Index sequence, Random random) {
  std::vector<Symbol>&read = own_.symbol_field(kPreviousSymbol).symbols,
  &predicted = own_.symbol_field(kSymbol).symbols;
  const std::vector<Symbol>& wanted = symbols_in(text, kSymbol);
  for (Index p = 0; p < text.structure.size(sequence); ++p) {
    const std::size_t row = at(text.structure.row(sequence, p));
    stepper.symbols(symbols_)[0] = read[row];
    stepper.step();
    if (wanted[row] == kNoSymbol) continue;
    log_softmax(stepper.value(logits_).row(0), log_probabilities_.data(), logits_.size());
    predicted[row] = sample_symbol<T>(log_probabilities_, random);
    if (p + 1 < text.structure.size(sequence)) read[at(text.structure.row(sequence, p + 1))] = predicted[row];
  }
}

template class SampledSequences<float>;
template class SampledSequences<double>;

}  // namespace unfold
