#include "model/network/transduce.h"

#include <fmt/format.h>

#include <algorithm>

#include "model/decoding/automaton.h"
#include "unfold/base/error.h"
#include "unfold/numerics/random.h"

namespace unfold {
namespace {

/// A target that is not complete yet.
struct Growing {
  Index chain = 0;   ///< chain of the source
  Index slot = 0;    ///< slot of the state
  Index length = 0;  ///< length of the target if it is known in advance, otherwise 0
  Transduced so_far = {};
  Index state = 0;  ///< state of the automaton
};

/// An extension of an incomplete target by one symbol.
struct Extension {
  std::size_t of;
  Symbol symbol;
  double log_probability;
};

}  // namespace

template <class T>
struct Transducer<T>::Body {
  Body(const Network<T>& network, const Parameters<T>& parameters, const DataSpecification& data,
       const TargetEnds& ends, Team& team, const LengthModel* known)
      : decoder(network, data, ends, team), lengths(decoder.has_length_input() ? known : nullptr) {
    if (decoder.has_length_input() && known == nullptr)
      throw UsageError("the decoder reads the remaining steps, but there is no length model");
    decoder.set_parameters(parameters);
  }

  Index limit(const Growing& target, const TransduceOptions& options) const {
    if (target.length > 0) return target.length;
    if (options.longest > 0) return options.longest;
    if (!decoder.has_long_sources()) return kMaxGeneratedLength;
    return 3 * decoder.source_length(target.chain) + 10;
  }

  /// Returns log p of the next symbol of each incomplete target, including the end: [targets x symbols].
  std::vector<std::vector<T>> step(std::vector<Growing>& targets, bool weights) {
    std::vector<TargetRow> rows;
    rows.reserve(targets.size());
    for (const Growing& target : targets)
      rows.push_back(
          {.chain = target.chain, .slot = target.slot, .before = target.so_far.symbols, .length = target.length});
    std::vector<std::vector<T>> result = decoder.step(rows);
    for (std::size_t k = 0; weights && k < targets.size(); ++k)
      targets[k].so_far.weights.push_back(decoder.weights(static_cast<Index>(k)));
    return result;
  }

  void check_allowed(const TransduceOptions& options) const {
    if (lengths != nullptr)
      throw UsageError(
          "a constraint cannot be combined with lengths that are known in advance (--ends poisson, ...); leave one "
          "of them out");
    if (options.allowed->alphabet() != decoder.symbols())
      throw UsageError(fmt::format("the automaton has {} symbols, but targets have {}", options.allowed->alphabet(),
                                   decoder.symbols()));
    if (options.allowed->empty()) throw UsageError("the expression allows no target; change the expression");
  }

  /// Returns whether a target followed by a symbol can still be completed to an allowed target; sets the automaton
  /// state after the symbol.
  bool can_extend(const Growing& target, Symbol symbol, const TransduceOptions& options, Index& state) const {
    if (options.allowed == nullptr) return true;
    if (symbol == decoder.end()) return options.allowed->accepts(target.state);
    state = options.allowed->next(target.state, symbol);
    if (state == Automaton::kDead) return false;
    const auto made = static_cast<Index>(target.so_far.symbols.size()) + 1;
    return made + options.allowed->least(state) + 1 <= limit(target, options);  // the end counts as a symbol
  }

  /// Adds a symbol; returns true if the target is complete.
  bool extend(Growing& target, Symbol symbol, double log_probability, const TransduceOptions& options) const {
    Transduced& t = target.so_far;
    t.log_probability += log_probability;
    t.ended = symbol == decoder.end();
    if (!t.ended) t.symbols.push_back(symbol);
    const bool complete = t.ended || static_cast<Index>(t.symbols.size()) >= limit(target, options);
    t.ended = t.ended || (complete && target.length > 0);
    return complete;
  }

  TargetDecoder<T> decoder;
  const LengthModel* lengths;
};

namespace {

/// Returns the `count` most probable admissible extensions of the targets of one source. Ties are ordered by target,
/// then by symbol.
template <class T, class MayBe>
std::vector<Extension> most_probable(const std::vector<Growing>& targets, Range own,
                                     const std::vector<std::vector<T>>& log_p, Index count, const MayBe& may_be) {
  std::vector<Extension> all;
  for (Index k = own.begin; k < own.end; ++k)
    for (std::size_t x = 0; x < log_p[at(k)].size(); ++x)
      if (may_be(targets[at(k)], static_cast<Symbol>(x)))
        all.push_back({at(k), static_cast<Symbol>(x),
                       targets[at(k)].so_far.log_probability + static_cast<double>(log_p[at(k)][x])});
  const auto before = [](const Extension& a, const Extension& b) {
    if (a.log_probability != b.log_probability) return a.log_probability > b.log_probability;
    return a.of != b.of ? a.of < b.of : a.symbol < b.symbol;
  };
  const auto kept = std::min<std::size_t>(all.size(), at(count));
  std::partial_sort(all.begin(), all.begin() + static_cast<std::ptrdiff_t>(kept), all.end(), before);
  all.resize(kept);
  return all;
}

template <class T>
Symbol drawn(std::span<const T> log_p, const SamplingOptions& filters, Random& random) {
  if (filters.temperature == 1 && filters.top_k == 0 && filters.top_p == 1 && filters.min_p == 0)
    return sample_symbol<T>(log_p, random);
  const std::vector<float> as_floats(log_p.begin(), log_p.end());
  return draw_from(filter_distribution(as_floats, filters), random);
}

void sort_by_score(std::vector<Transduced>& targets) {
  std::ranges::stable_sort(targets, std::ranges::greater(), &Transduced::score);
}

}  // namespace

template <class T>
Transducer<T>::Transducer(const Network<T>& network, const Parameters<T>& parameters, const DataSpecification& data,
                          const TargetEnds& ends, Team& team, const LengthModel* lengths)
    : body_(std::make_unique<Body>(network, parameters, data, ends, team, lengths)) {}
template <class T>
Transducer<T>::~Transducer() = default;

template <class T>
bool Transducer<T>::attends() const {
  return body_->decoder.attends();
}

template <class T>
std::vector<std::vector<Transduced>> Transducer<T>::best(const Batch& batch, const TransduceOptions& options) {
  if (options.beam < 1 || options.best < 1 || options.best > options.beam)
    throw UsageError(fmt::format("beam {} for the {} best: must be at least 1, and at least the number of results",
                                 options.beam, options.best));
  if (options.weights && !attends()) throw UsageError("the model has no attention, so there are no weights to show");
  Body& b = *body_;
  const Index chains = batch.structure.sequences();
  b.decoder.begin(batch, chains * options.beam);
  std::vector<std::vector<Transduced>> complete(at(chains));
  std::vector<Growing> growing;
  if (options.allowed != nullptr) b.check_allowed(options);
  for (Index c = 0; c < chains; ++c) {
    growing.push_back({.chain = c, .slot = c * options.beam});
    if (options.allowed != nullptr) growing.back().state = options.allowed->start();
    if (b.lengths == nullptr) continue;
    growing.back().length = b.lengths->most_probable();
    growing.back().so_far.log_probability = b.lengths->log_probability(growing.back().length);
  }
  while (!growing.empty()) {
    const std::vector<std::vector<T>> log_p = b.step(growing, options.weights);
    std::vector<Growing> kept;
    for (Index first = 0, last = 0; first < static_cast<Index>(growing.size()); first = last) {
      const Index chain = growing[at(first)].chain;
      while (last < static_cast<Index>(growing.size()) && growing[at(last)].chain == chain) ++last;
      std::vector<Transduced>& done = complete[at(chain)];
      Index slot = chain * options.beam, state = 0;
      std::vector<Growing> own;
      const auto may_be = [&](const Growing& target, Symbol x) { return b.can_extend(target, x, options, state); };
      for (const Extension& e : most_probable(growing, {first, last}, log_p, options.beam, may_be)) {
        Growing target = growing[e.of];
        b.can_extend(target, e.symbol, options, target.state);
        target.so_far.log_probability = 0;  // will be set to the exact sum
        if (b.extend(target, e.symbol, e.log_probability, options)) {
          done.push_back(std::move(target.so_far));
          continue;
        }
        b.decoder.keep(target.slot, slot);
        target.slot = slot++;
        own.push_back(std::move(target));
      }
      // `beam` targets are complete, so incomplete targets are dropped
      if (static_cast<Index>(done.size()) >= options.beam) continue;
      std::ranges::move(own, std::back_inserter(kept));
    }
    b.decoder.advance();
    growing = std::move(kept);
  }
  for (std::vector<Transduced>& targets : complete) {
    if (targets.empty())
      throw DataError("no allowed target is short enough for its source and has a probability above 0");
    sort_by_score(targets);
    targets.resize(std::min(targets.size(), at(options.best)));
  }
  return complete;
}

template <class T>
std::vector<std::vector<Transduced>> Transducer<T>::samples(const Batch& batch, Index count, std::uint64_t seed,
                                                            const TransduceOptions& options) {
  if (count < 1) throw UsageError(fmt::format("{} samples: must be at least 1", count));
  if (options.weights && !attends()) throw UsageError("the model has no attention, so there are no weights to show");
  Body& b = *body_;
  const Index chains = batch.structure.sequences();
  b.decoder.begin(batch, chains * count);
  std::vector<std::vector<Transduced>> complete(at(chains));
  std::vector<Growing> growing;
  std::vector<Random> random;
  for (Index c = 0; c < chains; ++c)
    for (Index s = 0; s < count; ++s) {
      growing.push_back({.chain = c, .slot = c * count + s});
      const Index passage = batch.passages.empty() ? c : batch.passages[at(c)];
      random.emplace_back(seed, stream_of(fmt::format("transduce/{}/{}", passage, s)));
      if (b.lengths == nullptr) continue;
      growing.back().length = b.lengths->draw(random.back());
      growing.back().so_far.log_probability = b.lengths->log_probability(growing.back().length);
    }
  while (!growing.empty()) {
    const std::vector<std::vector<T>> log_p = b.step(growing, options.weights);
    std::vector<Growing> kept;
    for (std::size_t k = 0; k < growing.size(); ++k) {
      Growing& target = growing[k];
      const Symbol symbol = drawn<T>(log_p[k], options.filters, random[at(target.slot)]);
      const auto log_probability = static_cast<double>(log_p[k][at(symbol)]);
      if (b.extend(target, symbol, log_probability, options))
        complete[at(target.chain)].push_back(std::move(target.so_far));
      else
        kept.push_back(std::move(target));
    }
    growing = std::move(kept);
  }
  return complete;
}

template class Transducer<float>;
template class Transducer<double>;

}  // namespace unfold
