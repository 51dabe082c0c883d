#include "model/decoding/label_search.h"

#include <algorithm>
#include <limits>

#include "loss/crf/label_scheme.h"
#include "numerics/functions.h"

namespace unfold {
namespace {

constexpr double kNever = -std::numeric_limits<double>::infinity();

/// A path to a pair: its score and its predecessor.
struct Way {
  double score = kNever;
  Index pair = 0, rank = 0;  // pair and rank of the predecessor
};

void keep_best_ways(std::vector<Way>& ways, Index count) {
  std::ranges::stable_sort(ways, std::ranges::greater(), &Way::score);
  if (static_cast<Index>(ways.size()) > count) ways.resize(at(count));
}

double log_sum_of(const std::vector<double>& terms) {
  return log_sum_exp(terms.data(), static_cast<Index>(terms.size()));
}

}  // namespace

LabelSearch::LabelSearch(const ChainScores& scores, Emissions e, const Automaton& allowed)
    : scores_(scores), e_(e), allowed_(allowed), columns_(at(e.rows)) {
  lay();
}

/// Finds the pairs of every position, ordered by state, then by label.
void LabelSearch::lay() {
  const Index n = scores_.labels, states = allowed_.states();
  std::vector<Index> number(at(states * n));
  for (Index t = 0; t < e_.rows; ++t) {
    Column& column = columns_[at(t)];
    std::fill(number.begin(), number.end(), Index{-1});
    const auto enter = [&](Index state, Symbol label, Index before) {
      const Index to = allowed_.next(state, label);
      if (to == Automaton::kDead || e_(t, label) == kNever || allowed_.least(to) > e_.rows - 1 - t) return;
      Index& pair = number[at(to * n + label)];
      if (pair < 0) {
        pair = static_cast<Index>(column.pairs.size());
        column.pairs.push_back({label, to});
        column.from.emplace_back();
      }
      if (before >= 0) column.from[at(pair)].push_back(before);
    };
    if (t == 0) {
      for (Symbol j = 0; j < n; ++j)
        if (scores_.start[at(j)] > kNever) enter(allowed_.start(), j, -1);
      continue;
    }
    const std::vector<Pair>& before = columns_[at(t - 1)].pairs;
    for (std::size_t p = 0; p < before.size(); ++p)
      for (Symbol j = 0; j < n; ++j)
        if (scores_.transitions[at(before[p].label * n + j)] > kNever) enter(before[p].state, j, static_cast<Index>(p));
  }
  Column& last = columns_.back();  // remove pairs whose state is not accepting
  std::vector<Pair> pairs;
  std::vector<std::vector<Index>> from;
  for (std::size_t p = 0; p < last.pairs.size(); ++p)
    if (allowed_.accepts(last.pairs[p].state)) {
      pairs.push_back(last.pairs[p]);
      from.push_back(std::move(last.from[p]));
    }
  last.pairs = std::move(pairs);
  last.from = std::move(from);
}

double LabelSearch::step_score(Index t, Index before, Index pair) const {
  const Symbol i = columns_[at(t - 1)].pairs[at(before)].label, j = columns_[at(t)].pairs[at(pair)].label;
  return scores_.transitions[at(i * scores_.labels + j)] + e_(t, j);
}

std::vector<ScoredLabeling> LabelSearch::best(Index count) const {
  std::vector<std::vector<std::vector<Way>>> ways(columns_.size());
  for (Index t = 0; t < e_.rows; ++t) {
    const Column& column = columns_[at(t)];
    ways[at(t)].resize(column.pairs.size());
    for (std::size_t p = 0; p < column.pairs.size(); ++p) {
      std::vector<Way>& here = ways[at(t)][p];
      const Symbol j = column.pairs[p].label;
      if (t == 0) here.push_back({scores_.start[at(j)] + e_(0, j)});
      for (const Index before : column.from[p]) {
        const double more = step_score(t, before, static_cast<Index>(p));
        const std::vector<Way>& so_far = ways[at(t - 1)][at(before)];
        for (std::size_t k = 0; k < so_far.size(); ++k)
          here.push_back({so_far[k].score + more, before, static_cast<Index>(k)});
      }
      keep_best_ways(here, count);
    }
  }
  std::vector<Way> ends;
  const Index last = e_.rows - 1;
  for (std::size_t p = 0; p < columns_[at(last)].pairs.size(); ++p) {
    const double stop = scores_.stop[at(columns_[at(last)].pairs[p].label)];
    for (std::size_t k = 0; k < ways[at(last)][p].size(); ++k)
      if (const double score = ways[at(last)][p][k].score + stop; score > kNever)
        ends.push_back({score, static_cast<Index>(p), static_cast<Index>(k)});
  }
  keep_best_ways(ends, count);
  std::vector<ScoredLabeling> found;
  found.reserve(ends.size());
  for (const Way& end : ends) {
    ScoredLabeling chain{.labels = std::vector<Symbol>(columns_.size()), .log_probability = end.score};
    Way way = end;
    for (Index t = last; t >= 0; --t) {
      chain.labels[at(t)] = columns_[at(t)].pairs[at(way.pair)].label;
      way = ways[at(t)][at(way.pair)][at(way.rank)];
    }
    found.push_back(std::move(chain));
  }
  return found;
}

/// alpha[t][pair] = log of the sum over all prefixes that end in the pair.
std::vector<std::vector<double>> LabelSearch::forward() const {
  std::vector<std::vector<double>> alpha(columns_.size());
  std::vector<double> terms;
  for (Index t = 0; t < e_.rows; ++t) {
    const Column& column = columns_[at(t)];
    for (std::size_t p = 0; p < column.pairs.size(); ++p) {
      const Symbol j = column.pairs[p].label;
      terms.clear();
      if (t == 0) terms.push_back(scores_.start[at(j)] + e_(0, j));
      for (const Index before : column.from[p])
        terms.push_back(alpha[at(t - 1)][at(before)] + step_score(t, before, static_cast<Index>(p)));
      alpha[at(t)].push_back(log_sum_of(terms));
    }
  }
  return alpha;
}

double LabelSearch::log_sum() const {
  const std::vector<double> last = forward().back();
  std::vector<double> terms;
  for (std::size_t p = 0; p < last.size(); ++p)
    terms.push_back(last[p] + scores_.stop[at(columns_.back().pairs[p].label)]);
  return log_sum_of(terms);
}

double LabelSearch::log_posteriors(Matrix<double> log_p) const {
  const auto alpha = forward();
  const Index n = scores_.labels;
  std::vector<double> beta, sum(at(n));
  for (const Pair& pair : columns_.back().pairs) beta.push_back(scores_.stop[at(pair.label)]);
  double total = kNever;
  for (Index t = e_.rows - 1; t >= 0; --t) {
    const Column& column = columns_[at(t)];
    std::vector<std::vector<double>> of_label(at(n));
    for (std::size_t p = 0; p < column.pairs.size(); ++p)
      of_label[at(column.pairs[p].label)].push_back(alpha[at(t)][p] + beta[p]);
    for (Index j = 0; j < n; ++j) sum[at(j)] = log_sum_of(of_label[at(j)]);
    const double all = log_sum_of(sum);
    if (t + 1 == e_.rows) total = all;
    for (Index j = 0; j < n; ++j) log_p(t, j) = sum[at(j)] - all;
    if (t == 0) break;
    std::vector<std::vector<double>> ahead(columns_[at(t - 1)].pairs.size());
    for (std::size_t p = 0; p < column.pairs.size(); ++p)
      for (const Index before : column.from[p])
        ahead[at(before)].push_back(step_score(t, before, static_cast<Index>(p)) + beta[p]);
    beta.clear();
    for (const std::vector<double>& terms : ahead) beta.push_back(log_sum_of(terms));
  }
  return total;
}

Automaton chunk_automaton(const std::vector<std::string>& names) {
  const auto n = static_cast<Index>(names.size());
  const bool ends = std::ranges::any_of(
      names, [](const std::string& name) { return name.starts_with("E-") || name.starts_with("S-"); });
  ChainScores scores{.labels = n,
                     .transitions = std::vector<double>(at(n * n)),
                     .start = std::vector<double>(at(n)),
                     .stop = std::vector<double>(at(n))};
  forbid(ends ? LabelScheme::iobes : LabelScheme::iob2, names, scores);
  // State 0 is the state before the first label; state 1 + j is the state after label j.
  Automaton::Table table{.columns = {}, .width = n, .next = {}, .accepting = {1}};
  for (Index j = 0; j < n; ++j) {
    table.columns.push_back(j);
    table.next.push_back(scores.start[at(j)] > kNever ? 1 + j : Automaton::kDead);
  }
  for (Index i = 0; i < n; ++i) {
    table.accepting.push_back(scores.stop[at(i)] > kNever ? 1 : 0);
    for (Index j = 0; j < n; ++j)
      table.next.push_back(scores.transitions[at(i * n + j)] > kNever ? 1 + j : Automaton::kDead);
  }
  return Automaton(table).minimized();
}

}  // namespace unfold
