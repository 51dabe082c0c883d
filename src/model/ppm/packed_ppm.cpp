#include "model/ppm/packed_ppm.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <utility>
#include <vector>

#include "model/context_mixing/integer_decision.h"
#include "model/ppm/growing_array.h"
#include "numerics/functions.h"
#include "unfold/base/error.h"

namespace unfold {
namespace {

constexpr std::uint32_t kIncrement = 4;                 // the increment for one occurrence
constexpr std::uint32_t kMostCountOfSymbol = 250;       // counts above this are halved
constexpr std::uint32_t kMaxDeterministicCount = 4000;  // ... if the context contains almost no other symbols
constexpr std::uint32_t kNowhere = ~0U;
constexpr std::uint32_t kIsContext = 1U << 31;

/// The successor of a context. 0: unknown; kIsContext | index: a context; any other value: 1 + a position in the
/// history.
using Following = std::uint32_t;

struct PackedEntry {
  std::uint8_t symbol = 0, spare = 0;
  std::uint16_t count = 0;
  Following following = 0;
};

static_assert(sizeof(PackedEntry) == 8);

/// A context. With several symbols, it contains their number (`size`), the `total` of their counts, and the index of
/// their block. With a single symbol, it contains kSingle and the symbol, its count, and its successor.
struct PackedContext {
  static constexpr std::uint16_t kSingle = 1 << 15;
  std::uint16_t head = 0, total = 0;
  std::uint32_t block = 0;
  std::uint32_t suffix = kNowhere;
  bool single() const { return (head & kSingle) != 0; }
  std::uint32_t size() const { return single() ? 1 : head; }
  std::uint8_t symbol() const { return static_cast<std::uint8_t>(head); }
};

static_assert(sizeof(PackedContext) == 12);

std::uint32_t level(std::uint32_t n) {  // 0, 1, 2, 3, 4-5, 6-7, 8-11, 12-15, ...
  if (n < 4) return n;
  const auto width = static_cast<std::uint32_t>(std::bit_width(n));
  return 2 * width - 2 + (n >> (width - 2) & 1);
}

/// Blocks of entries in one array, with 2, 3, 4, 6, 8, 12, ... 256 entries; freed blocks are reused.
class EntryBlocks {
 public:
  static std::uint32_t room(std::uint32_t size) {
    std::uint32_t room = 2;
    while (room < size) room = room % 3 == 0 ? room / 3 * 4 : room == 2 ? 3 : room / 2 * 3;
    return room;
  }
  std::uint32_t take(std::uint32_t room) {
    std::uint32_t& free = free_[slot(room)];
    if (free == kNowhere) {
      const auto begin = static_cast<std::uint32_t>(entries_.size());
      entries_.more(room);
      return begin;
    }
    const std::uint32_t begin = free;
    free = entries_[begin].following;
    return begin;
  }
  void give_back(std::uint32_t begin, std::uint32_t room) {
    entries_[begin].following = std::exchange(free_[slot(room)], begin);
  }
  PackedEntry* at(std::uint32_t begin) { return entries_.data() + begin; }
  const PackedEntry* at(std::uint32_t begin) const { return entries_.data() + begin; }
  std::size_t bytes() const { return entries_.size() * sizeof(PackedEntry); }
  void clear() {
    entries_.clear();
    free_.fill(kNowhere);
  }

 private:
  static std::size_t slot(std::uint32_t room) { return static_cast<std::size_t>(level(room)); }
  GrowingArray<PackedEntry> entries_;
  std::array<std::uint32_t, 24> free_ = [] {
    std::array<std::uint32_t, 24> none{};
    none.fill(kNowhere);
    return none;
  }();
};

/// The counts of a context without the masked symbols.
struct Left {
  std::uint32_t total = 0, size = 0, favorite_count = 0;
  std::uint8_t favorite = 0;
};

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
    one = two = 0;
    history = past = 0;
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
      if (!any_masked || !masked(c.symbol())) left = {c.total, 1, c.total, c.symbol()};
      return left;
    }
    const PackedEntry* const entries = blocks.at(c.block);
    if (!any_masked) return c.head == 0 ? left : Left{c.total, c.head, entries[0].count, entries[0].symbol};
    for (std::uint32_t i = 0; i < c.head; ++i) {
      const PackedEntry& e = entries[i];
      if (masked(e.symbol)) continue;
      left.total += e.count;
      ++left.size;
      if (e.count > left.favorite_count) left.favorite_count = e.count, left.favorite = e.symbol;
    }
    return left;
  }

  /// Returns the count of a symbol in a context; 0 if it does not occur there.
  std::uint32_t count_of(const PackedContext& c, std::uint8_t symbol) const {
    if (c.single()) return c.symbol() == symbol ? c.total : 0;
    const PackedEntry* const entries = blocks.at(c.block);
    for (std::uint32_t i = 0; i < c.head; ++i)
      if (entries[i].symbol == symbol) return entries[i].count;
    return 0;
  }

  /// The features of a context that its two decisions depend on.
  struct Features {
    std::uint32_t below = 0, sure = 0, size = 0, more = 0, partial = 0, order = 0, favorite = 0, place = 0;
  };

  Features features(const PackedContext& c, const Left& left, std::uint32_t order, std::uint32_t depth) const {
    Features x;
    std::uint32_t below_size = 0;
    if (c.suffix != kNowhere) {
      const PackedContext& shorter = contexts[c.suffix];
      below_size = shorter.size();
      if (const std::uint32_t n = count_of(shorter, left.favorite); n > 0)
        x.below = shorter.single() ? 17 : 1 + n * 15 / shorter.total;
    }
    const std::uint32_t f = left.favorite_count, n = left.size;
    x.partial = n != c.size() ? 1 : 0;
    x.sure = n == 1 ? 16 + std::min(level(f / 2), 15U) : f * 15 / left.total;      // below 32
    x.size = std::min(level(n), 11U) * 16 + std::min(level(left.total / 2), 15U);  // below 192
    x.more = std::min(level(below_size > n ? below_size - n : 0), 15U);
    x.order = std::min(order, 15U);
    x.favorite = left.favorite;
    x.place = (x.order * 8 + std::min(depth, 7U)) * 2 + x.partial;
    return x;
  }

  /// Selects the case of the decision whether the next symbol is the favorite. Returns its prior.
  std::uint32_t select_favorite(const Features& x, const Left& left) {
    const std::uint32_t f = left.favorite_count, n = left.size;
    favorites.select(
        {.hints = {(x.sure << 16 | x.size << 8 | x.partial << 4 | std::min(level(f), 15U)) * 4 + (history & 3),
                   (one << 20 | x.sure << 12 | x.order << 4 | x.partial),
                   (x.below << 20 | x.sure << 12 | x.more << 4 | x.partial),
                   (past << 13 | x.sure << 8 | x.order << 4 | x.partial),
                   (two << 16 | one << 8 | x.favorite) * 16 + x.order,
                   (x.favorite << 16 | one << 8 | x.sure << 1 | x.partial)},
         .refine = one * 32 + x.sure,
         .gates = {x.place * 2 + (n == 1 ? 1 : 0), x.sure * 32 + x.below, x.favorite * 4 + (history & 3)}});
    return std::clamp(f * 65536 / (left.total + 2 * n), 64U, 65472U);
  }

  /// Does the same for the decision whether the context does not contain the next symbol, if it is not the favorite.
  std::uint32_t select_escape(const Features& x, const Left& left) {
    const std::uint32_t f = left.favorite_count, n = left.size;
    escapes.select(
        {.hints = {(x.more << 20 | x.size << 8 | x.sure << 4 | x.partial) * 4 + (history & 3),
                   (one << 20 | x.size << 8 | x.order << 4 | x.partial), (x.below << 20 | x.size << 8 | x.partial),
                   (past << 16 | x.size << 8 | x.order << 4 | x.partial),
                   (two << 16 | one << 8 | x.order << 4) + x.size / 16,
                   (x.favorite << 20 | one << 12 | x.size << 1 | x.partial)},
         .refine = one * 32 + x.size / 8,
         .gates = {x.place, x.size * 4 + (history & 3), x.favorite * 4 + (history & 3)}});
    return std::clamp(2 * n * 65536 / (left.total - f + 2 * n), 64U, 65472U);
  }

  /// The path of a symbol: the contexts from which it escaped and the context that contains it.
  struct Way {
    std::array<std::uint32_t, 34> unknown{};
    std::uint32_t escaped = 0;
    std::uint32_t found = kNowhere, order = 0;
  };

  Symbol code(Symbol known, DecisionCoder& coder) {
    const auto wanted = static_cast<std::uint8_t>(known);
    unmask_all();
    Way way;
    std::uint32_t free = alphabet, order = longest_order, answer = 4;
    Symbol symbol = kNoSymbol;
    bool any_masked = false;
    std::uint32_t last_size = 0;
    for (std::uint32_t at = longest; at != kNowhere; at = contexts[at].suffix, --order) {
      const PackedContext& c = contexts[at];
      const Left left = any_masked && c.size() == last_size ? Left() : left_of(c, any_masked);
      last_size = c.size();
      if (left.size > 0) {
        symbol = code_in(c, left, order, way.escaped, free, wanted, coder, answer);
        if (symbol != kNoSymbol) {
          way.found = at;
          way.order = order;
          break;
        }
        any_masked = true;
      }
      way.unknown[way.escaped++] = at;
      if (free == 0) break;
    }
    if (symbol == kNoSymbol) symbol = code_new(free, wanted, coder);
    past = (past * 4 + (answer == 0 ? 0 : 1 + std::min(way.escaped, 2U))) & 0xFFFF;
    history = (history * 4 + (answer == 0 ? 0 : 1 + std::min(way.escaped, 2U))) & 0xFF;
    if (learning)
      learn(static_cast<std::uint8_t>(symbol), way);
    else
      move_on(static_cast<std::uint8_t>(symbol));
    two = one;
    one = static_cast<std::uint8_t>(symbol);
    current = false;
    return symbol;
  }

  /// Codes the symbol if the context contains it; otherwise returns kNoSymbol and masks the symbols of the context.
  Symbol code_in(const PackedContext& c, const Left& left, std::uint32_t order, std::uint32_t depth,
                 std::uint32_t& free, std::uint8_t wanted, DecisionCoder& coder, std::uint32_t& answer) {
    foresee(after_favorite(c));
    const bool certain = left.size == free;  // the symbol must be one of the remaining symbols
    if (certain && left.size == 1) return left.favorite;
    const Features x = features(c, left, order, depth);
    const std::uint32_t prior = select_favorite(x, left);
    const std::uint32_t escape_prior = left.size == 1 || certain ? 0 : select_escape(x, left);
    const std::uint32_t p = favorites.estimate(prior);
    const bool yes = coder.decide(wanted == left.favorite, p);
    if (yes) approach(after_favorite(c));
    if (learning) favorites.learn(yes);
    if (yes) {
      answer = depth;
      return left.favorite;
    }
    mask(left.favorite);
    --free;
    if (left.size == 1) return kNoSymbol;
    if (!certain) {
      const std::uint32_t p_escape = escapes.estimate(escape_prior);
      const bool escaped = coder.decide(wanted_elsewhere(c, wanted), p_escape);
      if (learning) escapes.learn(escaped);
      if (escaped) {
        const PackedEntry* const entries = blocks.at(c.block);
        for (std::uint32_t i = 0; i < c.head; ++i) mask(entries[i].symbol);
        free -= left.size - 1;
        return kNoSymbol;
      }
    }
    return code_other(c, left.total - left.favorite_count, wanted, coder);
  }

  bool wanted_elsewhere(const PackedContext& c, std::uint8_t wanted) const {
    return masked(wanted) || count_of(c, wanted) == 0;
  }

  Symbol code_other(const PackedContext& c, std::uint32_t total, std::uint8_t wanted, DecisionCoder& coder) const {
    const PackedEntry* const entries = blocks.at(c.block);
    std::uint32_t first = 0;
    for (std::uint32_t i = 0; i < c.head && entries[i].symbol != wanted; ++i)
      if (!masked(entries[i].symbol)) first += entries[i].count;
    const std::uint32_t place = coder.place(first, total);
    first = 0;
    for (std::uint32_t i = 0;; ++i) {
      const PackedEntry& e = entries[i];
      if (masked(e.symbol)) continue;
      if (place < first + e.count) {
        coder.take(first, e.count, total);
        return e.symbol;
      }
      first += e.count;
    }
  }

  /// Codes a symbol that no context contains, with the uniform distribution over the remaining symbols.
  Symbol code_new(std::uint32_t free, std::uint8_t wanted, DecisionCoder& coder) const {
    std::uint32_t rank = 0;
    for (std::uint32_t x = 0; x < wanted; ++x) rank += masked(static_cast<std::uint8_t>(x)) ? 0 : 1;
    const std::uint32_t place = coder.place(rank, free);
    coder.take(place, 1, free);
    std::uint32_t left = place;
    for (std::uint32_t x = 0; x < alphabet; ++x) {
      if (masked(static_cast<std::uint8_t>(x))) continue;
      if (left-- == 0) return static_cast<Symbol>(x);
    }
    return 0;
  }

  // Learning.

  struct Place {
    std::uint16_t* count;
    Following* following;
  };

  /// Returns the entry of a symbol in a context; null pointers if there is none.
  Place find(std::uint32_t at, std::uint8_t symbol) {
    PackedContext& c = contexts[at];
    if (c.single()) return c.symbol() == symbol ? Place{&c.total, &c.block} : Place{nullptr, nullptr};
    PackedEntry* const entries = blocks.at(c.block);
    for (std::uint32_t i = 0; i < c.head; ++i)
      if (entries[i].symbol == symbol) return {&entries[i].count, &entries[i].following};
    return {nullptr, nullptr};
  }

  void halve(PackedContext& c) {
    PackedEntry* const entries = blocks.at(c.block);
    std::uint32_t total = 0;
    for (std::uint32_t i = 0; i < c.head; ++i) {
      entries[i].count = static_cast<std::uint16_t>((entries[i].count + 1) / 2);
      total += entries[i].count;
    }
    c.total = static_cast<std::uint16_t>(total);
  }

  /// Increments the count of a symbol that the context contains and keeps the entries sorted by frequency.
  void count(std::uint32_t at, std::uint8_t symbol, std::uint32_t by) {
    PackedContext& c = contexts[at];
    if (c.single()) {
      c.total = static_cast<std::uint16_t>(std::min(c.total + by, kMaxDeterministicCount));
      return;
    }
    PackedEntry* const entries = blocks.at(c.block);
    std::uint32_t i = 0;
    while (entries[i].symbol != symbol) ++i;
    entries[i].count = static_cast<std::uint16_t>(entries[i].count + by);
    c.total = static_cast<std::uint16_t>(c.total + by);
    const PackedEntry mine = entries[i];
    for (; i > 0 && entries[i - 1].count < mine.count; --i) entries[i] = entries[i - 1];
    entries[i] = mine;
    const bool nearly_alone = (c.total - mine.count) * 16U < mine.count;
    if (mine.count > (nearly_alone ? kMaxDeterministicCount : kMostCountOfSymbol) || c.total > 60000) halve(c);
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
    if (c.total > 60000) halve(c);
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

  /// Returns the child of a context for a symbol that it contains; the child is created on the second occurrence.
  std::uint32_t child(std::uint32_t at, std::uint32_t order, std::uint8_t symbol) {
    const Place entry = find(at, symbol);
    if (entry.following == nullptr) return 0;
    if ((*entry.following & kIsContext) != 0) return *entry.following & ~kIsContext;
    const Following seen = *entry.following;
    const std::uint32_t suffix = contexts[at].suffix;
    const std::uint32_t shorter = suffix == kNowhere ? 0 : child(suffix, order - 1, symbol);
    std::uint32_t made = shorter;
    if (order < most_order && seen != 0 && seen - 1 < text.size()) {
      const std::uint8_t next = text[seen - 1];
      const std::uint32_t there = count_of(contexts[shorter], next);
      made = static_cast<std::uint32_t>(contexts.size());
      const std::uint32_t start = there == 0 ? kIncrement / 2 : inherited(0, 0, shorter, there);
      contexts.push_back({.head = static_cast<std::uint16_t>(PackedContext::kSingle | next),
                          .total = static_cast<std::uint16_t>(start),
                          .block = seen + 1,
                          .suffix = shorter});
    } else if (order < most_order) {
      return shorter;  // no successor is known
    }
    *find(at, symbol).following = kIsContext | made;
    return made;
  }

  void learn(std::uint8_t symbol, const Way& way) {
    text.push_back(symbol);
    const auto next = static_cast<Following>(text.size() + 1);  // where the following symbol will be stored
    std::uint32_t shorter = way.found, count_there = 0;
    if (way.found != kNowhere) {
      count_there = *find(way.found, symbol).count;
      count(way.found, symbol, kIncrement);
      const std::uint32_t suffix = contexts[way.found].suffix;
      if (suffix != kNowhere && count_there < kIncrement * 8 && find(suffix, symbol).count != nullptr)
        count(suffix, symbol, 2);
    }
    for (std::uint32_t i = way.escaped; i-- > 0;) {
      const PackedContext& c = contexts[way.unknown[i]];
      const std::uint32_t start = inherited(c.total, c.size(), shorter, count_there);
      add(way.unknown[i], symbol, start, next);
      shorter = way.unknown[i];
      count_there = start;
    }
    if (way.found != kNowhere) {
      longest = child(way.found, way.order, symbol);
      longest_order = longest == 0 ? 0 : std::min(way.order + 1, most_order);
    } else {
      longest = longest_order = 0;
    }
    if (full()) forget();
  }

  /// Moves to the longest context that already exists.
  void move_on(std::uint8_t symbol) {
    std::uint32_t order = longest_order;
    for (std::uint32_t at = longest; at != kNowhere; at = contexts[at].suffix, --order) {
      const Place entry = find(at, symbol);
      if (entry.following == nullptr || (*entry.following & kIsContext) == 0) continue;
      longest = *entry.following & ~kIsContext;
      longest_order = std::min(order + 1, most_order);
      return;
    }
    longest = longest_order = 0;
  }

  void predict() {
    probabilities.assign(alphabet, 0);
    unmask_all();
    double left_over = 1;
    std::uint32_t free = alphabet, order = longest_order, depth = 0;
    for (std::uint32_t at = longest; at != kNowhere && free > 0; at = contexts[at].suffix, --order, ++depth) {
      const PackedContext& c = contexts[at];
      const Left left = left_of(c, free != alphabet);
      if (left.size > 0) left_over *= spread(c, left, order, depth, free, left_over);
    }
    for (std::uint32_t x = 0; x < alphabet && free > 0; ++x)
      if (!masked(static_cast<std::uint8_t>(x))) probabilities[x] = left_over / free;
    logs.resize(alphabet);
    vector_log(probabilities.data(), probabilities.data(), static_cast<Index>(alphabet));
    std::ranges::transform(probabilities, logs.begin(), [](double x) { return static_cast<float>(x); });
    current = true;
  }

  /// Distributes probability over the symbols of a context; returns the remaining probability for the shorter contexts.
  double spread(const PackedContext& c, const Left& left, std::uint32_t order, std::uint32_t depth, std::uint32_t& free,
                double share) {
    const Features x = features(c, left, order, depth);
    const bool certain = left.size == free;
    const double p = certain && left.size == 1 ? 1 : favorites.estimate(select_favorite(x, left)) / 65536.0;
    probabilities[left.favorite] = share * p;
    mask(left.favorite);
    free -= left.size;
    if (left.size == 1) return 1 - p;
    const double escape = certain ? 0 : escapes.estimate(select_escape(x, left)) / 65536.0;
    const double each = share * (1 - p) * (1 - escape) / (left.total - left.favorite_count);
    const PackedEntry* const entries = blocks.at(c.block);
    for (std::uint32_t i = 0; i < c.head; ++i) {
      if (masked(entries[i].symbol)) continue;
      probabilities[entries[i].symbol] = each * entries[i].count;
      mask(entries[i].symbol);
    }
    return (1 - p) * escape;
  }

  std::uint32_t alphabet, most_order;
  std::size_t memory;
  bool learning = true, current = false;
  GrowingArray<PackedContext> contexts;  // index 0: the empty context
  EntryBlocks blocks;
  GrowingArray<std::uint8_t> text;
  std::uint32_t longest = 0, longest_order = 0;
  std::uint32_t one = 0, two = 0;  // the last two symbols, the most recent first
  std::uint32_t past = 0;
  std::uint32_t history = 0;  // how the last four symbols were found
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
  code(symbol, none);
}

Symbol PackedPpm::code(Symbol symbol, DecisionCoder& coder) {
  require_symbol(symbol, alphabet());
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
