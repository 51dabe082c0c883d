#include "model/network/head_signals.h"

#include <fmt/format.h>

#include <utility>

#include "graph/cells/autoregression.h"
#include "graph/cells/kernels.h"
#include "loss/crf/label_sequences.h"
#include "loss/crf/sequence_label.h"
#include "model/network/density_model.h"
#include "model/network/linear.h"
#include "model/network/order_agnostic.h"
#include "unfold/base/error.h"

namespace unfold {
namespace {

/// Scale for the parameter vector of a density: the components of a mixture must differ initially.
constexpr double kDensityScale = 0.3;

/// Limit for terms with all products of pairs of inputs.
constexpr Index kMostGaussianNumbers = 128;

/// Adds the last `spec.direct` inputs as terms of an output: "D1" the current one, "D2" the previous one, ...; with
/// several fields "FIELD/D1", ... The characters of words are a separate chain and are not read directly.
std::vector<Term> direct_terms(const ModelSpec& spec, const std::vector<NetworkInput>& inputs, Circuit& circuit,
                               std::deque<std::string>& names) {
  std::vector<Term> terms;
  for (const NetworkInput& input : inputs) {
    const Node& read = circuit.nodes()[static_cast<std::size_t>(input.signal.id)];
    if (read.part > 0) continue;
    if (read.kind() == Node::Kind::symbols && spec.direct > 1)
      throw UsageError(fmt::format("model {}: direct={} is supported only for numbers; use direct=1 for symbols",
                                   to_string(spec), spec.direct));
    for (Index back = 1; back <= spec.direct; ++back) {
      Signal source = input.signal;
      if (back > 1) circuit.feed(source = circuit.link(input.signal.size(), Delay::previous(back - 1)), input.signal);
      names.push_back(fmt::format("{}D{}", inputs.size() > 1 ? input.field + "/" : "", back));
      terms.push_back({.parameter = names.back(), .source = source, .init = Init::zero()});
    }
  }
  return terms;
}

/// Adds the terms of log densities of Gaussians: "G" for the numbers, "G0" for their squares, "G1" for the products of
/// each number with the next, ...
void add_gaussian_terms(const ModelSpec& spec, const NetworkLayout& layout, const DataSpecification& data,
                        const std::vector<NetworkInput>& inputs, Circuit& circuit, std::deque<std::string>& names,
                        std::vector<Term>& terms) {
  if (spec.gaussians == 0) return;
  const HeadSpecification& head = layout.heads.front();
  if (layout.heads.size() > 1 || !data.field(head.field).once || spec_name(head.loss) != "hybrid")
    throw UsageError(
        fmt::format("model {}: gaussians= requires one label per sequence, predicted by hybrid (--predict F=hybrid:3); "
                    "leave it out",
                    to_string(spec)));
  const Signal x = inputs.front().signal;
  if (inputs.size() > 1 || circuit.is_symbols(x) || x.size() > kMostGaussianNumbers)
    throw UsageError(fmt::format("model {}: gaussians= requires one field of at most {} numbers; leave it out",
                                 to_string(spec), kMostGaussianNumbers));
  const auto add = [&](std::string name, Signal source) {
    names.push_back(std::move(name));
    terms.push_back({.parameter = names.back(), .source = source, .init = Init::zero()});
  };
  add("G", x);
  for (Index apart = 0; apart < x.size(); ++apart) {
    const Index size = x.size() - apart;
    add(fmt::format("G{}", apart), circuit.slice(x, 0, size) * circuit.slice(x, apart, size));
  }
}

/// Returns the terms of a head of a linear model: the listed pairs (without a listing, all symbols with all labels) and
/// the numbers.
std::vector<Term> linear_terms(const std::vector<NetworkInput>& inputs, const std::shared_ptr<const Listing>& listing,
                               const Circuit& circuit) {
  std::vector<Term> terms;
  std::vector<Signal> symbols;
  for (const NetworkInput& input : inputs)
    if (circuit.is_symbols(input.signal) && listing != nullptr)
      symbols.push_back(input.signal);
    else
      terms.push_back({.parameter = input.field, .source = input.signal, .init = Init::zero()});
  if (!symbols.empty())
    terms.push_back({.parameter = "features",
                     .source = symbols.front(),
                     .init = Init::zero(),
                     .op = listed_operator(listing),
                     .symbols = symbols});
  return terms;
}

}  // namespace

HeadSignals::HeadSignals(const ModelSpec& spec, const DataSpecification& data, const NetworkLayout& layout,
                         const Layers& layers, const std::vector<NetworkInput>& inputs, Circuit& circuit)
    : spec_(spec),
      layers_(layers),
      inputs_(inputs),
      circuit_(circuit),
      direct_(direct_terms(spec, inputs, circuit, names_)) {
  add_gaussian_terms(spec, layout, data, inputs, circuit, names_, direct_);
}

Signal HeadSignals::add(const std::string& name, Index size, bool once, const std::shared_ptr<const Listing>& listing) {
  if (is_linear(spec_)) return add_linear(name, size, once, listing);
  if (is_density(spec_)) return add_density(name, size);
  if (!once && spec_.cell == &kernels_model())
    throw UsageError(
        fmt::format("model {} predicts once per series, not at every position; use a different model, such as "
                    "gru:128",
                    to_string(spec_)));
  if (once && spec_.cell == &autoregression_model())
    throw UsageError(
        fmt::format("model {} predicts at every position, not once per sequence; use a different model, such as "
                    "gru:128",
                    to_string(spec_)));
  if (once && !pooled_.valid()) pooled_ = pooled(spec_, layers_, circuit_);
  std::vector<Term> terms = {{"V", once ? pooled_ : layers_.top, output_init(spec_)}};
  if (!once) terms.insert(terms.end(), direct_.begin(), direct_.end());
  return add_output(spec_, name, size, terms, circuit_);
}

Signal HeadSignals::add_linear(const std::string& name, Index size, bool once,
                               const std::shared_ptr<const Listing>& listing) {
  if (once)
    throw UsageError(
        fmt::format("model {} predicts at every position, not once per sequence; use a different model, such as "
                    "gru:128",
                    to_string(spec_)));
  const std::vector<Term> terms = linear_terms(inputs_, listing, circuit_);
  const bool listed = terms.size() == 1 && terms.front().op != nullptr;
  const Signal output = circuit_.affine(name, size, terms, Init::zero(), !listed);
  circuit_.output(output);
  return output;
}

Signal HeadSignals::add_density(const std::string& name, Index size) {
  const bool known = is_orderless(spec_);
  const Signal read = inputs_.front().signal;
  std::vector<Term> terms = {known ? Term{"V", layers_.top} : Term{"signal", read, Init::normal(kDensityScale)}};
  if (known && orderless_options(spec_).direct) terms.push_back({"D", read, Init::zero()});
  const bool mixtures = known && losses().get(spec_name(spec_.density)).density == Density::orderless_numbers;
  const Signal output =
      circuit_.affine(name, size, terms, mixtures ? Init::normal(kDensityScale) : Init::zero(), known);
  circuit_.output(output);
  return output;
}

ChosenLoss loss_for(const HeadSpecification& head, const FieldSpecification& field, const std::string& of_symbols) {
  const bool symbols = field.type == FieldSpecification::Type::symbols;
  const std::string fallback = !symbols ? "gaussian" : of_symbols.empty() ? "softmax" : of_symbols;
  ChosenLoss loss = choose_loss(head.loss.empty() ? fallback : head.loss);
  if (loss.entry.of_symbols != symbols)
    throw UsageError(fmt::format("the loss {} requires {}, but the field {} contains {}", loss.entry.name,
                                 loss.entry.of_symbols ? "symbols" : "numbers", field.name,
                                 symbols ? "symbols" : "numbers"));
  return loss;
}

template <class T>
bool set_label_names(Loss<T>& loss, const FieldSpecification& field) {
  const bool one = field.once && loss.template as<LabelSequences<T>>() != nullptr;
  if (one) {
    auto* whole = dynamic_cast<SequenceLabel<T>*>(&loss);
    if (whole == nullptr)
      throw UsageError(fmt::format(
          "the loss {} requires labels at every position, but {} is predicted once per sequence; use softmax or hybrid",
          loss.name(), field.name));
    whole->one_label();
  }
  auto* named = dynamic_cast<NamedLabels<T>*>(&loss);
  if (named == nullptr || !field.alphabet) return one;
  std::vector<std::string> names;
  names.reserve(static_cast<std::size_t>(field.size));
  for (Symbol x = 0; x < field.size; ++x) names.emplace_back(field.alphabet->text(x));
  named->name_labels(names);
  return one;
}

Index signal_size_of(const DataSpecification& data, const HeadSpecification& head) {
  const FieldSpecification& field = data.field(head.field);
  return loss_for(head, field, {}).signal_size(field.size);
}

template bool set_label_names(Loss<float>&, const FieldSpecification&);
template bool set_label_names(Loss<double>&, const FieldSpecification&);

}  // namespace unfold
