#include "unfold/app/objectives.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "unfold/fields/pair_figures.h"
#include "unfold/search/objective.h"
#include "unfold/search/sequence_chooser.h"

namespace unfold {

template <class T>
Network<T> network_with_objective(const NetworkModel<T>& model, const TrainSettings& settings, Team& team,
                                  TrainingSources<T>& sources) {
  const std::string objective = settings.objective.value_or("likelihood");
  TargetEnds ends = kPairEnds;
  ends.left_field = kLeftField;
  if (is_likelihood(objective) || !searches_sequences(model.network(), model.data(), ends))
    return searching_network(model.network(), objective);
  if (settings.word_dropout > 0)
    throw UsageError(fmt::format(
        "--objective {} reads the sequences that it finds whole; leave --word-dropout out, or --objective", objective));
  sources.chooser =
      sequence_chooser(model.network(), model.data(), ends, objective, static_cast<std::uint64_t>(settings.seed), team);
  (*sources.configuration)["objective"] = objective;
  return model.network();
}

template Network<float> network_with_objective(const NetworkModel<float>&, const TrainSettings&, Team&,
                                               TrainingSources<float>&);
template Network<double> network_with_objective(const NetworkModel<double>&, const TrainSettings&, Team&,
                                                TrainingSources<double>&);

}  // namespace unfold
