#include "model/context_mixing/nucleotide_mixing.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <initializer_list>
#include <utility>

#include "model/context_mixing/gated_mixer.h"
#include "unfold/base/error.h"

namespace unfold {
namespace {

const Logistic& kBaseLogit = Logistic::tables();

/// 2^16 / (n + 1.5)
constexpr std::array<std::int32_t, 1024> kBaseRates = [] {
  std::array<std::int32_t, 1024> table{};
  for (std::int32_t n = 0; n < 1024; ++n) table[static_cast<std::size_t>(n)] = 2 * 65536 / (2 * n + 3);
  return table;
}();

/// The state of a context of fixed length: the last bases on this strand, and their reverse complement.
class StrandContext {
 public:
  explicit StrandContext(int order) : order_(order) {}
  int order() const { return order_; }
  std::uint64_t forward() const { return forward_; }
  std::uint64_t inverted() const { return inverted_; }
  void start() { forward_ = inverted_ = 0; }
  void advance(unsigned base) {
    const int bits = 2 * order_;
    forward_ = (forward_ << 2 | base) & ((std::uint64_t{1} << bits) - 1);
    inverted_ = inverted_ >> 2 | std::uint64_t{3 - base} << (bits - 2);
  }

 private:
  int order_;
  std::uint64_t forward_ = 0, inverted_ = 0;
};

/// Short contexts: P(1) of the three nodes of a base in units of 2^-16, and the number of bases seen.
class BaseProbabilities {
 public:
  static constexpr std::size_t kInputs = 1;
  BaseProbabilities(int order, std::uint16_t limit)
      : limit_(limit), cells_(std::size_t{1} << (2 * order), Cell{{1U << 15, 1U << 15, 1U << 15}, 0}) {}
  void select(std::uint64_t context) { chosen_ = context; }
  void prefetch(std::uint64_t context) const { __builtin_prefetch(&cells_[context]); }
  void ask(std::size_t node, float* x) const { x[0] = kBaseLogit.stretch(cells_[chosen_].p[node] >> 4); }
  void learn(std::uint64_t context, unsigned base) {
    Cell& cell = cells_[context];
    teach(cell.p[0], base >> 1, cell.count);
    teach(cell.p[1 + (base >> 1)], base & 1, cell.count / std::size_t{2});
    if (cell.count < limit_) ++cell.count;
  }

 private:
  struct Cell {
    std::array<std::uint16_t, 3> p;
    std::uint16_t count;
  };
  static void teach(std::uint16_t& p, unsigned bit, std::size_t count) {
    const std::int64_t target = bit != 0 ? 65535 : 0;
    p = static_cast<std::uint16_t>(p + ((target - p) * kBaseRates[count] >> 16));
  }
  std::uint16_t limit_;
  std::vector<Cell> cells_;
  std::uint64_t chosen_ = 0;
};

/// Long contexts: hashed counts, up to 15, of the bases that followed, with an adaptive map from two counts to a
/// probability.
class BaseCounts {
 public:
  static constexpr std::size_t kInputs = 2;
  BaseCounts(int order, int bits)
      : order_(order), bits_(bits), counts_(std::size_t{1} << bits), meaning_(2 * kSide * kSide) {
    for (std::size_t i = 0; i < meaning_.size(); ++i) {
      const double zeros = static_cast<double>(i / kSide % kSide), ones = static_cast<double>(i % kSide);
      meaning_[i] = AdaptiveProbability::of((ones + 0.4) / (ones + zeros + 0.8), 2);
    }
  }
  std::uint64_t place(std::uint64_t context) const {
    return 2 * order_ <= bits_ ? context : hash(context, 7) >> (64 - bits_);
  }
  void select(std::uint64_t context) { chosen_ = counts_[place(context)]; }
  void prefetch(std::uint64_t context) const { __builtin_prefetch(&counts_[place(context)]); }
  void ask(std::size_t node, float* x) {
    const auto n = [&](unsigned base) { return static_cast<std::size_t>(chosen_ >> (4 * base) & 15); };
    const std::size_t zeros = node == 0 ? n(0) + n(1) : n(2 * static_cast<unsigned>(node - 1));
    const std::size_t ones = node == 0 ? n(2) + n(3) : n(2 * static_cast<unsigned>(node - 1) + 1);
    cell_ = ((node == 0 ? 0 : 1) * kSide + zeros) * kSide + ones;
    const std::uint32_t p = meaning_[cell_].p12();
    x[0] = zeros + ones == 0 ? 0 : kBaseLogit.stretch(p);
    x[1] = zeros + ones == 0 ? 0 : (static_cast<float>(p) - 2048) * (1.0F / 512);
  }
  void learn_meaning(int bit) { meaning_[cell_].learn(bit); }
  void learn(std::uint64_t context, unsigned base) {
    std::uint16_t& counts = counts_[place(context)];
    const unsigned n = counts >> (4 * base) & 15U;
    if (n == 15) counts = static_cast<std::uint16_t>(counts >> 1 & 0x7777);
    counts = static_cast<std::uint16_t>(counts + (1U << (4 * base)));
    if (order_ <= kNoForgetting) return;  // in long contexts, recent observations are more informative
    for (unsigned other = 0; other < 4; ++other)
      if (other != base && (counts >> (4 * other) & 15U) > 1)
        counts = static_cast<std::uint16_t>(counts - (1U << (4 * other)));
  }

 private:
  static constexpr std::size_t kSide = 31;  // number of values for the counts of two bases
  static constexpr int kNoForgetting = 12;
  int order_, bits_;
  std::vector<std::uint16_t> counts_;
  std::vector<AdaptiveProbability> meaning_;
  std::uint16_t chosen_ = 0;
  std::size_t cell_ = 0;
};

/// The last 2^bits bases, four per byte.
class BaseHistory {
 public:
  explicit BaseHistory(int bits) : mask_((std::uint64_t{1} << bits) - 1), bases_((mask_ + 1) / 4) {}
  void add(unsigned base) {
    std::uint8_t& four = bases_[(end_ & mask_) / 4];
    const unsigned shift = 2 * (end_ & 3);
    four = static_cast<std::uint8_t>((four & ~(3U << shift)) | base << shift);
    ++end_;
  }
  unsigned at(std::uint64_t place) const { return bases_[(place & mask_) / 4] >> (2 * (place & 3)) & 3U; }
  std::uint64_t end() const { return end_; }
  bool holds(std::uint64_t place) const { return place < end_ && end_ - place <= mask_; }

 private:
  std::uint64_t mask_, end_ = 0;
  std::vector<std::uint8_t> bases_;
};

/// The last 32 bases of this sequence.
class RecentBases {
 public:
  void start() { bases_ = count_ = 0; }
  void add(unsigned base) {
    bases_ = bases_ << 2 | base;
    ++count_;
  }
  unsigned back(std::uint64_t distance) const { return bases_ >> (2 * distance) & 3U; }  ///< distance 0: the last base
  std::uint64_t last(int bases) const { return bases_ & ((std::uint64_t{1} << (2 * bases)) - 1); }
  std::uint64_t count() const { return std::min<std::uint64_t>(count_, 32); }

 private:
  std::uint64_t bases_ = 0, count_ = 0;
};

/// Follows an earlier occurrence of the last bases, on this strand or the other one. The copy is dropped after too many
/// misses instead of after the first miss.
class Copy {
 public:
  static constexpr std::size_t kInputs = 2;
  explicit Copy(bool inverted) : inverted_(inverted), sure_(2 * kHistories) {
    for (std::size_t i = 0; i < sure_.size(); ++i) {
      const auto misses = static_cast<double>(std::popcount(i % kHistories / 32));
      sure_[i] = AdaptiveProbability::of(std::max(0.3, 0.95 - 0.1 * misses), 2);
    }
  }
  void start() { following_ = false; }
  bool following() const { return following_; }
  /// Starts at the base that is expected next.
  void follow(std::uint64_t place, std::uint32_t length) {
    following_ = true;
    place_ = place;
    misses_ = 0;
    length_ = length;
  }
  void look(const BaseHistory& history) {
    if (following_ && !history.holds(place_)) following_ = false;
    if (following_) expected_ = inverted_ ? 3 - history.at(place_) : history.at(place_);
  }
  std::size_t certainty() const {
    return following_ ? 1 + std::min<std::size_t>(6, static_cast<std::size_t>(std::popcount(misses_))) : 0;
  }
  void ask(std::size_t node, float* x) {
    x[0] = x[1] = 0;
    asked_ = following_ && (node == 0 || (expected_ >> 1) + 1 == node);
    if (!asked_) return;
    const unsigned bit = node == 0 ? expected_ >> 1 : expected_ & 1;
    cell_ = (node == 0 ? 0 : kHistories) + history();
    bit_ = static_cast<int>(bit);
    const std::uint32_t p = sure_[cell_].p12();
    const float sign = bit != 0 ? 1.0F : -1.0F;
    x[0] = sign * kBaseLogit.stretch(p);
    x[1] = sign * (static_cast<float>(p) - 2048) * (1.0F / 512);
  }
  void learn(int bit) {
    if (asked_) sure_[cell_].learn(bit == bit_ ? 1 : 0);
  }
  void advance(unsigned base) {
    if (!following_) return;
    const bool missed = base != expected_;
    misses_ = misses_ << 1 | (missed ? 1U : 0U);
    length_ = missed ? length_ / 4 : length_ + 1;
    if (std::popcount(misses_ & 0xFFFF) > kMostMisses) following_ = false;
    if (inverted_ && place_ == 0) following_ = false;
    place_ += inverted_ ? ~std::uint64_t{0} : 1;
  }

 private:
  /// The last eight hits and misses, the number of earlier misses, and the number of hits since the last miss.
  std::size_t history() const {
    const std::size_t grown = length_ < 16 ? 0
                              : length_ < 24
                                  ? 1
                                  : std::min<std::size_t>(31, static_cast<std::size_t>(std::bit_width(length_)) - 3);
    const auto before = static_cast<std::size_t>(std::min(7, std::popcount(misses_ >> 8)));
    return before << 13 | static_cast<std::size_t>(misses_ & 0xFF) << 5 | grown;
  }
  static constexpr std::size_t kHistories = std::size_t{1} << 16;
  static constexpr int kMostMisses = 8;
  bool inverted_, following_ = false, asked_ = false;
  std::uint64_t place_ = 0;
  std::uint32_t misses_ = 0, length_ = 0;
  unsigned expected_ = 0;
  int bit_ = 0;
  std::size_t cell_ = 0;
  std::vector<AdaptiveProbability> sure_;
};

/// The copies on both strands, found by the last `order` bases.
struct Copies {
  Copies(int order, int place_bits) : context(order), bits(place_bits), ends(std::size_t{1} << place_bits) {}
  std::uint64_t place(std::uint64_t bases) const { return hash(bases, 11) >> (64 - bits); }
  void start() {
    context.start();
    forward.start();
    inverted.start();
  }
  void advance(unsigned base, const BaseHistory& history, const RecentBases& recent, bool remember) {
    forward.advance(base);
    inverted.advance(base);
    context.advance(base);
    const auto order = static_cast<std::uint64_t>(context.order());
    if (recent.count() >= order) {
      std::uint32_t& here = ends[place(context.forward())];
      if (!forward.following()) look_forward(here, history, recent);
      if (!inverted.following()) look_back(ends[place(context.inverted())], history, recent);
      if (remember) here = static_cast<std::uint32_t>(history.end());
    }
    forward.look(history);
    inverted.look(history);
  }
  void look_forward(std::uint64_t end, const BaseHistory& history, const RecentBases& recent) {
    if (end == 0) return;
    std::uint64_t same = 0;
    while (same < recent.count() && same < end && history.holds(end - 1 - same) &&
           history.at(end - 1 - same) == recent.back(same))
      ++same;
    if (same >= static_cast<std::uint64_t>(context.order())) forward.follow(end, static_cast<std::uint32_t>(same));
  }
  /// On the other strand, the copy continues where the occurrence begins.
  void look_back(std::uint64_t end, const BaseHistory& history, const RecentBases& recent) {
    const auto order = static_cast<std::uint64_t>(context.order());
    if (end <= order) return;
    const std::uint64_t from = end - order;
    std::uint64_t same = 0;
    while (same < recent.count() && history.holds(from + same) && history.at(from + same) == 3 - recent.back(same))
      ++same;
    if (same >= order) inverted.follow(from - 1, static_cast<std::uint32_t>(same));
  }

  /// Class of the confidence of both copies, below 64.
  std::size_t certainty() const { return forward.certainty() * 8 + inverted.certainty(); }

  StrandContext context;
  int bits;
  std::vector<std::uint32_t> ends;  // the position after the last occurrence, by hash; 0: none
  Copy forward{false}, inverted{true};
};

}  // namespace

struct NucleotideMixing::Body {
  static constexpr std::array<int, 8> kShort = {1, 2, 3, 4, 6, 8, 9, 10};
  static constexpr std::array<int, 5> kLong = {11, 12, 14, 16, 20};
  static constexpr std::array<int, 3> kCopied = {12, 16, 24};
  static constexpr int kHistoryBits = 24;

  explicit Body(int size)
      : mixers(first_weights(), {kNodes * 256, kNodes * 64, kNodes * 64, kNodes * 1024}, {kNodes * 64}),
        by_bases(kNodes << 12),
        by_copies(kNodes << 12),
        history(kHistoryBits) {
    for (const int order : kShort) {
      contexts.emplace_back(order);
      probabilities.emplace_back(order, order <= 8 ? 1023 : 255);
    }
    for (const int order : kLong) {
      contexts.emplace_back(order);
      counts.emplace_back(order, std::min(order == 12 ? size + 2 : size, 2 * order));
    }
    for (const int order : kCopied) copies.emplace_back(order, size - 2);
    start();
  }
  static std::vector<float> first_weights() {
    constexpr std::size_t kCounts = kLong.size(), kCopies = 2 * kCopied.size();
    std::vector<float> w(kInputs);
    for (std::size_t i = 0; i < kShort.size(); ++i) w[i] = 0.1F;
    for (std::size_t i = 0; i < kCounts; ++i) w[kShort.size() + BaseCounts::kInputs * i] = 0.1F;
    for (std::size_t i = 0; i < kCopies; ++i)
      w[kShort.size() + BaseCounts::kInputs * kCounts + Copy::kInputs * i] = 0.3F;
    return w;
  }

  void start() {
    for (StrandContext& context : contexts) context.start();
    for (Copies& copy : copies) copy.start();
    recent.start();
    select();
  }

  void select() {
    for_each_context([](auto& model, const StrandContext& context) { model.select(context.forward()); });
  }

  float logit(BitPath path) {
    node = path - 1;
    float* x = inputs.data();
    for (const BaseProbabilities& p : probabilities) {
      p.ask(node, x);
      x += BaseProbabilities::kInputs;
    }
    for (BaseCounts& c : counts) {
      c.ask(node, x);
      x += BaseCounts::kInputs;
    }
    for (Copies& c : copies) {
      c.forward.ask(node, x);
      c.inverted.ask(node, x + Copy::kInputs);
      x += 2 * Copy::kInputs;
    }
    *x = 0.3F;  // bias
    const std::size_t near = copies.front().certainty(), far = copies.back().certainty();
    mixers.select(0, node * 256 + recent.last(4));
    mixers.select(1, node * 64 + near);
    mixers.select(2, node * 64 + far);
    mixers.select(3, node * 1024 + recent.last(5));
    mixers.select_last(0, node * 64 + far);
    const float mixed = mixers.mix(inputs.data());
    by_bases.select(node << 12 | recent.last(6));
    by_copies.select(node << 12 | near << 6 | far);
    return 0.5F * mixed + 0.25F * (by_bases.refine(mixed) + by_copies.refine(mixed));
  }

  void learn(int bit) {
    for (BaseCounts& c : counts) c.learn_meaning(bit);
    for (Copies& c : copies) {
      c.forward.learn(bit);
      c.inverted.learn(bit);
    }
    mixers.learn(inputs.data(), bit);
    by_bases.learn(bit);
    by_copies.learn(bit);
  }

  void advance(unsigned base) {
    if (learning)
      for_each_context([&](auto& model, const StrandContext& context) { model.learn(context.forward(), base); });
    if (learning) history.add(base);  // bases that are not learned cannot be matched later
    recent.add(base);
    for (StrandContext& context : contexts) context.advance(base);
    for_each_context([&](auto& model, const StrandContext& context) {
      model.prefetch(context.inverted());
      model.prefetch(context.forward());
    });
    for (Copies& copy : copies) copy.advance(base, history, recent, learning);
    if (learning) learn_inverted();
    select();
  }

  /// Learns from the reverse strand: the base before the context, read in the reverse direction.
  void learn_inverted() {
    for_each_context([&](auto& model, const StrandContext& context) {
      const auto order = static_cast<std::uint64_t>(context.order());
      if (recent.count() > order) model.learn(context.inverted(), 3 - recent.back(order));
    });
  }

  template <class Work>
  void for_each_context(const Work& work) {
    auto context = contexts.begin();
    for (BaseProbabilities& model : probabilities) work(model, *context++);
    for (BaseCounts& model : counts) work(model, *context++);
  }

  static constexpr std::size_t kNodes = 3;  // nodes of the tree of a base
  static constexpr std::size_t kAsked =
      kShort.size() + BaseCounts::kInputs * kLong.size() + 2 * Copy::kInputs * kCopied.size() + 1;
  static constexpr std::size_t kLaneCount = static_cast<std::size_t>(kMixingLanes);
  static constexpr std::size_t kInputs = (kAsked + kLaneCount - 1) / kLaneCount * kLaneCount;

  bool learning = true;
  std::vector<StrandContext> contexts;  // probabilities first, then counts
  std::vector<BaseProbabilities> probabilities;
  std::vector<BaseCounts> counts;
  std::vector<Copies> copies;
  alignas(64) std::array<float, kInputs> inputs{};
  GatedMixer mixers;
  RefinementMap by_bases, by_copies;
  BaseHistory history;
  RecentBases recent;
  std::size_t node = 0;
};

NucleotideMixing::NucleotideMixing(Index alphabet, int size) : BitwisePredictor(alphabet) {
  if (alphabet != 4)
    throw UsageError(
        fmt::format("dna: the alphabet must consist of the four bases, but has {} symbols; several FASTA "
                    "records are separated by a symbol: use one record of A, C, G and T, or --model cm",
                    alphabet));
  if (size < kLeastSize || size > kMostSize)
    throw UsageError(fmt::format("dna: size {} must be from {} to {}", size, kLeastSize, kMostSize));
  body_ = std::make_unique<Body>(size);
}

NucleotideMixing::~NucleotideMixing() = default;
NucleotideMixing::NucleotideMixing(const NucleotideMixing& other)
    : BitwisePredictor(other), body_(std::make_unique<Body>(*other.body_)) {}

float NucleotideMixing::logit(BitPath path, int) { return body_->logit(path); }
void NucleotideMixing::learn(BitPath, int, int bit) { body_->learn(bit); }
void NucleotideMixing::finish(Symbol symbol) {
  forget_distribution();
  body_->advance(static_cast<unsigned>(symbol));
}

void NucleotideMixing::reset() {
  forget_distribution();
  body_->start();
}

void NucleotideMixing::set_learning(bool on) { body_->learning = on; }
bool NucleotideMixing::learning() const { return body_->learning; }
std::unique_ptr<Predictor> NucleotideMixing::clone() const {
  return std::unique_ptr<Predictor>(new NucleotideMixing(*this));
}

}  // namespace unfold
