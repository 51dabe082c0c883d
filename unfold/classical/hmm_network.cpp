#include <fmt/format.h>

#include <cmath>

#include "unfold/base/error.h"
#include "unfold/classical/hmm.h"

namespace unfold {
namespace {

/// The one parameter of the initial values; the links of such a circuit have one.
template <class P>
auto block(P& network, const std::string& name) {
  for (const ParameterInfo& p : network.info())
    if (p.name == name)
      return network.flat().subspan(static_cast<std::size_t>(p.offset), static_cast<std::size_t>(p.size()));
  throw UsageError(fmt::format("the network has no parameter {}: it is not one of add_hmm", name));
}

template <class P>
std::string initial_name(P& network) {
  for (const ParameterInfo& p : network.info())
    if (p.name != "gate/E" && p.name != "state/A" && p.name != "output/E") return p.name;
  throw UsageError("the network has no trained start: it is not one of add_hmm");
}

}  // namespace

HmmNetwork add_hmm(Index states, Index alphabet, Circuit& c) {
  const Signal symbols = c.symbols("symbols", alphabet), h = c.link(states, {}, true);
  const Signal gate = c.affine("gate", states, {{"E", symbols}}, Init::zero(), false);
  const Signal next = c.affine("state", states, {{"A", h * gate}}, Init::zero(), false);
  c.feed(h, next);
  const Signal output = c.affine("output", alphabet, {{"E", next}}, Init::zero(), false);
  c.output(output);
  return {symbols, output};
}

void set_hmm(const HmmParameters& hmm, Parameters<double>& network) {
  const auto n = static_cast<std::size_t>(hmm.states), v = static_cast<std::size_t>(hmm.alphabet);
  const auto initial = block(network, initial_name(network)), a = block(network, "state/A");
  const auto gate = block(network, "gate/E"), output = block(network, "output/E");
  if (initial.size() != n || gate.size() != n * v) throw UsageError("the network has other sizes than the HMM");
  std::copy(hmm.initial.begin(), hmm.initial.end(), initial.begin());
  std::copy(hmm.transitions.begin(), hmm.transitions.end(), a.begin());
  std::copy(hmm.emissions.begin(), hmm.emissions.end(), output.begin());
  for (std::size_t j = 0; j < n; ++j)
    for (std::size_t x = 0; x < v; ++x) gate[x * n + j] = hmm.emissions[j * v + x];
}

HmmParameters hmm_of(const Parameters<double>& network) {
  const auto initial = block(network, initial_name(network)), a = block(network, "state/A");
  const auto gate = block(network, "gate/E"), output = block(network, "output/E");
  const std::size_t n = initial.size(), v = output.size() / n;
  HmmParameters hmm(static_cast<Index>(n), static_cast<Index>(v));
  const auto take = [](std::span<const double> from, std::size_t columns, std::vector<double>& to) {
    for (std::size_t begin = 0; begin < from.size(); begin += columns) {
      double total = 0;
      for (std::size_t i = begin; i < begin + columns; ++i) total += from[i] >= 0 ? from[i] : -1e300;
      if (!(std::abs(total - 1) < 1e-9)) throw UsageError("the network is no HMM: a row is not a distribution");
    }
    to.assign(from.begin(), from.end());
  };
  take(initial, n, hmm.initial);
  take(a, n, hmm.transitions);
  take(output, v, hmm.emissions);
  for (std::size_t j = 0; j < n; ++j)
    for (std::size_t x = 0; x < v; ++x)
      if (gate[x * n + j] != output[j * v + x])
        throw UsageError("the network is no HMM: what a unit reads is not what it writes");
  return hmm;
}

}  // namespace unfold
