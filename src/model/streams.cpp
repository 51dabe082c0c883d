#include "unfold/model/streams.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "model/predictor_streams.h"
#include "unfold/base/checks.h"
#include "unfold/base/error.h"

namespace unfold {

Streams::Streams(Index count, Index alphabet, Symbol sequence_end)
    : count_(count), alphabet_(alphabet), sequence_end_(sequence_end) {
  if (count < 1) throw UsageError(fmt::format("streams: the number of streams is {}, but must be at least 1", count));
}

void Streams::check(std::span<const Symbol> symbols) const {
  if (static_cast<Index>(symbols.size()) != count_)
    throw UsageError(
        fmt::format("streams: {} symbols for {} streams; pass one for each stream, and -1 (in Python, also None) for a "
                    "stream without one",
                    symbols.size(), count_));
  for (const Symbol symbol : symbols)
    if (symbol != kNoSymbol) require_symbol(symbol, alphabet_);
}

void Streams::surprisals(std::span<const Symbol> symbols, std::span<double> nats) {
  check(symbols);
  if (nats.size() != symbols.size())
    throw UsageError(fmt::format("streams: {} surprisals for {} streams", nats.size(), count_));
  surprisals_of(symbols, nats);
}

void Streams::observe(std::span<const Symbol> symbols) {
  check(symbols);
  update(symbols);
  if (sequence_end_ == kNoSymbol) return;
  for (Index i = 0; i < count_; ++i)
    if (symbols[static_cast<std::size_t>(i)] == sequence_end_) restart(i);
}

void Streams::reset(Index stream) {
  require_index("streams: stream", stream, count_);
  restart(stream);
}

void Streams::reset_all() {
  for (Index i = 0; i < count_; ++i) restart(i);
}

PredictorStreams::PredictorStreams(std::vector<std::unique_ptr<Predictor>> predictors)
    : Streams(static_cast<Index>(predictors.size()), predictors.empty() ? 0 : predictors.front()->alphabet(),
              kNoSymbol),
      predictors_(std::move(predictors)),
      rows_(count() * alphabet()) {}

Matrix<const float> PredictorStreams::log_probabilities() {
  for (Index i = 0; i < count(); ++i)
    std::ranges::copy(predictors_[at(i)]->log_probabilities(), rows_.data() + i * alphabet());
  return {rows_.data(), count(), alphabet(), alphabet()};
}

void PredictorStreams::surprisals_of(std::span<const Symbol> symbols, std::span<double> nats) {
  for (std::size_t i = 0; i < symbols.size(); ++i)
    nats[i] = symbols[i] == kNoSymbol ? 0 : predictors_[i]->surprisal(symbols[i]);
}

void PredictorStreams::update(std::span<const Symbol> symbols) {
  for (std::size_t i = 0; i < symbols.size(); ++i)
    if (symbols[i] != kNoSymbol) predictors_[i]->observe(symbols[i]);
}

void PredictorStreams::restart(Index stream) { predictors_[at(stream)]->reset(); }

}  // namespace unfold
