#include "model/context_mixing/byte_mixing.h"

#include <algorithm>
#include <array>
#include <bit>
#include <numeric>

#include "model/context_mixing/byte_mixing_parts.h"
#include "model/context_mixing/mixing_contexts.h"

namespace unfold {

namespace {

/// Counts the bytes from `distance` to the end that differ from the previous byte and equal the byte `distance` before.
std::uint32_t count_repeated(const std::uint8_t* s, const std::uint8_t* changed, std::size_t distance,
                             std::size_t end) {
  constexpr std::size_t kLanes = 32, kMostRounds = 255;  // maximum number of increments of a byte counter
  std::uint32_t count = 0;
  std::size_t i = distance;
  while (i + kLanes <= end) {
    std::array<std::uint8_t, kLanes> counts{};
    for (std::size_t round = 0; round < kMostRounds && i + kLanes <= end; ++round, i += kLanes)
      for (std::size_t k = 0; k < kLanes; ++k)
        counts[k] = static_cast<std::uint8_t>(counts[k] + (changed[i + k] & (s[i + k] == s[i + k - distance] ? 1 : 0)));
    count = std::accumulate(counts.begin(), counts.end(), count);
  }
  for (; i < end; ++i) count += changed[i] & (s[i] == s[i - distance] ? 1U : 0U);
  return count;
}

}  // namespace

Index find_row(std::span<const std::uint8_t> bytes) {
  constexpr std::size_t kLooked = 1 << 17, kLongest = 2048;
  constexpr double kAboveUsual = 0.05, kNearlyBest = 0.85;
  const std::span<const std::uint8_t> s = bytes.first(std::min(bytes.size(), kLooked));
  std::vector<std::uint8_t> changed(s.size());  // 1: differs from the previous byte
  for (std::size_t i = 1; i < s.size(); ++i) changed[i] = s[i] != s[i - 1] ? 1 : 0;
  std::uint32_t all = std::accumulate(changed.begin(), changed.end(), 0U);
  std::vector<double> repeated;  // fraction of the changed bytes that repeat, by distance minus 2
  for (std::size_t d = 2; d <= std::min(kLongest, s.size() / 4); ++d) {
    all -= changed[d - 1];
    const std::uint32_t same = count_repeated(s.data(), changed.data(), d, s.size());
    repeated.push_back(static_cast<double>(same) / std::max(all, 1U));
  }
  if (repeated.empty()) return 0;
  std::vector<double> sorted = repeated;
  std::nth_element(sorted.begin(), sorted.begin() + static_cast<std::ptrdiff_t>(sorted.size() / 2), sorted.end());
  const double usual = sorted[sorted.size() / 2];
  const double best = *std::max_element(repeated.begin(), repeated.end());
  if (best - usual < kAboveUsual) return 0;
  for (std::size_t i = 0;; ++i)
    if (repeated[i] - usual >= kNearlyBest * (best - usual)) return static_cast<Index>(i) + 2;
}

struct ByteMixing::Body {
  static constexpr std::uint64_t kHistory = (1 << 17) - 1;  // two rows
  // Match length, number of contexts with observations, depth.
  static constexpr std::size_t kLengths = std::size_t{16} * 20 * 8;

  Body(const ByteMixingOptions& o, std::vector<std::uint8_t> bytes_of_symbols, int bits)
      : options(o),
        full(o.contexts == MixingContexts::full),
        tree_bits(bits),
        bytes(std::move(bytes_of_symbols)),
        contexts(count_contexts(o)),
        hashes(contexts),
        keys(contexts),
        rows(contexts),
        match(match_size(o.memory), full ? 6 : 5),
        inputs(first_weights().size()),
        mixers(first_weights(),
               full ? std::vector<std::size_t>{256, kLengths, 256, 256, std::size_t{256} * 3, 2048, 256}
                    : std::vector<std::size_t>{256, kLengths},
               {256}),
        order1(1 << 16),
        order2(1 << 16) {
    nothing.clear();
    for (std::size_t i = 0; i < contexts; ++i) {
      tables.emplace_back(static_cast<std::size_t>(o.memory) * 15 / 16 / contexts);
      maps.emplace_back(i <= 2 ? 255 : 127);
    }
    if (o.row > 0) history.resize(kHistory + 1);
    start();
  }
  static std::size_t count_contexts(const ByteMixingOptions& o) {
    const std::size_t of_rows = o.row > 0 ? 3 : 0;
    return o.contexts == MixingContexts::few ? 6 + of_rows : 16 + of_rows - (o.row > 0 ? 1 : 0);
  }
  static int match_size(Index memory) {
    return std::clamp(static_cast<int>(std::bit_width(static_cast<std::uint64_t>(memory))) - 7, 18, 22);
  }
  std::vector<float> first_weights() const {
    const std::size_t n = contexts * CounterMeaning::kInputs + MatchModel::kInputs + 1;
    constexpr auto kLanes = static_cast<std::size_t>(kMixingLanes);
    std::vector<float> w((n + kLanes - 1) / kLanes * kLanes);
    for (std::size_t i = 0; i < contexts; ++i) w[i * CounterMeaning::kInputs] = 0.13F;
    w[contexts * CounterMeaning::kInputs] = 0.13F;
    return w;
  }

  void start() {
    past = {};
    place = 0;
    match.start();
    set_contexts();
  }

  void advance(Symbol symbol) {
    if (!history.empty()) history[place & kHistory] = static_cast<std::uint8_t>(symbol);
    ++place;
    const std::uint8_t byte =
        bytes.empty() ? static_cast<std::uint8_t>(symbol) : bytes[static_cast<std::size_t>(symbol)];
    past.advance(symbol, byte);
    match.advance(symbol, learning);
    set_contexts();
  }

  std::uint64_t back(Index distance) const {
    const auto d = static_cast<std::uint64_t>(distance);
    return d > place ? 0 : history[(place - d) & kHistory];
  }

  void set_contexts() {
    std::size_t i = 0;
    const auto add = [&](std::uint64_t value) {
      hashes[i] = hash(value, i);
      ++i;
    };
    if (full)
      past.full_contexts(options.row == 0, add);
    else
      past.few_contexts(add);
    if (const Index row = options.row; row > 0) {
      const std::uint64_t above = back(row);
      add(1 << 16 | above << 8 | past.last(1));
      add(hash(above << 16 | back(2 * row) << 8 | back(row - 1), past.last(1)));
      add(hash(place % static_cast<std::uint64_t>(row), above));
    }
    half = 0;
    for (i = 0; i < contexts; ++i) tables[i].prefetch(hashes[i]);
  }

  /// Finds the rows of the half of a symbol that begins with `prefix`.
  void select_half(BitPath prefix) {
    half = prefix;
    if (prefix == 1) {
      keys = hashes;
    } else {
      for (std::size_t i = 0; i < contexts; ++i) {
        keys[i] = hash(hashes[i], prefix);
        tables[i].prefetch(keys[i]);
      }
    }
    for (std::size_t i = 0; i < contexts; ++i) rows[i] = tables[i].find(keys[i]);
  }

  /// Collects the inputs; returns the number of contexts that have seen this node.
  std::size_t gather(BitPath path, int depth) {
    const HalfPlace at = half_place(path, depth);
    if (at.prefix != half) select_half(at.prefix);
    node = at.node;
    float* x = inputs.data();
    std::size_t known = 0;
    for (std::size_t i = 0; i < contexts; ++i, x += CounterMeaning::kInputs) {
      const CounterRow& row = rows[i] == RowTable::kNone ? nothing : tables[i].row(rows[i]);
      known += maps[i].ask(row, node, x) ? 1 : 0;
    }
    match.inputs(path, depth, tree_bits, x);
    x[MatchModel::kInputs] = 0.4F;  // bias
    return known;
  }

  float logit(BitPath path, int depth) {
    order1.select(past.last(1) << 8 | path);
    order2.select(hash(past.last(3), path) >> 48);
    const std::size_t known = gather(path, depth), length = match.length_class();
    mixers.select(0, path);
    mixers.select(1, (length * 20 + known) * 8 + static_cast<std::size_t>(depth));
    if (full) {
      mixers.select(2, past.last(1));
      mixers.select(3, past.recent >> 8 & 255);
      mixers.select(5, (past.last(1) & 0xE0) << 3 | path);
      mixers.select(6, past.recent >> 16 & 255);
      mixers.select(
          4, length == 0 ? 0 : static_cast<std::size_t>(match.expected()) + 256 * std::min<std::size_t>(2, length / 3));
    }
    mixers.select_last(0, path);
    const float mixed = mixers.mix(inputs.data());
    return 0.5F * (order1.refine(mixed) + order2.refine(mixed));
  }

  void learn(int bit) {
    for (std::size_t i = 0; i < contexts; ++i) {
      if (rows[i] == RowTable::kNone) rows[i] = tables[i].create(keys[i]);
      if (node == 0) tables[i].used(rows[i]);
      maps[i].learn(tables[i].row(rows[i]), node, bit);
    }
    match.learn(bit);
    mixers.learn(inputs.data(), bit);
    order1.learn(bit);
    order2.learn(bit);
  }

  ByteMixingOptions options;
  bool full, learning = true;
  int tree_bits;
  std::vector<std::uint8_t> bytes;
  std::size_t contexts;
  std::vector<RowTable> tables;
  std::vector<CounterMeaning> maps;
  std::vector<std::uint64_t> hashes, keys;  // hashes of the contexts; keys of their rows in the current half
  std::vector<std::uint32_t> rows;
  CounterRow nothing;
  MatchModel match;
  std::vector<float> inputs;
  GatedMixer mixers;
  RefinementMap order1, order2;
  std::vector<std::uint8_t> history;  // ring buffer of the bytes above; empty without rows
  std::uint64_t place = 0;

  ContextHistory past;
  BitPath half = 0;      // prefix of the current half; 0: none yet
  std::size_t node = 0;  // node within the half
};

ByteMixing::ByteMixing(Index alphabet, const ByteMixingOptions& options, std::vector<std::uint8_t> bytes)
    : BitwisePredictor(alphabet) {
  require_mixing(alphabet, options.memory, options.row);
  body_ = std::make_unique<Body>(options, std::move(bytes), tree().bits());
}

ByteMixing::~ByteMixing() = default;
ByteMixing::ByteMixing(const ByteMixing& other)
    : BitwisePredictor(other), body_(std::make_unique<Body>(*other.body_)) {}

float ByteMixing::logit(BitPath path, int depth) { return body_->logit(path, depth); }
void ByteMixing::learn(BitPath, int, int bit) { body_->learn(bit); }
void ByteMixing::finish(Symbol symbol) {
  forget_distribution();
  body_->advance(symbol);
}
void ByteMixing::reset() {
  forget_distribution();
  body_->start();
}
void ByteMixing::set_learning(bool on) { body_->learning = on; }
bool ByteMixing::learning() const { return body_->learning; }
std::unique_ptr<Predictor> ByteMixing::clone() const { return std::unique_ptr<Predictor>(new ByteMixing(*this)); }

}  // namespace unfold
