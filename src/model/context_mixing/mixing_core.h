#pragma once
/// Internal to ContextMixing: the model itself, compiled once for each instruction set, and the choice among them.
/// Results are bit-identical for every instruction set: products are rounded before they are added, and sums have a
/// fixed order.

#include <memory>
#include <vector>

#include "model/context_mixing/context_mixing.h"

namespace unfold {

class MixingCore {
 public:
  virtual ~MixingCore() = default;
  MixingCore& operator=(const MixingCore&) = delete;
  MixingCore& operator=(MixingCore&&) = delete;

  /// Returns P(1) of the bit after `path`.
  virtual float probability(BitPath path, int depth) = 0;
  virtual void learn(BitPath path, int depth, int bit) = 0;
  virtual void finish(Symbol symbol) = 0;
  virtual void start() = 0;  ///< starts a new sequence
  virtual std::unique_ptr<MixingCore> clone() const = 0;
  virtual double decision_bytes() const = 0;

  bool learning = true;

 protected:
  MixingCore() = default;
  MixingCore(const MixingCore&) = default;
  MixingCore(MixingCore&&) = default;
};

/// Returns the model for the best instruction set of the processor.
std::unique_ptr<MixingCore> make_mixing_core(const ContextMixingOptions& options, std::vector<std::uint8_t> bytes,
                                             int symbol_bits);

}  // namespace unfold
