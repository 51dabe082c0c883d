#include "model/context_mixing/mixing_core.h"

#include <algorithm>
#include <array>
#include <bit>
#include <utility>

#include "model/context_mixing/bit_histories.h"
#include "model/context_mixing/gated_mixer.h"
#include "model/context_mixing/history_rows.h"
#include "model/context_mixing/mixing_contexts.h"
#include "model/context_mixing/simd.h"
#include "numerics/functions.h"
#include "unfold/base/views.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "model/context_mixing/mixing_core.cpp"
// clang-format off
#include "numerics/targets-inl.h"
#include "hwy/foreach_target.h"
#include "hwy/highway.h"
#include "model/context_mixing/five_mixers-inl.h"
// clang-format on

#ifndef UNFOLD_MODEL_MIXING_CORE_ONCE
#define UNFOLD_MODEL_MIXING_CORE_ONCE
namespace unfold {
namespace {

constexpr std::size_t kSide = BitHistories::kSide;
constexpr std::size_t kMostContexts = HistoryRows::kMost;
constexpr float kBias = 0.4F;
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
  UNFOLD_ALWAYS_INLINE void begin(Symbol expected, std::uint64_t last) {
    const auto symbol = static_cast<std::uint64_t>(expected == kNoSymbol ? 256 : expected);
    context_ = hash(symbol, last);
    half_ = 0;
    __builtin_prefetch(&map_[line(1)], 1);
  }
  UNFOLD_ALWAYS_INLINE float ask(BitPath path, int depth) {
    const HalfPlace at = half_place(path, depth);
    if (at.prefix != half_) line_ = line(half_ = at.prefix);
    cell_ = line_ + at.node;
    return logistic_.stretch(map_[cell_].p12());
  }
  UNFOLD_ALWAYS_INLINE void learn(BitPath path, int depth, int bit) {
    map_[cell_].learn(bit);
    if (depth == 3) __builtin_prefetch(&map_[line(2 * path + static_cast<BitPath>(bit))], 1);
  }

 private:
  static constexpr int kLineBits = 14;
  const Logistic& logistic_ = Logistic::tables();
  UNFOLD_ALWAYS_INLINE std::size_t line(BitPath prefix) const {
    return hash(context_, prefix) >> (64 - kLineBits) << 4;
  }
  std::vector<AdaptiveProbability> map_ = std::vector<AdaptiveProbability>(std::size_t{16} << kLineBits);
  std::uint64_t context_ = 0;
  BitPath half_ = 0;
  std::size_t line_ = 0, cell_ = 0;
};

/// The two maps that refine the mixed prediction, selected by the last symbol and by the last three.
class Refinement {
 public:
  /// Also called before the last bit is learned, in order to prefetch memory.
  UNFOLD_ALWAYS_INLINE void select(const ContextHistory& past, BitPath path) {
    if (path == selected_) return;
    selected_ = path;
    by_one_.select(past.last(1) << 8 | path);
    by_three_.select(hash(past.last(3), path) >> (64 - kBitsByThree));
  }
  UNFOLD_ALWAYS_INLINE float refine(float logit) {
    const CountedRefinement::Place place = CountedRefinement::place(logit);
    return 0.5F * (by_one_.refine(place) + by_three_.refine(place));
  }
  UNFOLD_ALWAYS_INLINE void learn(int bit) {
    by_one_.learn(bit);
    by_three_.learn(bit);
  }
  UNFOLD_ALWAYS_INLINE void begin(const ContextHistory& past) {
    selected_ = 0;
    select(past, 1);
  }

 private:
  static constexpr int kBitsByOne = 16, kBitsByThree = 14;
  CountedRefinement by_one_ = CountedRefinement(std::size_t{1} << kBitsByOne);
  CountedRefinement by_three_ = CountedRefinement(std::size_t{1} << kBitsByThree);
  BitPath selected_ = 0;
};

bool with_column(const ContextMixingOptions& o) {
  return o.row == 0 && (o.contexts == MixingContexts::text || o.contexts == MixingContexts::full);
}
bool with_lines(const ContextMixingOptions& o) {
  return o.contexts == MixingContexts::text || o.contexts == MixingContexts::full;
}
std::size_t count_contexts(const ContextMixingOptions& o) {
  const std::size_t of_symbols = o.contexts == MixingContexts::few      ? 6
                                 : o.contexts == MixingContexts::text   ? 7
                                 : o.contexts == MixingContexts::binary ? 12
                                                                        : 17;
  return of_symbols + (with_lines(o) ? 4 : 0) + (with_column(o) ? 1 : 0) + (o.row > 0 ? 3 : 0);
}

}  // namespace
}  // namespace unfold
#endif

// Everything below is compiled once for each instruction set.
HWY_BEFORE_NAMESPACE();
namespace unfold {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

/// Loads the numbers at `from[place[k]]` one by one: a gather would have to wait for the last stores to complete.
/// Only the first kUsed are wanted.
template <std::size_t kUsed, class D>
UNFOLD_ALWAYS_INLINE hn::Vec<D> load_each(D d, const std::uint32_t* from, const std::int32_t* place) {
  const auto of = [&](std::size_t k) HWY_ATTR __attribute__((always_inline)) {
    return k < kUsed ? from[place[k]] : 1U << 31;
  };
  if constexpr (hn::MaxLanes(D()) == 8) {
    using EightWords = std::uint32_t __attribute__((vector_size(32)));
    const EightWords words = {of(0), of(1), of(2), of(3), of(4), of(5), of(6), of(7)};
    return hn::LoadU(d, reinterpret_cast<const std::uint32_t*>(&words));
  } else if constexpr (hn::MaxLanes(D()) == 4) {
    const FourWords words = {of(0), of(1), of(2), of(3)};
    return hn::LoadU(d, reinterpret_cast<const std::uint32_t*>(&words));
  } else {
    return hn::Set(d, of(0));
  }
}

/// Repeats four numbers.
template <class D>
UNFOLD_ALWAYS_INLINE hn::Vec<D> of_four(D d, FourFloats four) {
  if constexpr (hn::MaxLanes(D()) >= 4) {
    alignas(16) std::array<float, 4> x;
    store(four, x.data());
    return hn::LoadDup128(d, x.data());
  } else {
    return hn::Set(d, four[0]);
  }
}
const float kAllBits = std::bit_cast<float>(~std::uint32_t{0});
alignas(32) const std::array<float, 8> kLastTwo = {0, 0, 0, 0, 0, 0, kAllBits, kAllBits};

/// Adaptive maps from the counters of all contexts to probabilities (22 bits above a 10-bit count), evaluated in
/// parallel.
template <std::size_t kLanes, std::size_t kUsed>
class CounterMaps {
 public:
  static constexpr std::size_t kCells = BitHistories::kCells + HistoryRows::kRunCells;
  template <class Meaning>
  explicit CounterMaps(const Meaning& meaning) {
    constexpr std::uint32_t kEstimateTrust = 6;  // at first, each counter state predicts its own estimate
    std::vector<std::uint32_t> of_one(kCells, AdaptiveProbability().value);
    for (std::size_t i = 1; i < kCells; ++i) of_one[i] = AdaptiveProbability::of(meaning(i), kEstimateTrust).value;
    cells_.reserve(kLanes * kCells);
    for (std::size_t c = 0; c < kLanes; ++c) {
      cells_.insert(cells_.end(), of_one.begin(), of_one.end());
      first_.at(c) = static_cast<std::int32_t>(c * kCells);
    }
  }
  /// Computes the logits of the contexts, and their probabilities as twice the distance from 1/2.
  /// The last two numbers of each kind are replaced by the last two of `more_logits` and of `more_linear`, if
  /// `has_more`.
  UNFOLD_ALWAYS_INLINE void ask(const std::uint16_t* cell, const float* stretched, bool has_more,
                                FourFloats more_logits, FourFloats more_linear, float* logits, float* linear) {
    const D d;
    const hn::RebindToSigned<D> di;
    const hn::RebindToUnsigned<D> du;
    const hn::Rebind<std::uint16_t, D> d16;
#pragma GCC unroll 4
    for (std::size_t i = 0; i < kLanes; i += hn::MaxLanes(d)) {
      const auto at = hn::Add(hn::PromoteTo(di, hn::LoadU(d16, cell + i)), hn::Load(di, &first_[i]));
      hn::Store(at, di, &place_[i]);
      const auto value = i + hn::MaxLanes(d) <= kUsed
                             ? load_each<hn::MaxLanes(D())>(du, cells_.data(), &place_[i])
                             : load_each<kUsed % hn::MaxLanes(D())>(du, cells_.data(), &place_[i]);
      hn::Store(value, du, &values_[i]);
      const auto p = hn::BitCast(di, hn::ShiftRight<20>(value));
      auto x = hn::GatherIndex(d, stretched, p);
      auto y = hn::Mul(hn::Sub(hn::ConvertTo(d, p), hn::Set(d, 2048)), hn::Set(d, 1.0F / 1024));
      if (hn::MaxLanes(d) >= 4 && has_more && i + hn::MaxLanes(d) == kLanes) {
        const auto last = hn::MaskFromVec(hn::LoadU(d, kLastTwo.data() + kLastTwo.size() - hn::MaxLanes(d)));
        x = hn::IfThenElse(last, of_four(d, more_logits), x);
        y = hn::IfThenElse(last, of_four(d, more_linear), y);
      }
      hn::Store(x, d, logits + i);
      hn::Store(y, d, linear + i);
    }
    if (hn::MaxLanes(d) < 4 && has_more)
      for (int k = 2; k < 4; ++k) {
        logits[kLanes - 4 + k] = more_logits[k];
        linear[kLanes - 4 + k] = more_linear[k];
      }
  }
  /// Updates the cells of the last query; the cell of no observation (0) stays at 1/2.
  UNFOLD_ALWAYS_INLINE void learn(const std::uint16_t* cell, int bit) {
    const D d;
    const hn::RebindToSigned<D> di;
    const hn::RebindToUnsigned<D> du;
    const hn::Rebind<std::uint16_t, D> d16;
    const auto target = hn::Set(d, bit != 0 ? (1 << 22) - 1 : 0);
#pragma GCC unroll 4
    for (std::size_t i = 0; i < kLanes; i += hn::MaxLanes(d)) {
      const auto value = hn::Load(du, &values_[i]);
      const auto count = hn::And(value, hn::Set(du, 1023));
      const auto p = hn::ConvertTo(d, hn::BitCast(di, hn::ShiftRight<10>(value)));
      const auto seen = hn::Add(hn::ConvertTo(d, hn::BitCast(di, count)), hn::Set(d, 1.5F));
      const auto moved = hn::ConvertTo(di, hn::Add(p, hn::Div(hn::Sub(target, p), seen)));
      const auto counted = hn::Min(hn::Add(count, hn::Set(du, 1)), hn::Set(du, 1023));
      const auto next = hn::Or(hn::ShiftLeft<10>(hn::BitCast(du, moved)), counted);
      const auto unseen = hn::Eq(hn::PromoteTo(du, hn::LoadU(d16, cell + i)), hn::Zero(du));
      hn::Store(hn::IfThenElse(unseen, value, next), du, &values_[i]);
    }
    std::uint32_t* const cells = cells_.data();
#pragma GCC unroll 24
    for (std::size_t i = 0; i < kUsed; ++i) cells[place_[i]] = values_[i];
  }

 private:
  using D = hn::CappedTag<float, kSide>;
  std::vector<std::uint32_t> cells_;
  alignas(64) std::array<std::int32_t, kLanes> first_{}, place_{};
  alignas(64) std::array<std::uint32_t, kLanes> values_{};
};

/// kLanes: the number of contexts, rounded up to a multiple of kSide.
template <std::size_t kLanes, std::size_t kUsed>
class Core final : public MixingCore {
 public:
  static constexpr std::uint64_t kAbove = (1 << 17) - 1;  // two rows
  static constexpr std::size_t kRunsFrom = BitHistories::kCells;

  Core(const ContextMixingOptions& o, std::vector<std::uint8_t> bytes_of_symbols, int bits)
      : options(o),
        tree_bits(bits),
        bytes(std::move(bytes_of_symbols)),
        contexts(count_contexts(options)),
        rows(contexts, static_cast<std::size_t>(o.memory), bits),
        maps(initial_probability),
        match(match_size(o.memory * 16 / 15), o.contexts == MixingContexts::few ? 5 : 6),
        inputs(static_cast<Index>(first_weights().size())),
        mixers(first_weights(), kSets, kLasts) {
    if (o.row > 0) above.resize(kAbove + 1);
    start();
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
  /// Whether the four inputs that are not of a context are in lanes without a context.
  bool fits() const { return contexts + 2 <= kLanes; }
  std::vector<float> first_weights() const {
    constexpr auto kStep = static_cast<std::size_t>(kMixingLanes);
    const std::size_t n = 2 * kLanes + (fits() ? 0 : 4);
    std::vector<float> w((n + kStep - 1) / kStep * kStep);
    std::fill_n(w.begin(), contexts, kHistoryWeight);
    w[fits() ? kLanes - 2 : 2 * kLanes] = 0.2F;
    return w;
  }

  void start() override {
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

  void finish(Symbol symbol) override {
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
      case MixingContexts::text: past.text_contexts(with_column(options), add); break;
      case MixingContexts::binary: past.binary_contexts(add); break;
      case MixingContexts::full: past.full_contexts(with_column(options), add); break;
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
    if (with_lines(options)) lines.contexts(past, add);
    rows.prefetch();
  }

  /// Collects the inputs; returns the number of contexts that have seen this node.
  UNFOLD_ALWAYS_INLINE std::size_t gather(BitPath path, int depth) {
    rows.select(path, depth);
    EightCounters none{};
#pragma GCC unroll 4
    for (std::size_t i = 0; i < kLanes; i += kSide) {
      const EightCounters c =
          i + kSide <= kUsed ? rows.template counters<kSide>(i) : rows.template counters<kUsed % kSide>(i);
      none -= reinterpret_cast<EightCounters>(c == 0);
      store(c, &counters[i]);
      store(rows.run_cells(i, c, depth, kRunsFrom, BitHistories::cells(c)), &cells[i]);
    }
    // Adds the lanes, which are small.
    const std::uint64_t unknown =
        (load<std::array<std::uint64_t, 2>>(&none)[0] + load<std::array<std::uint64_t, 2>>(&none)[1]) *
            0x0001000100010001ULL >>
        48;
    std::array<float, 2> of_match;
    match.inputs(path, depth, tree_bits, of_match.data());
    const float of_symbol = expected.ask(path, depth);
    maps.ask(cells.data(), logistic.stretch_table(), fits(), FourFloats{0, 0, of_match[0], of_match[1]},
             FourFloats{0, 0, kBias, of_symbol}, inputs.data(), inputs.data() + kLanes);
    if (!fits()) store(FourFloats{of_match[0], of_match[1], kBias, of_symbol}, inputs.data() + 2 * kLanes);
    return kLanes - unknown;
  }

  UNFOLD_ALWAYS_INLINE std::size_t node_in_past(BitPath path) const { return (past.last(1) & 0xE0) << 3 | path; }

  UNFOLD_ALWAYS_INLINE float mix(BitPath path, int depth) {
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
  float probability(BitPath path, int depth) override {
    refinement.select(past, path);
    const float mixed = mix(path, depth);
    return 0.25F * mixers.probability() + 0.75F * refinement.refine(mixed);
  }

  void learn(BitPath path, int depth, int bit) override {
    expected.learn(path, depth, bit);
    match.learn(bit);
    const BitPath next_path = 2 * path + static_cast<BitPath>(bit);
    if (depth == tree_bits - 1)
      read(static_cast<Symbol>(next_path ^ BitPath{1} << tree_bits));
    else
      refinement.select(past, next_path);
    mixers.prefetch(3, node_in_past(depth == tree_bits - 1 ? 1 : next_path));
    maps.learn(cells.data(), bit);
    chance = chance * 0x9E3779B97F4A7C15ULL + 0xD1B54A32D192ED03ULL;
    rows.prepare(path, depth, bit);
#pragma GCC unroll 4
    for (std::size_t i = 0; i < kLanes; i += kSide) {
      const auto lot = static_cast<std::uint32_t>((chance + (i << 56)) >> 32);
      const EightCounters next = bit_histories.learn(load<EightCounters>(&counters[i]), bit, lot);
      i + kSide <= kUsed ? rows.template put<kSide>(i, next) : rows.template put<kUsed % kSide>(i, next);
    }
#pragma GCC unroll 4
    for (std::size_t i = 0; i < kLanes; i += kSide) rows.end_runs(i, depth, bit);
    mixers.learn(inputs.data(), bit);
    refinement.learn(bit);
  }

  std::unique_ptr<MixingCore> clone() const override { return std::make_unique<Core>(*this); }
  double decision_bytes() const override {
    const std::size_t of_counters = contexts * (sizeof(std::uint16_t) + sizeof(AdaptiveProbability));
    const std::size_t of_weights =
        sizeof(float) * (kSets.size() * static_cast<std::size_t>(inputs.size()) + kLasts.size() * kSets.size());
    // The last summand counts two refinements with two values each.
    return static_cast<double>(of_counters + of_weights + 4 * sizeof(std::uint32_t));
  }

 private:
  const Logistic& logistic = Logistic::tables();
  const BitHistories& bit_histories = BitHistories::tables();
  ContextMixingOptions options;
  int tree_bits;
  std::vector<std::uint8_t> bytes;
  std::size_t contexts;
  HistoryRows rows;
  CounterMaps<kLanes, kUsed> maps;
  alignas(64) std::array<std::uint16_t, kLanes> counters{},
      cells{};  // counters and cells for the node of the last query
  MatchModel match;
  ExpectedSymbolMap expected;
  Buffer<float> inputs;
  FiveMixers mixers;
  Refinement refinement;
  Followers followers;
  std::vector<std::uint8_t> above;  // ring buffer of the last kAbove + 1 bytes; empty if options.row is 0
  std::uint64_t place = 0, chance = 1;
  bool read_ahead = false;  // the current symbol was read before all its bits were learned
  ContextHistory past;
  LineHistory lines;
};

std::unique_ptr<MixingCore> make_core(const ContextMixingOptions& options, std::vector<std::uint8_t> bytes, int bits) {
  const std::size_t contexts = count_contexts(options);
  switch (contexts) {
    case 6: return std::make_unique<Core<8, 6>>(options, std::move(bytes), bits);
    case 9: return std::make_unique<Core<16, 9>>(options, std::move(bytes), bits);
    case 12: return std::make_unique<Core<16, 12>>(options, std::move(bytes), bits);
    case 15: return std::make_unique<Core<16, 15>>(options, std::move(bytes), bits);
    case 22: return std::make_unique<Core<24, 22>>(options, std::move(bytes), bits);
    default: return std::make_unique<Core<24, 24>>(options, std::move(bytes), bits);
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace unfold
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace unfold {
namespace {

HWY_EXPORT(make_core);

}  // namespace

std::unique_ptr<MixingCore> make_mixing_core(const ContextMixingOptions& options, std::vector<std::uint8_t> bytes,
                                             int symbol_bits) {
  return HWY_DYNAMIC_DISPATCH(make_core)(options, std::move(bytes), symbol_bits);
}

}  // namespace unfold
#endif  // HWY_ONCE
