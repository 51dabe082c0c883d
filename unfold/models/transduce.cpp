#include "unfold/models/transduce.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <optional>

#include "unfold/base/error.h"
#include "unfold/circuit/attention.h"
#include "unfold/data/example_set.h"
#include "unfold/numerics/functions.h"
#include "unfold/numerics/random.h"
#include "unfold/search/automaton.h"

namespace unfold {
namespace {

/// A target that still grows.
struct Growing {
  Index chain = 0;   ///< of the source
  Index slot = 0;    ///< of the state
  Index length = 0;  ///< where it is known before; else 0
  Transduced so_far = {};
  Index state = 0;  ///< of what is allowed
};

/// A symbol more for a growing target.
struct Extension {
  std::size_t of;
  Symbol symbol;
  double log_probability;
};

/// The node whose term attends, and the term; -1: none.
struct Attending {
  int node = -1;
  std::size_t term = 0;
};
Attending attending_node(const Plan& plan) {
  for (std::size_t i = 0; i < plan.nodes().size(); ++i)
    for (std::size_t k = 0; k < plan.nodes()[i].terms.size(); ++k)
      if (plan.live(static_cast<int>(i)) && as_attention(plan.nodes()[i].terms[k].op.get()))
        return {static_cast<int>(i), k};
  return {};
}

}  // namespace

template <class T>
struct Transducer<T>::Body {
  Body(const Network<T>& network_, const Parameters<T>& parameters, const DataSpecification& data,
       const TargetEnds& ends, Team& team)
      : network(network_), unfolding(network_.plan, team), attending(attending_node(*network_.plan)) {
    const Head<T>& head = find_heads(ends);
    const FieldSpecification& field = data.field(head.field);
    symbols = field.size;
    end = static_cast<Symbol>(symbols);  // beyond the alphabet, unless a symbol is the end
    for (const NetworkInput& input : network.inputs) read_input(input, data, ends);
    if (stops != nullptr)
      stop = symbol_of(data.field(stops->field), ends.stop_at);
    else if (!left.valid())
      end = symbol_of(field, ends.symbol);
    unfolding.set_parameters(parameters);
  }

  /// What is read at the target: the symbol before, and the steps left.
  void read_input(const NetworkInput& input, const DataSpecification& data, const TargetEnds& ends) {
    const FieldSpecification& field = data.field(parse_read(input.field).field);
    if (field.source) {
      encodes = true;
      long_sources = long_sources || !field.once;
      return;
    }
    const FieldRead read = parse_read(input.field);
    if (read.field == target_head->field && read.back == 1) {
      previous = input.signal;
    } else if (ends.lengths != nullptr && read.back == 0 && read.field.ends_with(ends.left_field)) {
      left = input.signal;
      left_as = &field;
      lengths = ends.lengths;
      steps_left = ends.steps_left;
    } else {
      throw UsageError(fmt::format("the decoder reads {}, which is not known while targets are found", input.field));
    }
  }

  /// The head of targets; sets that of stops, if there is one.
  const Head<T>& find_heads(const TargetEnds& ends) {
    const Head<T>* found = nullptr;
    for (const Head<T>& head : network.heads) {
      head.loss->template need<Categorical<T>>("finding targets");
      const bool of_stops = !ends.stop_field.empty() && head.field.ends_with(ends.stop_field);
      const Head<T>*& place = of_stops ? stops : found;
      if (place != nullptr) network.only_head("finding targets");  // throws
      place = &head;
    }
    if (found == nullptr) throw UsageError("the model predicts where targets stop, but no targets");
    target_head = found;
    return *found;
  }

  static Symbol symbol_of(const FieldSpecification& field, std::string_view text) {
    const Symbol symbol = field.alphabet == nullptr ? kNoSymbol : field.alphabet->find(text);
    if (symbol == kNoSymbol)
      throw UsageError(fmt::format("field {} has no symbol {}, so targets would have no end", field.name, text));
    return symbol;
  }

  /// The encoder runs at the first step.
  void begin(const Batch& batch, Index slots) {
    if (encodes && batch.structure.source() == nullptr) throw UsageError("the batch has no sources");
    given = &batch;
    encoded = false;
    now = State<T>(unfolding.plan(), slots);
    next = State<T>(unfolding.plan(), slots);
  }

  Index limit(const Growing& target, const TransduceOptions& options) const {
    if (target.length > 0) return target.length;
    if (options.longest > 0) return options.longest;
    if (!long_sources) return kLongestFound;
    const Structure& sources = given->structure.part(kSourcePart);
    return 3 * sources.size(source_of(target.chain)) + 10;
  }
  /// The number of a chain's source.
  Index source_of(Index chain) const {
    return given->structure.chains_seen(kSourcePart)[at(given->structure.row(chain, 0))];
  }

  /// log p of the next symbol of each growing target, the end among them: [targets x symbols].
  std::vector<std::vector<T>> step(std::vector<Growing>& targets, bool weights) {
    std::vector<Index> chains, slots;
    for (const Growing& target : targets) {
      chains.push_back(target.chain);
      slots.push_back(target.slot);
    }
    const auto count = static_cast<Index>(targets.size());
    const Structure own = Structure::chains(count, 1);
    unfolding.lay(encodes ? own.looking_at(*given->structure.source(), chains) : own, slots);
    if (encodes && !encoded) give_sources(*given, network, unfolding);
    const Structure& laid = unfolding.structure();
    for (std::size_t k = 0; k < targets.size(); ++k) give_target(targets[k], laid.row(static_cast<Index>(k), 0));
    unfolding.forward(&now, encodes && encoded);
    encoded = true;
    std::vector<std::vector<T>> result(targets.size());
    for (std::size_t k = 0; k < targets.size(); ++k) {
      const Index row = laid.row(static_cast<Index>(k), 0);
      result[k] = log_softmax_of(*target_head, row);
      if (stops != nullptr) {
        const std::vector<T> log_stop = log_softmax_of(*stops, row);
        const T go = log_stop[stop == 0 ? 1 : 0];
        for (T& log_p : result[k]) log_p += go;
        result[k].push_back(log_stop[at(stop)]);
      }
      if (weights) targets[k].so_far.weights.push_back(weights_of(row));
    }
    return result;
  }

  void give_target(const Growing& target, Index row) {
    const std::vector<Symbol>& symbols_before = target.so_far.symbols;
    if (previous.valid() && unfolding.plan().live(previous.id))
      unfolding.symbols(previous)[at(row)] = symbols_before.empty() ? kNoSymbol : symbols_before.back();
    if (!left.valid() || !unfolding.plan().live(left.id)) return;
    std::vector<double> numbers(at(left_as->size));
    steps_left(target.length, static_cast<Index>(symbols_before.size()), numbers.data());
    const Matrix<T> to = unfolding.input(left);
    for (std::size_t i = 0; i < numbers.size(); ++i) {
      const double x = numbers[i];
      const auto z = static_cast<float>(left_as->mean.empty() ? x : (x - left_as->mean[i]) / left_as->deviation[i]);
      to.row(row)[i] = static_cast<T>(z);  // as data are: floats
    }
  }

  void check_allowed(const TransduceOptions& options) const {
    if (lengths != nullptr)
      throw UsageError("what is allowed cannot be said of models whose lengths are known before (--ends poisson, ...)");
    if (options.allowed->alphabet() != symbols)
      throw UsageError(
          fmt::format("an automaton over {} symbols for targets of {}", options.allowed->alphabet(), symbols));
    if (options.allowed->empty()) throw UsageError("no target is allowed: the expression matches nothing");
  }

  /// Whether a target that goes on with a symbol can still become what is allowed; sets the state behind it.
  bool may_go_on(const Growing& target, Symbol symbol, const TransduceOptions& options, Index& state) const {
    if (options.allowed == nullptr) return true;
    if (symbol == end) return options.allowed->accepts(target.state);
    state = options.allowed->next(target.state, symbol);
    if (state == Automaton::kDead) return false;
    const auto made = static_cast<Index>(target.so_far.symbols.size()) + 1;
    return made + options.allowed->least(state) + 1 <= limit(target, options);  // the end is one of the symbols
  }

  /// Adds a symbol; true when the target is complete.
  bool extend(Growing& target, Symbol symbol, double log_probability, const TransduceOptions& options) const {
    Transduced& t = target.so_far;
    t.log_probability += log_probability;
    t.ended = symbol == end;
    if (!t.ended) t.symbols.push_back(symbol);
    const bool complete = t.ended || static_cast<Index>(t.symbols.size()) >= limit(target, options);
    t.ended = t.ended || (complete && target.length > 0);
    return complete;
  }

  std::vector<T> log_softmax_of(const Head<T>& head, Index row) const {
    const Matrix<const T> logits = unfolding.value(head.signal);
    std::vector<T> log_p(at(logits.cols));
    log_softmax(logits.row(row), log_p.data(), logits.cols);
    return log_p;
  }

  std::vector<double> weights_of(Index row) {
    const Node& node = unfolding.plan().nodes()[at(attending.node)];
    const Node::AffineTerm& term = node.terms[attending.term];
    OperatorRows<T> rows = unfolding.rows_read(node, term, 0, row);
    const auto seen = static_cast<Index>(rows.memory.seen_by(0).size());
    scratch.resize(at(term.op->scratch() + seen * term.op->scratch_per_seen()));
    rows.scratch = scratch.data();
    std::vector<T> weights(at(seen));
    attention_weights<T>(*as_attention(term.op.get()), rows, weights);
    return {weights.begin(), weights.end()};
  }

  const Network<T>& network;
  Unfolding<T> unfolding;
  Attending attending;
  Signal previous, left;
  const FieldSpecification* left_as = nullptr;
  const LengthModel* lengths = nullptr;
  void (*steps_left)(Index, Index, double*) = nullptr;
  bool encodes = false, long_sources = false;
  const Head<T>*target_head = nullptr, *stops = nullptr;
  Index symbols = 0;
  Symbol end = kNoSymbol, stop = kNoSymbol;
  const Batch* given = nullptr;
  bool encoded = false;
  State<T> now, next;
  std::vector<T> scratch;
};

namespace {

/// The `count` most probable extensions of the targets of one source, of those that may be. Equal ones: the earlier
/// target, the smaller symbol.
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
                          const TargetEnds& ends, Team& team)
    : body_(std::make_unique<Body>(network, parameters, data, ends, team)) {}
template <class T>
Transducer<T>::~Transducer() = default;

template <class T>
bool Transducer<T>::attends() const {
  return body_->attending.node >= 0;
}

template <class T>
std::vector<std::vector<Transduced>> Transducer<T>::best(const Batch& batch, const TransduceOptions& options) {
  if (options.beam < 1 || options.best < 1 || options.best > options.beam)
    throw UsageError(fmt::format("a beam of {} for the {} best: it keeps at least 1, and no fewer than are wanted",
                                 options.beam, options.best));
  if (options.weights && !attends()) throw UsageError("the model has no attention, so no weights to show");
  Body& b = *body_;
  const Index chains = batch.structure.sequences();
  b.begin(batch, chains * options.beam);
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
      const auto may_be = [&](const Growing& target, Symbol x) { return b.may_go_on(target, x, options, state); };
      for (const Extension& e : most_probable(growing, {first, last}, log_p, options.beam, may_be)) {
        Growing target = growing[e.of];
        b.may_go_on(target, e.symbol, options, target.state);
        target.so_far.log_probability = 0;  // set to the exact sum
        if (b.extend(target, e.symbol, e.log_probability, options)) {
          done.push_back(std::move(target.so_far));
          continue;
        }
        b.next.copy_slot(b.now, target.slot, slot);
        target.slot = slot++;
        own.push_back(std::move(target));
      }
      // Enough are complete: what still grows is less probable than the beam was wide.
      if (static_cast<Index>(done.size()) >= options.beam) continue;
      std::ranges::move(own, std::back_inserter(kept));
    }
    std::swap(b.now, b.next);
    growing = std::move(kept);
  }
  for (std::vector<Transduced>& targets : complete) {
    if (targets.empty())
      throw DataError("no target that is allowed is short enough for its source, or has a probability above 0");
    sort_by_score(targets);
    targets.resize(std::min(targets.size(), at(options.best)));
  }
  return complete;
}

template <class T>
std::vector<std::vector<Transduced>> Transducer<T>::samples(const Batch& batch, Index count, std::uint64_t seed,
                                                            const TransduceOptions& options) {
  if (count < 1) throw UsageError(fmt::format("{} samples; at least 1", count));
  if (options.weights && !attends()) throw UsageError("the model has no attention, so no weights to show");
  Body& b = *body_;
  const Index chains = batch.structure.sequences();
  b.begin(batch, chains * count);
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

Index edit_distance(std::span<const Symbol> from, std::span<const Symbol> to) {
  std::vector<Index> above(to.size() + 1), here(to.size() + 1);
  std::iota(above.begin(), above.end(), Index{0});
  for (std::size_t i = 0; i < from.size(); ++i) {
    here[0] = static_cast<Index>(i) + 1;
    for (std::size_t j = 0; j < to.size(); ++j)
      here[j + 1] = std::min({above[j + 1] + 1, here[j] + 1, above[j] + (from[i] == to[j] ? 0 : 1)});
    std::swap(above, here);
  }
  return above.back();
}

template class Transducer<float>;
template class Transducer<double>;

}  // namespace unfold
