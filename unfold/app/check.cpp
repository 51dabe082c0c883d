#include "unfold/app/check.h"

#include <fmt/format.h>

#include "unfold/models/spec.h"

namespace unfold {
CheckOutcome check(const CheckRequest& request, Reporter& reporter) {
  ModelSpec spec = cut_down(parse_model_spec(request.model), request.units);
  spec.dropout = 0;  // a mask is a constant for every derivative
  CheckOutcome outcome{.model = to_string(spec), .report = {}};
  Circuit circuit;
  build_model(spec, circuit.symbols("symbols", request.symbols), request.symbols, circuit);
  reporter.remark(fmt::format("checking {} with {} symbols: {} parameters, double precision", outcome.model,
                              request.symbols, circuit.parameter_count()));
  const std::vector<Index> lengths = {4, 1, 3};
  outcome.report =
      check_derivatives(circuit, *softmax_loss<double>(), Structure::chains(lengths), {.seed = request.seed});
  return outcome;
}

}  // namespace unfold
