#include "model/context_mixing/context_mixing.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"
#include "model/context_mixing/context_mixing_parts.h"
#include "model/context_mixing/logistic.h"
#include "model/context_mixing/mixing_contexts.h"

namespace unfold {
namespace {

/// Initial weights: the adaptive estimates have a positive weight, the other inputs start at 0.
std::vector<float> first_weights(std::size_t contexts) {
  const auto inputs = contexts * CounterMap::kInputs + MatchModel::kInputs + 1;
  std::vector<float> w((inputs + kMixLanes - 1) / kMixLanes * kMixLanes);
  for (std::size_t i = 0; i < contexts; ++i) w[i * CounterMap::kInputs] = 0.2F;
  w[contexts * CounterMap::kInputs] = 0.2F;
  return w;
}

}  // namespace

struct ContextMixing::Body {
  Body(const ContextMixingOptions& o, std::vector<std::uint8_t> bytes_of_symbols, int bits)
      : options(o),
        full(o.level == MixingLevel::full),
        tree_bits(bits),
        bytes(std::move(bytes_of_symbols)),
        contexts(full ? 16 : 6),
        hashes(contexts),
        keys(contexts),
        slots(contexts),
        match(o.size + 3, full ? 6 : 5),
        inputs(first_weights(contexts).size()),
        mixers(first_weights(contexts),
               full ? std::vector<std::size_t>{256, kLengths, 256, 256, std::size_t{256} * 3}
                    : std::vector<std::size_t>{256, kLengths},
               256),
        order1(1 << 16),
        order2(1 << 16) {
    for (std::size_t i = 0; i < contexts; ++i) {
      tables.emplace_back(o.size);
      maps.emplace_back(i <= 2 ? 255 : 127);
    }
    start();
  }

  void start() {
    past = {};
    match.start();
    set_contexts();
  }

  void advance(Symbol symbol) {
    const std::uint8_t byte =
        bytes.empty() ? static_cast<std::uint8_t>(symbol) : bytes[static_cast<std::size_t>(symbol)];
    past.advance(symbol, byte);
    match.advance(symbol, learning);
    set_contexts();
  }

  void set_contexts() {
    std::size_t i = 0;
    const auto add = [&](std::uint64_t value) {
      hashes[i] = hash(value, i);
      ++i;
    };
    if (full)
      past.full_contexts(true, add);
    else
      past.few_contexts(add);
    half = 0;
  }

  /// Finds the slots of the half of a symbol that begins with `prefix`.
  void select_half(BitPath prefix) {
    half = prefix;
    for (std::size_t i = 0; i < contexts; ++i) {
      keys[i] = prefix == 1 ? hashes[i] : hash(hashes[i], prefix);
      tables[i].prefetch(keys[i]);
    }
    for (std::size_t i = 0; i < contexts; ++i) slots[i] = tables[i].find(keys[i]);
  }

  /// Collects the inputs; returns the number of context models that have seen this node.
  std::size_t gather(BitPath path, int depth) {
    const HalfPlace at = half_place(path, depth);
    if (at.prefix != half) select_half(at.prefix);
    node = at.node;
    float* x = inputs.data();
    std::size_t known = 0;
    for (std::size_t i = 0; i < contexts; ++i, x += CounterMap::kInputs) {
      maps[i].inputs(slots[i], node, x);
      known += slots[i] != nullptr && slots[i]->count[node] != 0;
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
      mixers.select(
          4, length == 0 ? 0 : static_cast<std::size_t>(match.expected()) + 256 * std::min<std::size_t>(2, length / 3));
    }
    const float mixed = mixers.mix(inputs.data(), path);
    return 0.5F * (order1.refine(mixed) + order2.refine(mixed));
  }

  void learn(int bit) {
    for (std::size_t i = 0; i < contexts; ++i) {
      if (slots[i] == nullptr) slots[i] = tables[i].create(keys[i]);
      maps[i].learn(*slots[i], node, bit);
    }
    match.learn(bit);
    mixers.learn(inputs.data(), bit);
    order1.learn(bit);
    order2.learn(bit);
  }

  // Match length, number of models with observations, depth.
  static constexpr std::size_t kLengths = std::size_t{16} * 20 * 8;

  ContextMixingOptions options;
  bool full, learning = true;
  int tree_bits;
  std::vector<std::uint8_t> bytes;
  std::size_t contexts;
  std::vector<ContextTable> tables;
  std::vector<CounterMap> maps;
  std::vector<std::uint64_t> hashes, keys;  // hashes of the contexts; keys of their slots in the current half
  std::vector<ContextSlot*> slots;
  MatchModel match;
  std::vector<float> inputs;
  MixerLayers mixers;
  RefinementMap order1, order2;

  ContextHistory past;
  BitPath half = 0;      // prefix of the current half; 0: none yet
  std::size_t node = 0;  // node within the half
};

ContextMixing::ContextMixing(Index alphabet, const ContextMixingOptions& options, std::vector<std::uint8_t> bytes)
    : BitwisePredictor(alphabet) {
  if (alphabet > 256)
    throw UsageError(fmt::format(
        "cm: context mixing supports at most 256 symbols, but there are {}; use --symbols bytes", alphabet));
  if (options.size < 10 || options.size > 24)
    throw UsageError(fmt::format("cm: size {} must be from 10 to 24", options.size));
  body_ = std::make_unique<Body>(options, std::move(bytes), tree().bits());
}

ContextMixing::~ContextMixing() = default;
ContextMixing::ContextMixing(const ContextMixing& other)
    : BitwisePredictor(other), body_(std::make_unique<Body>(*other.body_)) {
  body_->half = 0;  // the slots found belong to the tables of the other object
}

float ContextMixing::logit(BitPath path, int depth) { return body_->logit(path, depth); }
void ContextMixing::learn(BitPath, int, int bit) { body_->learn(bit); }
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
