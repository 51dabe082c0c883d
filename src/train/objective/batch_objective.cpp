#include "train/objective/batch_objective.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <optional>

#include "base/interruptible.h"
#include "graph/engine/backend.h"
#include "unfold/base/error.h"
#include "unfold/optim/direction/step_control.h"

namespace unfold {
namespace {

/// Returns whether some target is not at the last position of its chain.
template <class T>
bool predicts_before_the_end(const Batch& batch, const Network<T>& network) {
  const Structure& s = batch.structure;
  const PredictedRows predicted(batch, network);
  for (Index c = 0; c < s.sequences(); ++c)
    for (Index p = 0; p + 1 < s.size(c); ++p)
      if (predicted[s.row(c, p)]) return true;
  return false;
}

/// Returns the rows at which a batch has targets of a head.
template <class T>
std::vector<Index> target_rows(const Batch& batch, const Head<T>& head) {
  const Field& targets = batch.field(head.field);
  std::vector<Index> rows;
  for (Index row = 0; row < rows_of(targets); ++row)
    if (is_present(targets, row)) rows.push_back(row);
  return rows;
}

/// Returns whether a head predicts only the last positions of sequences.
bool at_ends_only(const Batch& batch, const std::vector<Index>& rows) {
  const Structure& s = batch.structure;
  std::vector<char> last(at(s.positions()), 0);
  for (Index c = 0; c < s.sequences(); ++c) last[at(s.row(c, s.size(c) - 1))] = 1;
  return std::ranges::all_of(rows, [&](Index row) { return last[at(row)] != 0; });
}

/// Returns the graph whose paths a metric of the network sums: for several heads, each with separate ends.
template <class T>
PathGraph path_graph(const Batch& batch, const Network<T>& network) {
  const bool chains = batch.structure.kind() == Structure::Kind::chains && batch.structure.parts() == 1;
  const Index longest = batch.structure.order().steps();
  PathGraph graph{.structure = chains ? Structure::chains(1, longest) : batch.structure, .ends = {}};
  for (const Head<T>& head : network.heads) {
    std::vector<Index> rows = target_rows(batch, head);
    if (chains) {
      const bool ends_only = at_ends_only(batch, rows);
      rows.resize(at(ends_only ? 1 : longest));
      std::iota(rows.begin(), rows.end(), ends_only ? longest - 1 : 0);
    }
    graph.ends.push_back({head.signal.id, std::move(rows)});
  }
  return graph;
}

/// Returns the penalty weights for one of several batches, because a penalty is the mean over the batches.
PenaltyOptions share_of(const PenaltyOptions& whole, Index batches) {
  const auto n = static_cast<double>(batches);
  return {.activity = whole.activity / n, .flow = whole.flow / n, .smoothing = whole.smoothing};
}

/// Rejects options that the device does not support before any work is done.
const BatchObjectiveOptions& runnable(const BatchObjectiveOptions& options, std::string_view objective) {
  if (options.offload == nullptr) return options;
  const auto refuse = [](std::string_view what) {
    throw UsageError(fmt::format("{} cannot be combined with --device; leave one of them out", what));
  };
  if (options.memory_limit > 0) refuse("recomputation within a memory limit (--memory-limit)");
  if (options.activations != Precision::exact) refuse("rounded activations (--activations bf16)");
  if (options.sharding.divided()) refuse("a batch in shards (--shards)");
  if (!options.gradient.looks_back()) refuse(fmt::format("--gradient {}", options.gradient.text()));
  if (options.feedback.on()) refuse("feedback of the network's outputs (--feedback)");
  if (options.own_outputs) refuse("scheduled sampling (--teacher-forcing)");
  if (options.penalties.flow > 0) refuse("a penalty on the flow of the gradient (--flow-penalty)");
  if (!objective.empty()) refuse(objective);
  return options;
}

}  // namespace

template <class T>
BatchObjective<T>::BatchObjective(const Network<T>& network, Parameters<T>& parameters, BatchSource& source,
                                  const BatchObjectiveOptions& options, Team& team, Entered entered,
                                  BatchChooser<T>* chooser)
    : network_(network),
      parameters_(parameters),
      source_(source),
      options_(runnable(options, chooser != nullptr ? chooser->name() : std::string_view())),
      team_(team),
      entered_(std::move(entered)),
      pass_(with_options(network, options), team,
            chooser == nullptr && options.gradient.looks_back() ? options.memory_limit : 0,
            share_of(options.penalties, options.batches), options.sharding),
      tables_(network),
      carried_(*network.plan, source.streams()),
      earlier_(at(options.batches - 1)),
      before_(at(options.batches)) {
  if (options.penalties.flow > 0 && options.batches > 1)
    throw UsageError("a flow penalty is computed only by a backward pass, but " + options.optimizer +
                     " measures the loss of several batches without one; use sgd, adam or path");
  if (options.sharding.divided() && (options.own_outputs || options.feedback.on() || network.fewer_outputs != nullptr ||
                                     !options.gradient.looks_back()))
    throw UsageError(fmt::format("{} cannot be combined with --shards; leave one of them out",
                                 options.feedback.on()           ? "feedback of the network's outputs (--feedback)"
                                 : options.own_outputs           ? "scheduled sampling (--teacher-forcing)"
                                 : options.gradient.looks_back() ? "a sampled softmax"
                                                                 : "a forward gradient (--gradient)"));
  if (chooser != nullptr) check_chooser(options_, chooser->name());
  inputs_ = make_input_source(network, options_, team);
  if (WeightRules<T>::needed(network))
    weights_ = std::make_unique<WeightRules<T>>(network, parameters, options.seed, team);
  gradient_ = make_gradient_source(network, parameters, options_, source.streams(), pass_, chooser, team);
}

/// Rejects the sampled softmax: its loss is a new estimate in each step, which is sufficient for a gradient but not for
/// comparing losses.
template <class T>
void BatchObjective<T>::require_full_softmax() const {
  if (network_.fewer_outputs != nullptr)
    throw UsageError(
        fmt::format("{} needs exact losses; a sampled softmax only estimates the gradient; leave --sampled-softmax out",
                    short_name(options_.optimizer)));
}

template <class T>
void BatchObjective<T>::require_exact_products() const {
  if (options_.precision != Precision::exact || options_.activations != Precision::exact)
    throw UsageError(fmt::format("{} computes curvature, for which bfloat16 is not precise enough; train in float",
                                 short_name(options_.optimizer)));
}

/// Rejects dropped and tied weights, which optimizers that combine several weights do not support.
template <class T>
void BatchObjective<T>::require_plain_weights() const {
  if (weights_)
    throw UsageError(
        fmt::format("{} does not support dropped or tied weights; train with sgd, asgd, rmsprop or adam, or remove "
                    "wdrop, dropoute and tied from the model",
                    short_name(options_.optimizer)));
}

template <class T>
void BatchObjective<T>::gather(Index step) {
  step_ = step;
  computed_ = {};
  mixed_ = nullptr;
  for (Batch& earlier : earlier_) {
    earlier = source_.batch();
    source_.advance();
  }
  predicted_ = 0;
  for (Index k = 0; k < options_.batches; ++k) predicted_ += static_cast<double>(batch(k).predicted);
  gradient_->require_equal_weights(batch(0));
  if (inputs_) require_equal_weights(batch(0), "a network that reads its own outputs");
}

template <class T>
void BatchObjective<T>::read_own_outputs(double forcing) {
  mixed_ = &inputs_->read(source_.batch(), carried_, parameters_, forcing, step_);
}

template <class T>
Index BatchObjective<T>::symbols() const {
  Index result = 0;
  for (Index k = 0; k < options_.batches; ++k) result += batch(k).symbols;
  return result;
}

template <class T>
void BatchObjective<T>::skip() {
  gradient_->begin_skip(parameters_);
  for (Index k = 0; k < options_.batches; ++k) {
    enter_batch(batch(k), *network_.plan, carried_);
    gradient_->skip(of_step(k));
    if (k + 1 < options_.batches) leave_batch(batch(k), carried_);
  }
}

template <class T>
void BatchObjective<T>::leave() {
  leave_batch(source_.batch(), carried_);
  gradient_->leave(source_.batch());
}

/// Returns the parameters with the blocks of the network. A network that reads its own outputs can have further blocks,
/// which are empty: those of operators without parameters.
template <class T>
const Parameters<T>& BatchObjective<T>::in_network(const Parameters<T>& parameters) {
  if (parameters.info().size() == network_.plan->parameters().size()) return parameters;
  if (!padded_) padded_.emplace(network_.circuit());
  require_length("training: the vector of parameters", parameters.size(), padded_->size());
  std::ranges::copy(parameters.flat(), padded_->flat().begin());
  return *padded_;
}

template <class T>
std::string BatchObjective<T>::find_non_finite() {
  pass_.set_parameters(in_network(parameters_));
  for (Index k = 0; k < options_.batches; ++k) {
    std::string first = pass_.find_non_finite(batch(k), before_[at(k)]);
    if (!first.empty()) return first;
  }
  return {};
}

/// Returns whether the gradient consists only of the pass and its losses.
template <class T>
bool BatchObjective<T>::is_plain() const {
  return options_.batches == 1 && gradient_->is_plain() && !inputs_ && !weights_;
}

template <class T>
Resident<T>* BatchObjective<T>::resident() {
  return is_plain() ? pass_.resident() : nullptr;
}

template <class T>
const RowTables* BatchObjective<T>::rows_read() {
  if (!tables_.any() || !is_plain() || options_.penalties.any() || options_.sharding.divided() ||
      options_.offload != nullptr)
    return nullptr;
  return tables_.read(batch(0));
}

/// The flag that interrupts a pass. With several processes, all stop together between passes.
template <class T>
const std::atomic<bool>* BatchObjective<T>::flag_within(bool first) const {
  if (!options_.sharding.all().alone() || !gradient_->is_interruptible()) return nullptr;
  return first && options_.stop == nullptr ? options_.stop_first : options_.stop;
}

/// Computes the loss and its gradient at the current parameters.
template <class T>
double BatchObjective<T>::pass(std::span<T> result, bool accumulate) {
  std::optional<Interruptible> within;
  gradient_->set_parameters(in_network(seen()));
  double nats = 0, penalty = 0;
  for (Index k = 0; k < options_.batches; ++k) {
    poll();
    if (k == 0 && !computed_.empty())  // a further call, with different parameters
      copy_state(before_.front(), carried_);
    else
      enter_batch(batch(k), *network_.plan, carried_);
    copy_state(carried_, before_[at(k)]);
    if (k == 0) within.emplace(flag_within(computed_.empty()));  // the state before the step is known from here on
    BatchOfStep<T> step = of_step(k);
    step.accumulate = accumulate || step.accumulate;
    nats += gradient_->gradient(step, result);
    penalty += gradient_->penalty(batch(k));
    if (k + 1 < options_.batches) leave_batch(batch(k), carried_);
  }
  if (weights_) weights_->turn(result);
  return nats / predicted_ + penalty;
}

/// Reports the loss; returns it, or infinity if it indicates divergence.
template <class T>
double BatchObjective<T>::finish_gradient(double loss, std::span<T> result) {
  const bool again = !computed_.empty();  // evaluation at a trial point, which is never used for a rollback
  computed_ = result;
  in_slices_ = false;
  const auto norm = [&] { return result.empty() ? pass_.resident()->gradient_norm() : global_norm<T>(team_, result); };
  return again || entered_(loss, norm) ? loss : std::numeric_limits<double>::infinity();
}

template <class T>
double BatchObjective<T>::gradient(std::span<T> result) {
  return finish_gradient(pass(result, false), result);
}

/// The parameters are lent again even if the pass is interrupted, because a checkpoint then reads them.
template <class T>
double BatchObjective<T>::gradient_of_rows(Keeper<T>& keeper, std::span<T> result) {
  parameters_.flat();
  double loss = 0;
  try {
    loss = pass(result, true);
  } catch (...) {
    parameters_.lend(keeper);
    throw;
  }
  parameters_.lend(keeper);
  return finish_gradient(loss, result);
}

/// Returns null for optimizers that need the whole gradient or sums of several gradients, and for slices whose sums are
/// rounded: parameters cannot be rounded, so sending them would take twice as long as sending the gradient.
template <class T>
const Slices* BatchObjective<T>::slices() {
  const Sharding& sharding = options_.sharding;
  const bool divided = sharding.divided() && !sharding.all().alone() && options_.batches == 1 && weights_ == nullptr &&
                       sharding.gradients == Precision::exact;
  return divided ? &pass_.slices() : nullptr;
}

template <class T>
SliceGradient BatchObjective<T>::gradient_of_slices(std::span<T> own) {
  pass_.set_parameters(parameters_);
  set_dropout(0);
  enter_batch(batch(0), *network_.plan, carried_);
  copy_state(carried_, before_.front());
  SliceGradient found = pass_.gradient_of_slices(batch(0), carried_, 1 / predicted_, own);
  found.loss /= predicted_;
  computed_ = own;
  in_slices_ = true;
  if (!entered_(found.loss, [&] { return found.norm; })) found.loss = std::numeric_limits<double>::infinity();
  return found;
}

template <class T>
Index BatchObjective<T>::first_non_finite_of_gradient() {
  const auto found = std::ranges::find_if(computed_, [](T x) { return !std::isfinite(x); });
  Index place = found - computed_.begin();
  if (!in_slices_) return found == computed_.end() ? -1 : place;
  constexpr double kNone = std::numeric_limits<double>::infinity();
  double first = kNone;
  for (const Range r : pass_.slices().own()) {
    if (first == kNone && place < r.size()) first = static_cast<double>(r.begin + place);
    place -= r.size();
  }
  const std::vector<double> of_all = options_.sharding.all().gather(found == computed_.end() ? kNone : first);
  const double least = *std::ranges::min_element(of_all);
  return least == kNone ? -1 : static_cast<Index>(least);
}

template <class T>
double BatchObjective<T>::loss() {
  const Interruptible within(flag_within(false));
  require_full_softmax();
  const Parameters<T>& parameters = in_network(seen());
  pass_.set_parameters(parameters);
  double nats = 0, penalty = 0;
  for (Index k = 0; k < options_.batches; ++k) {
    poll();
    if (const std::optional<double> value = gradient_->value(batch(k), parameters, number(k))) {
      nats += *value;
      continue;
    }
    set_dropout(k);
    copy_state(before_[at(k)], scratch_);
    nats += pass_.forward(batch(k), scratch_);
    penalty += pass_.penalty(batch(k));
  }
  return nats / predicted_ + penalty;
}

template <class T>
double BatchObjective<T>::symbols_per_sequence() const {
  Index sequences = 0;
  for (Index k = 0; k < options_.batches; ++k) sequences += batch(k).structure.sequences();
  return predicted_ / static_cast<double>(sequences);
}

template <class T>
void BatchObjective<T>::require_unmodified_network() {
  require_true_losses();
  require_plain_weights();
}

template <class T>
void BatchObjective<T>::require_true_losses() {
  gradient_->require_losses(options_.optimizer);
  if (inputs_) inputs_->require_true_inputs(options_.optimizer);
}

template <class T>
void BatchObjective<T>::require_exact_batch() {
  require_unmodified_network();
  gradient_->require_stored_window(options_.optimizer);
  require_full_softmax();
  require_exact_products();
  require_equal_weights(batch(0), options_.optimizer);
}

template <class T>
EnteredBatch<T> BatchObjective<T>::enter() {
  require_exact_batch();
  enter_batch(batch(0), *network_.plan, carried_);
  copy_state(carried_, before_.front());
  computed_ = {};
  return {network_, batch(0), before_.front(), carried_, dropout_seed(0)};
}

template <class T>
PathReading BatchObjective<T>::path_reading() {
  require_true_losses();
  const Batch& first = batch(0);
  const Head<T>& head = network_.heads.front();
  PathReading reading{.circuit = head.signal.circuit, .output = head.signal.id, .ties = network_.ties};
  if (!first.fields.contains(head.field)) return reading;  // no batch yet
  if (network_.heads.size() > 1 || first.structure.kind() != Structure::Kind::chains || first.structure.parts() > 1) {
    reading.graph = std::make_shared<const PathGraph>(path_graph(first, network_));
    return reading;
  }
  reading.length = first.structure.order().steps();
  reading.every_step = predicts_before_the_end(first, network_);
  return reading;
}

template <class T>
void BatchObjective<T>::start_curvature(double share, Distance damping) {
  require_exact_batch();
  if (options_.memory_limit > 0)
    throw UsageError(
        fmt::format("{} stores the activations of its batches for curvature products; train without a memory limit",
                    short_name(options_.optimizer)));
  if (!curvature_) curvature_ = std::make_unique<ShardedCurvature<T>>(network_, damping, team_, options_.sharding);
  const auto least = static_cast<Index>(std::ceil(share * static_cast<double>(options_.batches)));
  std::vector<CurvaturePart<T>> parts;
  Index found = 0;
  for (Index k = 0; k < options_.batches && (k < least || found == 0); ++k) {
    parts.push_back({&batch(k), &before_[at(k)], dropout_seed(k)});
    found += batch(k).predicted;
  }
  curvature_->start(parameters_, parts);
}

template <class T>
void BatchObjective<T>::curvature_product(std::span<const T> v, double structural, std::span<T> result) {
  poll();
  const Interruptible within(flag_within(false));
  curvature_->product(v, structural, result);
}

template <class T>
void BatchObjective<T>::curvature_sample(std::uint64_t seed, double structural, std::span<T> result) {
  poll();
  curvature_->sample(seed, structural, result);
}

template <class T>
std::optional<std::uint64_t> BatchObjective<T>::dropout_seed(Index k) const {
  if (!network_.dropout) return std::nullopt;
  static const std::uint64_t stream = stream_of("dropout");
  const auto words = philox(options_.seed, stream, static_cast<std::uint64_t>(number(k)));
  return static_cast<std::uint64_t>(words[1]) << 32 | words[0];
}

template <class T>
void BatchObjective<T>::set_dropout(Index k) {
  if (const auto seed = dropout_seed(k)) pass_.set_dropout_seed(*seed);
}

template class BatchObjective<float>;
template class BatchObjective<double>;

}  // namespace unfold
