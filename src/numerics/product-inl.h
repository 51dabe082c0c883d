// Internal: matrix product kernels, compiled once for each target. See targets-inl.h for the order of inclusion.
//
// A tile is kRows rows by kVectors vectors of the output, which stay in registers during the loop over k. Its sums are
// loaded from memory and stored back, so a product may be split along k at any point without changing a single bit.

#include "unfold/numerics/product.h"

#ifndef UNFOLD_NUMERICS_PRODUCT_INL_ONCE_
#define UNFOLD_NUMERICS_PRODUCT_INL_ONCE_

#include <algorithm>
#include <bit>
#include <utility>

namespace unfold {

/// Thread-local scratch memory of at least `elements` elements, contents undefined. Slots 0 and 1 are independent.
template <class T>
T* product_scratch(int slot, Index elements);

template <class T>
struct MultiplyJob {
  Matrix<const T> a;
  const PackedMatrix<T>& b;
  Matrix<T> c;
  const Panels& panels;
  Start start;
  const T* bias;
  Index first = 0;  // row of `b` that corresponds to column 0 of `a`, which may be a part of the columns
};

template <class T>
struct OuterJob {
  Matrix<const T> a, d;
  Matrix<T> g;
  Range k_range;
  Start start;
};

}  // namespace unfold
#endif

#if defined(UNFOLD_NUMERICS_PRODUCT_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef UNFOLD_NUMERICS_PRODUCT_INL_H_
#undef UNFOLD_NUMERICS_PRODUCT_INL_H_
#else
#define UNFOLD_NUMERICS_PRODUCT_INL_H_
#endif

#include "hwy/cache_control.h"
#include "numerics/fma-inl.h"

HWY_BEFORE_NAMESPACE();
namespace unfold {
namespace HWY_NAMESPACE {

template <class T>
using Lane = hn::ScalableTag<T>;
template <class T>
inline constexpr Index kLanes = hn::MaxLanes(Lane<T>());
template <class T>
inline constexpr Index kPanelVectors = PackedMatrix<T>::kPanel / kLanes<T>;

// The remainder of a row after whole vectors uses a half-size vector on targets where this takes half the time.
template <class T>
inline constexpr bool kHalves = HWY_TARGET == HWY_AVX3 && sizeof(T) == sizeof(double);

// Tile shapes: the accumulators, one broadcast and the vectors of b must fit in the registers, with at least eight
// independent chains to hide the latency of two multiply-adds per cycle.
#if !HWY_NATIVE_FMA
inline constexpr int kMaxRows = 2;  // every step calls the C library, which no tile shape can speed up
constexpr int widest(int) { return 2; }
#elif HWY_TARGET == HWY_AVX3
inline constexpr int kMaxRows = 14;
constexpr int widest(int rows) { return rows <= 3 ? 8 : rows <= 6 ? 4 : 2; }
#elif HWY_TARGET == HWY_NEON
inline constexpr int kMaxRows = 6;
constexpr int widest(int rows) { return rows <= 3 ? 8 : 4; }
#else
inline constexpr int kMaxRows = 6;
constexpr int widest(int rows) { return rows <= 1 ? 8 : rows <= 3 ? 4 : 2; }
#endif

template <class T>
struct TileJob {
  const T* a;      // first row of the tile; if interleaved, element (m, k) is at a[k * rows + m]
  Index a_stride;  // distance between rows, if not interleaved
  const T* b;      // row k of the panel is at b[k * kPanel]
  Index b_stride;  // distance between panels
  Index k;
  const T* start;
  Index start_stride;
  T* c;
  Index c_stride;
  const T* soon;  // initial values of the next tile, to prefetch; null if they are in the cache
  Index soon_stride;
};

// Number of panel rows to prefetch, if the tile has enough rows to hide the loads.
inline constexpr Index kAhead = 16;

/// One step of k: adds a[m] * b[v] to all sums of the tile. The smaller operand is kept in registers, the larger one is
/// streamed.
template <class T, class D, int kRows, int kVectors, class A, class V>
HWY_INLINE void tile_step(D d, const A& a, const T* HWY_RESTRICT b, Index b_stride, V (&sum)[kRows][kVectors]) {
  constexpr Index kL = hn::MaxLanes(D()), kPanel = PackedMatrix<T>::kPanel;
  constexpr int kPerPanel = kVectors > kPanelVectors<T> ? static_cast<int>(kPanelVectors<T>) : kVectors;
  constexpr int kPerLine = static_cast<int>(std::max<Index>(64 / static_cast<Index>(sizeof(T)) / kL, 1));
  if constexpr (kRows > 4) {
#pragma GCC unroll 16
    for (int v = 0; v < kVectors; v += kPerLine) {
      hwy::Prefetch(b + kAhead * kPanel + v / kPerPanel * b_stride + v % kPerPanel * kL);
    }
  }
  if constexpr (kVectors <= kRows) {
    V y[kVectors];
#pragma GCC unroll 16
    for (int v = 0; v < kVectors; ++v) y[v] = hn::Load(d, b + v / kPerPanel * b_stride + v % kPerPanel * kL);
#pragma GCC unroll 16
    for (int m = 0; m < kRows; ++m) {
      const V x = hn::Set(d, a(m));
#pragma GCC unroll 16
      for (int v = 0; v < kVectors; ++v) sum[m][v] = Fma(d, x, y[v], sum[m][v]);
    }
  } else {
    V x[kRows];
#pragma GCC unroll 16
    for (int m = 0; m < kRows; ++m) x[m] = hn::Set(d, a(m));
#pragma GCC unroll 16
    for (int v = 0; v < kVectors; ++v) {
      const V y = hn::Load(d, b + v / kPerPanel * b_stride + v % kPerPanel * kL);
#pragma GCC unroll 16
      for (int m = 0; m < kRows; ++m) sum[m][v] = Fma(d, x[m], y, sum[m][v]);
    }
  }
}

/// Element (m, k + kStep) of rows with a fixed stride. One pointer serves three rows; the addressing modes reach the
/// other two.
template <class T, int kRows>
struct RowElements {
  RowElements(const T* a, Index row_stride) : stride(row_stride) {
#pragma GCC unroll 16
    for (int i = 0; i < kPointers; ++i) pointer[i] = a + 3 * i * row_stride;
  }
  HWY_INLINE T operator()(int m) const { return pointer[m / 3][m % 3 * stride]; }
  HWY_INLINE void advance() {
#pragma GCC unroll 16
    for (int i = 0; i < kPointers; ++i) ++pointer[i];
  }
  static constexpr int kPointers = (kRows + 2) / 3;
  const T* pointer[kPointers];
  const Index stride;
};

template <class T, int kRows>
struct InterleavedElements {
  InterleavedElements(const T* a, Index) : pointer(a) {}
  HWY_INLINE T operator()(int m) const { return pointer[m]; }
  HWY_INLINE void advance() { pointer += kRows; }
  const T* pointer;
};

template <class T, int kRows, int kVectors, template <class, int> class Elements, class D = Lane<T>>
void run_tile(const TileJob<T>& job) {
  constexpr Index kPanel = PackedMatrix<T>::kPanel, kL = hn::MaxLanes(D());
  const D d;
  hn::Vec<D> sum[kRows][kVectors];
#pragma GCC unroll 16
  for (int m = 0; m < kRows; ++m) {
#pragma GCC unroll 16
    for (int v = 0; v < kVectors; ++v) sum[m][v] = hn::LoadU(d, job.start + m * job.start_stride + v * kL);
  }
  if (job.soon) {
    for (int m = 0; m < kRows; ++m) {
      for (Index v = 0; v < kVectors * kL; v += 64 / static_cast<Index>(sizeof(T))) {
        hwy::Prefetch(job.soon + m * job.soon_stride + v);
      }
    }
  }
  Elements<T, kRows> a(job.a, job.a_stride);
  const T* b = job.b;
  const Index b_stride = job.b_stride;
#pragma GCC unroll 2
  for (Index k = job.k; k > 0; --k, b += kPanel, a.advance()) tile_step<T>(d, a, b, b_stride, sum);
#pragma GCC unroll 16
  for (int m = 0; m < kRows; ++m) {
#pragma GCC unroll 16
    for (int v = 0; v < kVectors; ++v) hn::StoreU(sum[m][v], d, job.c + m * job.c_stride + v * kL);
  }
}

template <class T>
using TileFunction = void (*)(const TileJob<T>&);

/// Tiles indexed by rows - 1 and by the exponent of their width; null if too wide. The last tiles are half a vector
/// wide.
template <class T, template <class, int> class Elements>
class TileTable {
 public:
  constexpr TileTable() : TileTable(std::make_integer_sequence<int, kMaxRows>()) {}
  TileFunction<T> of(Index rows, int vectors) const { return functions_[rows - 1][std::bit_width(0u + vectors) - 1]; }
  TileFunction<T> half(Index rows) const { return functions_[rows - 1][4]; }

 private:
  template <int... kRows>
  constexpr explicit TileTable(std::integer_sequence<int, kRows...>)
      : functions_{{get<kRows + 1, 1>(), get<kRows + 1, 2>(), get<kRows + 1, 4>(), get<kRows + 1, 8>(),
                    get_half<kRows + 1>()}...} {}

  template <int kRows, int kVectors>
  static constexpr TileFunction<T> get() {
    if constexpr (kVectors <= widest(kRows)) return &run_tile<T, kRows, kVectors, Elements>;
    return nullptr;
  }
  template <int kRows>
  static constexpr TileFunction<T> get_half() {
    if constexpr (kHalves<T>) return &run_tile<T, kRows, 1, Elements, hn::Half<Lane<T>>>;
    return nullptr;
  }

  TileFunction<T> functions_[kMaxRows][5];
};

template <class T, template <class, int> class Elements>
inline constexpr TileTable<T, Elements> kTiles;

/// Divides rows into the smallest number of tiles with at most `most` rows, as evenly as possible: the first `larger`
/// tiles have `size` rows, the others one row less.
struct Cut {
  explicit Cut(Index rows, Index most = kMaxRows) {
    tiles = (rows + most - 1) / most;
    size = (rows + tiles - 1) / tiles;
    larger = rows - tiles * (size - 1);
  }
  Index begin(Index tile) const { return tile * size - std::max<Index>(tile - larger, 0); }
  Index rows(Index tile) const { return tile < larger ? size : size - 1; }
  int width() const { return widest(static_cast<int>(size)); }
  Index tiles, size, larger;
};

/// The columns of one tile call: whole vectors, or one vector or half a vector with only `columns` valid elements.
template <class T>
struct Strip {
  bool half() const { return kHalves<T> && 2 * columns <= kLanes<T>; }
  bool partial() const { return columns < (half() ? kLanes<T> / 2 : kLanes<T>); }
  Index column;
  int vectors;
  Index columns;
};

/// Calls visit(strip) for the columns of `panels` in a matrix of n columns, with strips of at most `width` vectors.
template <class T, class Visit>
void for_each_strip(Range panels, Index n, int width, const Visit& visit) {
  const Index begin = panels.begin * PackedMatrix<T>::kPanel;
  const Index end = std::min(panels.end * PackedMatrix<T>::kPanel, n);
  for (Index column = begin; column < end;) {
    const Index position = (column - begin) / kLanes<T>, left = (end - column) / kLanes<T>;
    int vectors = width;  // vectors are within one panel or cover whole panels
    while (vectors > 1 && (vectors > left || (position & (vectors - 1)) != 0)) vectors /= 2;
    const Strip<T> strip{column, vectors, std::min(end - column, vectors * kLanes<T>)};
    visit(strip);
    column += strip.columns;
  }
}

/// The tiles of one strip, for any number of rows.
template <class T, template <class, int> class Elements>
class StripTiles {
 public:
  StripTiles(const Cut& cut, const Strip<T>& strip)
      : size_(cut.size),
        columns_(strip.partial() ? strip.columns : 0),
        larger_(function_of(cut.size, strip)),
        smaller_(function_of(std::max<Index>(cut.size - 1, 1), strip)) {}

  void run(const TileJob<T>& job, Index rows) const {
    const TileFunction<T> function = rows == size_ ? larger_ : smaller_;
    columns_ == 0 ? function(job) : run_partial(function, job, rows);
  }

 private:
  static TileFunction<T> function_of(Index rows, const Strip<T>& strip) {
    return strip.half() ? kTiles<T, Elements>.half(rows) : kTiles<T, Elements>.of(rows, strip.vectors);
  }
  /// Runs a tile with a partial vector through a local buffer.
  void run_partial(TileFunction<T> function, TileJob<T> job, Index rows) const {
    HWY_ALIGN T tile[kMaxRows * kLanes<T>] = {};
    T* const c = job.c;
    const Index c_stride = job.c_stride;
    for (Index m = 0; m < rows; ++m) std::copy_n(job.start + m * job.start_stride, columns_, tile + m * kLanes<T>);
    job.start = job.c = tile;
    job.start_stride = job.c_stride = kLanes<T>;
    function(job);
    for (Index m = 0; m < rows; ++m) std::copy_n(tile + m * kLanes<T>, columns_, c + m * c_stride);
  }

  Index size_, columns_;
  TileFunction<T> larger_, smaller_;
};

template <class T>
inline constexpr T kZeros[8 * kLanes<T>] = {};

/// Copies the rows of `a` to memory where no two of them map to the same cache set.
template <class T>
Matrix<const T> copy_rows(Matrix<const T> a) {
  constexpr Index kLine = 64 / static_cast<Index>(sizeof(T));
  const Index stride = ((a.cols + kLine - 1) / kLine | 1) * kLine;
  T* const copy = product_scratch<T>(0, a.rows * stride);
  for (Index m = 0; m < a.rows; ++m) {
    std::memcpy(copy + m * stride, a.row(m), static_cast<std::size_t>(a.cols) * sizeof(T));
  }
  return {copy, a.rows, a.cols, stride};
}

/// Returns whether the rows of `a` map to few cache sets, and enough columns read them to justify a copy.
template <class T>
bool worth_copying(Matrix<const T> a, Index columns) {
  const Index bytes = a.stride * static_cast<Index>(sizeof(T));
  return a.rows > 2 && bytes >= 2048 && bytes % 1024 == 0 && columns >= 128;
}

// If several tiles read a panel, k is split into parts of this length, so a part of the panel stays in the cache from
// tile to tile.
inline constexpr Index kDepth = 512;

/// Multiplies a block of rows that is small enough for A to stay in the second-level cache.
template <class T>
void multiply_block(const MultiplyJob<T>& job) {
  constexpr Index kPanel = PackedMatrix<T>::kPanel;
  const Index k = job.a.cols, columns = std::min(job.panels.blocks * job.panels.range.size() * kPanel, job.c.cols);
  const Matrix<const T> a = worth_copying(job.a, columns) ? copy_rows(job.a) : job.a;
  const Cut cut(a.rows);
  const Index depth = cut.tiles > 1 ? kDepth : std::max<Index>(k, 1);
  // Sums of one strip between two parts of k. Rows of C may also conflict in the cache, so C is read once and written
  // once.
  const Index width = cut.width() * kLanes<T>;
  T* const between = k > depth ? product_scratch<T>(1, a.rows * width) : nullptr;
  const bool accumulate = job.start == Start::accumulate;

  const auto run = [&](const Strip<T>& strip) {
    const StripTiles<T, RowElements> tiles(cut, strip);
    TileJob<T> tile{};
    tile.a_stride = a.stride;
    tile.b_stride = job.b.k() * kPanel;
    Index done = 0;
    do {
      const bool first = done == 0, last = done + depth >= k;
      tile.k = std::min(depth, k - done);
      tile.b =
          k > 0 ? job.b.panel(strip.column / kPanel) + strip.column % kPanel + (job.first + done) * kPanel : nullptr;
      tile.c_stride = last ? job.c.stride : width;
      tile.start_stride = !first ? width : accumulate ? job.c.stride : 0;
      tile.soon_stride = job.c.stride;
      for (Index t = 0; t < cut.tiles; ++t) {
        const Index m = cut.begin(t), rows = cut.rows(t);
        T* const c = job.c.row(m) + strip.column;
        T* const sums = between != nullptr ? between + m * width : nullptr;
        tile.a = a.row(m) + done;
        tile.start = !first ? sums : accumulate ? c : job.start == Start::bias ? job.bias + strip.column : kZeros<T>;
        tile.c = last ? c : sums;
        tile.soon = t + 1 < cut.tiles && (last || (first && accumulate)) ? c + rows * job.c.stride : nullptr;
        tiles.run(tile, rows);
      }
      done += depth;
    } while (done < k);
  };
  for (Index block = 0; block < job.panels.blocks; ++block) {
    const Index shift = block * job.panels.every;
    for_each_strip<T>({job.panels.range.begin + shift, job.panels.range.end + shift}, job.b.n(), cut.width(), run);
  }
}

/// Splits A into blocks that fit in the second-level cache, along k first: B is then read only once, and C is the only
/// matrix that is stored between two parts of k.
template <class T>
void multiply_all(const MultiplyJob<T>& job) {
  constexpr Index kBlockElements = (384 << 10) / static_cast<Index>(sizeof(T));
  const Index rows = job.a.rows, k = job.a.cols;
  if (rows == 0) return;
  if (rows * k <= kBlockElements) return multiply_block<T>(job);
  const Index cuts =
      std::clamp<Index>((rows * k + kBlockElements - 1) / kBlockElements, 1, std::max(k / kDepth, Index{1}));
  const Index most = std::max<Index>(kBlockElements / (k / cuts + 1) / kMaxRows, 1) * kMaxRows;
  for (Index cut = 0; cut < cuts; ++cut) {
    const Index begin = k * cut / cuts, end = k * (cut + 1) / cuts;
    const Start start = cut == 0 ? job.start : Start::accumulate;
    for (Index m = 0; m < rows; m += most) {
      const Index block = std::min(most, rows - m);
      multiply_block<T>({job.a.rows_from(m, block).cols_from(begin, end - begin), job.b, job.c.rows_from(m, block),
                         job.panels, start, job.bias, begin});
    }
  }
}

/// Copies `count` elements without accessing elements beyond them, using whole vectors; the last vector may overlap the
/// one before.
template <class T>
HWY_INLINE void copy_vectors(const T* from, Index count, T* to) {
  const Lane<T> d;
  if (count < kLanes<T>) {
    for (Index i = 0; i < count; ++i) to[i] = from[i];
    return;
  }
  for (Index i = 0; i + kLanes<T> <= count; i += kLanes<T>) hn::StoreU(hn::LoadU(d, from + i), d, to + i);
  const Index last = count - kLanes<T>;
  hn::StoreU(hn::LoadU(d, from + last), d, to + last);
}

/// Copies rows `r` and columns `k` of `a`, the last row first, interleaved tile by tile: step i of row m of a tile with
/// s rows is at i * s + m. The distance between tiles is tile_offset.
template <class T>
class InterleavedColumns {
 public:
  InterleavedColumns(Matrix<const T> a, Range r, Range k, const Cut& cut)
      : steps_(r.size()), copy_(product_scratch<T>(0, k.size() * r.size() + cut.tiles * kSlack)) {
    const Lane<T> d;
    constexpr Index kGroup = 8;  // their cache lines stay in the first-level cache from tile to tile
    for (Index first = 0; first < steps_; first += kGroup) {
      const Index end = std::min(first + kGroup, steps_);
      for (Index t = 0; t < cut.tiles; ++t) {
        const Index rows = cut.rows(t), begin = k.begin + cut.begin(t);
        const T* from = a.row(r.end - 1 - first) + begin;
        T* to = copy_ + offset(t, cut) + first * rows;
        // Copies whole vectors if `a` has enough columns: the excess is overwritten by the next step, or goes to the
        // slack.
        const bool whole = begin + kSlack <= a.cols;
        for (Index i = first; i < end; ++i, from -= a.stride, to += rows) {
          if (whole) {
            for (Index m = 0; m < kSlack; m += kLanes<T>) hn::StoreU(hn::LoadU(d, from + m), d, to + m);
          } else {
            copy_vectors(from, rows, to);
          }
        }
      }
    }
  }
  const T* tile(Index t, const Cut& cut) const { return copy_ + offset(t, cut); }

 private:
  static constexpr Index kSlack = (kMaxRows + kLanes<T> - 1) / kLanes<T> * kLanes<T>;
  Index offset(Index t, const Cut& cut) const { return cut.begin(t) * steps_ + t * kSlack; }

  Index steps_;
  T* copy_;
};

/// Packs rows `r` of a panel of d, the last row first, padded with zeros.
template <class T>
void pack_descending(Matrix<const T> d, Range r, Index panel, T* to) {
  constexpr Index kPanel = PackedMatrix<T>::kPanel, kLine = 64 / static_cast<Index>(sizeof(T));
  constexpr Index kRowsAhead = 12;  // rows are far apart, and no hardware prefetcher fetches them in time
  const Lane<T> zeros;
  const Index columns = std::min(kPanel, d.cols - panel * kPanel);
  const T* from = d.row(r.end - 1) + panel * kPanel;
  for (Index i = r.end; i-- > r.begin; to += kPanel, from -= d.stride) {
    if (columns == kPanel) {
      for (Index j = 0; j < kPanel && i >= r.begin + kRowsAhead; j += kLine) {
        hwy::Prefetch(from - kRowsAhead * d.stride + j);
      }
      std::memcpy(to, from, sizeof(T) * kPanel);
    } else {
      for (Index j = columns / kLanes<T> * kLanes<T>; j < kPanel; j += kLanes<T>)
        hn::StoreU(hn::Zero(zeros), zeros, to + j);
      copy_vectors(from, columns, to);
    }
  }
}

template <class T>
void outer_block(const OuterJob<T>& job, Range r) {
  constexpr Index kPanel = PackedMatrix<T>::kPanel;
  // If rows of G are pages apart, a few wide rows are better: the tile loads and stores faster (bench/products.cpp).
  const bool crowded = job.g.stride * static_cast<Index>(sizeof(T)) >= 4096;
  const Cut cut(job.k_range.size(), crowded ? std::min(kMaxRows, 6) : kMaxRows);
  const InterleavedColumns<T> a(job.a, r, job.k_range, cut);
  const Index group = std::max<Index>(cut.width() / kPanelVectors<T>, 1);  // number of panels in one strip
  T* const b = product_scratch<T>(1, group * r.size() * kPanel);
  const bool accumulate = job.start == Start::accumulate;
  const Index panels = (job.d.cols + kPanel - 1) / kPanel;
  for (Index first = 0; first < panels; first += group) {
    const Range packed{first, std::min(first + group, panels)};
    for (Index p = packed.begin; p < packed.end; ++p) pack_descending(job.d, r, p, b + (p - first) * r.size() * kPanel);
    for_each_strip<T>(packed, job.d.cols, cut.width(), [&](const Strip<T>& strip) {
      const StripTiles<T, InterleavedElements> tiles(cut, strip);
      TileJob<T> tile{};
      tile.k = r.size();
      tile.b = b + (strip.column / kPanel - first) * r.size() * kPanel + strip.column % kPanel;
      tile.b_stride = r.size() * kPanel;
      tile.c_stride = tile.soon_stride = job.g.stride;
      tile.start_stride = accumulate ? job.g.stride : 0;
      for (Index t = 0; t < cut.tiles; ++t) {
        const Index rows = cut.rows(t);
        tile.a = a.tile(t, cut);
        tile.c = job.g.row(job.k_range.begin + cut.begin(t)) + strip.column;
        tile.start = accumulate ? tile.c : kZeros<T>;
        tile.soon = t + 1 < cut.tiles ? tile.c + rows * job.g.stride : nullptr;
        tiles.run(tile, rows);
      }
    });
  }
}

template <class T>
void outer_all(const OuterJob<T>& job) {
  // Rows and columns of `a` that one block interleaves; they take half of a second-level cache.
  constexpr Index kRows = 256, kColumns = (512 << 10) / static_cast<Index>(sizeof(T)) / kRows;
  const Index n = job.k_range.size(), blocks = (n + kColumns - 1) / kColumns;
  OuterJob<T> block = job;
  Index end = job.a.rows;
  do {
    const Range r{std::max<Index>(end - kRows, 0), end};
    for (Index i = 0; i < blocks; ++i) {
      block.k_range = {job.k_range.begin + n * i / blocks, job.k_range.begin + n * (i + 1) / blocks};
      outer_block(block, r);
    }
    block.start = Start::accumulate;
    end = r.begin;
  } while (end > 0);
}

}  // namespace HWY_NAMESPACE
}  // namespace unfold
HWY_AFTER_NAMESPACE();
#endif
