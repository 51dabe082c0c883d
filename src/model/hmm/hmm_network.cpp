#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "model/hmm/hmm.h"
#include "unfold/base/error.h"

namespace unfold {
namespace {

[[noreturn]] void refuse(const std::string& why) {
  throw ModelError("the network is not a hidden Markov model: " + why);
}

/// The parameters of a linear gated network: its initial state minus 1/n; the weights tau(x, i n + j) from unit j to
/// unit i after symbol x; and the output.
template <class Network>
struct LinearGnn {
  using Block = decltype(std::declval<Network&>()[0]);
  Block start, tau, output, bias;

  explicit LinearGnn(Network& network)
      : start(block(network, "/start")),
        tau(block(network, "/tau")),
        output(block(network, "output/V")),
        bias(block(network, "output/bias")) {
    if (tau.cols != start.cols * start.cols || output.rows != start.cols || output.cols != tau.rows)
      refuse("its parameters are not those of a linear-gnn");
  }
  Index states() const { return start.cols; }
  Index alphabet() const { return tau.rows; }

 private:
  static Block block(Network& network, std::string_view end) {
    for (std::size_t p = 0; p < network.info().size(); ++p)
      if (network.info()[p].name.ends_with(end)) return network[static_cast<int>(p)];
    refuse(fmt::format("it has no parameter \"{}\" of a linear-gnn", end));
  }
};

using Trained = LinearGnn<const Parameters<double>>;

/// Normalizes the weights to a sum of 1; throws if they are not valid probabilities up to scale.
void normalize(std::span<double> weights, const std::string& what) {
  double total = 0;
  for (const double w : weights) {
    if (!(w >= 0)) refuse(fmt::format("{} is {:.3g}, below 0", what, w));
    total += w;
  }
  if (!(total > 0)) refuse(what + " is 0 everywhere");
  for (double& w : weights) w /= total;
}

/// Sets the emissions from the output weights of each unit. `sizes` are the sums of the weights, which have no
/// counterpart in an HMM; the activation of a unit times its sum is its probability.
void take_emissions(const Trained& net, HmmParameters& hmm, std::vector<double>& sizes) {
  for (Index j = 0; j < hmm.states; ++j) {
    const std::span<double> row = std::span(hmm.emissions).subspan(at(j * hmm.alphabet), at(hmm.alphabet));
    for (Index x = 0; x < hmm.alphabet; ++x) row[at(x)] = net.output(j, x) + net.bias(0, x);
    double total = 0;
    for (const double w : row) total += w;
    sizes.push_back(total);
    normalize(row, fmt::format("a weight from unit {} to the output", j + 1));
  }
}

/// Returns the weights from unit j to all units after x, as probabilities up to a factor that depends on x.
std::vector<double> moves(const Trained& net, const std::vector<double>& sizes, Index j, Index x) {
  std::vector<double> row;
  for (Index i = 0; i < net.states(); ++i) {
    row.push_back(net.tau(x, i * net.states() + j) * sizes[at(i)] / sizes[at(j)]);
    if (!(row.back() >= 0))
      refuse(fmt::format("the weight from unit {} to unit {} after symbol {} is {:.3g}, below 0", j + 1, i + 1, x,
                         net.tau(x, i * net.states() + j)));
  }
  return row;
}

}  // namespace

void set_hmm(const HmmParameters& hmm, Parameters<double>& network) {
  const LinearGnn<Parameters<double>> net(network);
  if (net.states() != hmm.states || net.alphabet() != hmm.alphabet)
    throw UsageError(fmt::format("a linear-gnn of {} units over {} symbols does not match an HMM of {} states over {}",
                                 net.states(), net.alphabet(), hmm.states, hmm.alphabet));
  const Index n = hmm.states, v = hmm.alphabet;
  std::fill_n(net.bias.data, v, 0.0);
  for (Index j = 0; j < n; ++j) {
    net.start(0, j) = hmm.initial[at(j)] - 1 / static_cast<double>(n);
    for (Index x = 0; x < v; ++x) {
      const double b = hmm.emissions[at(j * v + x)];
      if (!(b > 0))
        throw UsageError(fmt::format(
            "state {} never emits symbol {}, and the logarithm of 0 has no gradient; fit the model with add above 0",
            j + 1, x));
      net.output(j, x) = b;
      for (Index i = 0; i < n; ++i) net.tau(x, i * n + j) = b * hmm.transitions[at(j * n + i)];
    }
  }
}

HmmParameters hmm_of(const Parameters<double>& network, double tolerance) {
  const Trained net(network);
  const Index n = net.states(), v = net.alphabet();
  HmmParameters hmm(n, v);
  std::vector<double> sizes;
  take_emissions(net, hmm, sizes);
  for (Index j = 0; j < n; ++j) hmm.initial[at(j)] = (net.start(0, j) + 1 / static_cast<double>(n)) * sizes[at(j)];
  normalize(hmm.initial, "the activation of a unit before the first symbol");
  // After symbol x, unit j has the weights c_x b_jx a_ji: c is arbitrary, whereas a and b are determined.
  std::vector<double> factors(at(v), 0);
  std::fill(hmm.transitions.begin(), hmm.transitions.end(), 0.0);
  for (Index x = 0; x < v; ++x) {
    double said = 0;
    for (Index j = 0; j < n; ++j) {
      for (const double w : moves(net, sizes, j, x)) factors[at(x)] += w;
      said += hmm.emissions[at(j * v + x)];
    }
    factors[at(x)] /= said;
    if (!(factors[at(x)] > 0)) refuse(fmt::format("no unit is reached after symbol {}", x));
    for (Index j = 0; j < n; ++j) {
      const std::vector<double> row = moves(net, sizes, j, x);
      for (Index i = 0; i < n; ++i) hmm.transitions[at(j * n + i)] += row[at(i)] / factors[at(x)];
    }
  }
  for (Index j = 0; j < n; ++j)
    normalize(std::span(hmm.transitions).subspan(at(j * n), at(n)), fmt::format("a weight from unit {}", j + 1));
  for (Index x = 0; x < v; ++x)
    for (Index j = 0; j < n; ++j) {
      const std::vector<double> row = moves(net, sizes, j, x);
      for (Index i = 0; i < n; ++i) {
        const double here = row[at(i)] / factors[at(x)];
        const double wanted = hmm.emissions[at(j * v + x)] * hmm.transitions[at(j * n + i)];
        if (!(std::abs(here - wanted) <= tolerance))
          refuse(
              fmt::format("after symbol {}, the weight from unit {} to unit {} is {:.6g}, but a state that emits the "
                          "symbol with probability {:.6g} and has a transition probability of {:.6g} would have {:.6g}",
                          x, j + 1, i + 1, here, hmm.emissions[at(j * v + x)], hmm.transitions[at(j * n + i)], wanted));
      }
    }
  return hmm;
}

}  // namespace unfold
