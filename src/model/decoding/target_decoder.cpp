#include "model/decoding/target_decoder.h"

#include <fmt/format.h>

#include "graph/circuit/attention.h"
#include "numerics/functions.h"
#include "unfold/base/error.h"
#include "unfold/data/examples/example_set.h"

namespace unfold {
namespace {

Symbol symbol_named(const FieldSpecification& field, std::string_view text) {
  const Symbol symbol = field.alphabet == nullptr ? kNoSymbol : field.alphabet->find(text);
  if (symbol == kNoSymbol)
    throw UsageError(fmt::format("field {} has no symbol {}, so targets cannot end", field.name, text));
  return symbol;
}

}  // namespace

template <class T>
TargetDecoder<T>::TargetDecoder(const Network<T>& network, const DataSpecification& data, const TargetEnds& ends,
                                Team& team)
    : network_(network), data_(data), unfolding_(network.plan, team) {
  find_heads(ends);
  find_attention();
  const FieldSpecification& field = data.field(target_->field);
  symbols_ = field.size;
  end_ = static_cast<Symbol>(symbols_);
  for (const NetworkInput& input : network.inputs) read_input(input, ends);
  if (stops_ != nullptr)
    stop_ = symbol_named(data.field(stops_->field), ends.stop_at);
  else if (!has_length_input())
    end_ = symbol_named(field, ends.symbol);
}

/// Finds the target head and, if there is one, the stop head.
template <class T>
void TargetDecoder<T>::find_heads(const TargetEnds& ends) {
  for (const Head<T>& head : network_.heads) {
    const bool of_stops = !ends.stop_field.empty() && head.field.ends_with(ends.stop_field);
    if ((of_stops || !ends.numbers) && head.loss->template as<Categorical<T>>() == nullptr)
      throw UsageError(fmt::format(
          "finding targets requires logits of symbols, which the loss {} of {} does not have; leave --objective out",
          head.loss->name(), head.field));
    const Head<T>*& place = of_stops ? stops_ : target_;
    if (place != nullptr) network_.only_head("finding targets");  // throws
    place = &head;
  }
  if (target_ == nullptr) throw UsageError("the model predicts where targets end, but not the targets");
}

/// Sets up an input at the target: the previous symbol, or the remaining steps.
template <class T>
void TargetDecoder<T>::read_input(const NetworkInput& input, const TargetEnds& ends) {
  const FieldRead read = parse_read(input.field);
  const FieldSpecification& field = data_.field(read.field);
  if (field.source) {
    encodes_ = true;
    long_sources_ = long_sources_ || !field.once;
  } else if (read.field == target_->field && read.back == 1) {
    previous_ = input.signal;
  } else if (!ends.left_field.empty() && read.back == 0 && read.field.ends_with(ends.left_field)) {
    left_ = input.signal;
    left_as_ = &field;
    steps_left_ = ends.steps_left;
  } else {
    throw UsageError(fmt::format("the decoder reads {}, which is unknown while targets are generated", input.field));
  }
}

template <class T>
void TargetDecoder<T>::find_attention() {
  const Plan& plan = unfolding_.plan();
  for (std::size_t i = 0; i < plan.nodes().size() && !attends(); ++i)
    for (std::size_t k = 0; k < plan.nodes()[i].terms().size() && !attends(); ++k)
      if (plan.live(static_cast<int>(i)) && as_attention(plan.nodes()[i].terms()[k].op.get()))
        attending_node_ = static_cast<int>(i), attending_term_ = k;
}

template <class T>
void TargetDecoder<T>::begin(const Batch& batch, Index slots) {
  if (encodes_ && batch.structure.source() == nullptr) throw UsageError("the batch has no sources");
  batch_ = &batch;
  encoded_ = false;
  now_ = State<T>(unfolding_.plan(), slots);
  next_ = State<T>(unfolding_.plan(), slots);
}

template <class T>
Index TargetDecoder<T>::source_of(Index chain) const {
  return batch_->structure.source_chains(kSourcePart)[at(batch_->structure.row(chain, 0))];
}

template <class T>
Index TargetDecoder<T>::source_length(Index chain) const {
  return batch_->structure.part(kSourcePart).size(source_of(chain));
}

template <class T>
void TargetDecoder<T>::enter(std::span<const TargetRow> targets) {
  std::vector<Index> chains, slots;
  for (const TargetRow& target : targets) {
    chains.push_back(target.chain);
    slots.push_back(target.slot);
  }
  const auto count = static_cast<Index>(targets.size());
  const Structure own = Structure::chains(count, 1);
  unfolding_.lay(encodes_ ? own.with_source(*batch_->structure.source(), chains) : own, slots);
  if (encodes_ && !encoded_) set_source_inputs(*batch_, network_, unfolding_);
  const Structure& laid = unfolding_.structure();
  for (Index k = 0; k < count; ++k) give(targets[at(k)], laid.row(k, 0));
  unfolding_.forward(&now_, encodes_ && encoded_);
  encoded_ = true;
}

template <class T>
std::vector<std::vector<T>> TargetDecoder<T>::step(std::span<const TargetRow> targets) {
  enter(targets);
  std::vector<std::vector<T>> result(targets.size());
  for (std::size_t k = 0; k < targets.size(); ++k) {
    std::vector<T>& log_p = result[k];
    log_p = log_softmax_of(*target_, static_cast<Index>(k));
    if (stops_ == nullptr) continue;
    const auto [go, end] = log_stop(static_cast<Index>(k));
    for (T& x : log_p) x += go;
    log_p.push_back(end);
  }
  return result;
}

template <class T>
std::span<const T> TargetDecoder<T>::output(Index k) const {
  const Matrix<const T> signal = unfolding_.value(target_->signal);
  return {signal.row(unfolding_.structure().row(k, 0)), at(signal.cols)};
}

template <class T>
std::array<T, 2> TargetDecoder<T>::log_stop(Index k) const {
  const std::vector<T> log_p = log_softmax_of(*stops_, k);
  return {log_p[stop_ == 0 ? 1 : 0], log_p[at(stop_)]};
}

template <class T>
void TargetDecoder<T>::give_previous(const TargetRow& target, Index row) {
  const FieldSpecification& field = data_.field(target_->field);
  if (field.type == FieldSpecification::Type::symbols) {
    unfolding_.symbols(previous_)[at(row)] = target.before.empty() ? kNoSymbol : target.before.back();
    return;
  }
  const Matrix<T> to = unfolding_.input(previous_);
  if (target.numbers.empty())
    std::fill_n(to.row(row), to.cols, T{0});
  else
    std::ranges::copy(target.numbers.last(at(field.size)), to.row(row));
}

template <class T>
void TargetDecoder<T>::give(const TargetRow& target, Index row) {
  if (previous_.valid() && unfolding_.plan().live(previous_.id)) give_previous(target, row);
  if (!left_.valid() || !unfolding_.plan().live(left_.id)) return;
  std::vector<double> numbers(at(left_as_->size));
  const auto before =
      target.numbers.empty() ? target.before.size() : target.numbers.size() / at(data_.field(target_->field).size);
  steps_left_(target.length, static_cast<Index>(before), numbers.data());
  const Matrix<T> to = unfolding_.input(left_);
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    const double x = numbers[i];
    const auto z = static_cast<float>(left_as_->mean.empty() ? x : (x - left_as_->mean[i]) / left_as_->deviation[i]);
    to.row(row)[i] = static_cast<T>(z);  // rounded to float like data
  }
}

template <class T>
std::vector<T> TargetDecoder<T>::log_softmax_of(const Head<T>& head, Index k) const {
  const Matrix<const T> logits = unfolding_.value(head.signal);
  std::vector<T> log_p(at(logits.cols));
  log_softmax(logits.row(unfolding_.structure().row(k, 0)), log_p.data(), logits.cols);
  return log_p;
}

template <class T>
std::vector<double> TargetDecoder<T>::weights(Index k) {
  const Node& node = unfolding_.plan().nodes()[at(attending_node_)];
  const Node::AffineTerm& term = node.terms()[attending_term_];
  OperatorRows<T> rows = unfolding_.rows_read(node, term, 0, unfolding_.structure().row(k, 0));
  const auto seen = static_cast<Index>(rows.memory.seen_by(0).size());
  scratch_.resize(at(term.op->scratch() + seen * term.op->scratch_per_seen()));
  rows.scratch = scratch_.data();
  std::vector<T> weights(at(seen));
  attention_weights<T>(*as_attention(term.op.get()), rows, weights);
  return {weights.begin(), weights.end()};
}

template class TargetDecoder<float>;
template class TargetDecoder<double>;

}  // namespace unfold
