#include "loss/ctc/ctc_lattice.h"

#include <algorithm>
#include <limits>
#include <map>

#include "numerics/functions.h"
#include "unfold/base/error.h"

namespace unfold {
namespace {

constexpr double kNever = -std::numeric_limits<double>::infinity();
constexpr Index kWays = 3;  // transitions into a state, or out of it

double log_add(double a, double b) {
  const double both[] = {a, b};  // NOLINT(modernize-avoid-c-arrays): two numbers
  return a == kNever ? b : b == kNever ? a : log_sum_exp(both, 2);
}

}  // namespace

Index ctc_positions_needed(std::span<const Symbol> labels) {
  Index needed = static_cast<Index>(labels.size());
  for (std::size_t u = 1; u < labels.size(); ++u) needed += labels[u] == labels[u - 1] ? 1 : 0;
  return needed;
}

CtcLattice::CtcLattice(Matrix<const double> log_p, std::span<const Symbol> labels) : log_p_(log_p), labels_(labels) {
  const auto count = at(states());
  alpha_.resize(at(log_p.rows) * count);
  terms_.resize(count * kWays);
  most_.resize(count);
  sums_.resize(count);
}

Range CtcLattice::alive(Index t) const {
  return {std::max<Index>(0, states() - 2 * (log_p_.rows - t)), std::min(states(), 2 * (t + 1))};
}

/// Sets to(s) to the log of the sum over the predecessors (or successors) of state s; -inf if none of them is possible.
void CtcLattice::sum_row(const double* from, bool forwards, double* to) {
  const Index count = states();
  for (Index s = 0; s < count; ++s) {
    const Index step = forwards ? -1 : 1;
    double* terms = terms_.data() + s * kWays;
    for (Index way = 0; way < kWays; ++way) {
      const Index other = s + way * step;
      const bool open = other >= 0 && other < count && (way < 2 || skips(forwards ? s : other));
      terms[way] = open ? from[other] : kNever;
    }
    const double most = std::max({terms[0], terms[1], terms[2]});
    most_[at(s)] = most == kNever ? 0 : most;
    for (Index way = 0; way < kWays; ++way) terms[way] -= most_[at(s)];
  }
  vector_exp(terms_.data(), terms_.data(), count * kWays);
  for (Index s = 0; s < count; ++s)
    sums_[at(s)] = terms_[at(s * kWays)] + terms_[at(s * kWays + 1)] + terms_[at(s * kWays + 2)];
  for (Index s = 0; s < count; ++s) to[s] = sums_[at(s)] > 0 ? 0 : kNever;
  for (double& sum : sums_) sum = sum > 0 ? sum : 1;
  vector_log(sums_.data(), sums_.data(), count);
  for (Index s = 0; s < count; ++s) to[s] += sums_[at(s)] + most_[at(s)];
}

double CtcLattice::forward() {
  const Index count = states();
  for (Index t = 0; t < log_p_.rows; ++t) {
    double* now = alpha_.data() + t * count;
    if (t == 0)
      for (Index s = 0; s < count; ++s) now[s] = s < 2 ? 0 : kNever;
    else
      sum_row(now - count, true, now);
    const Range open = alive(t);
    for (Index s = 0; s < count; ++s) now[s] = s >= open.begin && s < open.end ? now[s] + log_p_(t, symbol(s)) : kNever;
  }
  const double* last = alpha_.data() + (log_p_.rows - 1) * count;
  log_probability_ = count > 1 ? log_add(last[count - 1], last[count - 2]) : last[0];
  return log_probability_;
}

void CtcLattice::posteriors(Matrix<double> out) {
  const Index count = states();
  std::vector<double> beta(at(count)), before(at(count)), shares(at(count));
  for (Index s = 0; s < count; ++s) beta[at(s)] = s + 2 >= count ? 0 : kNever;
  for (Index t = log_p_.rows - 1; t >= 0; --t) {
    const double* alpha = alpha_.data() + t * count;
    for (Index s = 0; s < count; ++s) shares[at(s)] = alpha[s] + beta[at(s)] - log_probability_;
    vector_exp(shares.data(), shares.data(), count);
    std::fill_n(out.row(t), out.cols, 0.0);
    for (Index s = 0; s < count; ++s) out(t, symbol(s)) += shares[at(s)];
    for (Index s = 0; s < count; ++s) beta[at(s)] += log_p_(t, symbol(s));
    sum_row(beta.data(), false, before.data());
    beta.swap(before);
  }
}

std::vector<Index> CtcLattice::places() const {
  const Index count = states(), length = log_p_.rows;
  if (ctc_positions_needed(labels_) > length) throw UsageError("ctc: the chain has too few positions for its labels");
  std::vector<double> score(at(count)), next(at(count));
  std::vector<signed char> way(at(length * count));
  for (Index t = 0; t < length; ++t) {
    const Range open = alive(t);
    for (Index s = 0; s < count; ++s) {
      double best = t == 0 ? (s < 2 ? 0 : kNever) : kNever;
      for (Index back = 0; t > 0 && back < kWays && s - back >= 0; ++back)
        if ((back < 2 || skips(s)) && score[at(s - back)] > best) {
          best = score[at(s - back)];
          way[at(t * count + s)] = static_cast<signed char>(back);
        }
      next[at(s)] = s >= open.begin && s < open.end ? best + log_p_(t, symbol(s)) : kNever;
    }
    score.swap(next);
  }
  std::vector<Index> found(labels_.size());
  Index s = count > 1 && score[at(count - 2)] > score[at(count - 1)] ? count - 2 : count - 1;
  for (Index t = length - 1; t >= 0; --t) {
    if (s % 2 == 1) found[at(s / 2)] = t;  // the earliest position is written last
    s -= way[at(t * count + s)];
  }
  return found;
}

ScoredLabeling ctc_best_path(Matrix<const double> log_p) {
  ScoredLabeling result;
  const auto blank = static_cast<Symbol>(log_p.cols - 1);
  Symbol before = blank;
  for (Index t = 0; t < log_p.rows; ++t) {
    const double* row = log_p.row(t);
    const auto best = static_cast<Symbol>(std::max_element(row, row + log_p.cols) - row);
    if (best != blank && best != before) result.labels.push_back(best);
    result.log_probability += row[best];
    before = best;
  }
  return result;
}

namespace {

/// The prefixes that a search has visited, as a tree in which each prefix extends its parent by one label.
class Beginnings {
 public:
  static constexpr Index kNone = 0;  ///< the empty prefix

  Symbol last(Index node) const { return nodes_[at(node)].second; }
  Index extended(Index node, Symbol by) {
    const auto [found, fresh] = children_.try_emplace({node, by}, static_cast<Index>(nodes_.size()));
    if (fresh) nodes_.emplace_back(node, by);
    return found->second;
  }
  std::vector<Symbol> labels(Index node) const {
    std::vector<Symbol> result;
    for (; node != kNone; node = nodes_[at(node)].first) result.push_back(last(node));
    std::ranges::reverse(result);
    return result;
  }

 private:
  // The prefix that is extended, and the label that is appended.
  std::vector<std::pair<Index, Symbol>> nodes_ = {{kNone, kNoSymbol}};
  std::map<std::pair<Index, Symbol>, Index> children_;
};

/// The paths with the labels of a prefix: paths that end with a blank, and paths that end with the last label.
struct Ends {
  double blank = kNever, label = kNever;
  double both() const { return log_add(blank, label); }
};

}  // namespace

std::vector<ScoredLabeling> ctc_prefix_search(Matrix<const double> log_p, const UnsegmentedSearch& search) {
  const auto blank = static_cast<Symbol>(log_p.cols - 1);
  Beginnings beginnings;
  std::vector<std::pair<Index, Ends>> kept = {{Beginnings::kNone, {.blank = 0, .label = kNever}}};
  for (Index t = 0; t < log_p.rows; ++t) {
    const double* p = log_p.row(t);
    std::map<Index, Ends> next;
    for (const auto& [node, ends] : kept) {
      const double both = ends.both();
      const Symbol last = beginnings.last(node);
      Ends& same = next[node];
      same.blank = log_add(same.blank, both + p[blank]);
      if (last != kNoSymbol) same.label = log_add(same.label, ends.label + p[last]);
      for (Symbol label = 0; label < blank; ++label) {
        Ends& longer = next[beginnings.extended(node, label)];
        longer.label = log_add(longer.label, (label == last ? ends.blank : both) + p[label]);
      }
    }
    kept.assign(next.begin(), next.end());
    std::ranges::stable_sort(kept, [](const auto& a, const auto& b) { return a.second.both() > b.second.both(); });
    if (static_cast<Index>(kept.size()) > search.beam) kept.resize(at(search.beam));
  }
  std::vector<ScoredLabeling> result;
  for (const auto& [node, ends] : kept) {
    if (static_cast<Index>(result.size()) == search.best || !(ends.both() > kNever)) break;
    result.push_back({beginnings.labels(node), ends.both()});
  }
  return result;
}

}  // namespace unfold
