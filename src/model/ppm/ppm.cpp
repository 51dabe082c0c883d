#include "model/ppm/ppm.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <vector>

#include "model/context_mixing/adaptive_decision.h"
#include "numerics/functions.h"
#include "unfold/base/error.h"

namespace unfold {
namespace {

constexpr std::int32_t kNone = -1;
constexpr std::uint32_t kOccurrence = 4;      // the count that one occurrence adds
constexpr std::uint32_t kMostPpmCount = 500;  // counts above this are halved

struct Context {
  std::int32_t suffix = kNone;  // the context without its first symbol
  std::int32_t entries = kNone;
  std::int32_t distinct = 0;
  std::uint32_t total = 0;
};

struct SymbolEntry {
  Symbol symbol = 0;
  std::uint32_t count = 0;
  std::int32_t context = kNone;  // this context followed by this symbol
  std::int32_t next = kNone;
};

std::uint64_t level_of(std::uint32_t n) {  // 0, 1, 2, 3, 4-5, 6-7, 8-11, 12-15, ...
  if (n < 4) return n;
  const auto width = static_cast<std::uint64_t>(std::bit_width(n));
  return 2 * width - 2 + (n >> (width - 2) & 1);
}

}  // namespace

struct PpmPredictor::Body {
  Body(Index symbols, const PpmOptions& o)
      : order(o.order), alphabet(symbols), excluded(static_cast<std::size_t>(symbols)) {
    contexts.emplace_back();
    start();
  }

  void start() {
    longest = 0;
    longest_order = 0;
    last = {};
    history = 0;
    current = false;
  }

  /// One context on the path downward, as predict() saw it.
  struct Visit {
    std::int32_t context = kNone;
    Symbol favorite = kNoSymbol;  // kNoSymbol if at most one symbol was not excluded
    bool has_symbols = false;     // at least one symbol was not excluded
    bool can_escape = false;      // ... and at least one symbol remains for shorter contexts
    AdaptiveDecision::Case escape{}, favored{};
  };

  /// The counts of a context without the excluded symbols.
  struct Rest {
    std::uint32_t total = 0, distinct = 0, largest = 0;
    Symbol favorite = kNoSymbol;  // the symbol with the highest count
  };

  Rest rest_of(const Context& c) const {
    Rest rest;
    for (std::int32_t e = c.entries; e != kNone; e = entries[static_cast<std::size_t>(e)].next) {
      const SymbolEntry& entry = entries[static_cast<std::size_t>(e)];
      if (excluded[static_cast<std::size_t>(entry.symbol)] != 0) continue;
      rest.total += entry.count;
      ++rest.distinct;
      if (entry.count <= rest.largest) continue;
      rest.largest = entry.count;
      rest.favorite = entry.symbol;
    }
    return rest;
  }

  /// Computes the features that the two decisions in a context depend on: its shape (the number of symbols and
  /// occurrences, how many more the shorter context has, and its estimate for the favorite), its order, the last
  /// symbols, and how far the last four predictions escaped.
  void describe(const Context& c, const Rest& rest, Visit& visit) const {
    const std::size_t depth = visits.size() - 1;
    const auto this_order = static_cast<std::uint64_t>(longest_order) - depth;
    std::uint64_t below = 0;  // the favorite's share of the shorter context
    std::uint32_t distinct_below = 0;
    if (c.suffix != kNone) {
      const Context& shorter = contexts[static_cast<std::size_t>(c.suffix)];
      distinct_below = static_cast<std::uint32_t>(shorter.distinct);
      if (const std::int32_t e = find(c.suffix, rest.favorite); e != kNone)
        below = 1 + entries[static_cast<std::size_t>(e)].count * 15 / shorter.total;
    }
    const std::uint64_t masked = rest.distinct != static_cast<std::uint32_t>(c.distinct) ? 1 : 0;
    const std::uint64_t more = level_of(distinct_below > rest.distinct ? distinct_below - rest.distinct : 0);
    const std::uint64_t size = std::min<std::uint64_t>(level_of(rest.distinct), 11) * 16 +
                               std::min<std::uint64_t>(level_of(rest.total / 2), 15);
    const std::uint64_t share = rest.largest * 15 / rest.total;
    const std::uint64_t shape = (size * 2 + masked) * 64 + this_order;
    const auto one = static_cast<std::uint64_t>(last[0]), two = static_cast<std::uint64_t>(last[1]) << 32 | one;
    const auto favorite = static_cast<std::uint64_t>(rest.favorite);

    visit.escape.hints = {hash(more, (size * 16 + share) * 4 + masked * 2 + (history & 1)),
                          hash(one, shape << 8 | static_cast<std::uint64_t>(longest_order)),
                          hash(below, size * 8 + masked * 4 + (history & 3)),
                          hash(history, shape),
                          hash(two, this_order * 16 + size / 16),
                          hash(favorite << 32 | one, size * 2 + masked)};
    visit.favored.hints = {hash(share, size * 4 + masked * 2 + (history & 1)),
                           hash(one, shape * 16 + share),
                           hash(below, (share * 16 + size % 16) * 2 + masked),
                           hash(history, shape * 16 + share),
                           hash(two, favorite << 8 | this_order),
                           hash(favorite << 32 | one, share * 2 + masked)};
    const std::uint64_t place =
        std::min<std::uint64_t>(this_order, 15) * 32 + std::min<std::uint64_t>(depth, 15) * 2 + masked;
    visit.escape.gates = {place, size, history * 2 + masked};
    visit.favored.gates = {place, share * 16 + below, history * 2 + masked};
    visit.escape.last_gate = visit.favored.last_gate = std::min<std::uint64_t>(this_order, 31) * 2 + masked;
  }

  void predict() {
    probabilities.assign(static_cast<std::size_t>(alphabet), 0);
    std::fill(excluded.begin(), excluded.end(), char{0});
    visits.clear();
    double left = 1;
    Index free = alphabet;
    for (std::int32_t at = longest; at != kNone && free > 0; at = contexts[static_cast<std::size_t>(at)].suffix) {
      const Context& c = contexts[static_cast<std::size_t>(at)];
      const Rest rest = rest_of(c);
      Visit& visit = visits.emplace_back(Visit{.context = at});
      if (rest.distinct == 0) continue;
      visit.has_symbols = true;
      visit.can_escape = free > static_cast<Index>(rest.distinct);
      describe(c, rest, visit);
      const double escape = visit.can_escape ? ask(escapes, visit.escape, first_escape(rest)) : 0;
      const double here = left * (1 - escape);
      double favored = here, each = 0;  // probability of the favorite; probability of the others per count
      if (rest.distinct > 1) {
        visit.favorite = rest.favorite;
        const double share = ask(favorites, visit.favored, static_cast<double>(rest.largest) / rest.total);
        favored = here * share;
        each = here * (1 - share) / (rest.total - rest.largest);
      }
      for (std::int32_t e = c.entries; e != kNone; e = entries[static_cast<std::size_t>(e)].next) {
        const SymbolEntry& entry = entries[static_cast<std::size_t>(e)];
        const auto x = static_cast<std::size_t>(entry.symbol);
        if (excluded[x] != 0) continue;
        probabilities[x] = entry.symbol == rest.favorite ? favored : each * entry.count;
        excluded[x] = 1;
      }
      left *= escape;
      free -= rest.distinct;
    }
    if (free > 0) {
      const double each = left / static_cast<double>(free);
      for (std::size_t x = 0; x < probabilities.size(); ++x)
        if (excluded[x] == 0) probabilities[x] = each;
    }
    logs.resize(probabilities.size());
    vector_log(probabilities.data(), probabilities.data(), alphabet);
    for (std::size_t x = 0; x < logs.size(); ++x) logs[x] = static_cast<float>(probabilities[x]);
    current = true;
  }

  double ask(AdaptiveDecision& decision, AdaptiveDecision::Case& c, double prior) const {
    return initializes ? decision.estimate_and_initialize(c, prior) : decision.estimate(c, prior);
  }

  /// Returns the initial value, before learning, which depends on the number of distinct symbols.
  static double first_escape(const Rest& rest) {
    return std::min(0.95, 2.0 * rest.distinct / (rest.total + 2.0 * rest.distinct));
  }

  std::int32_t find(std::int32_t context, Symbol symbol) const {
    std::int32_t e = contexts[static_cast<std::size_t>(context)].entries;
    while (e != kNone && entries[static_cast<std::size_t>(e)].symbol != symbol)
      e = entries[static_cast<std::size_t>(e)].next;
    return e;
  }

  void count(std::int32_t context, std::int32_t entry, std::uint32_t by) {
    Context& c = contexts[static_cast<std::size_t>(context)];
    entries[static_cast<std::size_t>(entry)].count += by;
    c.total += by;
    if (entries[static_cast<std::size_t>(entry)].count <= kMostPpmCount) return;
    c.total = 0;
    for (std::int32_t e = c.entries; e != kNone; e = entries[static_cast<std::size_t>(e)].next) {
      SymbolEntry& each = entries[static_cast<std::size_t>(e)];
      each.count = (each.count + 1) / 2;
      c.total += each.count;
    }
  }

  /// Returns the initial count of a symbol that is new in `c`, derived from its probability in the next shorter
  /// context.
  static std::uint32_t inherited(const Context& c, const Context* shorter, std::uint32_t count_there) {
    if (shorter == nullptr) return kOccurrence / 2;
    const double there = static_cast<double>(count_there) / (shorter->total + 2.0 * shorter->distinct);
    const double here = c.total + 2.0 * c.distinct + 4;
    return static_cast<std::uint32_t>(std::clamp(there * here + 1.5, 1.0, 2.0 * kOccurrence));
  }

  void observe(Symbol symbol) {
    if (!current) predict();
    current = false;
    // Descend to the context that contains the symbol and learn the outcome of each decision.
    std::int32_t found = kNone;
    std::size_t escaped = 0;
    for (; escaped < visits.size(); ++escaped) {
      const Visit& visit = visits[escaped];
      if (!visit.has_symbols) continue;
      found = find(visit.context, symbol);
      if (learning && visit.can_escape) escapes.learn(visit.escape, found == kNone);
      if (found == kNone) continue;
      if (learning && visit.favorite != kNoSymbol) favorites.learn(visit.favored, visit.favorite == symbol);
      break;
    }
    history = (history * 4 + std::min<std::uint64_t>(escaped, 3)) & 0xFF;
    if (learning) learn(symbol, found, escaped);
    move_on(symbol);
    last = {symbol, last[0]};
  }

  void learn(Symbol symbol, std::int32_t found, std::size_t escaped) {
    std::int32_t below = kNone;  // the symbol's entry in the next shorter context
    const Context* shorter = nullptr;
    std::uint32_t count_below = 0;
    if (found != kNone) {
      const std::int32_t at = visits[escaped].context;
      count_below = entries[static_cast<std::size_t>(found)].count;
      below = found;
      inherit_from = at;
      count(at, found, kOccurrence);
      to_front(at, found);
      // The shorter context is also incremented slightly, because later contexts are initialized from it.
      const std::int32_t suffix = contexts[static_cast<std::size_t>(at)].suffix;
      if (suffix != kNone && entries[static_cast<std::size_t>(found)].count < kOccurrence * 8) {
        const std::int32_t there = find(suffix, symbol);
        if (there != kNone) count(suffix, there, 1);
      }
    } else {
      escaped = visits.size();
      inherit_from = kNone;
    }
    for (std::size_t i = std::min(escaped, visits.size()); i-- > 0;) {
      const std::int32_t at = visits[i].context;
      shorter = inherit_from == kNone ? nullptr : &contexts[static_cast<std::size_t>(inherit_from)];
      Context& c = contexts[static_cast<std::size_t>(at)];
      const std::uint32_t start = inherited(c, shorter, count_below);
      const auto entry = static_cast<std::int32_t>(entries.size());
      entries.push_back({.symbol = symbol, .count = start, .context = kNone, .next = c.entries});
      c.entries = entry;
      ++c.distinct;
      c.total += start;
      const Index this_order = longest_order - static_cast<Index>(i);
      if (this_order < order) {
        const std::int32_t suffix = below == kNone ? 0 : entries[static_cast<std::size_t>(below)].context;
        entries[static_cast<std::size_t>(entry)].context = static_cast<std::int32_t>(contexts.size());
        contexts.push_back({.suffix = suffix == kNone ? 0 : suffix});
      }
      below = entry;
      inherit_from = at;
      count_below = start;
    }
  }

  void to_front(std::int32_t context, std::int32_t entry) {
    Context& c = contexts[static_cast<std::size_t>(context)];
    if (c.entries == entry) return;
    std::int32_t before = c.entries;
    while (entries[static_cast<std::size_t>(before)].next != entry)
      before = entries[static_cast<std::size_t>(before)].next;
    entries[static_cast<std::size_t>(before)].next = entries[static_cast<std::size_t>(entry)].next;
    entries[static_cast<std::size_t>(entry)].next = c.entries;
    c.entries = entry;
  }

  /// Moves to the longest context that ends in the symbol.
  void move_on(Symbol symbol) {
    std::int32_t at = longest;
    Index at_order = longest_order;
    for (; at != kNone; at = contexts[static_cast<std::size_t>(at)].suffix, --at_order) {
      if (at_order >= order) continue;
      const std::int32_t e = find(at, symbol);
      if (e == kNone || entries[static_cast<std::size_t>(e)].context == kNone) continue;
      longest = entries[static_cast<std::size_t>(e)].context;
      longest_order = at_order + 1;
      return;
    }
    longest = 0;
    longest_order = 0;
  }

  Index order, alphabet;
  bool learning = true, current = false;
  bool initializes = true;  // cells of decisions that are read for the first time
  std::vector<Context> contexts;
  std::vector<SymbolEntry> entries;
  std::int32_t longest = 0, inherit_from = kNone;
  Index longest_order = 0;
  std::array<Symbol, 2> last{};  // the last two symbols, the most recent first
  std::uint64_t history = 0;     // the number of contexts (0 .. 3) from which each of the last four predictions escaped
  std::vector<char> excluded;
  AdaptiveDecision escapes, favorites;
  std::vector<Visit> visits;
  std::vector<double> probabilities;
  std::vector<float> logs;
};

PpmPredictor::PpmPredictor(Index alphabet, const PpmOptions& options) {
  if (options.order < 0 || options.order > 32)
    throw UsageError(fmt::format("ppm: order {} must be from 0 to 32", options.order));
  if (alphabet < 1) throw UsageError("ppm: the alphabet is empty");
  body_ = std::make_unique<Body>(alphabet, options);
}

PpmPredictor::PpmPredictor(std::unique_ptr<Body> body) : body_(std::move(body)) {}
PpmPredictor::~PpmPredictor() = default;

Index PpmPredictor::alphabet() const { return body_->alphabet; }

std::span<const float> PpmPredictor::log_probabilities() {
  if (!body_->current) body_->predict();
  return body_->logs;
}

void PpmPredictor::update(Symbol symbol) { body_->observe(symbol); }

void PpmPredictor::set_learning(bool on) { body_->learning = body_->initializes = on; }
void PpmPredictor::freeze_for_archive() {
  body_->learning = false;
  body_->initializes = true;
}

void PpmPredictor::reset() { body_->start(); }

std::unique_ptr<Predictor> PpmPredictor::clone() const {
  return std::unique_ptr<Predictor>(new PpmPredictor(std::make_unique<Body>(*body_)));
}

}  // namespace unfold
