#include "optim/riemannian/sampled_sequences.h"

#include <fmt/format.h>

#include <algorithm>

#include "loss/distribution.h"
#include "numerics/functions.h"
#include "unfold/base/error.h"
#include "unfold/data/examples/example_set.h"

namespace unfold {
namespace {

/// Copies an entry of a field to another row. REQUIRES: both fields have the same type and size.
void copy_entry(const Field& from, Index source, Field& to, Index row) {
  if (const auto* symbols = std::get_if<SymbolRows>(&from)) {
    std::get<SymbolRows>(to).symbols[at(row)] = symbols->symbols[at(source)];
    return;
  }
  const auto& values = std::get<ValueRows>(from);
  for (Index i = 0; i < values.cols(); ++i) std::get<ValueRows>(to).set(row, i, values.values<float>(source, 1)(0, i));
}

/// Returns whether a field is a part of another one, or several of its positions (data/examples/derived.h).
bool is_derived(std::string_view field, std::string_view from) {
  return field.size() > from.size() && field.starts_with(from) &&
         (field[from.size()] == '.' || field[from.size()] == '[');
}

/// Throws UsageError unless positions can be computed one after another.
void require_order_of_positions(const Plan& plan) {
  for (int i = 0; i < static_cast<int>(plan.nodes().size()); ++i) {
    const Node& node = plan.nodes()[at(i)];
    if (!plan.live(i)) continue;
    const bool forward = node.kind() != Node::Kind::link || node.link().delay.along == Delay::Along::previous ||
                         node.link().delay.along == Delay::Along::first;
    if (node.part > 0 || !forward)
      throw UsageError(fmt::format(
          "Riemannian training: own= samples one position after another, but {} {}; leave it out", node.name,
          node.part > 0 ? "belongs to a separate chain" : "reads along " + describe(node.link().delay)));
  }
}

}  // namespace

template <class T>
SampledSequences<T>::SampledSequences(const Network<T>& network) : plan_(network.plan) {
  require_order_of_positions(*plan_);
  targets_.reserve(network.heads.size());
  reads_.reserve(network.inputs.size());
  for (const Head<T>& head : network.heads) {
    if (head.loss->template as<Categorical<T>>() == nullptr &&
        head.loss->template as<ValueDistribution<T>>() == nullptr)
      throw UsageError(
          fmt::format("Riemannian training: own= samples what is predicted, position by position, which the loss {} of "
                      "{} does not support; leave it out",
                      head.loss->name(), head.field));
    targets_.push_back({head.field, head.signal, head.loss});
  }
  for (const NetworkInput& input : network.inputs) {
    const FieldRead what = parse_read(input.field);
    Read read{.field = input.field, .signal = input.signal, .head = -1, .back = what.back};
    for (std::size_t h = 0; h < targets_.size(); ++h) {
      if (is_derived(what.field, targets_[h].field) || (what.field == targets_[h].field && what.back == 0))
        throw UsageError(
            fmt::format("Riemannian training: own= samples {}, but the network reads {}, which follows from it only "
                        "for true entries; leave it out",
                        targets_[h].field, input.field));
      if (what.field == targets_[h].field) read.head = static_cast<int>(h);
    }
    reads_.push_back(std::move(read));
  }
}

template <class T>
const Batch& SampledSequences<T>::draw(const Batch& batch, const Parameters<T>& parameters, const State<T>& entering,
                                       std::uint64_t draw, std::uint64_t stream) {
  own_ = batch;
  for (Read& read : reads_) read.rows = &own_.fields.find(read.field)->second;
  for (Target& target : targets_) target.rows = &own_.fields.find(target.field)->second;
  Stepper<T> stepper(plan_, parameters, team_);
  for (Index s = 0; s < batch.structure.sequences(); ++s) {
    stepper.state().copy_slot(entering, batch.carry.slots[at(s)], 0);
    // Streams are far enough apart that chains of different streams never share random numbers.
    write(stepper, s, Random(draw, stream_of("own sequences") + (stream << 32U) + static_cast<std::uint64_t>(s)));
  }
  return own_;
}

template <class T>
void SampledSequences<T>::write(Stepper<T>& stepper, Index sequence, Random random) {
  const Structure& structure = own_.structure;
  for (Index p = 0; p < structure.size(sequence); ++p) {
    const Index row = structure.row(sequence, p);
    read_inputs(stepper, row);
    stepper.step();
    for (const Target& target : targets_)
      if (is_present(*target.rows, row)) sample(target, stepper.value(target.signal), row, random);
    for (const Read& read : reads_) {
      if (read.head < 0 || p + read.back >= structure.size(sequence)) continue;
      const Field& sampled = *targets_[at(static_cast<Index>(read.head))].rows;
      const Index later = structure.row(sequence, p + read.back);
      if (is_present(sampled, row) && is_present(*read.rows, later)) copy_entry(sampled, row, *read.rows, later);
    }
  }
}

template <class T>
void SampledSequences<T>::read_inputs(Stepper<T>& stepper, Index row) const {
  for (const Read& read : reads_) {
    if (const auto* symbols = std::get_if<SymbolRows>(read.rows))
      stepper.symbols(read.signal)[0] = symbols->symbols[at(row)];
    else
      std::copy_n(std::get<ValueRows>(*read.rows).template values<T>(row, 1).data, read.signal.size(),
                  stepper.input(read.signal).row(0));
  }
}

template <class T>
void SampledSequences<T>::sample(const Target& target, Matrix<const T> signal, Index row, Random& random) {
  if (auto* symbols = std::get_if<SymbolRows>(target.rows)) {
    values_.resize(at(signal.cols));
    log_softmax(signal.row(0), values_.data(), signal.cols);
    symbols->symbols[at(row)] = sample_symbol<T>(values_, random);
    return;
  }
  auto& values = std::get<ValueRows>(*target.rows);
  values_.resize(at(values.cols()));
  target.loss->template need<ValueDistribution<T>>("own=").sample({signal.row(0), at(signal.cols)}, random, values_);
  for (Index i = 0; i < values.cols(); ++i) values.set(row, i, static_cast<float>(values_[at(i)]));
}

template class SampledSequences<float>;
template class SampledSequences<double>;

}  // namespace unfold
