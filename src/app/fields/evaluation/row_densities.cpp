#include "app/fields/evaluation/row_densities.h"

#include <fmt/format.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "app/fields/evaluation/field_metrics.h"
#include "app/fields/field_model.h"
#include "base/decimals.h"
#include "unfold/base/error.h"

namespace unfold {
namespace {

struct RowDensity {
  double log_density = 0, standardized = 0;
};

/// Returns the log probability of each example, summed over all heads and predicted positions.
template <class T>
std::vector<RowDensity> densities_of(const NetworkModel<T>& model, const ExampleSet& set, Team& team) {
  std::vector<RowDensity> rows(at(set.count()));
  for (const HeadScores& head : score_heads(model, set, team)) {
    const FieldSpecification& field = model.data().field(head.field);
    const double scale = log_scale(field);
    for (Index e = 0; e < set.count(); ++e) {
      const Index first = head.once ? e : set.begin(e), last = head.once ? e + 1 : set.begin(e) + set.length(e);
      for (Index entry = first; entry < last; ++entry) {
        const double nats = head.nats[at(entry)];
        if (std::isnan(nats)) continue;
        rows[at(e)].log_density -= nats;
        rows[at(e)].standardized -= nats - scale;
      }
    }
  }
  return rows;
}

template <class T>
bool standardizes(const NetworkModel<T>& model) {
  return std::ranges::any_of(model.network().heads,
                             [&](const Head<T>& head) { return !model.data().field(head.field).deviation.empty(); });
}

nlohmann::ordered_json density_json(const RowDensity& row, bool standardized) {
  nlohmann::ordered_json json = {{"log_density", row.log_density}};
  if (standardized) json["standardised"] = row.standardized;
  return json;
}

}  // namespace

void row_densities(const DensityRequest& request, const std::function<void(std::string_view)>& write) {
  with_network_model(request.model, [&]<class T>(const NetworkModel<T>& model) {
    const Examples examples = read_for(model, request.data, request.reporter);
    const ExampleSet set(examples, std::make_shared<const DataSpecification>(model.data()),
                         predicted_fields(model.layout()));
    Team team(thread_count(request.threads));
    const std::vector<RowDensity> rows = densities_of(model, set, team);
    const bool standardized = standardizes(model);
    if (request.json) {
      nlohmann::ordered_json list = nlohmann::ordered_json::array();
      RowDensity mean;
      for (const RowDensity& row : rows) {
        list.push_back(density_json(row, standardized));
        mean.log_density += row.log_density / static_cast<double>(rows.size());
        mean.standardized += row.standardized / static_cast<double>(rows.size());
      }
      return write(
          nlohmann::ordered_json({{"rows", std::move(list)}, {"mean", density_json(mean, standardized)}}).dump() +
          "\n");
    }
    write(standardized ? "row\tlog_density\tstandardised\n" : "row\tlog_density\n");
    for (std::size_t r = 0; r < rows.size(); ++r)
      write(fmt::format("{}\t{}{}\n", r + 1, decimals(rows[r].log_density),
                        standardized ? '\t' + decimals(rows[r].standardized) : ""));
  });
}

}  // namespace unfold
