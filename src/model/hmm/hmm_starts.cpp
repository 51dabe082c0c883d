#include "model/hmm/hmm_starts.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <span>

#include "numerics/functions.h"

namespace unfold {
namespace {

using Points = std::vector<std::vector<double>>;

constexpr Index kStretch = 2048;
constexpr Index kMostWindows = 2000;
constexpr Index kBuckets = 256;                // clusters distinguish at most this number of symbols
constexpr Index kMostContextValues = 1 << 22;  // limit of the number of values stored for all contexts
constexpr double kOfAll = 0.05;                // share of the overall frequencies in the emissions of a cluster
constexpr double kOfOthers = 0.1;              // weight of the symbols of other clusters in the emissions of a state
constexpr int kRounds = 5;

void normalize_rows(std::vector<double>& values, Index columns) {
  for (std::size_t begin = 0; begin < values.size(); begin += at(columns)) {
    double total = 0;
    for (std::size_t i = begin; i < begin + at(columns); ++i) total += values[i];
    for (std::size_t i = begin; i < begin + at(columns); ++i) values[i] /= total;
  }
}

double exponential(Random& random) {
  double x = 1 - random.uniform();  // above 0
  vector_log(&x, &x, 1);
  return -x;
}

double distance(const std::vector<double>& a, const std::vector<double>& b) {
  double sum = 0;
  for (std::size_t i = 0; i < a.size(); ++i) sum += (a[i] - b[i]) * (a[i] - b[i]);
  return sum;
}

/// Draws an index with probability proportional to its weight; if all weights are 0, an arbitrary index.
std::size_t draw_index(const std::vector<double>& weights, Random& random) {
  double left = 0;
  for (const double w : weights) left += w;
  left *= random.uniform();
  std::size_t chosen = 0;
  while (chosen + 1 < weights.size() && (left -= weights[chosen]) >= 0) ++chosen;
  return chosen;
}

std::size_t nearest_center(const Points& centers, const std::vector<double>& point) {
  std::size_t best = 0;
  double least = std::numeric_limits<double>::infinity();
  for (std::size_t k = 0; k < centers.size(); ++k)
    if (const double d = distance(centers[k], point); d < least) best = k, least = d;
  return best;
}

/// Returns the cluster of each point: k-means from centers that are drawn far from each other.
std::vector<std::size_t> cluster(const Points& points, const std::vector<double>& weights, Index count,
                                 Random& random) {
  std::vector<double> odds = weights, apart(points.size(), std::numeric_limits<double>::infinity());
  Points centers;
  for (Index k = 0; k < count; ++k) {
    centers.push_back(points[draw_index(odds, random)]);
    for (std::size_t p = 0; p < points.size(); ++p) {
      apart[p] = std::min(apart[p], distance(points[p], centers.back()));
      odds[p] = weights[p] * apart[p];
    }
  }
  std::vector<std::size_t> of(points.size());
  for (int round = 0; round < kRounds; ++round) {
    for (std::size_t p = 0; p < points.size(); ++p) of[p] = nearest_center(centers, points[p]);
    Points sums(centers.size(), std::vector<double>(points.front().size()));
    std::vector<double> totals(centers.size());
    for (std::size_t p = 0; p < points.size(); ++p) {
      totals[of[p]] += weights[p];
      for (std::size_t i = 0; i < points[p].size(); ++i) sums[of[p]][i] += weights[p] * points[p][i];
    }
    for (std::size_t k = 0; k < centers.size(); ++k)
      for (std::size_t i = 0; i < sums[k].size() && totals[k] > 0; ++i) centers[k][i] = sums[k][i] / totals[k];
  }
  return of;
}

/// States stay with probability `stay` and otherwise make random transitions.
void set_transitions(double stay, Random& random, HmmParameters& hmm) {
  for (double& x : hmm.transitions) x = 0.1 + exponential(random);
  normalize_rows(hmm.transitions, hmm.states);
  for (Index i = 0; i < hmm.states; ++i)
    for (Index j = 0; j < hmm.states; ++j) {
      double& x = hmm.transitions[at(i * hmm.states + j)];
      x = (1 - stay) * x + (i == j ? stay : 0);
    }
}

}  // namespace

Split spread_stretches(const Split& part, Index symbols) {
  const Index all = part.symbols();
  if (all <= symbols) return part;
  const Index count = std::max<Index>(1, symbols / kStretch);
  Split result{.name = part.name, .pieces = {}};
  Index before = 0;  // number of symbols in the preceding pieces
  Index next = 0;    // number of the next segment
  for (const Piece& piece : part.pieces) {
    // A segment that is longer than its piece continues in the next piece.
    const Index end = before + piece.range.size();
    for (Index s = next > 0 ? next - 1 : 0; s < count; ++s) {
      const Index from = all / count * s, to = std::min(from + kStretch, all);
      if (from >= end) break;
      next = s + 1;
      const Range own{std::max(from, before), std::min(to, end)};
      if (own.begin >= own.end) continue;
      result.pieces.push_back(
          {.sequence = piece.sequence,
           .range = {piece.range.begin + own.begin - before, piece.range.begin + own.end - before}});
    }
    before = end;
  }
  return result;
}

HmmStarts::HmmStarts(const Corpus& corpus, const Split& part, Index states)
    : states_(states), alphabet_(corpus.alphabet().size()), sample_(spread_stretches(part, kStartSymbols)) {
  shares_.assign(at(alphabet_), 0.1);
  for (const Piece& piece : sample_.pieces) {
    texts_.push_back(corpus.read(piece.sequence, piece.range));
    for (const Symbol x : texts_.back()) ++shares_[static_cast<std::size_t>(x)];
  }
  normalize_rows(shares_, alphabet_);
}

HmmParameters HmmStarts::make(Index number, std::uint64_t seed) const {
  Random random(seed, stream_of("hmm-starts") + static_cast<std::uint64_t>(number));
  HmmParameters hmm(states_, alphabet_);
  const auto windows = [&](Index length) {
    emit_windows(length, random, hmm);
    set_transitions(1 - 1 / static_cast<double>(length), random, hmm);
  };
  const auto random_states = [&](double stay) {
    emit_at_random(random, hmm);
    set_transitions(stay, random, hmm);
  };
  constexpr Index kKinds = 7;
  switch (number % kKinds) {
    case 0: windows(16); break;
    case 1:
      emit_contexts(random, hmm);
      set_transitions(0, random, hmm);
      break;
    case 2: random_states(0.9); break;
    case 3: windows(4); break;
    case 4: random_states(0); break;
    case 5: windows(64); break;
    default: random_states(0.5);
  }
  return hmm;
}

void HmmStarts::emit_windows(Index length, Random& random, HmmParameters& hmm) const {
  const auto each = [&](const auto& use) {
    for (const std::vector<Symbol>& text : texts_)
      for (Index begin = 0; begin < static_cast<Index>(text.size()); begin += length)
        use(std::span(text).subspan(at(begin), std::min(at(length), text.size() - at(begin))));
  };
  Index all = 0;
  each([&](std::span<const Symbol>) { ++all; });
  const Index step = (all + kMostWindows - 1) / kMostWindows;
  std::vector<std::span<const Symbol>> windows;
  Index number = 0;
  each([&](std::span<const Symbol> window) {
    if (number++ % step == 0) windows.push_back(window);
  });
  if (static_cast<Index>(windows.size()) < states_) return emit_at_random(random, hmm);
  const auto buckets = at(std::min(alphabet_, kBuckets));
  Points points;
  for (const std::span<const Symbol> window : windows) {
    std::vector<double>& point = points.emplace_back(buckets);
    for (const Symbol x : window) point[static_cast<std::size_t>(x) % buckets] += 1;
    for (double& x : point) x = std::sqrt(x / static_cast<double>(window.size()));
  }
  const std::vector<std::size_t> of = cluster(points, std::vector<double>(points.size(), 1.0), states_, random);
  std::vector<double> counts(at(states_));
  for (std::size_t w = 0; w < windows.size(); ++w) counts[of[w]] += static_cast<double>(windows[w].size());
  for (std::size_t k = 0; k < at(states_); ++k)
    for (std::size_t x = 0; x < at(alphabet_); ++x)
      hmm.emissions[k * at(alphabet_) + x] = shares_[x] * (kOfAll * std::max(counts[k], 1.0));
  for (std::size_t w = 0; w < windows.size(); ++w)
    for (const Symbol x : windows[w]) ++hmm.emissions[of[w] * at(alphabet_) + static_cast<std::size_t>(x)];
  normalize_rows(hmm.emissions, alphabet_);
}

void HmmStarts::emit_contexts(Random& random, HmmParameters& hmm) const {
  const auto buckets = at(std::min(alphabet_, std::clamp<Index>(kMostContextValues / alphabet_, 8, kBuckets)));
  Points points(at(alphabet_), std::vector<double>(2 * buckets));
  std::vector<double> counts(at(alphabet_));
  for (const std::vector<Symbol>& text : texts_)
    for (std::size_t t = 0; t < text.size(); ++t) {
      std::vector<double>& point = points[static_cast<std::size_t>(text[t])];
      if (t > 0) ++point[static_cast<std::size_t>(text[t - 1]) % buckets];
      if (t + 1 < text.size()) ++point[buckets + static_cast<std::size_t>(text[t + 1]) % buckets];
      ++counts[static_cast<std::size_t>(text[t])];
    }
  for (std::size_t x = 0; x < points.size(); ++x)
    for (double& y : points[x]) y = std::sqrt(y / std::max(counts[x], 1.0));
  const std::vector<std::size_t> of = cluster(points, shares_, states_, random);
  for (std::size_t k = 0; k < at(states_); ++k)
    for (std::size_t x = 0; x < at(alphabet_); ++x)
      hmm.emissions[k * at(alphabet_) + x] = shares_[x] * (of[x] == k ? 1 : kOfOthers * random.uniform(0.5, 1.5));
  normalize_rows(hmm.emissions, alphabet_);
}

void HmmStarts::emit_at_random(Random& random, HmmParameters& hmm) const {
  for (std::size_t i = 0; i < hmm.emissions.size(); ++i)
    hmm.emissions[i] = shares_[i % at(alphabet_)] * (0.1 + exponential(random));
  normalize_rows(hmm.emissions, alphabet_);
}

}  // namespace unfold
