#include "loss/hmm/inhomogeneous_chain.h"

#include <algorithm>
#include <limits>

#include "loss/draw.h"
#include "numerics/functions.h"
#include "unfold/base/error.h"

namespace unfold {
namespace {

/// x = exp(x) / sum of exp(x).
void to_probabilities(double* x, Index n) {
  const double total = log_sum_exp(x, n);
  for (Index i = 0; i < n; ++i) x[i] -= total;
  vector_exp(x, x, n);
}

}  // namespace

void StateWork::make_room(Index positions, Index count) {
  rows = positions, states = count;
  for (auto* each : {&emissions, &alpha, &beta, &marginals}) each->resize(at(rows * states));
  steps.resize(at(rows * states * states));
  pairs.resize(at(states * states));
}

InhomogeneousChain StateWork::chain() const {
  return {.states = states,
          .start = start.data(),
          .steps = {steps.data(), rows, states * states, states * states},
          .emissions = {emissions.data(), rows, states, states}};
}

double forward(const InhomogeneousChain& c, Matrix<double> alpha) {
  std::vector<double> terms(at(c.states));
  for (Index j = 0; j < c.states; ++j) alpha(0, j) = c.start[j] + c.emissions(0, j);
  for (Index t = 1; t < c.positions(); ++t)
    for (Index j = 0; j < c.states; ++j) {
      for (Index i = 0; i < c.states; ++i) terms[at(i)] = alpha(t - 1, i) + c.steps(t, i * c.states + j);
      alpha(t, j) = log_sum_exp(terms.data(), c.states) + c.emissions(t, j);
    }
  return log_sum_exp(alpha.row(c.positions() - 1), c.states);
}

void backward(const InhomogeneousChain& c, Matrix<double> beta) {
  std::vector<double> terms(at(c.states));
  for (Index i = 0; i < c.states; ++i) beta(c.positions() - 1, i) = 0;
  for (Index t = c.positions() - 1; t > 0; --t)
    for (Index i = 0; i < c.states; ++i) {
      for (Index j = 0; j < c.states; ++j) terms[at(j)] = c.steps(t, i * c.states + j) + c.emissions(t, j) + beta(t, j);
      beta(t - 1, i) = log_sum_exp(terms.data(), c.states);
    }
}

void state_marginals(Matrix<const double> alpha, Matrix<const double> beta, Matrix<double> p) {
  for (Index t = 0; t < p.rows; ++t) {
    for (Index j = 0; j < p.cols; ++j) p(t, j) = alpha(t, j) + beta(t, j);
    to_probabilities(p.row(t), p.cols);
  }
}

void pair_marginals(const InhomogeneousChain& c, Matrix<const double> alpha, Matrix<const double> beta, Index t,
                    double* pairs) {
  for (Index i = 0; i < c.states; ++i)
    for (Index j = 0; j < c.states; ++j)
      pairs[i * c.states + j] = (alpha(t - 1, i) + c.steps(t, i * c.states + j)) + (c.emissions(t, j) + beta(t, j));
  to_probabilities(pairs, c.states * c.states);
}

std::vector<Index> best_states(const InhomogeneousChain& c) {
  std::vector<double> score(at(c.states)), next(at(c.states));
  std::vector<Index> from(at(c.positions() * c.states));
  for (Index j = 0; j < c.states; ++j) score[at(j)] = c.start[j] + c.emissions(0, j);
  for (Index t = 1; t < c.positions(); ++t) {
    for (Index j = 0; j < c.states; ++j) {
      double best = -std::numeric_limits<double>::infinity();
      for (Index i = 0; i < c.states; ++i)
        if (const double reached = score[at(i)] + c.steps(t, i * c.states + j); reached > best) {
          best = reached;
          from[at(t * c.states + j)] = i;
        }
      next[at(j)] = best + c.emissions(t, j);
    }
    score.swap(next);
  }
  Index state = 0;
  for (Index j = 1; j < c.states; ++j) state = score[at(j)] > score[at(state)] ? j : state;
  std::vector<Index> path(at(c.positions()));
  for (Index t = c.positions(); t-- > 0; state = from[at(t * c.states + state)]) path[at(t)] = state;
  return path;
}

double path_score(const InhomogeneousChain& c, const std::vector<Index>& path) {
  double sum = c.start[path.front()];
  for (Index t = 0; t < c.positions(); ++t) {
    if (t > 0) sum += c.steps(t, path[at(t - 1)] * c.states + path[at(t)]);
    sum += c.emissions(t, path[at(t)]);
  }
  return sum;
}

namespace {

/// One of the best prefixes that end in a state, with its predecessor.
struct StateBeginning {
  double score;
  Index before = 0, rank = 0;  ///< the previous state, and the rank among its prefixes
};

/// Sorts the entries and keeps the best `count`; ties keep their order.
void keep_best(std::vector<StateBeginning>& all, Index count) {
  std::erase_if(all, [](const StateBeginning& b) { return !(b.score > -std::numeric_limits<double>::infinity()); });
  std::ranges::stable_sort(all, std::ranges::greater(), &StateBeginning::score);
  if (static_cast<Index>(all.size()) > count) all.resize(at(count));
}

}  // namespace

std::vector<StatePath> best_paths(const InhomogeneousChain& c, Index count) {
  std::vector<std::vector<StateBeginning>> ends(at(c.positions() * c.states));  // best prefixes by position and state
  const auto of = [&](Index t, Index j) -> std::vector<StateBeginning>& { return ends[at(t * c.states + j)]; };
  for (Index j = 0; j < c.states; ++j) {
    of(0, j).push_back({.score = c.start[j] + c.emissions(0, j)});
    keep_best(of(0, j), count);
  }
  for (Index t = 1; t < c.positions(); ++t)
    for (Index j = 0; j < c.states; ++j) {
      for (Index i = 0; i < c.states; ++i)
        for (std::size_t r = 0; r < of(t - 1, i).size(); ++r)
          of(t, j).push_back(
              {of(t - 1, i)[r].score + c.steps(t, i * c.states + j) + c.emissions(t, j), i, static_cast<Index>(r)});
      keep_best(of(t, j), count);
    }
  std::vector<StateBeginning> last;
  for (Index j = 0; j < c.states; ++j)
    for (std::size_t r = 0; r < of(c.positions() - 1, j).size(); ++r)
      last.push_back({of(c.positions() - 1, j)[r].score, j, static_cast<Index>(r)});
  keep_best(last, count);
  std::vector<StatePath> found;
  for (const StateBeginning& end : last) {
    StatePath& path = found.emplace_back(StatePath{std::vector<Index>(at(c.positions())), end.score});
    Index state = end.before, rank = end.rank;
    for (Index t = c.positions(); t-- > 0;) {
      path.states[at(t)] = state;
      const StateBeginning& here = of(t, state)[at(rank)];
      state = here.before, rank = here.rank;
    }
  }
  return found;
}

std::vector<Index> draw_states(const InhomogeneousChain& c, Matrix<const double> alpha, Random& random) {
  std::vector<Index> path(at(c.positions()));
  std::vector<double> weights(at(c.states));
  for (Index t = c.positions(); t-- > 0;) {
    for (Index i = 0; i < c.states; ++i)
      weights[at(i)] = alpha(t, i) + (t + 1 == c.positions() ? 0 : c.steps(t + 1, i * c.states + path[at(t + 1)]));
    const double largest = *std::ranges::max_element(weights);
    for (double& w : weights) w -= largest;
    path[at(t)] = draw_by_logs<double>(weights, random);
    if (path[at(t)] < 0) throw UsageError("no path of states has a positive probability");
  }
  return path;
}

}  // namespace unfold
