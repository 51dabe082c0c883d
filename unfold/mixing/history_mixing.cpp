#include "unfold/mixing/history_mixing.h"

#include <algorithm>
#include <array>
#include <bit>

#include "unfold/mixing/bit_histories.h"
#include "unfold/mixing/mixing_parts.h"
#include "unfold/mixing/read_past.h"

namespace unfold {
namespace {

constexpr std::size_t kSide = BitHistories::kSide;
constexpr std::size_t kMostContexts = 24;  // a multiple of kSide
constexpr std::size_t kInputsEach = 3;
constexpr float kBias = 0.4F;
/// Errors below this teach the weights nothing that is worth its time; sizes are no larger.
constexpr float kLeastError = 0.02F;

/// What the counters of all contexts are worth, learnt: adaptive probabilities (22 bits above a count of 10).
template <std::size_t kCells>
class SideBySideMaps {
 public:
  template <class Meaning>
  SideBySideMaps(std::size_t contexts, Meaning&& meaning) : cells_(contexts * kCells) {
    constexpr std::uint32_t kTrust = 6;  // before anything is learnt a counter means what it says
    for (std::size_t i = 0; i < cells_.size(); ++i)
      cells_[i] = i % kCells == 0 ? AdaptiveProbability() : AdaptiveProbability::of(meaning(i % kCells), kTrust);
  }
  void ask(const std::uint16_t* cell, std::size_t contexts) {
    for (std::size_t i = 0; i < contexts; ++i) values_[i] = cells_[i * kCells + cell[i]].value;
  }
  const std::uint32_t* values() const { return values_.data(); }
  /// Teaches the cells asked last; what nothing was seen of (cell 0) stays at a half.
  void learn(const std::uint16_t* cell, std::size_t contexts, int bit) {
    const float target = bit != 0 ? (1 << 22) - 1 : 0;
    for (std::size_t begin = 0; begin < contexts; begin += kSide) teach(cell + begin, values_.data() + begin, target);
    for (std::size_t i = 0; i < contexts; ++i) cells_[i * kCells + cell[i]].value = values_[i];
  }

 private:
  static void teach(const std::uint16_t* cell, std::uint32_t* values, float target) {
    for (std::size_t i = 0; i < kSide; ++i) {
      const std::uint32_t value = values[i], count = value & 1023;
      const auto p = static_cast<float>(static_cast<std::int32_t>(value >> 10));  // exact
      const float moved = p + (target - p) / (static_cast<float>(static_cast<std::int32_t>(count)) + 1.5F);
      const auto next = static_cast<std::uint32_t>(static_cast<std::int32_t>(moved)) << 10;
      const std::uint32_t counted = count + (count < 1023 ? 1 : 0);
      const std::uint32_t seen = cell[i] != 0 ? ~0U : 0;
      values[i] = ((next | counted) & seen) | (value & ~seen);
    }
  }
  std::vector<AdaptiveProbability> cells_;
  alignas(64) std::array<std::uint32_t, kMostContexts> values_{};
};

/// What followed the last occurrences of the last symbol, and of the last two.
class Followers {
 public:
  std::uint64_t of_one(std::uint64_t last) const { return hash(one_[last & 0xFF] & 0xFFFF, last & 0xFF); }
  std::uint64_t of_two(std::uint64_t last) const { return hash(two_[place(last)], (last & 0xFF) + 256); }
  void advance(std::uint64_t last, std::uint8_t symbol) {
    for (std::uint32_t* list : {&one_[last & 0xFF], &two_[place(last)]}) *list = *list << 8 | symbol;
  }

 private:
  static std::size_t place(std::uint64_t last) { return last & 0xFFFF; }
  std::vector<std::uint32_t> one_ = std::vector<std::uint32_t>(256), two_ = std::vector<std::uint32_t>(1 << 16);
};

}  // namespace

struct HistoryMixing::Body {
  static constexpr std::uint64_t kAbove = (1 << 17) - 1;  // two rows
  static constexpr std::size_t kKnown = kMostContexts + 1, kLengths = 16 * kKnown * 8;

  Body(const HistoryMixingOptions& o, std::vector<std::uint8_t> bytes_of_symbols, int bits)
      : options(o),
        tree_bits(bits),
        bytes(std::move(bytes_of_symbols)),
        contexts(count_contexts(o)),
        lanes((contexts + kSide - 1) / kSide * kSide),
        table(static_cast<std::size_t>(o.memory)),
        by_history(contexts, [](std::size_t cell) { return BitHistories::tables().meaning_of_history(cell); }),
        by_estimate(contexts, [](std::size_t cell) { return BitHistories::tables().meaning_of_estimate(cell); }),
        match(match_size(o.memory), o.contexts == HistoryContexts::few ? 5 : 6, true),
        inputs(first_weights().size()),
        mixers(first_weights(), {kLengths, 256, 256, 2048}, 256, kLeastError),
        order1(1 << 16),
        order2(1 << 16) {
    if (o.row > 0) above.resize(kAbove + 1);
    start();
  }
  static std::size_t count_contexts(const HistoryMixingOptions& o) {
    const bool with_column = o.row == 0 && (o.contexts == HistoryContexts::text || o.contexts == HistoryContexts::full);
    const std::size_t plain = o.contexts == HistoryContexts::few      ? 6
                              : o.contexts == HistoryContexts::text   ? 11
                              : o.contexts == HistoryContexts::binary ? 12
                                                                      : 17;
    return plain + (with_column ? 1 : 0) + (o.row > 0 ? 3 : 0);
  }
  static int match_size(Index memory) {
    return std::clamp(static_cast<int>(std::bit_width(static_cast<std::uint64_t>(memory))) - 7, 18, 22);
  }
  std::vector<float> first_weights() const {
    const std::size_t n = contexts * kInputsEach + MatchModel::kInputs + 1;
    constexpr auto kLanes = static_cast<std::size_t>(kMixingLanes);
    std::vector<float> w((n + kLanes - 1) / kLanes * kLanes);
    std::fill_n(w.begin(), contexts, 0.13F);
    w[contexts * kInputsEach] = 0.2F;
    return w;
  }

  void start() {
    past = {};
    place = 0;
    match.start();
    set_contexts();
  }

  void advance(Symbol symbol) {
    if (!above.empty()) above[place & kAbove] = static_cast<std::uint8_t>(symbol);
    ++place;
    if (learning) followers.advance(past.recent, static_cast<std::uint8_t>(symbol));
    const std::uint8_t byte =
        bytes.empty() ? static_cast<std::uint8_t>(symbol) : bytes[static_cast<std::size_t>(symbol)];
    past.advance(symbol, byte);
    set_contexts();  // asks for memory; what follows need not wait for it
    match.advance(symbol, learning);
  }

  std::uint64_t back(Index distance) const {
    const auto d = static_cast<std::uint64_t>(distance);
    return d > place ? 0 : above[(place - d) & kAbove];
  }

  void set_contexts() {
    std::size_t i = 0;
    const auto add = [&](std::uint64_t value) {
      hashes[i] = hash(value, i);
      ++i;
    };
    const bool with_column = options.row == 0;
    switch (options.contexts) {
      case HistoryContexts::few: past.few_contexts(add); break;
      case HistoryContexts::text: past.text_contexts(with_column, add); break;
      case HistoryContexts::binary: past.binary_contexts(add); break;
      case HistoryContexts::full: past.full_contexts(with_column, add); break;
    }
    if (options.contexts >= HistoryContexts::binary) {
      add(followers.of_one(past.recent));
      add(followers.of_two(past.recent));
    }
    if (const Index row = options.row; row > 0) {
      const std::uint64_t up = back(row);
      add(1 << 16 | up << 8 | past.last(1));
      add(hash(up << 16 | back(2 * row) << 8 | back(row - 1), past.last(1)));
      add(hash(place % static_cast<std::uint64_t>(row), up));
    }
    half = 0;
    for (i = 0; i < contexts; ++i) table.prefetch(key_of(i, 1));
  }

  /// Of the row of context i in the half of a symbol that begins with `prefix`.
  std::uint64_t key_of(std::size_t i, BitPath prefix) const {
    const std::uint64_t k = (hashes[i] ^ prefix * 0x9E3779B97F4A7C15ULL) * 0xD6E8FEB86659FD93ULL;
    return k ^ k >> 32;
  }

  void select_half(BitPath prefix) {
    half = prefix;
    taught = false;
    for (std::size_t i = 0; i < contexts; ++i) {
      keys[i] = key_of(i, prefix);
      table.prefetch(keys[i]);
    }
    for (std::size_t i = 0; i < contexts; ++i) {
      own[i] = table.find(keys[i]);
      rows[i] = own[i] != nullptr ? own[i] : &nothing;
    }
  }

  /// Asks for the rows of both halves that may follow, a bit before it is known which it is.
  void foresee_half(BitPath prefix) const {
    for (std::size_t i = 0; i < contexts; ++i) {
      table.prefetch(key_of(i, 2 * prefix));
      table.prefetch(key_of(i, 2 * prefix + 1));
    }
  }

  /// What is read is written to from now on.
  void own_rows() {
    taught = true;
    for (std::size_t i = 0; i < contexts; ++i)
      if (own[i] != nullptr && node == 0) HistoryTable::use(*own[i]);
    for (std::size_t i = 0; i < contexts; ++i) {
      if (own[i] == nullptr) own[i] = table.create(keys[i]);
      rows[i] = own[i];
    }
  }

  /// Gathers the inputs; the number of contexts that have seen this node.
  std::size_t gather(BitPath path, int depth) {
    const HalfPlace at = half_place(path, depth);
    if (at.prefix != half) select_half(at.prefix);
    node = at.node;
    for (std::size_t i = 0; i < contexts; ++i) counters[i] = rows[i]->counter[node];
    for (std::size_t i = 0; i < lanes; i += kSide) BitHistories::cells(&counters[i], &histories[i], &estimates[i]);
    by_history.ask(histories.data(), contexts);
    by_estimate.ask(estimates.data(), contexts);
    float* const x = inputs.data();
    std::size_t known = 0;
    for (std::size_t i = 0; i < contexts; ++i) known += counters[i] != 0 ? 1 : 0;
    const std::uint32_t *h = by_history.values(), *e = by_estimate.values();
    for (std::size_t i = 0; i < contexts; ++i) x[i] = logistic.stretch(h[i] >> 20);
    for (std::size_t i = 0; i < contexts; ++i) x[contexts + i] = logistic.stretch(e[i] >> 20);
    for (std::size_t i = 0; i < contexts; ++i)
      x[2 * contexts + i] = (static_cast<float>(static_cast<std::int32_t>(h[i] >> 20)) - 2048) * (1.0F / 1024);
    match.inputs(path, depth, tree_bits, x + kInputsEach * contexts);
    x[kInputsEach * contexts + MatchModel::kInputs] = kBias;
    return known;
  }

  float logit(BitPath path, int depth) {
    order1.select(past.last(1) << 8 | path);
    order2.select(hash(past.last(3), path) >> 48);
    const std::size_t known = gather(path, depth), length = match.length_class();
    mixers.select(0, (length * kKnown + known) * 8 + static_cast<std::size_t>(depth));
    mixers.select(1, past.last(1));
    mixers.select(2, past.recent >> 8 & 255);
    mixers.select(3, (past.last(1) & 0xE0) << 3 | path);
    const float mixed = mixers.mix(inputs.data(), path);
    return 0.5F * (order1.refine(mixed) + order2.refine(mixed));
  }

  void learn(BitPath path, int depth, int bit) {
    if (depth == 2) foresee_half(2 * path + static_cast<BitPath>(bit));
    if (!taught) own_rows();
    by_history.learn(histories.data(), contexts, bit);
    by_estimate.learn(estimates.data(), contexts, bit);
    chance = chance * 0x9E3779B97F4A7C15ULL + 0xD1B54A32D192ED03ULL;
    Lanes next;
    for (std::size_t i = 0; i < lanes; i += kSide)
      bit_histories.learn(&counters[i], bit, static_cast<std::uint32_t>((chance + (i << 56)) >> 32), &next[i]);
    for (std::size_t i = 0; i < contexts; ++i) own[i]->counter[node] = next[i];
    match.learn(bit);
    mixers.learn(inputs.data(), bit);
    order1.learn(bit);
    order2.learn(bit);
  }

  using Lanes = std::array<std::uint16_t, kMostContexts>;
  const Logistic& logistic = Logistic::tables();
  const BitHistories& bit_histories = BitHistories::tables();
  HistoryMixingOptions options;
  bool learning = true;
  int tree_bits;
  std::vector<std::uint8_t> bytes;
  std::size_t contexts, lanes;
  HistoryTable table;
  SideBySideMaps<BitHistories::kByHistory> by_history;
  SideBySideMaps<BitHistories::kByEstimate> by_estimate;
  std::array<std::uint64_t, kMostContexts> hashes{}, keys{};  // of the contexts; of their rows in the present half
  std::array<const HistoryRow*, kMostContexts> rows{};        // as asked; `nothing` where there is none
  std::array<HistoryRow*, kMostContexts> own{};               // as taught; nullptr: to be made
  alignas(64) Lanes counters{}, histories{}, estimates{};     // of the node asked last
  HistoryRow nothing;
  MatchModel match;
  std::vector<float> inputs;
  GatedMixer mixers;
  RefinementMap order1, order2;
  Followers followers;
  std::vector<std::uint8_t> above;  // ring of what stands above; empty without rows
  std::uint64_t place = 0, chance = 1;

  ReadPast past;
  BitPath half = 0;      // prefix of the present half; 0: none yet
  bool taught = false;   // in this half
  std::size_t node = 0;  // within the half
};

HistoryMixing::HistoryMixing(Index alphabet, const HistoryMixingOptions& options, std::vector<std::uint8_t> bytes)
    : BitwisePredictor(alphabet) {
  require_mixing(alphabet, options.memory, options.row);
  body_ = std::make_unique<Body>(options, std::move(bytes), tree().bits());
}

HistoryMixing::~HistoryMixing() = default;
HistoryMixing::HistoryMixing(const HistoryMixing& other)
    : BitwisePredictor(other), body_(std::make_unique<Body>(*other.body_)) {
  body_->half = 0;  // the rows found belong to the other's table
}

float HistoryMixing::logit(BitPath path, int depth) { return body_->logit(path, depth); }
void HistoryMixing::learn(BitPath path, int depth, int bit) { body_->learn(path, depth, bit); }
void HistoryMixing::finish(Symbol symbol) {
  forget_distribution();
  body_->advance(symbol);
}
void HistoryMixing::reset() {
  forget_distribution();
  body_->start();
}
void HistoryMixing::set_learning(bool on) { body_->learning = on; }
bool HistoryMixing::learning() const { return body_->learning; }
std::unique_ptr<Predictor> HistoryMixing::clone() const { return std::unique_ptr<Predictor>(new HistoryMixing(*this)); }

}  // namespace unfold
