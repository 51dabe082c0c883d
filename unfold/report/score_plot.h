#pragma once
/// A picture of the scores of lines: how they run through the text and, where labels say which lines are anomalous, how
/// well scores tell (the ROC curve) below it.

#include <span>
#include <string>
#include <vector>

namespace unfold {

/// SVG. `score` names the scores, higher ones being more surprising. `anomalous` is empty or holds one flag a score;
/// the ROC curve is left out where both kinds do not occur. Long texts are drawn as stretches: the largest score of
/// each, and its quartiles. Scores that are not finite are left out.
std::string score_plot(const std::string& title, const std::string& score, std::span<const double> scores,
                       const std::vector<bool>& anomalous);

}  // namespace unfold
