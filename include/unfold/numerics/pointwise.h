#pragma once
/// Element-wise maps, with values and partial derivatives in one table, and programs made of them.
///
/// The value, the linear rule (VJP and JVP are the same rule with different seeds), its squared form (the modulus
/// pass), the tests, the names in messages and the documentation are all generated from the table.
///
///   value:    y    = f(x0, x1)
///   linear:   out (=|+=) d_i(x0, x1, y) * seed
///   squared:  out (=|+=) d_i(x0, x1, y)^2 * seed
///
/// The errors in ulp, for float and double, are at most 1.1 for exp, 0.9 for log, 1.5 for tanh, 2.5 for sigmoid and 1.8
/// for softplus.

#include <span>
#include <string_view>
#include <vector>

#include "unfold/base/views.h"

namespace unfold {

/// Each map has a name, an arity, the operands of its partial derivatives (x: inputs, y: output), and a path reading
/// (see below). Positively homogeneous maps have a path reading: out = sum_i c_i * in_i with constant c_i (the squared,
/// linearized map). The other maps have no path reading; the path pass raises an error that names them.
enum class Map : unsigned char {
  add,           ///< x0 + x1
  sub,           ///< x0 - x1
  mul,           ///< x0 * x1
  scale,         ///< k * x0
  shift,         ///< x0 + k
  one_minus,     ///< 1 - x0
  sigmoid,       ///< 1 / (1 + exp(-x0))
  hard_sigmoid,  ///< min(max(x0 / 4 + 1/2, 0), 1); derivative 0 where the value is 0 or 1
  tanh,          ///< tanh(x0)
  relu,          ///< max(x0, 0); derivative 0 at 0
  softplus,      ///< log(1 + exp(x0))
  exp,           ///< exp(x0)
  log,           ///< log(x0)
  square,        ///< x0^2
  copy           ///< x0
};
inline constexpr int kMapCount = static_cast<int>(Map::copy) + 1;

struct MapInfo {
  std::string_view name;
  int arity;
  bool needs_input;   ///< a partial derivative reads x0 or x1
  bool needs_output;  ///< a partial derivative reads y
  bool has_constant;  ///< uses k
  bool homogeneous;   ///< f(a x) = a f(x) for a > 0, for all inputs jointly
  /// Path reading of input i: the squared slope of the linearized map (ReLU treated as identity); null unless
  /// homogeneous.
  double (*path_coefficient)(int input, double k);
};
const MapInfo& map_info(Map map);

/// Double-precision scalar reference of each map and partial derivative, which the vector code approximates; for tests
/// and messages.
double map_value(Map map, double x0, double x1, double k);
double map_partial(Map map, int input, double x0, double x1, double y, double k);

enum class Rule : unsigned char { value, linear, squared };

/// One instruction over the slots of a program. Evaluation order: value f, then out + f; linear d * seed, or fma(d,
/// seed, out); squared (d * d) * seed, or fma(d * d, seed, out). Without accumulate, `out` is not read.
///
/// Two steps can be fused into one instruction, with results that are bit-identical to two instructions with memory in
/// between. M is the map in `through`:
///
///   value of add:   out = M(x0 + x1), M sigmoid or tanh
///   value of mul:   out = M(x0 * x1 + seed), M sigmoid, tanh or copy; seed: another value, or -1 for none
///   linear of mul:  out (=|+=) dM(y) * (x * seed), dM the partial of sigmoid or tanh, y its output
struct Instruction {
  Map map = Map::copy;
  Rule rule = Rule::value;
  unsigned char input = 0;                  ///< index of the partial derivative, for linear and squared
  bool accumulate = false;                  ///< out += instead of out =
  int out = -1;                             ///< slot written
  int x0 = -1, x1 = -1, y = -1, seed = -1;  ///< slots read; -1 if the rule does not read the operand
  double k = 0;                             ///< constant of the map
  Map through = Map::copy;                  ///< map of a fused instruction (see above)
};

/// Memory of a slot: element (r, c) is at base[r * stride + c]; stride 0 repeats one row. If base is nullptr, the slot
/// is in the scratch memory of the tile, which stays in the cache.
template <class T>
struct Operand {
  T* base = nullptr;
  Index stride = 0;
};

/// Runs instructions in order over all elements (r, c), r in [0, rows), c in `cols`, tile by tile, so slots stay in the
/// first-level cache. Element (r, c) of every instruction depends only on elements (r, c), so tiling has no effect on
/// results; an operand with stride 0 may be read but not written. An output may use the same memory as an input of the
/// same or an earlier instruction (in-place gates). REQUIRES: operands.size() >= 1 + the largest slot used. Thread-safe
/// on disjoint rows or columns. Does not allocate once `scratch` is large enough; the caller owns one scratch object
/// per thread.
template <class T>
class PointwiseScratch {
 public:
  T* reserve(Index elements) {
    if (memory_.size() < elements) memory_.resize(elements);
    return memory_.data();
  }
  std::vector<Operand<T>>& places(std::size_t slots) {
    if (places_.size() < slots) places_.resize(slots);
    return places_;
  }

 private:
  Buffer<T> memory_;
  std::vector<Operand<T>> places_;
};

template <class T>
void run_pointwise(std::span<const Instruction> program, std::span<const Operand<T>> operands, Index rows, Range cols,
                   PointwiseScratch<T>& scratch);

}  // namespace unfold
