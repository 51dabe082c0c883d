#include "loss/crf/label_scheme.h"

#include <fmt/format.h>

#include <limits>

#include "unfold/base/error.h"

namespace unfold {
ChunkLabel chunk_label(LabelScheme scheme, const std::string& name) {
  const std::string_view places = scheme == LabelScheme::iob2 ? "BI" : "BIES";
  if (name == "O") return {};
  if (name.size() > 2 && name[1] == '-' && places.find(name[0]) != std::string_view::npos)
    return {name[0], name.substr(2)};
  throw UsageError(fmt::format(
      "crf: the label \"{}\" is not valid in the scheme {}: expected O, or one of the letters {} followed by -TYPE",
      name, scheme == LabelScheme::iob2 ? "iob2" : "iobes", places));
}

namespace {

/// Returns whether a chunk with this label may continue at the next position.
bool can_extend(const ChunkLabel& label) { return label.place == 'B' || label.place == 'I'; }
bool continues(const ChunkLabel& label) { return label.place == 'I' || label.place == 'E'; }

bool may_follow(LabelScheme scheme, const ChunkLabel& before, const ChunkLabel& now) {
  const bool inside = can_extend(before) && before.type == now.type;
  if (continues(now)) return inside;
  return scheme != LabelScheme::iobes || !can_extend(before);
}

}  // namespace

void forbid(LabelScheme scheme, const std::vector<std::string>& names, ChainScores& scores) {
  if (scheme == LabelScheme::any) return;
  constexpr double kForbidden = -std::numeric_limits<double>::infinity();
  std::vector<ChunkLabel> labels;
  labels.reserve(names.size());
  for (const std::string& name : names) labels.push_back(chunk_label(scheme, name));
  for (std::size_t i = 0; i < labels.size(); ++i) {
    if (continues(labels[i])) scores.start[i] = kForbidden;
    if (scheme == LabelScheme::iobes && can_extend(labels[i])) scores.stop[i] = kForbidden;
    for (std::size_t j = 0; j < labels.size(); ++j)
      if (!may_follow(scheme, labels[i], labels[j])) scores.transitions[i * labels.size() + j] = kForbidden;
  }
}

}  // namespace unfold
