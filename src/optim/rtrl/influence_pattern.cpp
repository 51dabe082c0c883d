#include "optim/rtrl/influence_pattern.h"

#include <algorithm>
#include <map>

namespace unfold {
namespace {

Index numbers_in(const std::vector<ParameterRange>& ranges) {
  Index total = 0;
  for (const ParameterRange& range : ranges) total += range.count;
  return total;
}

/// Returns the columns of J for each row: the transpose of Reach::from_state.
std::vector<std::vector<Index>> jacobian_columns(const Reach& reach) {
  std::vector<std::vector<Index>> columns(at(reach.state));
  for (Index j = 0; j < reach.state; ++j)
    for (const Index i : reach.from_state[at(j)].elements()) columns[at(i)].push_back(j);
  return columns;
}

}  // namespace

std::vector<std::vector<Index>> passes_of(const std::vector<IndexSet>& columns) {
  std::vector<std::vector<Index>> passes;
  std::vector<IndexSet> taken;
  for (std::size_t row = 0; row < columns.size(); ++row) {
    if (columns[row].empty()) continue;
    std::size_t pass = 0;
    while (pass < passes.size() && taken[pass].meets(columns[row])) ++pass;
    if (pass == passes.size()) {
      passes.emplace_back();
      taken.emplace_back();
    }
    passes[pass].push_back(static_cast<Index>(row));
    taken[pass].take(columns[row]);
  }
  return passes;
}

std::vector<IndexSet> immediate_columns(const Reach& reach) {
  std::vector<IndexSet> columns(at(reach.state));
  for (std::size_t set = 0; set < reach.within.size(); ++set)
    for (const Index i : reach.within[set].states.elements()) {
      if (columns[at(i)].empty()) columns[at(i)] = IndexSet(static_cast<Index>(reach.within.size()));
      columns[at(i)].add(static_cast<Index>(set));
    }
  return columns;
}

/// Returns the set together with the components reached from it within further steps; without a bound, all of them.
IndexSet InfluencePattern::closed(IndexSet set, Index steps, const Reach& reach) const {
  IndexSet edge = set;
  for (Index s = 1; steps == 0 || s < steps; ++s) {
    IndexSet next(reach.state);
    for (const Index j : edge.elements()) next.take(reach.from_state[at(j)]);
    if (!set.take(next)) break;
    edge = std::move(next);
  }
  return set;
}

InfluencePattern::InfluencePattern(const Reach& reach, Index steps) {
  std::map<IndexSet, std::size_t> known;
  const auto add = [&](const Reaching& reaching) {
    IndexSet states = closed(reaching.states, steps, reach);
    const auto [found, is_new] = known.try_emplace(states, groups_.size());
    if (is_new) groups_.push_back({.states = states.elements(), .parameters = {}});
    Group& group = groups_[found->second];
    group.parameters.insert(group.parameters.end(), reaching.parameters.begin(), reaching.parameters.end());
    group_of_.push_back(found->second);
  };
  for (const Reaching& reaching : reach.within) add(reaching);
  for (const Reaching& reaching : reach.starts) add(reaching);

  for (Group& group : groups_) {
    IndexSet own(reach.state);
    for (const Index i : group.states) own.add(i);
    Index pairs = 0;
    for (const Index j : group.states)
      for (const Index i : group.states) pairs += reach.from_state[at(j)].has(i) ? 1 : 0;
    group.count = numbers_in(group.parameters);
    group.offset = size_;
    size_ += static_cast<Index>(group.states.size()) * group.count;
    operations_ += static_cast<double>(pairs) * static_cast<double>(group.count);
  }
}

void InfluencePattern::lay(const Reach& reach) {
  immediates_.resize(at(reach.state));
  std::vector<Index> filled(groups_.size(), 0);  // parameters of each group that already have a position
  const auto place = [&](const Reaching& reaching, std::size_t number, bool is_start) {
    const Group& group = groups_[group_of_[number]];
    for (const ParameterRange& range : reaching.parameters) {
      Index& column = filled[group_of_[number]];
      for (const Index i : reaching.states.elements()) {
        const Index row = std::ranges::lower_bound(group.states, i) - group.states.begin();
        const Index begin = group.offset + row * group.count + column;
        if (is_start)
          starts_.push_back(begin);
        else
          immediates_[at(i)].push_back({begin, range});
      }
      column += range.count;
    }
  };
  std::size_t number = 0;
  for (const Reaching& reaching : reach.within) place(reaching, number++, false);
  for (const Reaching& reaching : reach.starts) place(reaching, number++, true);

  const std::vector<std::vector<Index>> columns = jacobian_columns(reach);
  rows_.resize(at(reach.state));
  for (std::size_t i = 0; i < columns.size(); ++i) {
    rows_[i].begin = static_cast<Index>(columns_.size());
    columns_.insert(columns_.end(), columns[i].begin(), columns[i].end());
    rows_[i].end = static_cast<Index>(columns_.size());
  }
  list_entries();

  // A row is computed if it is stored in some group; its columns are the columns of J, then the columns of I.
  const std::vector<IndexSet> immediate = immediate_columns(reach);
  std::vector<char> kept(at(reach.state), 0);
  for (const Group& group : groups_)
    for (const Index i : group.states) kept[at(i)] = 1;
  std::vector<IndexSet> all(at(reach.state));
  for (Index i = 0; i < reach.state; ++i) {
    if (kept[at(i)] == 0) continue;
    all[at(i)] = IndexSet(reach.state + static_cast<Index>(reach.within.size()));
    for (const Index j : columns[at(i)]) all[at(i)].add(j);
    for (const Index set : immediate[at(i)].elements()) all[at(i)].add(reach.state + set);
  }
  passes_ = passes_of(all);
}

void InfluencePattern::list_entries() {
  std::vector<std::int32_t> place(rows_.size(), -1);
  for (Group& group : groups_) {
    for (std::size_t a = 0; a < group.states.size(); ++a) place[at(group.states[a])] = static_cast<std::int32_t>(a);
    for (const Index i : group.states)
      for (Index value = rows_[at(i)].begin; value < rows_[at(i)].end; ++value)
        if (const std::int32_t from = place[at(columns_[at(value)])]; from >= 0)
          group.entries.push_back({.to = place[at(i)], .from = from, .value = value});
    for (const Index i : group.states) place[at(i)] = -1;
  }
}

}  // namespace unfold
