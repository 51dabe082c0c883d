#include "loss/crf/segments.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>

#include "loss/draw.h"
#include "numerics/functions.h"
#include "unfold/base/error.h"

namespace unfold {
namespace {

constexpr double kNoSegments = -std::numeric_limits<double>::infinity();

double log_of_sum(const std::vector<double>& x) { return log_sum_exp(x.data(), static_cast<Index>(x.size())); }
double largest_of_all(const std::vector<double>& x) { return *std::ranges::max_element(x); }

}  // namespace

std::vector<SegmentType> segment_types(LabelScheme scheme, const std::vector<std::string>& names, Index longest) {
  std::vector<SegmentType> types;
  std::map<std::string, std::size_t, std::less<>> known;
  for (std::size_t i = 0; i < names.size(); ++i) {
    const auto label = static_cast<Symbol>(i);
    if (scheme == LabelScheme::any) {
      types.push_back({label, label, label, label, longest});
      continue;
    }
    const ChunkLabel chunk = chunk_label(scheme, names[i]);
    if (chunk.place == 'O') {
      types.push_back({label, label, label, label, 1});
      continue;
    }
    const auto [place, added] = known.try_emplace(chunk.type, types.size());
    if (added) types.push_back({kNoSymbol, kNoSymbol, kNoSymbol, kNoSymbol, longest});
    SegmentType& type = types[place->second];
    if (chunk.place == 'B') type.first = label;
    if (chunk.place == 'I') type.inside = label;
    if (chunk.place == (scheme == LabelScheme::iobes ? 'S' : 'B')) type.single = label;
    if (chunk.place == (scheme == LabelScheme::iobes ? 'E' : 'I')) type.last = label;
  }
  return types;
}

SegmentScores SegmentScores::zeros(std::vector<SegmentType> types, Index longest) {
  const auto n = static_cast<Index>(types.size());
  return {ChainScores::zeros(n), std::move(types), longest, std::vector<double>(at(n * longest))};
}

void SegmentChain::begin(const SegmentScores& scores, Emissions e) {
  scores_ = &scores;
  e_ = e;
  n_ = scores.count();
  steps_ = e.rows;
  for (auto* each : {&entry_, &ended_, &full_, &rest_, &exit_, &exit_full_})
    each->assign(at((steps_ + 1) * n_), kNoSegments);
}

double SegmentChain::emission(Index t, Symbol label) const { return label == kNoSymbol ? kNoSegments : e_(t, label); }

Index SegmentChain::segments_to(Index t, Index type) {
  const SegmentType& a = scores_->types[at(type)];
  const double* lengths = scores_->lengths.data() + type * scores_->longest;
  const Index count = std::min(t, a.longest);
  terms_.resize(at(count));
  double insides = 0;
  for (Index d = 1; d <= count; ++d) {
    if (d > 2) insides += emission(t - d + 1, a.inside);
    const double ends = d == 1 ? emission(t - 1, a.single) : emission(t - d, a.first) + emission(t - 1, a.last);
    terms_[at(d - 1)] = ends + insides + lengths[d - 1];
  }
  return count;
}

Index SegmentChain::segments_from(Index t, Index type) {
  const SegmentType& a = scores_->types[at(type)];
  const double* lengths = scores_->lengths.data() + type * scores_->longest;
  const Index count = std::min(steps_ - t, a.longest);
  terms_.resize(at(count));
  double insides = 0;
  for (Index d = 1; d <= count; ++d) {
    if (d > 2) insides += emission(t + d - 2, a.inside);
    const double ends = d == 1 ? emission(t, a.single) : emission(t, a.first) + emission(t + d - 1, a.last);
    terms_[at(d - 1)] = ends + insides + lengths[d - 1];
  }
  return count;
}

/// Returns the score of the prefixes that end at t with `before` and that `type` may follow.
double SegmentChain::ended_before(Index t, Index before, Index type) const {
  const bool only_full = before == type && !scores_->types[at(type)].marks_beginning();
  return (only_full ? full_ : ended_)[at(at_type(t, before))];
}

/// Returns the score of all suffixes after a segment that ended at t.
double SegmentChain::after(Index t, Index type, Index length) const {
  return (length == scores_->types[at(type)].longest ? exit_full_ : exit_)[at(at_type(t, type))];
}

/// Adds the score of all preceding prefixes to each segment that ends at t.
void SegmentChain::add_entries(Index t, Index type) {
  const Index count = segments_to(t, type);
  for (Index d = 1; d <= count; ++d) terms_[at(d - 1)] += entry_[at(at_type(t - d, type))];
}

/// Forward recursion; `together` is log-sum-exp or the maximum.
void SegmentChain::reach(double (*together)(const std::vector<double>&)) {
  for (Index t = 0; t <= steps_; ++t) {
    for (Index a = 0; a < n_ && t > 0; ++a) {
      add_entries(t, a);
      ended_[at(at_type(t, a))] = together(terms_);
      const Index longest = scores_->types[at(a)].longest;
      if (t >= longest) full_[at(at_type(t, a))] = terms_[at(longest - 1)];
    }
    terms_.resize(at(n_));
    for (Index b = 0; b < n_ && t < steps_; ++b) {
      for (Index a = 0; a < n_ && t > 0; ++a)
        terms_[at(a)] = ended_before(t, a, b) + scores_->transitions[at(a * n_ + b)];
      entry_[at(at_type(t, b))] = t == 0 ? scores_->start[at(b)] : together(terms_);
    }
  }
  terms_.resize(at(n_));
  for (Index a = 0; a < n_; ++a) terms_[at(a)] = ended_[at(at_type(steps_, a))] + scores_->stop[at(a)];
  log_z_ = together(terms_);
}

double SegmentChain::forward(const SegmentScores& scores, Emissions e) {
  begin(scores, e);
  reach(log_of_sum);
  return log_z_;
}

void SegmentChain::backward() {
  for (Index t = steps_; t >= 0; --t) {
    for (Index b = 0; b < n_ && t < steps_; ++b) {
      const Index count = segments_from(t, b);
      for (Index d = 1; d <= count; ++d) terms_[at(d - 1)] += after(t + d, b, d);
      rest_[at(at_type(t, b))] = log_of_sum(terms_);
    }
    terms_.resize(at(n_));
    for (Index a = 0; a < n_; ++a) {
      double &exit = exit_[at(at_type(t, a))], &exit_full = exit_full_[at(at_type(t, a))];
      exit = exit_full = scores_->stop[at(a)];
      if (t == steps_) continue;
      for (Index b = 0; b < n_; ++b) terms_[at(b)] = scores_->transitions[at(a * n_ + b)] + rest_[at(at_type(t, b))];
      exit = exit_full = log_of_sum(terms_);
      if (scores_->types[at(a)].marks_beginning()) continue;
      terms_[at(a)] = kNoSegments;
      exit = log_of_sum(terms_);
    }
  }
}

void SegmentChain::add_counts(double sign, Matrix<double> positions, SegmentScores& counts) {
  const auto add = [&](Index t, Symbol label, double p) {
    if (label != kNoSymbol) positions(t, label) += p;
  };
  std::vector<double> shares;
  for (Index t = 0; t < steps_; ++t)
    for (Index b = 0; b < n_; ++b) {
      const SegmentType& type = scores_->types[at(b)];
      const Index count = segments_from(t, b);
      shares.resize(at(count));
      for (Index d = 1; d <= count; ++d)
        shares[at(d - 1)] = terms_[at(d - 1)] + entry_[at(at_type(t, b))] + after(t + d, b, d) - log_z_;
      vector_exp(shares.data(), shares.data(), count);
      double longer = 0;  // segments with an inside position at t + d - 1
      for (Index d = count; d >= 1; --d) {
        const double p = sign * shares[at(d - 1)];
        counts.lengths[at(b * counts.longest + d - 1)] += p;
        if (d == 1) {
          add(t, type.single, p);
          add(t, type.first, longer);
          continue;
        }
        add(t + d - 1, type.last, p);
        add(t + d - 1, type.inside, longer);
        longer += p;
      }
      shares.resize(at(t == 0 ? 1 : n_));
      if (t == 0) shares[0] = scores_->start[at(b)];
      for (Index a = 0; a < n_ && t > 0; ++a)
        shares[at(a)] = ended_before(t, a, b) + scores_->transitions[at(a * n_ + b)];
      for (double& share : shares) share += rest_[at(at_type(t, b))] - log_z_;
      vector_exp(shares.data(), shares.data(), static_cast<Index>(shares.size()));
      if (t == 0) counts.start[at(b)] += sign * shares[0];
      for (Index a = 0; a < n_ && t > 0; ++a) counts.transitions[at(a * n_ + b)] += sign * shares[at(a)];
    }
  shares.resize(at(n_));
  for (Index a = 0; a < n_; ++a) shares[at(a)] = ended_[at(at_type(steps_, a))] + scores_->stop[at(a)] - log_z_;
  vector_exp(shares.data(), shares.data(), n_);
  for (Index a = 0; a < n_; ++a) counts.stop[at(a)] += sign * shares[at(a)];
}

/// Traces back from the end; `choose` selects one of several scores.
template <class Choose>
void SegmentChain::trace(const Choose& choose, Symbol* labels) {
  terms_.resize(at(n_));
  for (Index a = 0; a < n_; ++a) terms_[at(a)] = ended_[at(at_type(steps_, a))] + scores_->stop[at(a)];
  Index type = choose(terms_);
  bool only_full = false;
  for (Index t = steps_; t > 0;) {
    const SegmentType& a = scores_->types[at(type)];
    add_entries(t, type);
    const Index length = only_full ? a.longest : choose(terms_) + 1;
    for (Index u = t - length; u < t; ++u)
      labels[u] = length == 1 ? a.single : u == t - length ? a.first : u == t - 1 ? a.last : a.inside;
    t -= length;
    if (t == 0) break;
    terms_.resize(at(n_));
    for (Index before = 0; before < n_; ++before)
      terms_[at(before)] = ended_before(t, before, type) + scores_->transitions[at(before * n_ + type)];
    const Index before = choose(terms_);
    only_full = before == type && !a.marks_beginning();
    type = before;
  }
}

double SegmentChain::best(const SegmentScores& scores, Emissions e, Symbol* labels) {
  begin(scores, e);
  reach(largest_of_all);
  if (log_z_ > kNoSegments)
    trace([](const std::vector<double>& x) { return std::ranges::max_element(x) - x.begin(); }, labels);
  return log_z_;
}

void SegmentChain::draw(Random& random, Symbol* labels) {
  trace(
      [&](std::vector<double>& x) {
        const double largest = *std::ranges::max_element(x);
        for (double& term : x) term -= largest;
        const Index drawn = draw_by_logs<double>(x, random);
        if (drawn < 0) throw UsageError("crf: no segment has a positive probability; check that the scores are finite");
        return drawn;
      },
      labels);
}

namespace {

/// The chain of (type, position in the segment, whether the segment ends there): its labels and scores.
class ExpandedSegments {
 public:
  explicit ExpandedSegments(const SegmentScores& scores) : scores_(scores) {
    for (Index a = 0; a < scores.count(); ++a)
      for (Index d = 1; d <= scores.types[at(a)].longest; ++d)
        for (const bool ends : {false, true})
          if (ends || d < scores.types[at(a)].longest) states_.push_back({a, d, ends});
  }

  ChainScores chain() const {
    const auto n = static_cast<Index>(states_.size());
    ChainScores chain{.labels = n,
                      .transitions = std::vector<double>(at(n * n), kNoSegments),
                      .start = std::vector<double>(at(n), kNoSegments),
                      .stop = std::vector<double>(at(n), kNoSegments)};
    for (std::size_t i = 0; i < states_.size(); ++i) {
      const State& from = states_[i];
      if (from.place == 1) chain.start[i] = scores_.start[at(from.type)];
      if (from.ends) chain.stop[i] = length_of(from) + scores_.stop[at(from.type)];
      for (std::size_t j = 0; j < states_.size(); ++j)
        chain.transitions[i * states_.size() + j] = step(from, states_[j]);
    }
    return chain;
  }
  std::vector<double> emissions(Emissions e) const {
    std::vector<double> result;
    for (Index t = 0; t < e.rows; ++t)
      for (const State& state : states_) {
        const Symbol label = label_of(state);
        result.push_back(label == kNoSymbol ? kNoSegments : e(t, label));
      }
    return result;
  }
  Symbol label(Symbol state) const { return label_of(states_[at(state)]); }
  Index count() const { return static_cast<Index>(states_.size()); }

 private:
  struct State {
    Index type, place;
    bool ends;
  };

  double length_of(const State& last) const {
    return scores_.lengths[at(last.type * scores_.longest + last.place - 1)];
  }
  double step(const State& from, const State& to) const {
    if (!from.ends) return to.type == from.type && to.place == from.place + 1 ? 0 : kNoSegments;
    const SegmentType& type = scores_.types[at(from.type)];
    const bool cut = to.type == from.type && !type.marks_beginning() && from.place < type.longest;
    if (to.place != 1 || cut) return kNoSegments;
    return length_of(from) + scores_.transitions[at(from.type * scores_.count() + to.type)];
  }
  Symbol label_of(const State& state) const {
    const SegmentType& type = scores_.types[at(state.type)];
    if (state.place == 1) return state.ends ? type.single : type.first;
    return state.ends ? type.last : type.inside;
  }

  const SegmentScores& scores_;
  std::vector<State> states_;
};

}  // namespace

std::vector<ScoredLabeling> segment_n_best(const SegmentScores& scores, Emissions e, Index count) {
  const ExpandedSegments expanded(scores);
  const std::vector<double> emissions = expanded.emissions(e);
  std::vector<ScoredLabeling> found =
      chain_n_best(expanded.chain(), {emissions.data(), e.rows, expanded.count(), expanded.count()}, count);
  for (ScoredLabeling& each : found)
    for (Symbol& label : each.labels) label = expanded.label(label);
  return found;
}

double segment_score(const SegmentScores& scores, Emissions e, const Symbol* labels) {
  std::vector<double> only(at(e.rows * e.cols), kNoSegments);
  for (Index t = 0; t < e.rows; ++t) only[at(t * e.cols + labels[t])] = e(t, labels[t]);
  return SegmentChain().forward(scores, {only.data(), e.rows, e.cols, e.cols});
}

}  // namespace unfold
