#include "unfold/app/check.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>

#include "unfold/models/spec.h"

namespace unfold {
namespace {

/// The same model, small.
ModelSpec cut_down(ModelSpec spec, Index units) {
  spec.units = std::min(spec.units, units);
  if (spec.cell == CellKind::urnn)
    spec.units = static_cast<Index>(std::bit_floor(static_cast<std::uint64_t>(spec.units)));  // has powers of two only
  spec.embedding = std::min(spec.embedding, units);
  spec.factors = std::min(spec.factors, units);
  spec.dropout = 0;  // a mask is a constant for every derivative
  return spec;
}

}  // namespace

CheckOutcome check(const CheckRequest& request, Reporter& reporter) {
  const ModelSpec spec = cut_down(parse_model_spec(request.model), request.units);
  CheckOutcome outcome{.model = to_string(spec), .report = {}};
  Circuit circuit;
  build_model(spec, request.symbols, circuit);
  reporter.remark(fmt::format("checking {} with {} symbols: {} parameters, double precision", outcome.model,
                              request.symbols, circuit.parameter_count()));
  const std::vector<Index> lengths = {4, 1, 3};
  outcome.report =
      check_derivatives(circuit, *softmax_loss<double>(), Structure::chains(lengths), {.seed = request.seed});
  return outcome;
}

}  // namespace unfold
