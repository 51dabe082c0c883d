#include "graph/paths/path_pass.h"
#include "unfold/gradcheck/derivative_check.h"
#include "unfold/numerics/random.h"

namespace unfold {
namespace {

// A signal handle only identifies its circuit; the passes below never modify it.
Signal signal_of(const Circuit& circuit, int node) { return {const_cast<Circuit*>(&circuit), node}; }

void copy(Matrix<const double> from, Matrix<double> to) {
  for (Index r = 0; r < from.rows; ++r)
    for (Index c = 0; c < from.cols; ++c) to(r, c) = from(r, c);
}

}  // namespace

Passes::Passes(const Circuit& circuit, const Structure& structure, std::uint64_t seed)
    : circuit_(circuit),
      structure_(structure),
      parameters_(circuit),
      team_(1),
      unfolding_(std::make_shared<const Plan>(circuit), team_) {
  for (const int output : circuit.outputs()) output_count_ += structure.positions() * circuit.nodes()[at(output)].size;
  draw(seed);
  unfolding_.lay(structure_);
  fill_inputs();
  unfolding_.set_parameters(parameters_);
}

void Passes::draw(std::uint64_t seed) {
  constexpr double kNoise = 0.2;
  parameters_.initialize(seed);
  Random noise(seed, "check/noise");
  for (double& p : parameters_.flat()) p += kNoise * noise.normal();
  for (std::size_t i = 0; i < circuit_.nodes().size(); ++i) {
    const Node& node = circuit_.nodes()[i];
    Random random(seed, "check/" + node.name);
    const Index positions = structure_.part(node.part).positions();
    if (node.kind() == Node::Kind::input)
      for (Index k = 0; k < positions * node.size; ++k) inputs_.values[static_cast<int>(i)].push_back(random.normal());
    if (node.kind() == Node::Kind::symbols)  // some symbols are missing
      for (Index k = 0; k < positions; ++k)
        inputs_.symbols[static_cast<int>(i)].push_back(
            random.below(8) == 0 ? kNoSymbol
                                 : static_cast<Symbol>(random.below(static_cast<std::uint64_t>(node.size))));
  }
}

void Passes::set_inputs(CircuitInputs inputs) {
  inputs_ = std::move(inputs);
  fill_inputs();
}

void Passes::fill_inputs() {
  for (const auto& [node, values] : inputs_.values) {
    if (!unfolding_.plan().live(node)) continue;
    const Index size = circuit_.nodes()[at(node)].size;
    const Index positions = structure_.part(circuit_.nodes()[at(node)].part).positions();
    copy({values.data(), positions, size, size}, unfolding_.input(signal_of(circuit_, node)));
  }
  for (const auto& [node, symbols] : inputs_.symbols)
    if (unfolding_.plan().live(node))
      std::copy(symbols.begin(), symbols.end(), unfolding_.symbols(signal_of(circuit_, node)).begin());
}

template <class U>
void Passes::for_each_output(U* outputs, const std::function<void(Signal, Matrix<U>)>& use) const {
  for (const int output : circuit_.outputs()) {
    const Index size = circuit_.nodes()[at(output)].size;
    use(signal_of(circuit_, output), {outputs, structure_.positions(), size, size});
    outputs += structure_.positions() * size;
  }
}

template void Passes::for_each_output(double*, const std::function<void(Signal, Matrix<double>)>&) const;
template void Passes::for_each_output(const double*, const std::function<void(Signal, Matrix<const double>)>&) const;

bool Passes::depends_on_parameters(Signal output) const {
  const Plan& plan = unfolding_.plan();
  return plan.needs_adjoint(plan.outside(output.id));
}

void Passes::read_tangents(std::span<double> result) const {
  for_each_output<double>(result.data(), [&](Signal s, Matrix<double> out) {
    if (depends_on_parameters(s)) copy(unfolding_.tangent_of(s), out);
  });
}

void Passes::write_seeds(std::span<const double> seeds) {
  for_each_output<const double>(seeds.data(), [&](Signal s, Matrix<const double> seed) {
    if (depends_on_parameters(s)) copy(seed, unfolding_.adjoint(s));
  });
}

void Passes::set_parameters(std::span<const double> parameters) {
  std::copy(parameters.begin(), parameters.end(), parameters_.flat().begin());
  unfolding_.set_parameters(parameters_);
}

std::vector<double> Passes::outputs() {
  unfolding_.forward();
  std::vector<double> result(at(output_count_));
  for_each_output<double>(result.data(), [&](Signal s, Matrix<double> out) { copy(unfolding_.value(s), out); });
  return result;
}

std::vector<double> Passes::transposed(std::span<const double> seeds, Algebra algebra) {
  write_seeds(seeds);
  std::vector<double> result(at(parameters_.size()));
  unfolding_.backward(result, {.algebra = algebra});
  return result;
}

std::vector<double> Passes::tangent(std::span<const double> direction) {
  unfolding_.tangent(direction);
  std::vector<double> result(at(output_count_));
  read_tangents(result);
  return result;
}

std::vector<double> Passes::gauss_newton_product(std::span<const double> direction, const Curvature& curvature) {
  std::vector<double> result(at(parameters_.size())), tangents(at(output_count_));
  const auto multiply = [&](Unfolding<double>&) {
    read_tangents(tangents);
    write_seeds(curvature(tangents));
  };
  gauss_newton(unfolding_, direction, multiply, std::span<double>(result));
  return result;
}

double Passes::path(Index length, bool every_step, std::span<double> kappa) {
  PathPass<double> pass(circuit_, team_);
  return pass.run(parameters_, {.length = length, .every_step = every_step}, kappa).norm.value();
}

}  // namespace unfold
