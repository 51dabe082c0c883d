#include "app/inspect/path_norm.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <numbers>
#include <optional>
#include <vector>

#include "graph/paths/path_pass.h"
#include "model/registry/run_folder.h"
#include "numerics/functions.h"
#include "unfold/model/network/language_model.h"
#include "unfold/model/network/network_model.h"

namespace unfold {
namespace {

template <class T>
PathNorm norm_of(const Circuit& circuit, const Parameters<T>& parameters, bool every_step, Index steps) {
  Team team(1);
  PathPass<T> pass(circuit, team);
  std::vector<double> kappa(at(parameters.size()));
  const ScaledNumber norm = pass.run(parameters, {.length = steps, .every_step = every_step}, kappa).norm;
  double logarithm = norm.mantissa;
  vector_log(&logarithm, &logarithm, 1);
  return {.steps = steps,
          .value = norm.value(),
          .logarithm = logarithm + static_cast<double>(norm.exponent) * std::numbers::ln2};
}

template <class T>
std::optional<PathNorm> norm_in(const Model& model, Index steps) {
  if (const auto* text = model.as<LanguageModel<T>>()) return norm_of(text->circuit(), text->parameters(), true, steps);
  const auto* network = model.as<NetworkModel<T>>();
  if (network == nullptr) return std::nullopt;
  const bool every_step = std::ranges::any_of(
      network->layout().heads, [&](const HeadSpecification& head) { return !network->data().field(head.field).once; });
  return norm_of(network->circuit(), network->parameters(), every_step, steps);
}

}  // namespace

PathNorm path_norm(const std::string& model, Index steps) {
  const std::unique_ptr<Model> loaded = load_model_file(model_file(model));
  (void)loaded->need<NetworkHolder>("--path-norm");
  if (const auto norm = norm_in<float>(*loaded, steps)) return *norm;
  if (const auto norm = norm_in<double>(*loaded, steps)) return *norm;
  throw UsageError(fmt::format("--path-norm does not support {}", loaded->spec_text()));
}

}  // namespace unfold
