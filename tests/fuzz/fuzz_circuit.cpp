#include <nlohmann/json.hpp>

#include "check.h"
#include "model/stored_cell/circuit_json.h"
#include "model/stored_cell/stored_cell.h"
#include "unfold/base/error.h"
#include "unfold/base/formats/json.h"
#include "unfold/graph/engine/unfolding.h"

using namespace unfold;

namespace {

constexpr Index kSmall = 50'000;

/// Runs a small circuit over two chains.
void run(const Circuit& c) {
  Index numbers = c.parameter_count();
  for (const Node& node : c.nodes())
    numbers += (node.kind() == Node::Kind::symbols ? 1 : node.size) *
               (node.kind() == Node::Kind::link ? std::max<Index>(1, node.link().delay.steps) : 1);
  if (numbers > kSmall || c.outputs().empty()) return;
  Team team(1);
  Parameters<float> parameters(c);
  parameters.initialize(1);
  const auto plan = std::make_shared<const Plan>(c);
  Unfolding<float> unfolding(plan, team);
  unfolding.lay(Structure::chains({3, 1}));
  unfolding.set_parameters(parameters);
  unfolding.forward();
  unfolding.clear_adjoints();
  std::vector<float> gradient(static_cast<std::size_t>(parameters.size()));
  unfolding.backward(gradient);
}

}  // namespace

/// JSON of a circuit, or of a cell with circuits. The result is an error, or a circuit that runs and is written as it
/// was read.
extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
  try {
    const nlohmann::json json = parse_json(as_text(data, size), "file");
    if (json.is_object() && json.contains("circuits")) {
      const auto cell = StoredCell::from_json(json);
      check(StoredCell::from_json(cell->to_json({}))->to_json({}) == cell->to_json({}));
      return 0;
    }
    Circuit c;
    add_circuit(c, circuit_from_json(json));
    const nlohmann::json written = circuit_to_json(data_of(c));
    Circuit again;
    add_circuit(again, circuit_from_json(written));
    check(circuit_to_json(data_of(again)) == written);
    run(c);
  } catch (const ModelError&) {
  } catch (const UsageError&) {
  }
  return 0;
}
