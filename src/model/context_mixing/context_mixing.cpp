#include "model/context_mixing/context_mixing.h"

#include <algorithm>
#include <array>
#include <bit>

#include <fmt/format.h>

#include "model/context_mixing/bit_histories.h"
#include "model/context_mixing/gated_mixer.h"
#include "model/context_mixing/history_rows.h"
#include "model/context_mixing/mixing_contexts.h"
#include "model/context_mixing/simd.h"
#include "numerics/functions.h"
#include "unfold/base/error.h"

namespace unfold {
namespace {

constexpr std::size_t kSide = BitHistories::kSide;
constexpr std::size_t kMostContexts = HistoryRows::kMost;
constexpr float kBias = 0.4F;
/// Smaller errors do not update the weights. This saves time and does not increase compressed sizes.
constexpr float kLeastError = 0.02F;
// Number of weight rows, selected by match length, number of contexts with observations, and depth.
constexpr std::size_t kLengths = 16 * (kMostContexts + 1) * 8;

// Number of contexts of each set of weights, and of each final mixer.
const std::vector<std::size_t> kSets = {kLengths, 256, 256, 2048, 256};
const std::vector<std::size_t> kLasts = {256, 512};
constexpr float kHistoryWeight = 0.2F;  // initial weight of the histories
constexpr double kCaution = 0.85;       // multiplies initial logits

/// Multiplies the logit of p by kCaution.
double with_caution(double p) {
  std::array<double, 2> logs = {p, 1 - p};
  vector_log(logs.data(), logs.data(), 2);
  double x = kCaution * (logs[0] - logs[1]);
  vector_sigmoid(&x, &x, 1);
  return x;
}

/// Adaptive maps from the counters of all contexts to probabilities (22 bits above a 10-bit count), evaluated in
/// parallel.
template <std::size_t kCells>
class ParallelCounterMaps {
 public:
  template <class Meaning>
  ParallelCounterMaps(std::size_t contexts, Meaning&& meaning) {
    constexpr std::uint32_t kEstimateTrust = 6;  // at first, each counter state predicts its own estimate
    std::vector<AdaptiveProbability> of_one(kCells);
    for (std::size_t i = 1; i < kCells; ++i) of_one[i] = AdaptiveProbability::of(meaning(i), kEstimateTrust);
    for (std::size_t c = 0; c < (contexts + 3) / 4 * 4; ++c) cells_.insert(cells_.end(), of_one.begin(), of_one.end());
  }
  /// Computes the logits of the contexts, four at a time.
  void ask(const std::uint16_t* cell, std::size_t contexts, float* x) {
    for (std::size_t i = 0; i < contexts; i += 4) {
      const AdaptiveProbability* const of = &cells_[i * kCells];
      const FourWords value = {of[cell[i]].value, of[kCells + cell[i + 1]].value, of[2 * kCells + cell[i + 2]].value,
                               of[3 * kCells + cell[i + 3]].value};
      store(value, &values_[i]);
      const auto stretched = [&](std::size_t k) { return logistic_.stretch(values_[i + k] >> 20); };
      store(FourFloats{stretched(0), stretched(1), stretched(2), stretched(3)}, x + i);
    }
  }
  /// Computes the probabilities of the contexts as twice the distance from 1/2.
  void linear(std::size_t contexts, float* x) const {
    for (std::size_t i = 0; i < contexts; i += 4) {
      const auto p = reinterpret_cast<FourIntegers>(load<FourWords>(&values_[i]) >> 20);
      store((__builtin_convertvector(p, FourFloats) - 2048) * (1.0F / 1024), x + i);
    }
  }
  /// Updates the cells of the last query; the cell of no observation (0) stays at 1/2.
  void learn(const std::uint16_t* cell, std::size_t contexts, int bit) {
    const float target = bit != 0 ? (1 << 22) - 1 : 0;
    for (std::size_t i = 0; i < contexts; i += 4) teach(cell + i, values_.data() + i, target);
    for (std::size_t i = 0; i < contexts; ++i) cells_[i * kCells + cell[i]].value = values_[i];
  }

 private:
  static void teach(const std::uint16_t* cell, std::uint32_t* values, float target) {
    const auto value = load<FourWords>(values);
    const FourWords count = value & 1023;
    const auto p = __builtin_convertvector(reinterpret_cast<FourIntegers>(value >> 10), FourFloats);  // exact
    const FourFloats seen = __builtin_convertvector(reinterpret_cast<FourIntegers>(count), FourFloats);
    const FourFloats moved = p + (target - p) / (seen + 1.5F);
    const auto next = reinterpret_cast<FourWords>(__builtin_convertvector(moved, FourIntegers)) << 10;
    const FourWords counted = count + (reinterpret_cast<FourWords>(count != 1023) & 1);
    const FourWords cells = {cell[0], cell[1], cell[2], cell[3]};
    store(choose(cells != 0, next | counted, value), values);
  }
  const Logistic& logistic_ = Logistic::tables();
  std::vector<AdaptiveProbability> cells_;
  alignas(64) std::array<std::uint32_t, kMostContexts> values_{};
};

/// The symbols that followed the last occurrences of the last symbol and of the last two symbols.
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

/// An adaptive map that predicts the bits of a symbol from the previous symbol and the symbol that a match expects,
/// with one memory line for each half of a symbol.
class ExpectedSymbolMap {
 public:
  void begin(Symbol expected, std::uint64_t last) {
    const auto symbol = static_cast<std::uint64_t>(expected == kNoSymbol ? 256 : expected);
    context_ = hash(symbol, last);
    half_ = 0;
    __builtin_prefetch(&map_[line(1)], 1);
  }
  float ask(BitPath path, int depth) {
    const HalfPlace at = half_place(path, depth);
    if (at.prefix != half_) line_ = line(half_ = at.prefix);
    cell_ = line_ + at.node;
    return Logistic::tables().stretch(map_[cell_].p12());
  }
  void learn(BitPath path, int depth, int bit) {
    map_[cell_].learn(bit);
    if (depth == 3) __builtin_prefetch(&map_[line(2 * path + static_cast<BitPath>(bit))], 1);
  }

 private:
  static constexpr int kLineBits = 14;
  std::size_t line(BitPath prefix) const { return hash(context_, prefix) >> (64 - kLineBits) << 4; }
  std::vector<AdaptiveProbability> map_ = std::vector<AdaptiveProbability>(std::size_t{16} << kLineBits);
  std::uint64_t context_ = 0;
  BitPath half_ = 0;
  std::size_t line_ = 0, cell_ = 0;
};

/// The two maps that refine the mixed prediction, selected by the last symbol and by the last three.
class Refinement {
 public:
  /// Also called before the last bit is learned, in order to prefetch memory.
  void select(const ContextHistory& past, BitPath path) {
    if (path == selected_) return;
    selected_ = path;
    by_one_.select(past.last(1) << 8 | path);
    by_three_.select(hash(past.last(3), path) >> (64 - kBitsByThree));
  }
  float refine(float logit) { return 0.5F * (by_one_.refine(logit) + by_three_.refine(logit)); }
  void learn(int bit) {
    by_one_.learn(bit);
    by_three_.learn(bit);
  }
  void begin(const ContextHistory& past) {
    selected_ = 0;
    select(past, 1);
  }

 private:
  static constexpr int kBitsByOne = 16, kBitsByThree = 14;
  CountedRefinement by_one_ = CountedRefinement(std::size_t{1} << kBitsByOne);
  CountedRefinement by_three_ = CountedRefinement(std::size_t{1} << kBitsByThree);
  BitPath selected_ = 0;
};

/// Throws UsageError for more than 256 symbols, memory outside 1 MiB .. 16 GiB, and a row outside 0 .. 65535.
void require_mixing(Index alphabet, Index memory, Index row) {
  constexpr Index kLeastMemory = Index{1} << 20, kMostMemory = Index{16} << 30, kLongestRow = 65535;
  if (alphabet > 256)
    throw UsageError(fmt::format(
        "cm: context mixing supports at most 256 symbols, but there are {}; use --symbols bytes", alphabet));
  if (memory < kLeastMemory || memory > kMostMemory)
    throw UsageError(fmt::format("cm: memory of {} bytes must be from 1 MiB to 16 GiB", memory));
  if (row < 0 || row > kLongestRow) throw UsageError(fmt::format("cm: row {} must be from 0 to {}", row, kLongestRow));
}

}  // namespace

struct ContextMixing::Body {
  static constexpr std::uint64_t kAbove = (1 << 17) - 1;  // two rows
  static constexpr std::size_t kRunsFrom = BitHistories::kCells;

  Body(const ContextMixingOptions& o, std::vector<std::uint8_t> bytes_of_symbols, int bits)
      : options(o),
        tree_bits(bits),
        bytes(std::move(bytes_of_symbols)),
        contexts(count_contexts()),
        lanes((contexts + kSide - 1) / kSide * kSide),
        rows(contexts, static_cast<std::size_t>(o.memory), bits),
        maps(contexts, initial_probability),
        match(match_size(o.memory * 16 / 15), o.contexts == MixingContexts::few ? 5 : 6),
        inputs(first_weights().size()),
        mixers(first_weights(), kSets, kLasts, {.min_error = kLeastError, .boost_new_rows = true}) {
    if (o.row > 0) above.resize(kAbove + 1);
    start();
  }
  bool with_column() const {
    return options.row == 0 && (options.contexts == MixingContexts::text || options.contexts == MixingContexts::full);
  }
  bool with_lines() const {
    return options.contexts == MixingContexts::text || options.contexts == MixingContexts::full;
  }
  std::size_t count_contexts() const {
    const std::size_t of_symbols = options.contexts == MixingContexts::few      ? 6
                                   : options.contexts == MixingContexts::text   ? 7
                                   : options.contexts == MixingContexts::binary ? 12
                                                                                : 17;
    return of_symbols + (with_lines() ? 4 : 0) + (with_column() ? 1 : 0) + (options.row > 0 ? 3 : 0);
  }
  static int match_size(Index memory) {
    return std::clamp(static_cast<int>(std::bit_width(static_cast<std::uint64_t>(memory))) - 7, 18, 22);
  }
  /// Returns the initial probability of a cell. For cells of runs, the confidence increases with the number of
  /// occurrences.
  static double initial_probability(std::size_t cell) {
    if (cell < kRunsFrom) return with_caution(BitHistories::tables().initial_probability(cell));
    const std::size_t seen = (cell - kRunsFrom) / 2;
    const double other = 0.5 / (static_cast<double>(seen) + 1);
    return (cell - kRunsFrom) % 2 != 0 ? 1 - other : other;
  }
  std::vector<float> first_weights() const {
    const std::size_t of_contexts = 2 * contexts, n = of_contexts + MatchModel::kInputs + 2;
    constexpr auto kLanes = static_cast<std::size_t>(kMixingLanes);
    std::vector<float> w((n + kLanes - 1) / kLanes * kLanes);
    std::fill_n(w.begin(), contexts, kHistoryWeight);
    w[of_contexts] = 0.2F;
    return w;
  }

  void start() {
    past = {};
    lines = {};
    place = 0;
    match.start();
    set_contexts();
    rows.begin();
    begin_symbol();
    read_ahead = false;
  }

  void begin_symbol() {
    expected.begin(match.expected(), past.last(1));
    refinement.begin(past);
  }

  /// Reads the symbol as soon as it is known and prefetches the memory for the next one.
  void read(Symbol symbol) {
    if (!above.empty()) above[place & kAbove] = static_cast<std::uint8_t>(symbol);
    ++place;
    if (learning) followers.advance(past.recent, static_cast<std::uint8_t>(symbol));
    const std::uint8_t byte =
        bytes.empty() ? static_cast<std::uint8_t>(symbol) : bytes[static_cast<std::size_t>(symbol)];
    past.advance(symbol, byte);
    lines.advance(byte);
    set_contexts();
    match.advance(symbol, learning);
    begin_symbol();
    read_ahead = true;
  }

  void advance(Symbol symbol) {
    if (!read_ahead) read(symbol);
    read_ahead = false;
    rows.finish(symbol);
    rows.begin();
  }

  std::uint64_t back(Index distance) const {
    const auto d = static_cast<std::uint64_t>(distance);
    return d > place ? 0 : above[(place - d) & kAbove];
  }

  void set_contexts() {
    std::size_t i = 0;
    const auto add = [&](std::uint64_t value) {
      rows.hashes()[i] = hash(value, i);
      ++i;
    };
    switch (options.contexts) {
      case MixingContexts::few: past.few_contexts(add); break;
      case MixingContexts::text: past.text_contexts(with_column(), add); break;
      case MixingContexts::binary: past.binary_contexts(add); break;
      case MixingContexts::full: past.full_contexts(with_column(), add); break;
    }
    if (options.contexts >= MixingContexts::binary) {
      add(followers.of_one(past.recent));
      add(followers.of_two(past.recent));
    }
    if (const Index row = options.row; row > 0) {
      const std::uint64_t up = back(row);
      add(1 << 16 | up << 8 | past.last(1));
      add(hash(up << 16 | back(2 * row) << 8 | back(row - 1), past.last(1)));
      add(hash(place % static_cast<std::uint64_t>(row), up));
    }
    if (with_lines()) lines.contexts(past, add);
    rows.prefetch();
  }

  std::size_t known_contexts() const {
    EightCounters none{};
    for (std::size_t i = 0; i < lanes; i += kSide)
      none += reinterpret_cast<EightCounters>(load<EightCounters>(&counters[i]) == 0);
    std::uint16_t unknown = 0;
    for (std::size_t k = 0; k < kSide; ++k) unknown = static_cast<std::uint16_t>(unknown - none[k]);
    return lanes - unknown;
  }

  /// Collects the inputs; returns the number of contexts that have seen this node.
  std::size_t gather(BitPath path, int depth) {
    rows.ask(path, depth, counters.data());
    for (std::size_t i = 0; i < lanes; i += kSide) BitHistories::cells(&counters[i], &cells[i]);
    rows.set_run_cells(counters.data(), depth, kRunsFrom, cells.data());
    const std::size_t known = known_contexts();
    float* x = inputs.data();  // each part overwrites the excess values (at most four) written by the previous part
    maps.ask(cells.data(), contexts, x);
    x += contexts;
    maps.linear(contexts, x);
    x += contexts;
    match.inputs(path, depth, tree_bits, x);
    x[MatchModel::kInputs] = kBias;
    x[MatchModel::kInputs + 1] = expected.ask(path, depth);
    return known;
  }

  std::size_t node_in_past(BitPath path) const { return (past.last(1) & 0xE0) << 3 | path; }

  float mix(BitPath path, int depth) {
    const std::size_t known = gather(path, depth), length = match.length_class(), at = static_cast<std::size_t>(depth);
    mixers.select(0, (length * (kMostContexts + 1) + known) * 8 + at);
    mixers.select(1, past.last(1));
    mixers.select(2, past.recent >> 8 & 255);
    mixers.select(3, node_in_past(path));
    mixers.select(4, std::min<std::size_t>(lines.letters, 15) * 16 + length);
    mixers.select_last(0, path);
    mixers.select_last(1, (length * 8 + at) * 4 + std::min<std::size_t>(3, known * 4 / (contexts + 1)));
    return mixers.mix(inputs.data());
  }

  /// Returns the probability refined with counts.
  float probability(BitPath path, int depth) {
    refinement.select(past, path);
    const float mixed = mix(path, depth);
    return 0.25F * logistic.squash(mixed) + 0.75F * refinement.refine(mixed);
  }

  float logit(BitPath path, int depth) {
    return logistic.stretch(std::min(static_cast<std::uint32_t>(probability(path, depth) * 4096), 4095U));
  }

  void learn(BitPath path, int depth, int bit) {
    expected.learn(path, depth, bit);
    match.learn(bit);
    const BitPath next_path = 2 * path + static_cast<BitPath>(bit);
    if (depth == tree_bits - 1)
      read(static_cast<Symbol>(next_path ^ BitPath{1} << tree_bits));
    else
      refinement.select(past, next_path);
    mixers.prefetch(3, node_in_past(depth == tree_bits - 1 ? 1 : next_path));
    maps.learn(cells.data(), contexts, bit);
    chance = chance * 0x9E3779B97F4A7C15ULL + 0xD1B54A32D192ED03ULL;
    HistoryRows::Counters next;
    for (std::size_t i = 0; i < lanes; i += kSide)
      bit_histories.learn(&counters[i], bit, static_cast<std::uint32_t>((chance + (i << 56)) >> 32), &next[i]);
    rows.learn(path, depth, bit, next.data());
    mixers.learn(inputs.data(), bit);
    refinement.learn(bit);
  }

  const Logistic& logistic = Logistic::tables();
  const BitHistories& bit_histories = BitHistories::tables();
  ContextMixingOptions options;
  bool learning = true;
  int tree_bits;
  std::vector<std::uint8_t> bytes;
  std::size_t contexts, lanes;
  HistoryRows rows;
  ParallelCounterMaps<BitHistories::kCells + HistoryRows::kRunCells> maps;
  alignas(64) HistoryRows::Counters counters{}, cells{};  // counters and cells for the node of the last query
  MatchModel match;
  ExpectedSymbolMap expected;
  std::vector<float> inputs;
  GatedMixer mixers;
  Refinement refinement;
  Followers followers;
  std::vector<std::uint8_t> above;  // ring buffer of the last kAbove + 1 bytes; empty if options.row is 0
  std::uint64_t place = 0, chance = 1;
  bool read_ahead = false;  // the current symbol was read before all its bits were learned
  ContextHistory past;
  LineHistory lines;
};

ContextMixing::ContextMixing(Index alphabet, const ContextMixingOptions& options, std::vector<std::uint8_t> bytes)
    : BitwisePredictor(alphabet) {
  require_mixing(alphabet, options.memory, options.row);
  body_ = std::make_unique<Body>(options, std::move(bytes), tree().bits());
}

ContextMixing::~ContextMixing() = default;
ContextMixing::ContextMixing(const ContextMixing& other)
    : BitwisePredictor(other), body_(std::make_unique<Body>(*other.body_)) {}

float ContextMixing::logit(BitPath path, int depth) { return body_->logit(path, depth); }
std::uint32_t ContextMixing::probability_of_one(BitPath path, int depth) {
  constexpr float kOne = 1 << kBitPrecision;
  return static_cast<std::uint32_t>(std::clamp(body_->probability(path, depth) * kOne, 1.0F, kOne - 1));
}

void ContextMixing::learn(BitPath path, int depth, int bit) { body_->learn(path, depth, bit); }
double ContextMixing::decision_bytes() const {
  const Body& b = *body_;
  const std::size_t counters = b.contexts * (sizeof(std::uint16_t) + sizeof(AdaptiveProbability));
  const std::size_t weights = sizeof(float) * (kSets.size() * b.inputs.size() + kLasts.size() * kSets.size());
  // The last summand counts two refinements with two values each.
  return static_cast<double>(counters + weights + 4 * sizeof(std::uint32_t));
}

void ContextMixing::finish(Symbol symbol) {
  forget_distribution();
  body_->advance(symbol);
}

void ContextMixing::reset() {
  forget_distribution();
  body_->start();
}

void ContextMixing::set_learning(bool on) { body_->learning = on; }
bool ContextMixing::learning() const { return body_->learning; }
std::unique_ptr<Predictor> ContextMixing::clone() const { return std::unique_ptr<Predictor>(new ContextMixing(*this)); }

}  // namespace unfold
