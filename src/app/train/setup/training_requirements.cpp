#include "app/train/setup/training_requirements.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <initializer_list>
#include <numeric>
#include <utility>
#include <vector>

#include "app/fields/defaults/sequence_choice.h"
#include "app/train/setup/path_units.h"
#include "base/threads/available_memory.h"
#include "graph/engine/memory.h"
#include "optim/rtrl/forward_gradient.h"
#include "unfold/base/error.h"
#include "unfold/data/tasks/task_spec.h"
#include "unfold/optim/optimizer.h"

namespace unfold {

template <class T>
void check_training_support(const Network<T>& network, const ModelSpec& spec, const TrainSettings& settings,
                            const RunSettings& run) {
  require_path_units(network.circuit(), spec, settings.optimizer);
  if (!settings.gradient) return;
  if (compares_losses(settings.optimizer) || make_optimizer<T>(settings.optimizer, 1)->gradients() > 1)
    throw UsageError(
        fmt::format("{} needs several passes over the data, which --gradient {} does not store; train with sgd, "
                    "rmsprop or adam, or with --gradient bptt",
                    settings.optimizer.substr(0, settings.optimizer.find(':')), *settings.gradient));
  ForwardOptions options{.streams = settings.batch};
  if (run.memory_limit) options.limit = parse_bytes(*run.memory_limit);
  require_forward_gradient(network, GradientMethod::parse(*settings.gradient), options);
}

void require_training_memory(const Plan& plan, const ExampleSet& training, const TrainSettings& s, Index window,
                             std::size_t element_bytes, const RunSettings& run) {
  if (run.memory_limit || training.has_sources() || training.spelt() != nullptr) return;
  std::vector<Index> lengths;
  for (Index e = 0; e < training.count(); ++e)
    lengths.push_back(window > 0 ? std::min(window, training.length(e)) : training.length(e));
  std::ranges::sort(lengths, std::greater<>());
  lengths.resize(std::min(lengths.size(), static_cast<std::size_t>(s.batch)));
  const Index rows = std::accumulate(lengths.begin(), lengths.end(), Index{0});
  const PlannedMemory memory = planned_memory(plan, element_bytes);
  const double needed =
      (static_cast<double>(rows) * static_cast<double>(memory.row) +
       static_cast<double>(lengths.size()) * static_cast<double>(memory.chain) + static_cast<double>(memory.weights)) *
      static_cast<double>(element_bytes);
  const std::size_t available = available_memory();
  if (needed <= static_cast<double>(available)) return;
  throw UsageError(fmt::format(
      "one step needs about {} of memory for {} positions, but only {} is available; use a smaller --batch (now {}), "
      "--window N to train on parts of sequences (unidirectional models), --memory-limit {}M to compute a step piece "
      "by "
      "piece, or leave out fields with many classes",
      bytes_text(static_cast<std::size_t>(needed)), rows, bytes_text(available), s.batch,
      std::max<std::size_t>(1, available / 2 >> 20)));
}

void check_one_pass_settings(const TrainSettings& s, bool resume) {
  const std::initializer_list<std::pair<std::string_view, bool>> options = {
      {name_of(&TrainSettings::early_stop), s.early_stop > 0},
      {name_of(&TrainSettings::best_by), s.task && s.best_by},  // for data with fields, it may be a default
      {name_of(&TrainSettings::curriculum), s.curriculum > 0},
      {name_of(&TrainSettings::copy_matching_parameters), s.copy_matching_parameters.has_value()},
      {name_of(&TrainSettings::goal_error), s.goal_error.has_value()},
      {name_of(&TrainSettings::feedback), s.feedback.has_value()},
      {name_of(&TrainSettings::gradient), s.gradient.has_value()},
      {name_of(&TrainSettings::teacher_forcing), s.teacher_forcing.has_value()},
      {name_of(&TrainSettings::label_smoothing), s.label_smoothing > 0},
      {name_of(&TrainSettings::activity_penalty), s.activity_penalty > 0},
      {name_of(&TrainSettings::flow_penalty), s.flow_penalty > 0},
      {name_of(&TrainSettings::objective), s.objective.has_value()},
      {name_of(&TrainSettings::word_dropout), s.word_dropout > 0}};
  for (const auto& [name, asked] : options)
    if (asked) throw UsageError(not_by_gradients(name, s.model));
  if (s.shards) throw UsageError("a readout is fitted in one pass and does not support --shards; omit --shards");
  if (resume) throw UsageError("a readout is fitted in one pass and cannot be resumed; use --overwrite");
  if (s.task && !s.steps && !task_needs_files(*s.task))
    throw UsageError(
        fmt::format("{} is fitted to --steps times --batch examples of --task {}; add --steps", s.model, *s.task));
}

template void check_training_support(const Network<float>&, const ModelSpec&, const TrainSettings&, const RunSettings&);
template void check_training_support(const Network<double>&, const ModelSpec&, const TrainSettings&,
                                     const RunSettings&);

}  // namespace unfold
