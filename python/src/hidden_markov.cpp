/// The recursions of hidden Markov models over arrays, for unfold.hmm and unfold.crf.

#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>

#include <cmath>
#include <optional>

#include "loss/hmm/inhomogeneous_chain.h"
#include "stream.h"
#include "unfold/base/error.h"
#include "work.h"

namespace unfold::python {
namespace {

using Vector = nb::ndarray<const double, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using Table = nb::ndarray<const double, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
using Ends = nb::ndarray<const std::int64_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

/// The chains of several sequences with the same start and transitions, all in log space.
class Chains {
 public:
  Chains(const Vector& start, const Table& transitions, const Table& emissions, const Ends& ends)
      : states_(static_cast<Index>(start.size())),
        start_(start.data()),
        transitions_(transitions.data()),
        emissions_(emissions.data()),
        ends_(ends.data(), ends.data() + ends.size()) {
    const auto k = start.size();
    if (transitions.shape(0) != k || transitions.shape(1) != k || emissions.shape(1) != k)
      throw UsageError("the start, the transitions and the emissions must have the same number of states");
    Index last = 0;
    for (const Index end : ends_) {
      if (end <= last) throw UsageError("every sequence must have at least one position");
      last = end;
    }
    if (last != static_cast<Index>(emissions.shape(0)))
      throw UsageError("the lengths of the sequences must sum to the number of positions");
  }

  Index states() const { return states_; }
  Index positions() const { return ends_.empty() ? 0 : ends_.back(); }
  std::size_t count() const { return ends_.size(); }
  Index begin(std::size_t s) const { return s == 0 ? 0 : ends_[s - 1]; }
  Index length(std::size_t s) const { return ends_[s] - begin(s); }
  InhomogeneousChain chain(std::size_t s) const {
    return {.states = states_,
            .start = start_,
            .steps = {transitions_, length(s), states_ * states_, 0},
            .emissions = {emissions_ + begin(s) * states_, length(s), states_, states_}};
  }

 private:
  Index states_;
  const double *start_, *transitions_, *emissions_;
  std::vector<Index> ends_;
};

nb::ndarray<nb::numpy, double, nb::ndim<2>> owned_table(std::vector<double> numbers, Index columns) {
  auto* kept = new std::vector<double>(std::move(numbers));
  const nb::capsule owner(kept, [](void* p) noexcept { delete static_cast<std::vector<double>*>(p); });
  return {kept->data(), {kept->size() / at(columns), at(columns)}, owner};
}

/// Returns (log-likelihoods of the sequences, posteriors [positions, states], expected starts [states], expected
/// transitions [states, states]). `weights` has one number per sequence, which multiplies its expected starts and
/// transitions.
nb::tuple expectations(const Vector& start, const Table& transitions, const Table& emissions, const Ends& ends,
                       bool pairs, const std::optional<Vector>& weights) {
  const Chains chains(start, transitions, emissions, ends);
  if (weights && weights->size() != chains.count()) throw UsageError("weights must have one number per sequence");
  const Index k = chains.states();
  std::vector<double> likelihoods(chains.count()), posteriors(at(chains.positions() * k)), starts(at(k), 0),
      moves(at(k * k), 0);
  PythonReporter reporter{nb::none()};
  reporter.run([&] {
    std::vector<double> alpha, beta, pair(at(k * k));
    for (std::size_t s = 0; s < chains.count(); ++s) {
      reporter.throw_if_stopped();
      const InhomogeneousChain chain = chains.chain(s);
      const Index n = chain.positions();
      const double weight = weights ? weights->data()[s] : 1;
      alpha.resize(at(n * k));
      beta.resize(at(n * k));
      const Matrix<double> a{alpha.data(), n, k, k}, b{beta.data(), n, k, k};
      const Matrix<double> p{posteriors.data() + chains.begin(s) * k, n, k, k};
      likelihoods[s] = forward(chain, a);
      backward(chain, b);
      state_marginals(a, b, p);
      for (Index j = 0; j < k; ++j) starts[at(j)] += weight * p(0, j);
      for (Index t = 1; pairs && t < n; ++t) {
        pair_marginals(chain, a, b, t, pair.data());
        for (std::size_t i = 0; i < pair.size(); ++i) moves[i] += weight * pair[i];
      }
    }
  });
  return nb::make_tuple(owned(std::move(likelihoods)), owned_table(std::move(posteriors), k), owned(std::move(starts)),
                        owned_table(std::move(moves), k));
}

/// Returns (log p(path, y) of the sequences, the most probable states of all positions).
nb::tuple best_path(const Vector& start, const Table& transitions, const Table& emissions, const Ends& ends) {
  const Chains chains(start, transitions, emissions, ends);
  std::vector<double> scores(chains.count());
  std::vector<std::int64_t> states;
  PythonReporter reporter{nb::none()};
  reporter.run([&] {
    for (std::size_t s = 0; s < chains.count(); ++s) {
      reporter.throw_if_stopped();
      const InhomogeneousChain chain = chains.chain(s);
      const std::vector<Index> path = best_states(chain);
      scores[s] = path_score(chain, path);
      states.insert(states.end(), path.begin(), path.end());
    }
  });
  return nb::make_tuple(owned(std::move(scores)), owned(std::move(states)));
}

}  // namespace

void add_hidden_markov(nb::module_& module) {
  module.def("hmm_expectations", &expectations, nb::arg("start"), nb::arg("transitions"), nb::arg("emissions"),
             nb::arg("ends"), nb::arg("pairs") = true, nb::arg("weights") = nb::none());
  module.def("hmm_best_path", &best_path, nb::arg("start"), nb::arg("transitions"), nb::arg("emissions"),
             nb::arg("ends"));
}

}  // namespace unfold::python
