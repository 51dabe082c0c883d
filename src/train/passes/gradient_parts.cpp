#include "train/passes/gradient_parts.h"

#include <algorithm>

namespace unfold {
namespace {

/// Calls use(parameter, segment) for the parameters of live affine maps.
template <class Use>
void for_weights(const Plan& plan, const Use& use) {
  for (int i = 0; i < static_cast<int>(plan.nodes().size()); ++i) {
    const Node& node = plan.nodes()[static_cast<std::size_t>(i)];
    if (node.kind() != Node::Kind::affine || !plan.live(i)) continue;
    for (const auto& term : node.terms()) use(plan.parameters()[at(term.parameter)], plan.last_segment(i));
    if (node.affine().bias >= 0) use(plan.parameters()[at(node.affine().bias)], plan.last_segment(i));
  }
}

/// Returns for each grain the segment after which it is complete.
std::vector<int> segments_of_grains(const Plan& plan, Index grain) {
  std::vector<int> of_parameters(plan.parameters().size(), GradientPart::kEnd);
  int first = static_cast<int>(plan.segments().size());
  for_weights(plan, [&](const ParameterInfo&, int segment) { first = std::min(first, segment); });
  for_weights(plan, [&](const ParameterInfo& p, int segment) {  // nothing is computed after the first segment
    of_parameters[static_cast<std::size_t>(&p - plan.parameters().data())] =
        segment == first ? GradientPart::kEnd : segment;
  });
  const Index grains = (plan.parameter_count() + grain - 1) / grain;
  std::vector<int> result(at(grains), static_cast<int>(plan.segments().size()));
  for (std::size_t k = 0; k < of_parameters.size(); ++k) {
    const ParameterInfo& p = plan.parameters()[k];
    for (Index g = p.offset / grain; g * grain < p.offset + p.size(); ++g)
      result[at(g)] = std::min(result[at(g)], of_parameters[k]);
  }
  return result;
}

}  // namespace

std::vector<GradientPart> gradient_parts(const Plan& plan, Index grain, Index least) {
  const std::vector<int> complete = segments_of_grains(plan, grain);
  const auto grains = static_cast<Index>(complete.size());
  std::vector<char> sent(complete.size(), 0);
  std::vector<GradientPart> result;
  for (int segment = static_cast<int>(plan.segments().size()); segment >= GradientPart::kEnd; --segment)
    for (Index begin = 0, end = 0; begin < grains; begin = std::max(end, begin + 1)) {
      for (end = begin; end < grains && sent[at(end)] == 0 && complete[at(end)] >= segment;) ++end;
      const Range range{begin * grain, std::min(end * grain, plan.parameter_count())};
      if (range.empty() || (segment != GradientPart::kEnd && range.size() < least)) continue;
      std::fill(sent.begin() + begin, sent.begin() + end, char{1});
      result.push_back({range, segment});
    }
  return result;
}

std::vector<std::string> parameters_of_segments(const Plan& plan) {
  std::vector<std::string> result(plan.segments().size());
  for_weights(plan, [&](const ParameterInfo& p, int segment) {
    std::string& names = result[at(segment)];
    names += (names.empty() ? "" : ", ") + p.name;
  });
  return result;
}

}  // namespace unfold
