#include "optim/direction/row_steps.h"

#include <cmath>

#include "numerics/adam/skipped_adam.h"
#include "unfold/numerics/vector.h"

namespace unfold {
namespace {

constexpr Index kSumGroup = 16;  // ranges within a chunk begin at multiples of this

/// The ranges of one chunk of a sum, relative to its begin.
struct TouchedChunk {
  Index chunk = 0;
  std::vector<Range> ranges = {};
};

/// Collects ranges, which must be added in ascending order.
class TouchedChunks {
 public:
  explicit TouchedChunks(Index size) : size_(size) {}

  void add(Range range) {
    while (!range.empty()) {
      const Index chunk = range.begin / kSumChunk, first = chunk * kSumChunk;
      const Index end = std::min(range.end, first + kSumChunk);
      const Index limit = std::min(size_ - first, kSumChunk);
      if (chunks_.empty() || chunks_.back().chunk != chunk) chunks_.push_back({chunk});
      extend(chunks_.back().ranges, {(range.begin - first) / kSumGroup * kSumGroup,
                                     std::min((end - first + kSumGroup - 1) / kSumGroup * kSumGroup, limit)});
      range.begin = end;
    }
  }
  const std::vector<TouchedChunk>& chunks() const { return chunks_; }

 private:
  static void extend(std::vector<Range>& ranges, Range next) {
    if (!ranges.empty() && next.begin <= ranges.back().end)
      ranges.back().end = std::max(ranges.back().end, next.end);
    else
      ranges.push_back(next);
  }

  Index size_;
  std::vector<TouchedChunk> chunks_;
};

}  // namespace

/// A chunk without any of the ranges has the sum 0, which does not change the total.
template <class T>
double norm_of_rows(Team& team, std::span<const T> gradient, const RowTables& tables) {
  const auto size = static_cast<Index>(gradient.size());
  TouchedChunks touched(size);
  Index begin = 0;
  for (const RowTable& table : tables) {
    touched.add({begin, table.offset});
    for (const Index row : table.read) touched.add({table.row(row), table.row(row + 1)});
    begin = table.end();
  }
  touched.add({begin, size});
  const std::vector<TouchedChunk>& chunks = touched.chunks();
  std::vector<double> sums(chunks.size());
  team.run([&](Member& me) {
    const Range mine = me.share(static_cast<Index>(chunks.size()));
    for (Index c = mine.begin; c < mine.end; ++c) {
      const Index first = chunks[at(c)].chunk * kSumChunk;
      const auto count = at(std::min(kSumChunk, size - first));
      sums[at(c)] = sum_of_squares_within<T>(gradient.subspan(at(first), count), chunks[at(c)].ranges);
    }
  });
  double total = 0;
  for (const double sum : sums) total += sum;
  return std::sqrt(total);
}

template double norm_of_rows(Team&, std::span<const float>, const RowTables&);
template double norm_of_rows(Team&, std::span<const double>, const RowTables&);

}  // namespace unfold
