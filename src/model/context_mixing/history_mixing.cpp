#include "model/context_mixing/history_mixing.h"

#include <algorithm>
#include <array>
#include <bit>
#include <optional>

#include "model/context_mixing/bit_histories.h"
#include "model/context_mixing/byte_mixing_parts.h"
#include "model/context_mixing/history_rows.h"
#include "model/context_mixing/mixing_contexts.h"
#include "model/context_mixing/simd.h"
#include "numerics/functions.h"

namespace unfold {
namespace {

constexpr std::size_t kSide = BitHistories::kSide;
constexpr std::size_t kMostContexts = HistoryRows::kMost;
constexpr float kBias = 0.4F;
/// Smaller errors do not update the weights. This saves time and does not increase compressed sizes.
constexpr float kLeastError = 0.02F;
// Number of weight rows, selected by match length, number of contexts with observations, and depth.
constexpr std::size_t kLengths = 16 * (kMostContexts + 1) * 8;

/// The differences between versions.
struct HistoryRecipe {
  bool runs;                       // contexts that were followed by only one symbol are stored as runs
  bool lines;                      // contexts of lines, and fewer other text contexts
  bool estimates;                  // an additional map and input for estimates
  float first_weight;              // initial weight of the histories
  double caution;                  // multiplies initial logits
  bool expected;                   // additional input: the symbol that the match expects after the last symbol
  std::vector<std::size_t> sets;   // number of contexts of each set of weights
  std::vector<std::size_t> lasts;  // number of contexts of each final mixer
  bool boost_new_rows;
  Index match_memory;  // in fifteenths of the memory: limits the distance of matches
  bool counted;        // refinement with counts, which keeps a quarter of its input
};

const HistoryRecipe& recipe_of(HistoryVersion version) {
  static const HistoryRecipe three = {.runs = false,
                                      .lines = false,
                                      .estimates = true,
                                      .first_weight = 0.13F,
                                      .caution = 1,
                                      .expected = false,
                                      .sets = {kLengths, 256, 256, 2048},
                                      .lasts = {256},
                                      .boost_new_rows = false,
                                      .match_memory = 15,
                                      .counted = false};
  static const HistoryRecipe four = {.runs = true,
                                     .lines = true,
                                     .estimates = false,
                                     .first_weight = 0.2F,
                                     .caution = 0.85,
                                     .expected = true,
                                     .sets = {kLengths, 256, 256, 2048, 256},
                                     .lasts = {256, 512},
                                     .boost_new_rows = true,
                                     .match_memory = 16,
                                     .counted = true};
  return version == HistoryVersion::three ? three : four;
}

/// Multiplies the logit of p.
double with_caution(double p, double caution) {
  if (caution == 1) return p;
  std::array<double, 2> logs = {p, 1 - p};
  vector_log(logs.data(), logs.data(), 2);
  double x = caution * (logs[0] - logs[1]);
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
    constexpr std::uint32_t kEstimateTrust = 6;  // initially a counter is interpreted as its estimate
    std::vector<AdaptiveProbability> of_one(kCells);
    for (std::size_t i = 1; i < kCells; ++i) of_one[i] = AdaptiveProbability::of(meaning(i), kEstimateTrust);
    for (std::size_t c = 0; c < (contexts + 3) / 4 * 4; ++c) cells_.insert(cells_.end(), of_one.begin(), of_one.end());
  }
  /// Logits of the contexts, four at a time.
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
  /// Probabilities of the contexts, as twice the distance from 1/2.
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

/// The symbols that followed the last occurrences of the last symbol, and of the last two.
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
template <class Map>
struct TwoRefinements {
  TwoRefinements(int bits_by_one, int bits_by_three)
      : by_one(std::size_t{1} << bits_by_one), by_three(std::size_t{1} << bits_by_three), shift(64 - bits_by_three) {}
  /// Also called before the last bit is learned, in order to prefetch memory.
  void select(const ContextHistory& past, BitPath path) {
    if (path == selected) return;
    selected = path;
    by_one.select(past.last(1) << 8 | path);
    by_three.select(hash(past.last(3), path) >> shift);
  }
  float refine(float logit) { return 0.5F * (by_one.refine(logit) + by_three.refine(logit)); }
  void learn(int bit) {
    by_one.learn(bit);
    by_three.learn(bit);
  }
  void begin(const ContextHistory& past) {
    selected = 0;
    select(past, 1);
  }
  Map by_one, by_three;
  int shift;
  BitPath selected = 0;
};

}  // namespace

struct HistoryMixing::Body {
  static constexpr std::uint64_t kAbove = (1 << 17) - 1;  // two rows
  static constexpr std::size_t kRunsFrom = BitHistories::kByHistory;

  Body(const HistoryMixingOptions& o, std::vector<std::uint8_t> bytes_of_symbols, int bits)
      : options(o),
        recipe(recipe_of(o.version)),
        tree_bits(bits),
        bytes(std::move(bytes_of_symbols)),
        contexts(count_contexts()),
        lanes((contexts + kSide - 1) / kSide * kSide),
        rows(contexts, static_cast<std::size_t>(o.memory), bits, recipe.runs),
        by_history(contexts, [this](std::size_t cell) { return initial_history_probability(cell); }),
        by_estimate(recipe.estimates ? contexts : 0,
                    [this](std::size_t cell) {
                      return with_caution(BitHistories::tables().initial_estimate_probability(cell), recipe.caution);
                    }),
        match(match_size(o.memory * recipe.match_memory / 15), o.contexts == HistoryContexts::few ? 5 : 6, true),
        inputs(first_weights().size()),
        mixers(first_weights(), recipe.sets, recipe.lasts,
               {.min_error = kLeastError, .boost_new_rows = recipe.boost_new_rows}) {
    if (recipe.expected) expected.emplace();
    if (recipe.counted)
      counted.emplace(16, 14);
    else
      plain.emplace(16, 16);
    if (o.row > 0) above.resize(kAbove + 1);
    start();
  }
  bool with_column() const {
    return options.row == 0 && (options.contexts == HistoryContexts::text || options.contexts == HistoryContexts::full);
  }
  bool with_lines() const {
    return recipe.lines && (options.contexts == HistoryContexts::text || options.contexts == HistoryContexts::full);
  }
  std::size_t count_contexts() const {
    const bool texts = options.contexts == HistoryContexts::text;
    const std::size_t of_symbols = options.contexts == HistoryContexts::few      ? 6
                                   : texts                                       ? (recipe.lines ? 7 : 11)
                                   : options.contexts == HistoryContexts::binary ? 12
                                                                                 : 17;
    return of_symbols + (with_lines() ? 4 : 0) + (with_column() ? 1 : 0) + (options.row > 0 ? 3 : 0);
  }
  static int match_size(Index memory) {
    return std::clamp(static_cast<int>(std::bit_width(static_cast<std::uint64_t>(memory))) - 7, 18, 22);
  }
  /// For cells of runs, the confidence increases with the number of occurrences.
  double initial_history_probability(std::size_t cell) const {
    if (cell < kRunsFrom) return with_caution(BitHistories::tables().initial_history_probability(cell), recipe.caution);
    const std::size_t seen = (cell - kRunsFrom) / 2;
    const double other = 0.5 / (static_cast<double>(seen) + 1);
    return (cell - kRunsFrom) % 2 != 0 ? 1 - other : other;
  }
  std::vector<float> first_weights() const {
    const std::size_t of_contexts = contexts * (recipe.estimates ? 3 : 2);
    const std::size_t n = of_contexts + MatchModel::kInputs + 1 + (recipe.expected ? 1 : 0);
    constexpr auto kLanes = static_cast<std::size_t>(kMixingLanes);
    std::vector<float> w((n + kLanes - 1) / kLanes * kLanes);
    std::fill_n(w.begin(), contexts, recipe.first_weight);
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
    if (expected) expected->begin(match.expected(), past.last(1));
    if (plain) plain->begin(past);
    if (counted) counted->begin(past);
  }

  /// Reads the symbol as soon as it is known and prefetches the memory for the next one.
  void read(Symbol symbol) {
    if (!above.empty()) above[place & kAbove] = static_cast<std::uint8_t>(symbol);
    ++place;
    if (learning) followers.advance(past.recent, static_cast<std::uint8_t>(symbol));
    const std::uint8_t byte =
        bytes.empty() ? static_cast<std::uint8_t>(symbol) : bytes[static_cast<std::size_t>(symbol)];
    past.advance(symbol, byte);
    if (recipe.lines) lines.advance(byte);
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
      case HistoryContexts::few: past.few_contexts(add); break;
      case HistoryContexts::text:
        if (recipe.lines)
          past.line_text_contexts(with_column(), add);
        else
          past.text_contexts(with_column(), add);
        break;
      case HistoryContexts::binary: past.binary_contexts(add); break;
      case HistoryContexts::full: past.full_contexts(with_column(), add); break;
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
    for (std::size_t i = 0; i < lanes; i += kSide) BitHistories::history_cells(&counters[i], &histories[i]);
    if (recipe.runs) rows.set_run_cells(counters.data(), depth, kRunsFrom, histories.data());
    const std::size_t known = known_contexts();
    float* x = inputs.data();  // each part overwrites the surplus of up to four values that the previous one wrote
    by_history.ask(histories.data(), contexts, x);
    x += contexts;
    if (recipe.estimates) {
      for (std::size_t i = 0; i < lanes; i += kSide) BitHistories::estimate_cells(&counters[i], &estimates[i]);
      by_estimate.ask(estimates.data(), contexts, x);
      x += contexts;
    }
    by_history.linear(contexts, x);
    x += contexts;
    match.inputs(path, depth, tree_bits, x);
    x[MatchModel::kInputs] = kBias;
    if (expected) x[MatchModel::kInputs + 1] = expected->ask(path, depth);
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
    counted->select(past, path);
    const float mixed = mix(path, depth);
    return 0.25F * logistic.squash(mixed) + 0.75F * counted->refine(mixed);
  }

  float logit(BitPath path, int depth) {
    if (recipe.counted)
      return logistic.stretch(std::min(static_cast<std::uint32_t>(probability(path, depth) * 4096), 4095U));
    plain->select(past, path);
    return plain->refine(mix(path, depth));
  }

  void learn(BitPath path, int depth, int bit) {
    if (expected) expected->learn(path, depth, bit);
    match.learn(bit);
    const BitPath next_path = 2 * path + static_cast<BitPath>(bit);
    if (depth == tree_bits - 1)
      read(static_cast<Symbol>(next_path ^ BitPath{1} << tree_bits));
    else if (counted)
      counted->select(past, next_path);
    mixers.prefetch(3, node_in_past(depth == tree_bits - 1 ? 1 : next_path));
    by_history.learn(histories.data(), contexts, bit);
    if (recipe.estimates) by_estimate.learn(estimates.data(), contexts, bit);
    chance = chance * 0x9E3779B97F4A7C15ULL + 0xD1B54A32D192ED03ULL;
    HistoryRows::Counters next;
    for (std::size_t i = 0; i < lanes; i += kSide)
      bit_histories.learn(&counters[i], bit, static_cast<std::uint32_t>((chance + (i << 56)) >> 32), &next[i]);
    rows.learn(path, depth, bit, next.data());
    mixers.learn(inputs.data(), bit);
    if (plain) plain->learn(bit);
    if (counted) counted->learn(bit);
  }

  const Logistic& logistic = Logistic::tables();
  const BitHistories& bit_histories = BitHistories::tables();
  HistoryMixingOptions options;
  const HistoryRecipe& recipe;
  bool learning = true;
  int tree_bits;
  std::vector<std::uint8_t> bytes;
  std::size_t contexts, lanes;
  HistoryRows rows;
  ParallelCounterMaps<BitHistories::kByHistory + HistoryRows::kRunCells> by_history;
  ParallelCounterMaps<BitHistories::kByEstimate> by_estimate;
  alignas(64) HistoryRows::Counters counters{}, histories{}, estimates{};  // for the node of the last query
  MatchModel match;
  std::optional<ExpectedSymbolMap> expected;
  std::vector<float> inputs;
  GatedMixer mixers;
  std::optional<TwoRefinements<RefinementMap>> plain;
  std::optional<TwoRefinements<CountedRefinement>> counted;
  Followers followers;
  std::vector<std::uint8_t> above;  // ring buffer of the bytes above; empty without rows
  std::uint64_t place = 0, chance = 1;
  bool read_ahead = false;  // the current symbol was read before all its bits were learned
  ContextHistory past;
  LineHistory lines;
};

HistoryMixing::HistoryMixing(Index alphabet, const HistoryMixingOptions& options, std::vector<std::uint8_t> bytes)
    : BitwisePredictor(alphabet) {
  require_mixing(alphabet, options.memory, options.row);
  body_ = std::make_unique<Body>(options, std::move(bytes), tree().bits());
}

HistoryMixing::~HistoryMixing() = default;
HistoryMixing::HistoryMixing(const HistoryMixing& other)
    : BitwisePredictor(other), body_(std::make_unique<Body>(*other.body_)) {}

float HistoryMixing::logit(BitPath path, int depth) { return body_->logit(path, depth); }
std::uint32_t HistoryMixing::probability_of_one(BitPath path, int depth) {
  if (!body_->recipe.counted) return BitwisePredictor::probability_of_one(path, depth);
  constexpr float kOne = 1 << kBitPrecision;
  return static_cast<std::uint32_t>(std::clamp(body_->probability(path, depth) * kOne, 1.0F, kOne - 1));
}
void HistoryMixing::learn(BitPath path, int depth, int bit) { body_->learn(path, depth, bit); }
double HistoryMixing::decision_bytes() const {
  const Body& b = *body_;
  const std::size_t maps = b.recipe.estimates ? 2 : 1, sets = b.recipe.sets.size(), lasts = b.recipe.lasts.size();
  const std::size_t counters = b.contexts * (sizeof(std::uint16_t) + maps * sizeof(AdaptiveProbability));
  const std::size_t weights = sizeof(float) * (sets * b.inputs.size() + lasts * sets);
  // Plus two refinements with two values each.
  return static_cast<double>(counters + weights + 4 * sizeof(std::uint32_t));
}
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
