/// Interpreter of element-wise programs. It works tile by tile: all slots of a tile stay in the first-level cache while
/// its instructions run one after another, each as a loop over rows of vectors.
///
/// Performance bound: the time of the functions at their throughput (bench_functions), plus the time to read and write
/// the operands at the bandwidth of the memory level that holds them. A step of gru:128,reset=after, 16 rows, AVX2,
/// reaches 74 % of the bound in the caches (windows of 8), and 53 % with windows of 64, where operands come from the
/// third-level cache.

#include "unfold/numerics/pointwise.h"

#include <algorithm>

#include "numerics/bound_program.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "numerics/pointwise.cpp"
#include "numerics/targets-inl.h"
// The list of targets must precede Highway's own headers.
#include "hwy/foreach_target.h"
#include "hwy/highway.h"
// Everything below is compiled once for each target.
#include "numerics/loops-inl.h"
#include "numerics/maps-inl.h"

#ifndef UNFOLD_NUMERICS_POINTWISE_ONCE
#define UNFOLD_NUMERICS_POINTWISE_ONCE
namespace unfold {

template <class T>
using Kernel = void (*)(const Tile<T>&);

/// One kernel for each possible instruction; null if a map does not have the input.
template <class T>
struct Kernels {
  Kernel<T> value[kMapCount][2];          // [map][accumulate]
  Kernel<T> partial[kMapCount][2][2][2];  // [map][squared][input][accumulate]
  Kernel<T> sum[3], product_sum[3];       // fused values: [through]
  Kernel<T> product[3][2][2];             // linear: [through][input][accumulate]

  static int place(Map through) { return through == Map::copy ? 0 : through == Map::sigmoid ? 1 : 2; }
  Kernel<T> of(const Instruction& i) const {
    const int map = static_cast<int>(i.map);
    if (i.rule != Rule::value)
      return i.through != Map::copy ? product[place(i.through)][i.input][i.accumulate]
                                    : partial[map][i.rule == Rule::squared][i.input][i.accumulate];
    if (i.map == Map::mul && i.seed >= 0) return product_sum[place(i.through)];
    return i.through != Map::copy ? sum[place(i.through)] : value[map][i.accumulate];
  }
};

}  // namespace unfold
#endif

HWY_BEFORE_NAMESPACE();
namespace unfold {
namespace HWY_NAMESPACE {

/// Pointers to one row of each operand, and the constant.
template <class T>
struct Operands {
  T* out;
  const T *x0, *x1, *y, *seed;
  T k;
};

/// One row of the instruction (M, kRule, kInput, kAccumulate). Loads only the operands that the table declares.
template <class T, class M, Rule kRule, int kInput, bool kAccumulate>
struct RowBody {
  static constexpr unsigned kValueReads = M::kArity == 2 ? kX0 | kX1 : kX0;
  static constexpr unsigned kReads = kRule == Rule::value ? kValueReads : M::kReads[kInput];

  Operands<T> row;

  template <bool kWanted, class D, class Place>
  static HWY_INLINE Lanes<D> read(D d, const T* from, Index i, Place place) {
    if constexpr (kWanted) {
      return {place.load(d, from + i)};
    } else {
      return {hn::Zero(d)};
    }
  }

  template <class D, class Place>
  HWY_INLINE void at(D d, Index i, Place place) const {
    using V = Lanes<D>;
    const V a = read<(kReads & kX0) != 0>(d, row.x0, i, place);
    const V b = read<(kReads & kX1) != 0>(d, row.x1, i, place);
    const V c = read<(kReads & kY) != 0>(d, row.y, i, place);
    const V before = read<kAccumulate>(d, row.out, i, place);
    const V constant = {hn::Set(d, row.k)}, one = {hn::Set(d, T{1})}, zero = {hn::Zero(d)};
    V result;
    if constexpr (kRule == Rule::value) {
      result = M::value(a, b, constant, one);
      if constexpr (kAccumulate) result = before + result;
    } else {
      const V s = read<true>(d, row.seed, i, place);
      V slope = M::template partial<kInput>(a, b, c, constant, zero, one);
      if constexpr (kRule == Rule::squared) slope = slope * slope;
      result = kAccumulate ? fma(slope, s, before) : slope * s;
    }
    place.store(result.v, d, row.out + i);
  }
};

/// One row of the linear rule of a product, followed by the derivative of M.
template <class T, class M, int kInput, bool kAccumulate>
struct ThroughBody {
  Operands<T> row;

  template <class D, class Place>
  HWY_INLINE void at(D d, Index i, Place place) const {
    using V = Lanes<D>;
    const V x = {place.load(d, (kInput == 0 ? row.x1 : row.x0) + i)}, s = {place.load(d, row.seed + i)},
            c = {place.load(d, row.y + i)};
    const V constant = {hn::Set(d, row.k)}, one = {hn::Set(d, T{1})}, zero = {hn::Zero(d)};
    const V slope = M::template partial<0>(zero, zero, c, constant, zero, one), product = x * s;
    if constexpr (kAccumulate) {
      place.store(fma(slope, product, V{place.load(d, row.out + i)}).v, d, row.out + i);
    } else {
      place.store((slope * product).v, d, row.out + i);
    }
  }
};

/// One row of M(x0 + x1), or of M(x0 * x1 + seed).
template <class T, class M, bool kProduct>
struct MappedSumBody {
  Operands<T> row;

  template <class D, class Place>
  HWY_INLINE void at(D d, Index i, Place place) const {
    using V = Lanes<D>;
    const V a = {place.load(d, row.x0 + i)}, b = {place.load(d, row.x1 + i)};
    const V constant = {hn::Set(d, row.k)}, one = {hn::Set(d, T{1})};
    V sum;
    if constexpr (kProduct) {
      sum = a * b + V{place.load(d, row.seed + i)};
    } else {
      sum = a + b;
    }
    place.store(M::value(sum, sum, constant, one).v, d, row.out + i);
  }
};

template <class T, class Body>
void run_tile(const Tile<T>& t) {
  Body body{{t.out.base, t.x0.base, t.x1.base, t.y.base, t.seed.base, t.k}};
  for (Index r = 0; r < t.rows; ++r) {
    for_each_vector<T>(t.cols, body);
    body.row.out += t.out.stride;
    body.row.x0 += t.x0.stride;
    body.row.x1 += t.x1.stride;
    body.row.y += t.y.stride;
    body.row.seed += t.seed.stride;
  }
}

template <class T, class M, Rule kRule, int kInput>
constexpr void fill_partial(Kernel<T> (&to)[2][2]) {
  if constexpr (kInput < M::kArity) {
    to[kInput][0] = run_tile<T, RowBody<T, M, kRule, kInput, false>>;
    to[kInput][1] = run_tile<T, RowBody<T, M, kRule, kInput, true>>;
  }
}

template <class T, class M>
constexpr void fill_through(Kernels<T>& to, int place) {
  to.product_sum[place] = run_tile<T, MappedSumBody<T, M, true>>;
  if (place == 0) return;
  to.sum[place] = run_tile<T, MappedSumBody<T, M, false>>;
  to.product[place][0][0] = run_tile<T, ThroughBody<T, M, 0, false>>;
  to.product[place][0][1] = run_tile<T, ThroughBody<T, M, 0, true>>;
  to.product[place][1][0] = run_tile<T, ThroughBody<T, M, 1, false>>;
  to.product[place][1][1] = run_tile<T, ThroughBody<T, M, 1, true>>;
}

template <class T, class M>
constexpr void fill_map(Kernels<T>& to, Map map) {
  const int m = static_cast<int>(map);
  to.value[m][0] = run_tile<T, RowBody<T, M, Rule::value, 0, false>>;
  to.value[m][1] = run_tile<T, RowBody<T, M, Rule::value, 0, true>>;
  fill_partial<T, M, Rule::linear, 0>(to.partial[m][0]);
  fill_partial<T, M, Rule::linear, 1>(to.partial[m][0]);
  fill_partial<T, M, Rule::squared, 0>(to.partial[m][1]);
  fill_partial<T, M, Rule::squared, 1>(to.partial[m][1]);
}

template <class T>
constexpr Kernels<T> make_kernels() {
  Kernels<T> kernels{};
#define UNFOLD_FILL(name, ...) fill_map<T, name##_map>(kernels, Map::name);
  UNFOLD_MAPS(UNFOLD_FILL)
#undef UNFOLD_FILL
  fill_through<T, copy_map>(kernels, 0);
  fill_through<T, sigmoid_map>(kernels, 1);
  fill_through<T, tanh_map>(kernels, 2);
  return kernels;
}

template <class T>
constexpr Kernels<T> kKernels = make_kernels<T>();
UNFOLD_TARGET_TABLE(Kernels, kKernels);

}  // namespace HWY_NAMESPACE
}  // namespace unfold
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace unfold {
namespace {

UNFOLD_CHOOSE_TABLE(Kernels, kernels);

/// The operands of a program restricted to a tile, computed once for all instructions. Index 0 stands for operands that
/// are not read.
template <class T>
class TileView {
 public:
  TileView(std::span<const Operand<T>> operands, PointwiseScratch<T>& scratch, Index slot_elements)
      : operands_(operands),
        scratch_(scratch.reserve(slot_elements * static_cast<Index>(operands.size()))),
        slot_elements_(slot_elements),
        places_(scratch.places(operands.size() + 1).data()) {}

  void move_to(Range rows, Range cols) {
    rows_ = rows.size();
    cols_ = cols.size();
    places_[0] = {nullptr, 0};
    Operand<T>* place = places_;
    T* mine = scratch_;
    for (const Operand<T>& operand : operands_) {
      *++place = operand.base == nullptr
                     ? Operand<T>{mine, cols_}
                     : Operand<T>{operand.base + rows.begin * operand.stride + cols.begin, operand.stride};
      mine += slot_elements_;
    }
  }

  Tile<T> tile_of(const Instruction& i) const {
    Tile<T> tile{rows_, cols_, at(i.out), at(i.x0), at(i.x1), at(i.y), at(i.seed), static_cast<T>(i.k)};
    if (rows_ > 1 && follows(tile.out) && follows(tile.x0) && follows(tile.x1) && follows(tile.y) &&
        follows(tile.seed)) {
      tile.cols *= rows_;
      tile.rows = 1;
    }
    return tile;
  }

 private:
  const Operand<T>& at(int slot) const { return places_[slot + 1]; }
  bool follows(const Operand<T>& o) const { return o.base == nullptr || o.stride == cols_; }

  std::span<const Operand<T>> operands_;
  T* scratch_;
  Index slot_elements_, rows_ = 0, cols_ = 0;
  Operand<T>* places_;
};

/// Returns the number of elements of a tile, such that all slots fit in the first-level cache (at least 32 KiB).
template <class T>
Index tile_elements(std::size_t slots) {
  const Index fitting = 32 * 1024 / static_cast<Index>(sizeof(T) * std::max<std::size_t>(slots, 1));
  return std::clamp<Index>(fitting, 256, 1024) / kVirtualLanes * kVirtualLanes;
}

constexpr MapInfo kMapInfo[kMapCount] = {
#define UNFOLD_INFO(name, arity, has_constant, value, reads0, partial0, reads1, partial1, homogeneous, path) \
  {#name,                                                                                                    \
   arity,                                                                                                    \
   (((reads0) | (reads1)) & (kX0 | kX1)) != 0,                                                               \
   (((reads0) | (reads1)) & kY) != 0,                                                                        \
   has_constant,                                                                                             \
   homogeneous,                                                                                              \
   homogeneous                                                                                               \
   ? +[]([[maybe_unused]] int input, [[maybe_unused]] double k) -> double { return path; }                   \
   : nullptr},
    UNFOLD_MAPS(UNFOLD_INFO)
#undef UNFOLD_INFO
};

}  // namespace

const MapInfo& map_info(Map map) { return kMapInfo[static_cast<int>(map)]; }

// The maps are compiled for the current target; without the attributes of this target, this function could not inline
// them.
HWY_ATTR double map_value(Map map, double x0, double x1, double k) {
  switch (map) {
#define UNFOLD_VALUE(name, ...) \
  case Map::name: return HWY_NAMESPACE::name##_map::value(x0, x1, k, 1.0);
    UNFOLD_MAPS(UNFOLD_VALUE)
#undef UNFOLD_VALUE
  }
  return 0;
}

HWY_ATTR double map_partial(Map map, int input, double x0, double x1, double y, double k) {
  switch (map) {
#define UNFOLD_PARTIAL(name, ...)                                                     \
  case Map::name:                                                                     \
    return input == 0 ? HWY_NAMESPACE::name##_map::partial<0>(x0, x1, y, k, 0.0, 1.0) \
                      : HWY_NAMESPACE::name##_map::partial<1>(x0, x1, y, k, 0.0, 1.0);
    UNFOLD_MAPS(UNFOLD_PARTIAL)
#undef UNFOLD_PARTIAL
  }
  return 0;
}

template <class T>
void run_pointwise(std::span<const Instruction> program, std::span<const Operand<T>> operands, Index rows, Range cols,
                   PointwiseScratch<T>& scratch) {
  if (rows <= 0 || cols.empty()) return;
  const Kernels<T>& table = kernels<T>();
  const Index elements = tile_elements<T>(operands.size());
  const Index tile_cols = std::min(cols.size(), elements);
  const Index tile_rows = std::min(rows, elements / tile_cols);
  // A cache line between the slots avoids cache set conflicts.
  const Index slot_elements = elements + static_cast<Index>(64 / sizeof(T));
  TileView<T> view(operands, scratch, slot_elements);
  for (Index r = 0; r < rows; r += tile_rows) {
    for (Index c = cols.begin; c < cols.end; c += tile_cols) {
      view.move_to({r, std::min(rows, r + tile_rows)}, {c, std::min(cols.end, c + tile_cols)});
      for (const Instruction& instruction : program) table.of(instruction)(view.tile_of(instruction));
    }
  }
}

namespace {

/// Returns whether one operand begins where the other ends, or whether neither is read.
template <class T>
bool follows(const Operand<T>& next, const Operand<T>& before, Index cols) {
  return before.base == nullptr ? next.base == nullptr : next.base == before.base + cols;
}

/// Returns whether the output of a call overlaps an operand or output of another call.
template <class T>
bool disturbs(const Tile<T>& writer, const Tile<T>& other) {
  const auto meets = [&](const Operand<T>& o) {
    return o.base != nullptr && writer.out.base < o.base + other.cols && o.base < writer.out.base + writer.cols;
  };
  return meets(other.out) || meets(other.x0) || meets(other.x1) || meets(other.y) || meets(other.seed);
}

}  // namespace

/// Returns whether a call can be merged into an earlier call, that is, whether it applies the same operation to the
/// elements that follow and does not conflict with the calls in between.
template <class T>
bool BoundProgram<T>::joins(const Call& call, std::size_t earlier) const {
  const Tile<T>&before = calls_[earlier].tile, &next = call.tile;
  const Index n = before.cols;
  if (calls_[earlier].kernel != call.kernel || before.k != next.k || !follows(next.out, before.out, n) ||
      !follows(next.x0, before.x0, n) || !follows(next.x1, before.x1, n) || !follows(next.y, before.y, n) ||
      !follows(next.seed, before.seed, n))
    return false;
  for (std::size_t i = earlier; i < calls_.size(); ++i)
    if (disturbs(next, calls_[i].tile) || disturbs(calls_[i].tile, next)) return false;
  return true;
}

template <class T>
BoundProgram<T>::BoundProgram(std::span<const Instruction> program, std::span<const Operand<T>> operands, Index cols)
    : scratch_(cols * static_cast<Index>(operands.size())) {
  const auto place = [&](int slot) -> Operand<T> {
    if (slot < 0) return {};
    T* const base = operands[static_cast<std::size_t>(slot)].base;
    return {base != nullptr ? base : scratch_.data() + slot * cols, cols};
  };
  const Kernels<T>& table = kernels<T>();
  for (const Instruction& i : program) {
    const Call call{table.of(i),
                    {1, cols, place(i.out), place(i.x0), place(i.x1), place(i.y), place(i.seed), static_cast<T>(i.k)}};
    std::size_t earlier = 0;
    while (earlier < calls_.size() && !joins(call, earlier)) ++earlier;
    if (earlier < calls_.size())
      calls_[earlier].tile.cols += cols;
    else
      calls_.push_back(call);
  }
}

template class BoundProgram<float>;
template class BoundProgram<double>;

template void run_pointwise<float>(std::span<const Instruction>, std::span<const Operand<float>>, Index, Range,
                                   PointwiseScratch<float>&);
template void run_pointwise<double>(std::span<const Instruction>, std::span<const Operand<double>>, Index, Range,
                                    PointwiseScratch<double>&);

}  // namespace unfold
#endif  // HWY_ONCE
