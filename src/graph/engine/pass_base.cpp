#include "graph/engine/pass_base.h"

#include <algorithm>

#include "unfold/numerics/bf16.h"

namespace unfold {
namespace {

Precision checked(Precision precision, std::size_t number_bytes) {
  if (precision == Precision::bf16 && number_bytes != sizeof(float))
    throw UsageError("unfolding: bfloat16 products require float; this unfolding computes in double");
  return available(precision);
}

/// `seen`: the maximum number of positions that a row refers to.
Index most_scratch(const Plan& plan, Index seen) {
  Index most = 0;
  for (const Node& n : plan.nodes())
    for (const auto& term : n.terms())
      if (!term.dense()) most = std::max(most, term.op->scratch() + seen * term.op->scratch_per_seen());
  return most;
}

}  // namespace

template <class T>
Parts<T>::Parts(std::shared_ptr<const Plan> plan_, Team& team_, Precision precision)
    : plan(std::move(plan_)),
      team(team_),
      layout(*plan),
      boundary(*plan, layout),
      programs(*plan),
      runner(team.size(), *plan, programs),
      schedule(*plan, programs, team.size(), static_cast<Index>(sizeof(T))),
      weights(*plan, checked(precision, sizeof(T))),
      chains(*plan) {
  const Index scratch = most_scratch(*plan, 0);
  for (int member = 0; member < team.size(); ++member) operator_scratch.emplace_back(scratch);
}

template <class T>
void Parts<T>::lay(const Structure& structure, std::span<const Index> slots) {
  if (!layout.lay(structure, slots)) return;
  boundary.lay();
  schedule.lay(layout);
  masks.lay(layout);
  const Index scratch = layout.longest_source() > 0 ? most_scratch(*plan, layout.longest_source()) : 0;
  for (Buffer<T>& mine : operator_scratch)
    if (mine.size() < scratch) mine.resize(scratch);
}

template <class T>
bool PassBase<T>::is_whole(const Item& item, const Work& work) const {
  if (!work.by_columns) return false;
  return std::any_of(item.parts.begin(), item.parts.end(),
                     [&](const auto& part) { return !term_of(item, part).dense(); });
}

template struct Parts<float>;
template struct Parts<double>;
template class PassBase<float>;
template class PassBase<double>;

}  // namespace unfold
