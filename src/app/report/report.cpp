#include "app/report/report.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <filesystem>

#include "app/evaluate/task_evaluation.h"
#include "app/inspect/info.h"
#include "app/predict/predict.h"
#include "app/report/report_parts.h"
#include "model/registry/run_folder.h"
#include "unfold/model/registry/registry.h"

namespace unfold {
namespace {

/// Returns all sections that need to inspect a model: empty, with the reason.
std::vector<PageSection> all_missing(const std::string& why) {
  std::vector<PageSection> sections;
  for (const auto& [id, title] :
       {std::pair{"baselines", "Baselines"}, std::pair{"forecasts", "Forecasts"},
        std::pair{"text", "Text colored by surprisal"}, std::pair{"neurons", "Neurons"}, std::pair{"gates", "Gates"},
        std::pair{"lags", "Influence of earlier inputs"}, std::pair{"radius", "Spectral radius"},
        std::pair{"calibration", "Calibration"}, std::pair{"confusion", "Confusion"},
        std::pair{"worst", "Worst predictions"}, std::pair{"attention", "Attention"}, std::pair{"trees", "Trees"},
        std::pair{"rolls", "Piano rolls"}})
    sections.push_back({.id = id, .title = title, .note = "", .missing = why});
  return sections;
}

Looked look_into(const ReportRequest& request, Reporter& reporter) {
  const std::string& model = request.runs.front();
  if (holds_task_model(model)) return inspect_task(request);
  return holds_field_model(model) ? inspect_fields(request, reporter) : inspect_text(request, reporter);
}

/// Returns all sections in page order; sections in `found` replace the empty sections with the same id.
std::vector<PageSection> complete(std::vector<PageSection> found) {
  std::vector<PageSection> all = all_missing("Models of this kind are not supported.");
  for (PageSection& section : all) {
    const auto own = std::ranges::find(found, section.id, &PageSection::id);
    if (own != found.end()) section = std::move(*own);
  }
  return all;
}

std::string page_of(const ReportRequest& request, const std::vector<PageSection>& sections) {
  const std::string model = load_model_file(model_file(request.runs.front()))->spec_text();
  return page_html(fmt::format("{} · Unfold", model), fmt::format("{}", fmt::join(request.runs, ", ")), sections);
}

/// The page of a model of a log, which has no learning curve and no sections that inspect symbols.
std::string log_page(const ReportRequest& request, Reporter& reporter) {
  if (request.runs.size() > 1) throw UsageError("a report about a log supports one model; leave out the other runs");
  std::vector<PageSection> sections = inspect_log(request, reporter);
  sections.push_back(card_section(request));
  sections.push_back(command_section(request));
  return page_of(request, sections);
}

/// `report RUN DATA` is `report RUN --data DATA`: files after the first run that are not model files contain data.
ReportRequest with_data(ReportRequest request) {
  const auto is_data = [](const std::string& path) {
    return std::filesystem::is_regular_file(path) && !path.ends_with(".safetensors");
  };
  const auto data = std::stable_partition(request.runs.begin() + 1, request.runs.end(),
                                          [&](const std::string& path) { return !is_data(path); });
  request.data.insert(request.data.end(), data, request.runs.end());
  request.runs.erase(data, request.runs.end());
  return request;
}

}  // namespace

std::string report_page(const ReportRequest& given, Reporter& reporter) {
  if (given.runs.empty()) throw UsageError("report needs a run folder");
  const ReportRequest request = with_data(given);
  for (const std::string& run : request.runs) model_file(run);  // throws if there is none
  if (holds_log_model(request.runs.front())) return log_page(request, reporter);
  const std::string unit = logged_unit(request.runs);
  const Looked looked = look_into(request, reporter);
  std::vector<PageSection> sections = {card_section(request),
                                       curves_section(request, unit, looked.levels, looked.no_levels),
                                       seeds_section(request, unit), cost_section(request)};
  for (PageSection& section : complete(looked.sections)) sections.push_back(std::move(section));
  const auto after_worst = std::ranges::find(sections, std::string("worst"), &PageSection::id) + 1;
  sections.insert(after_worst, samples_section(request, looked.sample));
  sections.push_back(command_section(request));
  return page_of(request, sections);
}

std::string plotting_library() { return kChartLibrary.empty() ? "" : fmt::format("Chart.js {}", kChartVersion); }

}  // namespace unfold
