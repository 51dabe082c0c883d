#include "app/explain/instrumented_network.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "numerics/functions.h"

namespace unfold {
namespace {

/// Names of the column blocks of an affine map.
struct BlockNames {
  const char* cell;
  const char* affine;
  std::vector<std::string> names;
};

/// Block names of the cells whose gates have established names.
const std::vector<BlockNames>& block_names() {
  static const std::vector<BlockNames> all = {{"lstm", "z", {"input", "forget", "output", "candidate"}},
                                              {"gru", "zr", {"update", "reset"}},
                                              {"gru", "g", {"candidate"}},
                                              {"gru", "u", {"update", "reset", "candidate"}},
                                              {"gru", "w", {"update", "reset", "candidate"}}};
  return all;
}

std::string last_part(const std::string& path) { return path.substr(path.rfind('/') + 1); }
std::string scope_of(const std::string& path) {
  const std::size_t slash = path.rfind('/');
  return slash == std::string::npos ? std::string() : path.substr(0, slash);
}

/// Returns the name of block `i` of an affine map; empty if it has none.
std::string block_name(const ModelSpec& spec, const Node& affine, Index i) {
  if (spec.cell == nullptr) return {};
  for (const BlockNames& known : block_names())
    if (spec.cell->name == known.cell && last_part(affine.name) == known.affine &&
        i < static_cast<Index>(known.names.size()))
      return fmt::format("{} {}", scope_of(affine.name), known.names[at(i)]);
  return {};
}

/// Returns the name of the block of an affine map that a node refers to, possibly through slices and sums of two of
/// them.
std::string name_of_operand(const Circuit& circuit, const ModelSpec& spec, int id) {
  const Node* node = &circuit.nodes()[at(id)];
  if (node->kind() == Node::Kind::pointwise && node->pointwise().operands[1] >= 0)
    return name_of_operand(circuit, spec, node->pointwise().operands[0]);
  Index block = 0;
  if (node->kind() == Node::Kind::slice) {
    block = node->slice().offset / std::max<Index>(node->size, 1);
    node = &circuit.nodes()[at(node->slice().operand)];
  }
  return node->kind() == Node::Kind::affine ? block_name(spec, *node, block) : std::string();
}

bool is_read_from_outside(const Circuit& circuit, int id) {
  if (id < 0) return false;
  const Node& node = circuit.nodes()[at(id)];
  return node.kind() == Node::Kind::input || node.kind() == Node::Kind::symbols ||
         (node.kind() == Node::Kind::link && node.link().delay.crosses());
}

/// Returns whether a node is computed only from the inputs of the same position.
bool reads_own_position(const Circuit& circuit, int id) {
  if (id < 0) return true;
  const Node& node = circuit.nodes()[at(id)];
  if (node.kind() == Node::Kind::link) return false;
  if (node.kind() != Node::Kind::affine)
    return std::ranges::all_of(node.reads(), [&](int read) { return reads_own_position(circuit, read); });
  return std::ranges::all_of(node.terms(), [&](const Node::AffineTerm& term) {
    return reads_own_position(circuit, term.source) && reads_own_position(circuit, term.gate) &&
           reads_own_position(circuit, term.keys) && reads_own_position(circuit, term.values);
  });
}

}  // namespace

template <class T>
Watched<T>::Watched(const ModelSpec& spec, const DataSpecification& data, const NetworkLayout& layout,
                    const Parameters<T>& parameters)
    : parameters_(parameters), network_(build_network<T>(spec, data, layout, circuit_, {.output_hidden = true})) {
  find_gates(spec);
  find_readers();
  for (const Gate& gate : gates_) circuit_.output(gate.signal);
  const bool memoryless = is_memoryless();
  for (const Signal reader : readers_)
    if (memoryless) circuit_.output(reader);
  if (!gates_.empty() || memoryless) network_.plan = std::make_shared<const Plan>(circuit_);
}

template <class T>
bool Watched<T>::is_memoryless() const {
  return std::ranges::all_of(network_.hidden,
                             [&](const Signal& layer) { return reads_own_position(circuit_, layer.id); });
}

template <class T>
void Watched<T>::find_gates(const ModelSpec& spec) {
  for (std::size_t i = 0; i < circuit_.nodes().size(); ++i) {
    const Node& node = circuit_.nodes()[i];
    if (node.kind() != Node::Kind::pointwise || node.part != 0) continue;
    if (node.pointwise().map != Map::sigmoid && node.pointwise().map != Map::hard_sigmoid) continue;
    const auto id = static_cast<int>(i);
    // The output of a layer of sigmoid units is not a gate.
    if (std::ranges::any_of(network_.hidden, [&](const Signal& hidden) { return hidden.id == id; })) continue;
    std::string name = name_of_operand(circuit_, spec, node.pointwise().operands[0]);
    if (name.empty()) name = fmt::format("{} {}", scope_of(node.name), last_part(node.name));
    gates_.push_back({std::move(name), Signal{&circuit_, id}});
  }
}

template <class T>
void Watched<T>::find_readers() {
  for (std::size_t i = 0; i < circuit_.nodes().size(); ++i) {
    const Node& node = circuit_.nodes()[i];
    if (node.kind() != Node::Kind::affine || node.part != 0) continue;
    const bool reads = std::ranges::any_of(node.terms(), [&](const Node::AffineTerm& term) {
      return is_read_from_outside(circuit_, term.source) || is_read_from_outside(circuit_, term.gate) ||
             std::ranges::any_of(term.symbols, [&](int id) { return is_read_from_outside(circuit_, id); });
    });
    if (reads) readers_.push_back(Signal{&circuit_, static_cast<int>(i)});
  }
}

std::vector<RecurrentBlock> recurrent_blocks(const Circuit& circuit, const ModelSpec& spec) {
  std::vector<RecurrentBlock> blocks;
  for (const Node& node : circuit.nodes()) {
    if (node.kind() != Node::Kind::affine || node.part != 0) continue;
    for (const Node::AffineTerm& term : node.terms()) {
      const Node& source = circuit.nodes()[at(term.source)];
      const bool back = source.kind() == Node::Kind::link && (source.link().delay.along == Delay::Along::previous ||
                                                              source.link().delay.along == Delay::Along::next);
      if (!term.dense() || !back || node.size % source.size != 0) continue;
      const Index count = node.size / source.size;
      for (Index i = 0; i < count; ++i) {
        std::string name = block_name(spec, node, i);
        if (name.empty()) name = scope_of(node.name) + (count > 1 ? fmt::format(" block {}", i + 1) : std::string());
        blocks.push_back({std::move(name), term.parameter, i * source.size, source.size});
      }
    }
  }
  return blocks;
}

namespace {

/// Replaces v with v B, normalized to length 1; returns the logarithm of the length before normalization.
template <class T>
double apply(Matrix<const T> block, std::vector<double>& v, std::vector<double>& next) {
  std::ranges::fill(next, 0.0);
  for (Index i = 0; i < block.rows; ++i)
    for (Index j = 0; j < block.cols; ++j) next[at(j)] += v[at(i)] * static_cast<double>(block.row(i)[j]);
  double square = 0;
  for (const double x : next) square += x * x;
  const double length = std::sqrt(square);
  if (!(length > 0)) return -std::numeric_limits<double>::infinity();
  for (std::size_t j = 0; j < next.size(); ++j) v[j] = next[j] / length;
  double log_length = length;
  vector_log(&log_length, &log_length, 1);
  return log_length;
}

}  // namespace

template <class T>
double spectral_radius(Matrix<const T> block) {
  constexpr int kSettle = 500, kSteps = 1000;
  std::vector<double> v(at(block.rows)), next(at(block.cols));
  for (std::size_t i = 0; i < v.size(); ++i)
    v[i] = 1 + 0.37 * static_cast<double>(i % 7);  // unlikely to be orthogonal to the dominant eigenvector
  double sum = 0;
  for (int k = 0; k < kSettle + kSteps; ++k) {
    const double log_length = apply(block, v, next);
    if (!std::isfinite(log_length)) return 0;
    if (k >= kSettle) sum += log_length;
  }
  double mean = sum / kSteps;
  vector_exp(&mean, &mean, 1);
  return mean;
}

template class Watched<float>;
template class Watched<double>;
template double spectral_radius(Matrix<const float>);
template double spectral_radius(Matrix<const double>);

}  // namespace unfold
