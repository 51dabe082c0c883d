#include "app/plots/roc.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "unfold/base/error.h"

namespace unfold {

Roc roc(std::span<const double> scores, const std::vector<bool>& positive) {
  if (scores.size() != positive.size())
    throw DataError(fmt::format("{} scores do not match {} labels", scores.size(), positive.size()));
  if (std::any_of(scores.begin(), scores.end(), [](double x) { return std::isnan(x); }))
    throw DataError("a score is not a number, so the scores cannot be ranked");
  Roc result;
  result.positives = std::count(positive.begin(), positive.end(), true);
  result.negatives = static_cast<Index>(positive.size()) - result.positives;
  if (result.positives == 0 || result.negatives == 0)
    throw DataError("the labels contain only one class; a ROC curve needs normal and anomalous lines");
  std::vector<std::size_t> order(scores.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return scores[a] > scores[b]; });
  const auto p = static_cast<double>(result.positives), n = static_cast<double>(result.negatives);
  Index true_positives = 0, false_positives = 0;
  double twice_pairs = 0;  // number of correctly ordered pairs, doubled so that ties count as integers
  result.curve.push_back({std::numeric_limits<double>::infinity(), 0, 0});
  for (std::size_t i = 0; i < order.size();) {
    const double threshold = scores[order[i]];
    Index more = 0, fewer = 0;
    for (; i < order.size() && scores[order[i]] == threshold; ++i) ++(positive[order[i]] ? more : fewer);
    twice_pairs += static_cast<double>(fewer) * static_cast<double>(2 * true_positives + more);
    true_positives += more;
    false_positives += fewer;
    result.curve.push_back(
        {threshold, static_cast<double>(false_positives) / n, static_cast<double>(true_positives) / p});
  }
  result.area = twice_pairs / (2 * p * n);
  return result;
}

}  // namespace unfold
