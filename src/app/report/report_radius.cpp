#include <fmt/format.h>

#include <filesystem>
#include <map>

#include "app/compare/evaluation_data.h"
#include "app/explain/instrumented_network.h"
#include "app/plots/training_curve.h"
#include "app/report/report_parts.h"
#include "model/registry/run_folder.h"
#include "unfold/model/network/language_model.h"
#include "unfold/model/network/network_model.h"
#include "unfold/model/registry/registry.h"

namespace unfold {
namespace {

constexpr const char* kTitle = "Spectral radius";
constexpr const char* kNote =
    "The largest modulus of an eigenvalue of each recurrent matrix: above 1, signals may grow from step to step; far "
    "below 1, they vanish quickly.";

template <class T>
std::vector<double> radii(const std::vector<RecurrentBlock>& blocks, const Parameters<T>& parameters) {
  std::vector<double> result;
  for (const RecurrentBlock& block : blocks) {
    Matrix<const T> m = parameters[block.parameter];
    m.data += block.column;
    m.cols = block.size;
    result.push_back(spectral_radius(m));
  }
  return result;
}

/// Returns the parameters of the last checkpoint of a run and its step; empty if there is no matching checkpoint.
template <class T>
std::optional<std::pair<Index, Parameters<T>>> last_checkpoint(const std::string& run, const Parameters<T>& like) {
  const RunFolder folder(run);
  if (!folder.has_checkpoint()) return std::nullopt;
  try {
    const SafetensorsFile file = SafetensorsFile::open(folder.checkpoint());
    const auto values = file.values<T>("parameters");
    if (static_cast<Index>(values.size()) != like.size()) return std::nullopt;
    Parameters<T> parameters = like;
    std::ranges::copy(values, parameters.flat().begin());
    const auto steps = read_log_curve(folder.log(), "done", "step", "step");
    return std::pair(steps.empty() ? Index{0} : static_cast<Index>(steps.back().first), std::move(parameters));
  } catch (const Error&) {
    return std::nullopt;  // the checkpoint is damaged or from a different version: omit it from the page
  }
}

Index best_step(const std::string& run) {
  Index best = 0;
  double least = std::numeric_limits<double>::infinity();
  for (const auto& [step, nats] : read_log_curve(RunFolder(run).log(), "validation", "step", "nats_per_symbol"))
    if (nats < least) least = nats, best = static_cast<Index>(step);
  return best;
}

template <class T>
PageSection section_of(const std::string& run, const Circuit& circuit, const ModelSpec& spec,
                       const Parameters<T>& parameters) {
  PageSection section{.id = "radius", .title = kTitle, .note = kNote};
  section.missing = "This model has no square recurrent matrix.";
  const std::vector<RecurrentBlock> blocks = recurrent_blocks(circuit, spec);
  if (blocks.empty()) return section;
  std::map<Index, std::vector<double>> found;
  const TrainSettings settings = settings_of_run(run);
  const bool known_start = !settings.data.empty() && settings.restarts <= 1;
  if (known_start) {
    Parameters<T> start = parameters;
    start.initialize(static_cast<std::uint64_t>(settings.seed));
    found[0] = radii(blocks, start);
  }
  const Index best = best_step(run);
  if (const auto last = last_checkpoint(run, parameters); last && last->first > best)
    found[last->first] = radii(blocks, last->second);
  found[std::max<Index>(best, 1)] = radii(blocks, parameters);
  std::vector<ChartSeries> series;
  for (std::size_t b = 0; b < blocks.size() && b < kMostCurves; ++b) {
    Curve curve{.label = blocks[b].name, .points = {}};
    for (const auto& [step, values] : found)
      curve.points.push_back({static_cast<double>(step), {values[b], values[b], values[b]}});
    series.push_back({.curve = std::move(curve), .style = found.size() > 1 ? "marked" : "points"});
  }
  section.blocks.push_back(chart_block("Spectral radius over steps", {"steps"}, {"spectral radius"}, series));
  section.blocks.push_back(note_block(fmt::format(
      "{}The log of a run contains no weights: the values shown are {}those at the best validation{}.",
      blocks.size() > kMostCurves ? fmt::format("The first {} of {} matrices. ", kMostCurves, blocks.size()) : "",
      known_start ? "those of the initial weights, " : "",
      found.size() > (known_start ? 2U : 1U) ? " and those of the last checkpoint" : "")));
  return section;
}

}  // namespace

PageSection radius_section(const std::string& run) {
  const std::unique_ptr<Model> model = load_model_file(model_file(run));
  if (const auto* m = model->as<LanguageModel<float>>())
    return section_of(run, m->circuit(), m->spec(), m->parameters());
  if (const auto* m = model->as<LanguageModel<double>>())
    return section_of(run, m->circuit(), m->spec(), m->parameters());
  if (const auto* m = model->as<NetworkModel<float>>())
    return section_of(run, m->circuit(), m->spec(), m->parameters());
  if (const auto* m = model->as<NetworkModel<double>>())
    return section_of(run, m->circuit(), m->spec(), m->parameters());
  return {.id = "radius", .title = kTitle, .note = kNote, .missing = "This model is not a network."};
}

}  // namespace unfold
