#include "app/train/setup/objectives.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "app/fields/evaluation/transduction_metrics.h"
#include "model/decoding/objective.h"
#include "model/decoding/sequence_search_training.h"
#include "train/label_error.h"
#include "unfold/optim/optimizer.h"
#include "unfold/train/objective/latent_trees.h"

namespace unfold {

namespace {

/// Adds the network for latent trees. Throws for optimizers that compare losses, because losses on randomly drawn trees
/// are not comparable.
template <class T>
Network<T> network_that_finds_trees(const NetworkModel<T>& model, const TrainSettings& settings, Circuit& circuit,
                                    Team& team, TrainingSources<T>& sources) {
  const std::string optimizer = canonical_optimizer(settings.optimizer);
  if (settings.objective && !is_likelihood(*settings.objective))
    throw UsageError("--trees found requires the likelihood objective; leave out --objective");
  if (compares_losses(optimizer))
    throw UsageError(
        fmt::format("{} compares losses and cannot be used with --trees found, which draws random trees; train with "
                    "sgd, asgd, rmsprop or adam",
                    spec_name(optimizer)));
  sources.chooser = tree_chooser(model.network(), static_cast<std::uint64_t>(settings.seed), team);
  return merging_network(model, circuit);
}

}  // namespace

template <class T>
Network<T> network_with_objective(const NetworkModel<T>& model, const TrainSettings& settings, Circuit& circuit,
                                  Team& team, TrainingSources<T>& sources) {
  if (model.data().found) return network_that_finds_trees(model, settings, circuit, team, sources);
  const std::string objective = settings.objective.value_or("likelihood");
  TargetEnds ends = kPairEnds;
  ends.left_field = kStepsLeftSuffix;
  if (is_likelihood(objective) || !supports_sequence_objectives(model.network(), model.data(), ends))
    return searching_network(model.network(), objective);
  if (settings.word_dropout > 0)
    throw UsageError(
        fmt::format("--objective {} cannot be combined with --word-dropout; leave one of them out", objective));
  sources.chooser =
      sequence_chooser(model.network(), model.data(), ends, objective, static_cast<std::uint64_t>(settings.seed), team);
  (*sources.configuration)["objective"] = objective;
  return model.network();
}

template <class T>
bool add_error_metric(const NetworkModel<T>& model, const TrainSettings& settings, Team& team,
                      TrainingSources<T>& sources) {
  const std::string by = settings.best_by.value_or("nats");
  if (by == "nats") return false;
  if (sources.chooser)
    throw UsageError(fmt::format("--best-by {}: with {}, the best model is chosen by the loss; leave out --best-by", by,
                                 sources.chooser->name()));
  sources.judge = label_judge(model.network(), model.parameters(),
                              by == "labels" ? WrongLabels::each : WrongLabels::sequences, team);
  return true;
}

template bool add_error_metric(const NetworkModel<float>&, const TrainSettings&, Team&, TrainingSources<float>&);
template bool add_error_metric(const NetworkModel<double>&, const TrainSettings&, Team&, TrainingSources<double>&);
template Network<float> network_with_objective(const NetworkModel<float>&, const TrainSettings&, Circuit&, Team&,
                                               TrainingSources<float>&);
template Network<double> network_with_objective(const NetworkModel<double>&, const TrainSettings&, Circuit&, Team&,
                                                TrainingSources<double>&);

}  // namespace unfold
