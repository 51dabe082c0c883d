#include "model/network/regularization.h"

#include <fmt/format.h>

#include <algorithm>

#include "unfold/base/error.h"
#include "unfold/data/examples/example_set.h"

namespace unfold {
namespace {

/// Returns the index of a parameter, or -1.
int find_parameter(const std::vector<ParameterInfo>& parameters, std::string_view name) {
  const auto found = std::ranges::find(parameters, name, &ParameterInfo::name);
  return found == parameters.end() ? -1 : static_cast<int>(found - parameters.begin());
}

/// Returns the recurrent weight matrices, which are the matrices inside loops.
std::vector<int> recurrent_matrices(const Plan& plan) {
  std::vector<int> result;
  for (const Segment& segment : plan.segments()) {
    if (!segment.loop) continue;
    for (const Item& item : segment.items)
      for (const Item::Part& part : item.parts) {
        const Node::AffineTerm& term = plan.nodes()[at(item.node)].terms()[at(part.term)];
        const bool symbols = plan.nodes()[at(term.source)].kind() == Node::Kind::symbols;
        if (term.dense() && !symbols && std::ranges::find(result, term.parameter) == result.end())
          result.push_back(term.parameter);
      }
  }
  return result;
}

}  // namespace

std::vector<WeightDropout> weight_drops(const ModelSpec& spec, const Plan& plan) {
  std::vector<WeightDropout> drops;
  if (spec.wdrop > 0) {
    for (const int matrix : recurrent_matrices(plan)) drops.push_back({matrix, spec.wdrop});
    if (drops.empty())
      throw UsageError(fmt::format(
          "model {}: wdrop= applies to recurrent matrices, but there are none; leave it out, or use lstm, gru or rnn",
          to_string(spec)));
  }
  if (spec.dropoute > 0) {
    const int embedding = find_parameter(plan.parameters(), "embedding/W");
    if (embedding < 0)
      throw UsageError(fmt::format("model {}: dropoute applies to an embedding, but there is none; add embedding={}",
                                   to_string(spec), spec.units));
    drops.push_back({embedding, spec.dropoute, true});
  }
  return drops;
}

WeightTie tied_weights(const ModelSpec& spec, const NetworkLayout& layout, const Circuit& circuit) {
  const auto refuse = [&](std::string_view why) {
    throw UsageError(fmt::format("model {}: tied weights {}", to_string(spec), why));
  };
  if (layout.heads.size() != 1 || layout.reads.size() != 1 ||
      parse_read(layout.reads.front()).field != layout.heads.front().field)
    refuse("require a model that reads the symbols that it predicts; leave out tied=");
  const int embedding = find_parameter(circuit.parameters(), "embedding/W");
  const int output = find_parameter(circuit.parameters(), layout.output_name(0) + "/V");
  if (embedding < 0) refuse(fmt::format("require an embedding; add embedding={}", spec.units));
  if (output < 0) refuse("require a single matrix that reads the last layer; leave out \"bi\"");
  const ParameterInfo& w = circuit.parameters()[at(embedding)];
  const ParameterInfo& v = circuit.parameters()[at(output)];
  if (w.rows != v.cols)
    refuse(fmt::format(
        "require one output per symbol, but there are {} outputs and {} symbols; leave out tied= or loss=", v.cols,
        w.rows));
  if (w.cols != v.rows)
    refuse(fmt::format(
        "require equal sizes: the embedding has {} numbers per symbol, but the output reads {}; set embedding={}",
        w.cols, v.rows, v.rows));
  return {embedding, output};
}

}  // namespace unfold
