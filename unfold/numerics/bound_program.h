#pragma once
/// Element-wise programs (pointwise.h) over one row again and again, its operands where they are: nothing is left to be
/// found out when a program runs.
///
///   BoundProgram<float> gates(instructions, operands, 64);
///   gates();                                            // the bits of run_pointwise

#include <span>
#include <vector>

#include "unfold/numerics/pointwise.h"

namespace unfold {

/// The operands of one instruction, cut to a tile.
template <class T>
struct Tile {
  Index rows = 0, cols = 0;
  Operand<T> out, x0, x1, y, seed;
  T k{};
};

/// REQUIRES: all operands of a program are of `cols` columns. Operands without a base lie in memory of its own. What
/// does the same to neighbours is done at once: gates that lie side by side go through one sigmoid.
template <class T>
class BoundProgram {
 public:
  BoundProgram(std::span<const Instruction> program, std::span<const Operand<T>> operands, Index cols);
  void operator()() const {
    for (const Call& call : calls_) call.kernel(call.tile);
  }

 private:
  struct Call {
    void (*kernel)(const Tile<T>&);
    Tile<T> tile;
  };
  bool joins(const Call& call, std::size_t earlier) const;

  std::vector<Call> calls_;
  Buffer<T> scratch_;
};

}  // namespace unfold
