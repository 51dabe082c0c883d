#pragma once
/// Output recurrence in training: what a network reads as "previous F" is true for some positions, then what the
/// network itself gave there for some, and the gradient flows back through it ("true for n steps, then free for k"; the
/// output recurrence of Williams & Zipser 1989). The network has an input "free previous F" for each of them, 1 where
/// its own output is read (models/feedback.h); this says where.

#include <cstdint>
#include <string_view>

#include "unfold/data/batch.h"

namespace unfold {

/// Of every given + free positions of a sequence the first `given` read what is true.
struct Feedback {
  Index given = 0, free = 0;
  bool on() const { return free > 0; }
  /// "20+10". Throws UsageError: two numbers from 1 to 1,000,000; the first may be 0.
  static Feedback parse(std::string_view text);
};

/// The field of a batch that says where own outputs are read in place of the field `read`.
std::string free_field(std::string_view read);

template <class T>
class FreePositions {
 public:
  /// Throws UsageError: a network without such inputs.
  FreePositions(const Network<T>& network, const Feedback& feedback, std::uint64_t seed);

  /// The batch with these fields. Of the positions that are free, a share `forcing` reads what is true nevertheless: a
  /// function of the seed and `step`. Free are none that nothing of the sequence stands before, nor those where what is
  /// true is missing.
  const Batch& mark(const Batch& batch, double forcing, Index step);

 private:
  struct Use {
    std::string read, field;
    Index back;
  };
  void mark(const Use& use, double forcing, Random& random);

  Feedback feedback_;
  std::uint64_t seed_;
  std::vector<Use> uses_;
  Batch marked_;
};

}  // namespace unfold
