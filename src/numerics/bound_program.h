#pragma once
/// Element-wise programs (pointwise.h) that run repeatedly over one row with fixed operands; all dispatch is done at
/// construction.
///
///   BoundProgram<float> gates(instructions, operands, 64);
///   gates();                                            // the bits of run_pointwise

#include <span>
#include <vector>

#include "unfold/numerics/pointwise.h"

namespace unfold {

/// The operands of one instruction, restricted to a tile.
template <class T>
struct Tile {
  Index rows = 0, cols = 0;
  Operand<T> out, x0, x1, y, seed;
  T k{};
};

/// REQUIRES: all operands of a program have `cols` columns. Operands without a base are stored in internal scratch
/// memory. Adjacent calls with the same operation are merged: gates that are contiguous in memory go through a single
/// sigmoid call.
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
