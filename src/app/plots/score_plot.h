#pragma once
/// A plot of anomaly scores over the lines of a text, with a ROC curve below it if labels are available.

#include <span>
#include <string>
#include <vector>

namespace unfold {

/// Returns the plot as SVG. `score` is the label of the scores; higher scores are more anomalous. `anomalous` is empty
/// or holds one flag per score; the ROC curve is omitted unless both classes occur. Long texts are divided into
/// segments, each drawn with its maximum and quartiles. Scores that are not finite are omitted.
std::string score_plot(const std::string& title, const std::string& score, std::span<const double> scores,
                       const std::vector<bool>& anomalous);

}  // namespace unfold
