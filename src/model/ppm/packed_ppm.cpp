#include "model/ppm/packed_ppm.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <vector>

#include "base/storage/growing_array.h"
#include "model/context_mixing/integer_decision.h"
#include "model/ppm/packed_contexts.h"
#include "numerics/functions.h"
#include "unfold/base/error.h"

namespace unfold {
namespace {

constexpr std::uint32_t kIncrement = 4;                 // the increment for one occurrence
constexpr std::uint32_t kMostCountOfSymbol = 124;       // counts above this are halved
constexpr std::uint32_t kMaxDeterministicCount = 4000;  // ... if the context contains almost no other symbols
constexpr std::uint32_t kMostCountOfFirst = 30;         // of the single symbol of a context that gets a second one
constexpr std::uint32_t kMostInheritedCount = 255;
constexpr std::uint32_t kMostTotal = 60000;
constexpr std::uint32_t kReliableCount = 32;  // from this count on, the next shorter context is not updated

/// The symbols of a context that are not masked: their number, the sum of their counts, and the most frequent of them
/// with its count and index.
struct Left {
  std::uint32_t total = 0, size = 0, favorite_count = 0, favorite_index = 0;
  std::uint8_t favorite = 0;
};

/// Where a known symbol is in a context: its index (the size of the context if the context does not contain it) and the
/// sum of the counts of the preceding symbols that are not masked.
struct Search {
  std::uint32_t index = 0, before = 0;
};

/// Returns the index of a symbol among `size` entries; `size` if there is none.
std::uint32_t index_of(const PackedEntry* entries, std::uint32_t size, std::uint8_t symbol) {
  std::uint32_t i = 0;
  while (i < size && entries[i].symbol != symbol) ++i;
  return i;
}

/// Used when the symbol is known, so nothing needs to be coded.
class NoCoder final : public DecisionCoder {
 public:
  bool decide(bool answer, std::uint32_t) override { return answer; }
  std::uint32_t place(std::uint32_t place, std::uint32_t) override { return place; }
  void take(std::uint32_t, std::uint32_t, std::uint32_t) override {}
};

}  // namespace

struct PackedPpm::Body {
  Body(Index symbols, Index order, Index bytes)
      : alphabet(static_cast<std::uint32_t>(symbols)),
        most_order(static_cast<std::uint32_t>(order)),
        memory(static_cast<std::size_t>(bytes)) {
    forget();
  }

  void forget() {
    contexts.clear();
    contexts.push_back({});
    blocks.clear();
    text.clear();
    longest = longest_order = 0;
  }

  void start() {
    longest = longest_order = 0;
    one = two = history = 0;
    current = false;
  }

  bool full() const {
    constexpr std::size_t kRoom = std::size_t{1} << 17;  // more memory than one symbol can take
    return text.size() + contexts.size() * sizeof(PackedContext) + blocks.bytes() + kRoom > memory ||
           text.size() + 2 >= kIsContext;
  }

  // Masks: a symbol is masked if its mask equals the stamp of the current symbol.

  void unmask_all() {
    if (++stamp == 0) masks.fill(0), stamp = 1;
  }
  bool masked(std::uint8_t symbol) const { return masks[symbol] == stamp; }
  void mask(std::uint8_t symbol) { masks[symbol] = stamp; }

  // Nodes are scattered in memory, and each address is known only after the previous node has been loaded; prefetch
  // early.

  /// Prefetches the context if the successor is a context.
  void foresee(Following following) const {
    if ((following & kIsContext) != 0) __builtin_prefetch(&contexts[following & ~kIsContext]);
  }
  /// Prefetches the part of a context that is read first.
  void approach(Following following) const {
    if ((following & kIsContext) == 0) return;
    const PackedContext& c = contexts[following & ~kIsContext];
    if (!c.single()) __builtin_prefetch(blocks.at(c.block));
    if (c.suffix != kNowhere) __builtin_prefetch(&contexts[c.suffix]);
  }
  /// Returns the successor of the favorite symbol; 0 if unknown.
  Following after_favorite(const PackedContext& c) const {
    return c.single() ? c.block : c.head == 0 ? 0 : blocks.at(c.block)->following;
  }

  // Queries of a context.

  Left left_of(const PackedContext& c, bool any_masked) const {
    Left left;
    if (c.single()) {
      if (!any_masked || !masked(c.symbol())) left = {c.total, 1, c.total, 0, c.symbol()};
      return left;
    }
    const PackedEntry* const entries = blocks.at(c.block);
    if (!any_masked) return c.head == 0 ? left : Left{c.total, c.head, entries[0].count, 0, entries[0].symbol};
    for (std::uint32_t i = 0; i < c.head; ++i) {
      const PackedEntry& e = entries[i];
      if (masked(e.symbol)) continue;
      left.total += e.count;
      ++left.size;
      if (e.count > left.favorite_count) left.favorite_count = e.count, left.favorite_index = i;
    }
    left.favorite = entries[left.favorite_index].symbol;
    return left;
  }

  /// Returns the index of a symbol in a context; the size of the context if it does not occur there.
  std::uint32_t find(const PackedContext& c, std::uint8_t symbol) const {
    if (c.single()) return c.symbol() == symbol ? 0 : 1;
    return index_of(blocks.at(c.block), c.head, symbol);
  }
  std::uint8_t symbol_at(const PackedContext& c, std::uint32_t i) const {
    return c.single() ? c.symbol() : blocks.at(c.block)[i].symbol;
  }
  std::uint32_t count_at(const PackedContext& c, std::uint32_t i) const {
    return c.single() ? c.total : blocks.at(c.block)[i].count;
  }
  Following& following(std::uint32_t at, std::uint32_t i) {
    PackedContext& c = contexts[at];
    return c.single() ? c.block : blocks.at(c.block)[i].following;
  }

  Search search(const PackedContext& c, Symbol known) const {
    Search found;
    if (known == kNoSymbol) return found;
    const PackedEntry* const entries = blocks.at(c.block);
    const auto symbol = static_cast<std::uint8_t>(known);
    for (; found.index < c.head && entries[found.index].symbol != symbol; ++found.index)
      if (!masked(entries[found.index].symbol)) found.before += entries[found.index].count;
    return found;
  }

  /// The features of a context that its decisions depend on.
  struct Features {
    std::uint32_t sure = 0, size = 0, more = 0, partial = 0, order = 0, favorite = 0;
  };

  Features features(const PackedContext& c, const Left& left, std::uint32_t order) const {
    const std::uint32_t f = left.favorite_count, n = left.size;
    const std::uint32_t below = c.suffix == kNowhere ? 0 : contexts[c.suffix].size();
    return {.sure = n == 1 ? 16 + std::min(level(f / 2), 15U) : f * 15 / left.total,      // below 32
            .size = std::min(level(n), 11U) * 16 + std::min(level(left.total / 2), 15U),  // below 192
            .more = std::min(level(below > n ? below - n : 0), 15U),
            .partial = n != c.size() ? 1U : 0U,
            .order = std::min(order, 15U),
            .favorite = left.favorite};
  }

  /// Selects the case of the decision whether the next symbol is the favorite. Returns its prior.
  UNFOLD_ALWAYS_INLINE std::uint32_t select_favorite(const Features& x, const Left& left) {
    const std::uint32_t f = left.favorite_count, n = left.size;
    const std::uint32_t recent = history & 15;
    const std::uint32_t high = (x.favorite >> 6 != 0 ? 1U : 0U) + (one >> 6 != 0 ? 2U : 0U);
    const std::uint32_t counts = n == 1 ? 1U << 31 | x.sure << 16 | x.more << 8 | recent << 2 | high
                                        : x.size << 16 | x.sure << 8 | x.more << 4 | recent;
    favorites.select(
        {.hints = {counts, (two << 16 | one << 8 | x.favorite) * 16 + x.order, x.favorite << 16 | one << 8 | x.sure},
         .refine = one * 32 + x.sure,
         .gates = {x.order * 2 + (n == 1 ? 1 : 0), x.favorite * 4 + (history & 3)}});
    return std::clamp(f * 65536 / (left.total + n + 4), 64U, 65472U);
  }

  /// Does the same for the decision whether a context does not contain the next symbol, which is not the favorite.
  UNFOLD_ALWAYS_INLINE std::uint32_t select_escape(const Features& x, const Left& left, std::uint32_t depth) {
    const std::uint32_t n = left.size, recent = history & 3;
    escapes.select({.hints = {(x.more << 14 | x.size << 6 | x.sure << 1 | x.partial) * 4 + recent,
                              one << 20 | x.size << 8 | x.order << 4 | x.partial,
                              (two << 16 | one << 8 | x.order << 4) + x.size / 16},
                    .refine = one * 32 + x.size / 8,
                    .gates = {(x.order * 8 + std::min(depth, 7U)) * 2 + x.partial, x.favorite * 4 + recent}});
    return std::clamp(2 * n * 65536 / (left.total - left.favorite_count + 2 * n), 64U, 65472U);
  }

  /// The path of a symbol: the contexts from which it escaped, and the context that contains it with its index there.
  struct Way {
    std::array<std::uint32_t, 34> unknown;
    std::uint32_t escaped = 0;
    std::uint32_t found = kNowhere, index = 0, order = 0;
  };

  Symbol code(Symbol known, DecisionCoder& coder) {
    unmask_all();
    Way way;
    std::uint32_t free = alphabet, order = longest_order, last_size = 0;
    for (std::uint32_t at = longest; at != kNowhere && free > 0; at = contexts[at].suffix, --order) {
      const PackedContext& c = contexts[at];
      const std::uint32_t size = c.size();
      if (size > last_size) {  // otherwise it contains only masked symbols
        way.index = code_in(c, last_size > 0, order, way.escaped, free, known, coder);
        if (way.index < size) {
          way.found = at;
          way.order = order;
          break;
        }
        last_size = size;
      }
      way.unknown[way.escaped++] = at;
    }
    const std::uint8_t symbol =
        way.found == kNowhere ? code_new(free, known, coder) : symbol_at(contexts[way.found], way.index);
    const bool favorite = way.escaped == 0 && way.index == 0;
    history = (history * 4 + (favorite ? 0 : 1 + std::min(way.escaped, 2U))) & 0xFF;
    if (learning)
      learn(symbol, way);
    else
      move_on(symbol);
    two = one;
    one = symbol;
    current = false;
    return static_cast<Symbol>(symbol);
  }

  /// Codes the index of the symbol in a context: whether it is the favorite, whether the context does not contain it,
  /// and which of the other symbols it is. If the context does not contain the symbol, masks the symbols of the context
  /// and returns its size. `depth`: number of contexts from which the symbol escaped.
  UNFOLD_ALWAYS_INLINE std::uint32_t code_in(const PackedContext& c, bool any_masked, std::uint32_t order,
                                             std::uint32_t depth, std::uint32_t& free, Symbol known,
                                             DecisionCoder& coder) {
    if (!any_masked) foresee(after_favorite(c));
    const Left left = left_of(c, any_masked);
    const bool certain = left.size == free;  // the symbol must be one of the remaining symbols
    if (certain && left.size == 1) return left.favorite_index;
    const Features x = features(c, left, order);
    const bool favorite = coder.decide(known == left.favorite, favorites.estimate(select_favorite(x, left)));
    if (favorite && !any_masked) approach(after_favorite(c));
    if (learning) favorites.learn(favorite);
    if (favorite) return left.favorite_index;
    mask(left.favorite);
    --free;
    if (left.size == 1) return c.size();
    const Search place = search(c, known);
    if (!certain && escapes_from(c, place, select_escape(x, left, depth), coder)) {
      free -= left.size - 1;
      return c.size();
    }
    return code_by_counts(c, left.total - left.favorite_count, place, known, coder);
  }

  /// Codes whether a context does not contain the symbol. If so, masks its symbols.
  UNFOLD_ALWAYS_INLINE bool escapes_from(const PackedContext& c, const Search& place, std::uint32_t prior,
                                         DecisionCoder& coder) {
    const bool escaped = coder.decide(place.index == c.head, escapes.estimate(prior));
    if (learning) escapes.learn(escaped);
    if (escaped) {
      const PackedEntry* const entries = blocks.at(c.block);
      for (std::uint32_t i = 0; i < c.head; ++i) mask(entries[i].symbol);
    }
    return escaped;
  }

  /// Codes which of the symbols that are not masked occurs, in proportion to their counts. Returns its index.
  std::uint32_t code_by_counts(const PackedContext& c, std::uint32_t total, Search place, Symbol known,
                               DecisionCoder& coder) const {
    const PackedEntry* const entries = blocks.at(c.block);
    if (known == kNoSymbol) {
      for (const std::uint32_t position = coder.place(0, total);; ++place.index) {
        const PackedEntry& e = entries[place.index];
        if (masked(e.symbol)) continue;
        if (position < place.before + e.count) break;
        place.before += e.count;
      }
    }
    coder.take(place.before, entries[place.index].count, total);
    return place.index;
  }

  /// Codes a symbol that no context contains, with the uniform distribution over the remaining symbols.
  std::uint8_t code_new(std::uint32_t free, Symbol known, DecisionCoder& coder) const {
    std::uint32_t rank = 0;
    for (Symbol x = 0; x < known; ++x) rank += masked(static_cast<std::uint8_t>(x)) ? 0 : 1;
    const std::uint32_t place = coder.place(rank, free);
    coder.take(place, 1, free);
    std::uint32_t left = place;
    for (std::uint32_t x = 0; x < alphabet; ++x) {
      if (masked(static_cast<std::uint8_t>(x))) continue;
      if (left-- == 0) return static_cast<std::uint8_t>(x);
    }
    return 0;
  }

  // Learning.

  void halve(PackedContext& c) {
    PackedEntry* const entries = blocks.at(c.block);
    std::uint32_t total = 0;
    for (std::uint32_t i = 0; i < c.head; ++i) {
      entries[i].count = static_cast<std::uint16_t>((entries[i].count + 1) / 2);
      total += entries[i].count;
    }
    c.total = static_cast<std::uint16_t>(total);
  }

  /// Increments a count and keeps the entries sorted by frequency. Returns the new index of the entry.
  UNFOLD_ALWAYS_INLINE std::uint32_t count(PackedContext& c, std::uint32_t i, std::uint32_t by) {
    if (c.single()) {
      c.total = static_cast<std::uint16_t>(std::min(c.total + by, kMaxDeterministicCount));
      return 0;
    }
    PackedEntry* const entries = blocks.at(c.block);
    PackedEntry mine = entries[i];
    mine.count = static_cast<std::uint16_t>(mine.count + by);
    c.total = static_cast<std::uint16_t>(c.total + by);
    for (; i > 0 && entries[i - 1].count < mine.count; --i) entries[i] = entries[i - 1];
    entries[i] = mine;
    if (mine.count <= kMostCountOfSymbol && c.total <= kMostTotal) return i;
    const bool nearly_alone = (c.total - mine.count) * 16U < mine.count;
    if (mine.count > (nearly_alone ? kMaxDeterministicCount : kMostCountOfSymbol) || c.total > kMostTotal) halve(c);
    return i;
  }

  void add(std::uint32_t at, std::uint8_t symbol, std::uint32_t start, Following following) {
    PackedContext& c = contexts[at];
    if (c.size() == 0) {
      c.head = static_cast<std::uint16_t>(PackedContext::kSingle | symbol);
      c.total = static_cast<std::uint16_t>(start);
      c.block = following;
      return;
    }
    if (c.single()) {
      c.total = static_cast<std::uint16_t>(std::min<std::uint32_t>(c.total, kMostCountOfFirst));
      const PackedEntry first{.symbol = c.symbol(), .count = c.total, .following = c.block};
      c.block = blocks.take(2);
      *blocks.at(c.block) = first;
      c.head = 1;
    } else if (EntryBlocks::room(c.head) == c.head) {
      const std::uint32_t more = blocks.take(EntryBlocks::room(c.head + 1U));
      std::copy_n(blocks.at(c.block), c.head, blocks.at(more));
      blocks.give_back(c.block, EntryBlocks::room(c.head));
      c.block = more;
    }
    PackedEntry* const entries = blocks.at(c.block);
    std::uint32_t i = c.head++;
    for (; i > 0 && entries[i - 1].count < start; --i) entries[i] = entries[i - 1];
    entries[i] = {.symbol = symbol, .count = static_cast<std::uint16_t>(start), .following = following};
    c.total = static_cast<std::uint16_t>(c.total + start);
    if (c.total > kMostTotal) halve(c);
  }

  /// Returns the initial count of a symbol that is new in `c`, derived from its probability in the next shorter
  /// context.
  std::uint32_t inherited(std::uint32_t total, std::uint32_t size, std::uint32_t shorter,
                          std::uint32_t count_there) const {
    if (shorter == kNowhere) return kIncrement / 2;
    const PackedContext& s = contexts[shorter];
    const std::uint32_t here = total + 2 * size + 4, there = s.total + 2 * s.size();
    return std::clamp((2 * count_there * here + 3 * there) / (2 * there), 1U, 2 * kIncrement);
  }

  /// Returns the child of a context for a symbol; the child is created on the second occurrence.
  std::uint32_t child(std::uint32_t at, std::uint32_t order, std::uint8_t symbol) {
    const std::uint32_t i = find(contexts[at], symbol);
    return i < contexts[at].size() ? child_at(at, order, i) : 0;
  }
  std::uint32_t child_at(std::uint32_t at, std::uint32_t order, std::uint32_t i) {
    const Following seen = following(at, i);
    return (seen & kIsContext) != 0 ? seen & ~kIsContext : new_child(at, order, i, seen);
  }
  std::uint32_t new_child(std::uint32_t at, std::uint32_t order, std::uint32_t i, Following seen) {
    const std::uint32_t suffix = contexts[at].suffix;
    const std::uint32_t shorter = suffix == kNowhere ? 0 : child(suffix, order - 1, symbol_at(contexts[at], i));
    if (order == most_order) {
      following(at, i) = kIsContext | shorter;
      return shorter;
    }
    if (seen == 0 || seen - 1 >= text.size()) return shorter;  // no successor is known
    const std::uint8_t next = text[seen - 1];
    const PackedContext& s = contexts[shorter];
    const std::uint32_t k = find(s, next);
    if (k == s.size()) {  // a sequence ended there: the next symbol is the first successor
      following(at, i) = next_position();
      return shorter;
    }
    const std::uint32_t there = count_at(s, k);
    const std::uint32_t start = s.single() ? std::clamp(there, inherited(0, 0, shorter, there), kMostInheritedCount)
                                           : inherited(0, 0, shorter, there);
    const auto made = static_cast<std::uint32_t>(contexts.size());
    contexts.push_back({.head = static_cast<std::uint16_t>(PackedContext::kSingle | next),
                        .total = static_cast<std::uint16_t>(start),
                        .block = seen + 1,
                        .suffix = shorter});
    following(at, i) = kIsContext | made;
    return made;
  }

  /// Returns the successor that denotes the position of the next symbol in the history.
  Following next_position() const { return static_cast<Following>(text.size() + 1); }

  void learn(std::uint8_t symbol, const Way& way) {
    text.push_back(symbol);
    if (way.found == kNowhere) {
      add_to_unknown(symbol, way, 0);
      longest = longest_order = 0;
    } else {
      PackedContext& c = contexts[way.found];
      const std::uint32_t there = count_at(c, way.index), i = count(c, way.index, kIncrement);
      const bool expected = way.escaped == 0 && (following(way.found, i) & kIsContext) != 0;
      if (!expected && there < kReliableCount && c.suffix != kNowhere) {
        PackedContext& shorter = contexts[c.suffix];
        if (const std::uint32_t k = find(shorter, symbol); k < shorter.size()) count(shorter, k, kIncrement / 2);
      }
      if (way.escaped > 0) add_to_unknown(symbol, way, there);
      longest = child_at(way.found, way.order, i);
      longest_order = longest == 0 ? 0 : std::min(way.order + 1, most_order);
    }
    if (full()) forget();
  }

  /// Adds a symbol to the contexts from which it escaped. `there`: its count in the context that contains it.
  void add_to_unknown(std::uint8_t symbol, const Way& way, std::uint32_t there) {
    std::uint32_t shorter = way.found;
    for (std::uint32_t i = way.escaped; i-- > 0;) {
      const std::uint32_t at = way.unknown[i];
      there = inherited(contexts[at].total, contexts[at].size(), shorter, there);
      add(at, symbol, there, next_position());
      shorter = at;
    }
  }

  /// Moves to the longest context that already exists.
  void move_on(std::uint8_t symbol) {
    std::uint32_t order = longest_order;
    for (std::uint32_t at = longest; at != kNowhere; at = contexts[at].suffix, --order) {
      const std::uint32_t i = find(contexts[at], symbol);
      if (i == contexts[at].size() || (following(at, i) & kIsContext) == 0) continue;
      longest = following(at, i) & ~kIsContext;
      longest_order = std::min(order + 1, most_order);
      return;
    }
    longest = longest_order = 0;
  }

  void predict() {
    probabilities.assign(alphabet, 0);
    unmask_all();
    double left_over = 1;
    std::uint32_t free = alphabet, order = longest_order, depth = 0, last_size = 0;
    for (std::uint32_t at = longest; at != kNowhere && free > 0; at = contexts[at].suffix, --order, ++depth) {
      const PackedContext& c = contexts[at];
      if (c.size() > last_size) left_over *= spread(c, last_size > 0, order, depth, free, left_over);
      last_size = c.size();
    }
    for (std::uint32_t x = 0; x < alphabet && free > 0; ++x)
      if (!masked(static_cast<std::uint8_t>(x))) probabilities[x] = left_over / free;
    logs.resize(alphabet);
    vector_log(probabilities.data(), probabilities.data(), static_cast<Index>(alphabet));
    std::ranges::transform(probabilities, logs.begin(), [](double x) { return static_cast<float>(x); });
    current = true;
  }

  /// Distributes probability over the symbols of a context; returns the remaining share for the shorter contexts.
  double spread(const PackedContext& c, bool any_masked, std::uint32_t order, std::uint32_t depth, std::uint32_t& free,
                double share) {
    const Left left = left_of(c, any_masked);
    const Features x = features(c, left, order);
    const bool certain = left.size == free;
    free -= left.size;
    const double p = certain && left.size == 1 ? 1 : favorites.estimate(select_favorite(x, left)) / 65536.0,
                 rest = 1 - p;
    probabilities[left.favorite] = share * p;
    mask(left.favorite);
    if (left.size == 1) return rest;
    const double escape = certain ? 0 : escapes.estimate(select_escape(x, left, depth)) / 65536.0;
    const double each = share * rest * (1 - escape) / (left.total - left.favorite_count);
    const PackedEntry* const entries = blocks.at(c.block);
    for (std::uint32_t i = 0; i < c.head; ++i) {
      if (masked(entries[i].symbol)) continue;
      probabilities[entries[i].symbol] = each * entries[i].count;
      mask(entries[i].symbol);
    }
    return rest * escape;
  }

  std::uint32_t alphabet, most_order;
  std::size_t memory;
  bool learning = true, current = false;
  GrowingArray<PackedContext> contexts;  // index 0: the empty context
  EntryBlocks blocks;
  GrowingArray<std::uint8_t> text;
  std::uint32_t longest = 0, longest_order = 0;
  std::uint32_t one = 0, two = 0;  // the last two symbols, the most recent first
  std::uint32_t history = 0;       // how the last four symbols were found
  std::array<std::uint32_t, 256> masks{};
  std::uint32_t stamp = 0;
  IntegerDecision favorites, escapes;
  std::vector<double> probabilities;
  std::vector<float> logs;
};

PackedPpm::PackedPpm(Index alphabet, Index order, Index memory) {
  if (alphabet < 1 || alphabet > 256)
    throw UsageError(
        fmt::format("ppm: memory= supports at most 256 symbols, but there are {}; use --symbols bytes", alphabet));
  if (order < 0 || order > 32) throw UsageError(fmt::format("ppm: order {} must be from 0 to 32", order));
  if (memory < (Index{1} << 20) || memory > (Index{1} << 34))
    throw UsageError(fmt::format("ppm: memory of {} bytes must be from 1 MiB to 16 GiB", memory));
  body_ = std::make_unique<Body>(alphabet, order, memory);
}

PackedPpm::PackedPpm(std::unique_ptr<Body> body) : body_(std::move(body)) {}
PackedPpm::~PackedPpm() = default;

Index PackedPpm::alphabet() const { return static_cast<Index>(body_->alphabet); }

std::span<const float> PackedPpm::log_probabilities() {
  if (!body_->current) body_->predict();
  return body_->logs;
}

void PackedPpm::update(Symbol symbol) {
  NoCoder none;
  body_->code(symbol, none);
}

Symbol PackedPpm::code(Symbol symbol, DecisionCoder& coder) {
  if (symbol != kNoSymbol) require_symbol(symbol, alphabet());
  return body_->code(symbol, coder);
}

double PackedPpm::decision_bytes() const {
  return static_cast<double>(IntegerDecision::kBytes + sizeof(PackedContext) + sizeof(PackedEntry));
}

void PackedPpm::set_learning(bool on) { body_->learning = on; }
void PackedPpm::reset() { body_->start(); }

std::unique_ptr<Predictor> PackedPpm::clone() const {
  return std::unique_ptr<Predictor>(new PackedPpm(std::make_unique<Body>(*body_)));
}

}  // namespace unfold
