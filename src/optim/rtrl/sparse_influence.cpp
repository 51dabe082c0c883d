/// RTRL (Williams & Zipser 1989) and SnAp (Menick et al. 2021) over the blocks of influence_pattern.h.

#include <fmt/format.h>

#include <algorithm>

#include "optim/rtrl/influence.h"
#include "optim/rtrl/influence_pattern.h"
#include "unfold/base/error.h"
#include "unfold/numerics/vector.h"

namespace unfold {
namespace {

/// A training run stores two further copies of the streams' data: the data before a batch and the data of the last good
/// state.
constexpr double kCopies = 3;
/// Number of multiply-adds per step beyond which a symbol takes seconds.
constexpr double kMostOperations = 4e9;
constexpr double kOperationsPerSecond = 2e9;
/// Number of parameters of a group that are processed together; their block fits into the second-level cache.
constexpr Index kChunk = 512;

std::string duration_of(double operations) {
  const double seconds = operations / kOperationsPerSecond;
  return seconds < 0.01 ? fmt::format("{:.2g} ms", 1000 * seconds) : fmt::format("{:.2g} s", seconds);
}

std::string gigabytes(double bytes) {
  return bytes < 1e8 ? fmt::format("{:.1f} MB", bytes / 1e6) : fmt::format("{:.1f} GB", bytes / 1e9);
}

void refuse_unaffordable(const InfluencePattern& pattern, const Reach& reach, const GradientMethod& method,
                         Index streams, std::size_t element, std::size_t limit) {
  const auto bytes_of = [&](const InfluencePattern& p) {
    return (kCopies * static_cast<double>(streams) + 1) * static_cast<double>(p.size()) * static_cast<double>(element);
  };
  const bool fits = bytes_of(pattern) <= static_cast<double>(limit);
  if (fits && pattern.operations() <= kMostOperations) return;
  const InfluencePattern least(reach, 1);
  const std::string snap =
      method.kind == GradientMethod::Kind::snap && method.steps == 1
          ? std::string()
          : fmt::format(" snap:1 takes {} and {};", gigabytes(bytes_of(least)), duration_of(least.operations()));
  throw UsageError(fmt::format(
      "--gradient {} stores {} numbers for each of {} streams, {} in total, and needs {:.1e} multiplications per "
      "symbol, which take about {} (the limits are {}, see --memory-limit, and {});{} uoro stores one number per "
      "parameter; "
      "use fewer units, a cell with independent units (indrnn, lru) or a smaller --batch",
      method.text(), pattern.size(), streams, gigabytes(bytes_of(pattern)), pattern.operations(),
      duration_of(pattern.operations()), gigabytes(static_cast<double>(limit)), duration_of(kMostOperations), snap));
}

template <class T>
class SparseInfluence final : public Influence<T> {
 public:
  SparseInfluence(const Reach& reach, InfluencePattern pattern) : pattern_(std::move(pattern)) { pattern_.lay(reach); }

  Index width() const override { return pattern_.size(); }

  void begin(const SignKey&, T* carried) const override {
    std::fill_n(carried, pattern_.size(), T{0});
    for (const Index place : pattern_.starts()) carried[place] = T{1};
  }

  void pull(const T* adjoint, const T* carried, T* gradient) const override {
    for (const auto& group : pattern_.groups()) {
      const T* block = carried + group.offset;
      for (std::size_t row = 0; row < group.states.size(); ++row) {
        const T a = adjoint[group.states[row]];
        const T* from = block + static_cast<Index>(row) * group.count;
        if (a == T{0}) continue;
        for (const ParameterRange& range : group.parameters) {
          for (Index i = 0; i < range.count; ++i) gradient[range[i]] += a * from[i];
          from += range.count;
        }
      }
    }
  }

  void step(StepPass<T>& pass, const SignKey&, InfluenceScratch<T>& scratch, T* carried) const override {
    ready(scratch);
    scratch.next.fill_zero();
    for (const auto& rows : pattern_.passes()) {
      pass.seed(rows, std::span<const T>(scratch.ones.span()).first(rows.size()));
      const std::span<const T> found = pass.backward();
      for (const Index row : rows) keep(row, found.data(), pass.parameters(), scratch);
    }
    for (const auto& group : pattern_.groups()) move(group, scratch, carried);
  }

 private:
  void ready(InfluenceScratch<T>& scratch) const {
    if (scratch.next.size() == pattern_.size() && !scratch.ones.empty()) return;
    scratch.next.resize(pattern_.size());
    scratch.jacobian.resize(static_cast<Index>(pattern_.columns().size()));
    scratch.ones.resize(std::max<Index>(1, static_cast<Index>(pattern_.rows().size())));
    std::ranges::fill(scratch.ones, T{1});
  }

  /// Stores a row of J and of I.
  void keep(Index row, const T* found, Index parameters, InfluenceScratch<T>& scratch) const {
    const auto [begin, end] = pattern_.rows()[at(row)];
    for (Index v = begin; v < end; ++v) scratch.jacobian[v] = found[parameters + pattern_.columns()[at(v)]];
    for (const auto& [place, range] : pattern_.immediates()[at(row)]) {
      T* to = scratch.next.data() + place;
      for (Index i = 0; i < range.count; ++i) to[i] = found[range[i]];
    }
  }

  /// G = J G + I for a group, some parameters at a time.
  void move(const InfluencePattern::Group& group, InfluenceScratch<T>& scratch, T* carried) const {
    const Index stride = group.count;
    T *block = carried + group.offset, *next = scratch.next.data() + group.offset;
    const auto rows = static_cast<Index>(group.states.size());
    for (Index first = 0; first < group.count; first += kChunk) {
      const auto n = at(std::min(kChunk, group.count - first));
      for (const auto& [to, from, value] : group.entries)
        axpy<T>(scratch.jacobian[value], std::span<const T>(block + from * stride + first, n),
                std::span<T>(next + to * stride + first, n));
      for (Index r = 0; r < rows; ++r) std::copy_n(next + r * stride + first, n, block + r * stride + first);
    }
  }

  InfluencePattern pattern_;
};

}  // namespace

template <class T>
void require_affordable(const Reach& reach, const GradientMethod& method, Index streams, std::size_t limit) {
  const InfluencePattern pattern(reach, method.kind == GradientMethod::Kind::rtrl ? 0 : method.steps);
  refuse_unaffordable(pattern, reach, method, streams, sizeof(T), limit);
}

template <class T>
std::unique_ptr<Influence<T>> sparse_influence(const Reach& reach, const GradientMethod& method, Index streams,
                                               std::size_t limit) {
  require_affordable<T>(reach, method, streams, limit);
  return std::make_unique<SparseInfluence<T>>(
      reach, InfluencePattern(reach, method.kind == GradientMethod::Kind::rtrl ? 0 : method.steps));
}

template void require_affordable<float>(const Reach&, const GradientMethod&, Index, std::size_t);
template void require_affordable<double>(const Reach&, const GradientMethod&, Index, std::size_t);
template std::unique_ptr<Influence<float>> sparse_influence(const Reach&, const GradientMethod&, Index, std::size_t);
template std::unique_ptr<Influence<double>> sparse_influence(const Reach&, const GradientMethod&, Index, std::size_t);

}  // namespace unfold
