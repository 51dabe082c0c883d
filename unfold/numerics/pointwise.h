#pragma once
/// Element-wise maps: a value and its partial derivatives, in one table; and programs made of them.
///
/// From the table follow the value, the linear rule (VJP and JVP are the same rule with another seed), its squared
/// form (the modulus pass), the tests, the names in messages and the documentation.
///
///   value:    y    = f(x0, x1)
///   linear:   out (=|+=) d_i(x0, x1, y) * seed
///   squared:  out (=|+=) d_i(x0, x1, y)^2 * seed
///
/// Maximum errors in ulp of the functions are stated in functions.h and tested.

#include <span>
#include <string_view>
#include <vector>

#include "unfold/base/views.h"

namespace unfold {

/// name, arity, what its partials read (x: inputs, y: output), path reading (see below)
/// Positively homogeneous maps have a path reading: out = sum_i c_i * in_i with constant c_i (the squared, linearised
/// map); the others do not, and the path pass refuses them by name.
enum class Map : unsigned char {
  add,           ///< x0 + x1
  sub,           ///< x0 - x1
  mul,           ///< x0 * x1
  scale,         ///< k * x0
  shift,         ///< x0 + k
  one_minus,     ///< 1 - x0
  sigmoid,       ///< 1 / (1 + exp(-x0))
  hard_sigmoid,  ///< min(max(x0 / 4 + 1/2, 0), 1); derivative 0 where it is 0 or 1
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
  bool needs_input;   ///< some partial reads x0 or x1
  bool needs_output;  ///< some partial reads y
  bool has_constant;  ///< uses k
  bool homogeneous;   ///< f(a x) = a f(x) for a > 0, for all inputs together
  /// Path reading of input i: the squared slope of the linearised map (ReLU read as identity); null unless homogeneous.
  double (*path_coefficient)(int input, double k);
};
const MapInfo& map_info(Map map);

/// Scalar reference of each map and partial in double precision: the value the vector code approximates. For tests and
/// messages.
double map_value(Map map, double x0, double x1, double k);
double map_partial(Map map, int input, double x0, double x1, double y, double k);

enum class Rule : unsigned char { value, linear, squared };

/// One instruction over the slots of a program. Evaluation order: value f, then out + f; linear d * seed, or
/// fma(d, seed, out); squared (d * d) * seed, or fma(d * d, seed, out). Without accumulate, `out` is not read.
///
/// Two steps in one go, with the bits of two instructions and memory between them: M is the map named by `through`.
///
///   value of add:   out = M(x0 + x1), M sigmoid or tanh
///   value of mul:   out = M(x0 * x1 + seed), M sigmoid, tanh or copy; seed: another value, or -1: a product alone
///   linear of mul:  out (=|+=) dM(y) * (x * seed), dM the partial of sigmoid or tanh, y its output
struct Instruction {
  Map map = Map::copy;
  Rule rule = Rule::value;
  unsigned char input = 0;                  ///< which partial, for linear and squared
  bool accumulate = false;                  ///< out += instead of out =
  int out = -1;                             ///< slot written
  int x0 = -1, x1 = -1, y = -1, seed = -1;  ///< slots read; -1 where the rule does not read them
  double k = 0;                             ///< the map's constant
  Map through = Map::copy;                  ///< see above
};

/// Where a slot lives: element (r, c) at base[r * stride + c]; stride 0 repeats one row. base == nullptr: scratch of
/// the tile, which never reaches memory beyond the cache.
template <class T>
struct Operand {
  T* base = nullptr;
  Index stride = 0;
};

/// Runs instructions in order over all elements (r, c), r in [0, rows), c in `cols`, tile by tile, so that slots stay
/// in the first-level cache. Element (r, c) of every instruction depends only on elements (r, c): tiling cannot be
/// seen, except that a stride-0 operand may be read but not written. An output may be the same memory as an input of
/// the same or an earlier instruction (in-place gates). operands.size() >= 1 + the largest slot used. Thread-safe on
/// disjoint rows or columns. Does not allocate once `scratch` is large enough: it is per thread and owned by the
/// caller.
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
