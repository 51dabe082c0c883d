#include "app/fields/example_split.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <set>

#include "app/fields/field_entries.h"
#include "app/fields/field_plan.h"
#include "unfold/base/error.h"
#include "unfold/numerics/random.h"

namespace unfold {
namespace {

constexpr Index kWholeShare = 100'000'000;

/// Returns the number of items, out of n, in the first `parts` parts.
Index share_of(const SplitShares& shares, Index n, std::size_t parts) {
  Index share = 0;
  for (std::size_t p = 0; p < parts; ++p) share += shares.shares[p];
  return static_cast<Index>(static_cast<__int128>(n) * share / kWholeShare);
}

/// Returns the part of the i-th item if each part is spread evenly over the items.
std::size_t spread_part(const SplitShares& shares, Index i) {
  std::size_t part = 0;
  while (part < 2 && share_of(shares, i + 1, part + 1) == share_of(shares, i, part + 1)) ++part;
  return part;
}

}  // namespace

ExampleSplit::ExampleSplit(const Examples& examples, const SplitShares& shares, Problem problem,
                           std::span<const std::string> predicts)
    : single_(examples.count() == 1) {
  const bool can_be_cut = !examples.are_trees() && !examples.are_grids();
  if (single_ && !can_be_cut && shares.shares[0] < kWholeShare)
    throw DataError(fmt::format("{}: a single {} cannot be split; add --valid FILE", examples.source,
                                examples.are_trees() ? "tree" : "grid"));
  single_ = single_ && can_be_cut;
  if (problem == Problem::transducing || problem == Problem::generating) {
    if (single_ && shares.shares[0] < kWholeShare)
      throw DataError(fmt::format("{}: a single {} cannot be split; add --valid FILE", examples.source,
                                  problem == Problem::generating ? "sequence" : "source"));
    single_ = false;
    if (problem == Problem::transducing) {
      split_by_source(examples, shares);
      return;
    }
  }
  for (std::size_t p = 0; p < 4 && single_; ++p) bounds_[p] = share_of(shares, examples.length(0), p);
  for (Index e = 0; e < examples.count() && !single_; ++e) {
    std::size_t part = 0;
    if (problem == Problem::classifying || problem == Problem::generating)
      part = spread_part(shares, e);
    else
      while (part < 2 && e >= share_of(shares, examples.count(), part + 1)) ++part;
    examples_[part].push_back(e);
  }
  if (problem != Problem::classifying || single_) return;
  stratify(examples, shares, predicts);
  keep_classes(examples, predicts);
}

/// Spreads the parts over the examples in the order of their classes if a part would contain no example of a class that
/// is large enough for one. Examples without a class form one class.
void ExampleSplit::stratify(const Examples& examples, const SplitShares& shares,
                            std::span<const std::string> predicts) {
  const auto predicted = std::ranges::find_if(examples.columns, [&](const ExampleColumn& column) {
    return column.once && column.is_text() && std::ranges::find(predicts, column.name) != predicts.end();
  });
  if (predicted == examples.columns.end()) return;
  const auto class_of = [&](Index e) { return predicted->present(e) ? predicted->texts[e] : std::string_view(); };
  std::map<std::string_view, std::array<Index, 3>> counts;  // number of examples by class and part
  for (std::size_t part = 0; part < examples_.size(); ++part)
    for (const Index e : examples_[part]) ++counts[class_of(e)][part];
  const auto misses_part = [&](const auto& entry) {
    const std::array<Index, 3>& own = entry.second;
    const Index all = own[0] + own[1] + own[2];
    for (std::size_t part = 0; part < own.size(); ++part)
      if (own[part] == 0 && static_cast<__int128>(all) * shares.shares[part] >= kWholeShare) return true;
    return false;
  };
  if (std::ranges::none_of(counts, misses_part)) return;
  std::vector<Index> order(at(examples.count()));
  std::iota(order.begin(), order.end(), Index{0});
  std::ranges::stable_sort(order, {}, class_of);
  for (std::vector<Index>& part : examples_) part.clear();
  for (Index i = 0; i < examples.count(); ++i) examples_[spread_part(shares, i)].push_back(order[at(i)]);
  for (std::vector<Index>& part : examples_) std::ranges::sort(part);
}

/// If the training part has no example of a class, moves the first example of this class there. Otherwise, the class
/// would have probability 0.
void ExampleSplit::keep_classes(const Examples& examples, std::span<const std::string> predicts) {
  for (const ExampleColumn& column : examples.columns) {
    if (!column.once || !column.is_text() || std::ranges::find(predicts, column.name) == predicts.end()) continue;
    std::set<std::string_view> known;
    for (const Index e : examples_[0]) known.insert(column.texts[e]);
    for (std::size_t part = 1; part < examples_.size(); ++part)
      std::erase_if(examples_[part], [&](Index e) {
        if (!column.present(e) || !known.insert(column.texts[e]).second) return false;
        examples_[0].push_back(e);
        return true;
      });
  }
  std::ranges::sort(examples_[0]);
}

void ExampleSplit::split_by_source(const Examples& examples, const SplitShares& shares) {
  std::map<std::vector<std::string>, std::vector<Index>> by_source;
  std::vector<const std::vector<Index>*> sources;  // examples of each source, in the order of the file
  for (Index e = 0; e < examples.count(); ++e) {
    std::vector<std::string> key;
    for (const ExampleColumn& column : examples.columns) {
      if (!column.source) continue;
      const Range own = column.chain(e);
      for (Index i = own.begin; i < own.end; ++i) key.push_back(entry_text(column, i));
      key.emplace_back();
    }
    std::vector<Index>& same = by_source[std::move(key)];
    if (same.empty()) sources.push_back(&same);
    same.push_back(e);
  }
  Random random(kSplitSeed, "examples/split");
  for (std::size_t i = sources.size(); i > 1; --i) std::swap(sources[i - 1], sources[random.below(i)]);
  for (std::size_t s = 0; s < sources.size(); ++s) {
    std::size_t part = 0;
    while (part < 2 && static_cast<Index>(s) >= share_of(shares, static_cast<Index>(sources.size()), part + 1)) ++part;
    examples_[part].insert(examples_[part].end(), sources[s]->begin(), sources[s]->end());
  }
  for (std::vector<Index>& part : examples_) std::ranges::sort(part);
}

Examples ExampleSplit::training(const Examples& all) const {
  return single_ ? part(all, 0, bounds_[0], bounds_[1]) : subset(all, examples_[0]);
}

Examples ExampleSplit::validation(const Examples& all) const {
  return single_ ? part(all, 0, bounds_[1], bounds_[2]) : subset(all, examples_[1]);
}

std::array<ExampleSet, 3> ExampleSplit::parts(const ExampleSet& all, Index warmup) const {
  if (!single_) return {all.subset(examples_[0]), all.subset(examples_[1]), all.subset(examples_[2])};
  const auto cut = [&](std::size_t p) { return all.part(0, bounds_[p], bounds_[p + 1], warmup); };
  return {cut(0), cut(1), cut(2)};
}

ExampleSet ExampleSplit::training_and_validation(const ExampleSet& all) const {
  if (single_) return all.part(0, bounds_[0], bounds_[2], 0);
  std::vector<Index> both = examples_[0];
  both.insert(both.end(), examples_[1].begin(), examples_[1].end());
  std::ranges::sort(both);
  return all.subset(both);
}

}  // namespace unfold
