#pragma once
/// Computes a Riemannian direction with the passes under test, in the steps of the optimizer, for any small problem.

#include <vector>

#include "optim/riemannian/output_metric.h"
#include "optim/riemannian/unit_metric.h"

namespace unfold {

struct MetricPass {
  std::vector<double> direction, gradient, writing;  ///< writing: the direction at the output weights
  double nats = 0;
};

/// `state` is the one before the batch; `outer`: ruop, otherwise rbpm.
inline MetricPass metric_pass(const Network<double>& net, Team& team, const Batch& batch,
                              const Parameters<double>& values, State<double> state, bool outer, Reduction reduction,
                              double damping) {
  const Circuit& circuit = net.circuit();
  const auto count = at(circuit.parameter_count());
  CorePass<double> core(net, team);
  OutputMetric<double> writing(core, 1, false);
  UnitMetric<double> metric(core, reduction, damping, false);
  core.forward(batch, values, state, std::nullopt);
  const std::vector<double> zeros(count, 0);
  MetricPass found{zeros, zeros, zeros, 0};
  found.nats = writing.pass(core, values, batch, {.metric = true, .adjoints = true, .variances = !outer});
  writing.direction(values, 0, found.writing);
  found.direction = found.writing;
  writing.gradient(values, found.gradient);
  std::vector<double> gradient(count), squares(count);
  core.unfolding().backward(gradient);
  core.unfolding().squares_at_starts(squares);
  metric.keep_adjoints(core);
  if (!outer) {
    writing.seed_variances(core);
    core.unfolding().backward(squares, {.algebra = Algebra::squared, .weights = false});
  }
  metric.accumulate(core, outer ? Modulus::outer : Modulus::adjoints);
  metric.direction(0, found.direction, found.gradient);
  for (const Node& node : circuit.nodes()) {
    if (node.kind() != Node::Kind::link || node.link().initial < 0) continue;
    const ParameterInfo& p = circuit.parameters()[at(node.link().initial)];
    for (Index i = p.offset; i < p.offset + p.size(); ++i) {
      found.gradient[at(i)] = gradient[at(i)];
      found.direction[at(i)] = gradient[at(i)] / (squares[at(i)] + damping);
    }
  }
  return found;
}

inline MetricPass metric_pass(const Network<double>& net, Team& team, const Batch& batch,
                              const Parameters<double>& values, State<double> state, bool outer, bool full,
                              double damping) {
  return metric_pass(net, team, batch, values, std::move(state), outer,
                     full ? Reduction::full : Reduction::quasi_diagonal, damping);
}

}  // namespace unfold
