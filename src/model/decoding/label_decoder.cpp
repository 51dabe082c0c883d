#include "model/decoding/label_decoder.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "numerics/functions.h"
#include "unfold/base/error.h"
#include "unfold/numerics/random.h"

namespace unfold {
namespace {

/// Keeps the `count` most probable entries, best first. Equal entries keep their order.
template <class Entry>
void keep_best(std::vector<Entry>& entries, Index count) {
  std::ranges::stable_sort(entries, std::ranges::greater(), &Entry::log_probability);
  if (entries.size() > at(count)) entries.resize(at(count));
}

}  // namespace

std::vector<LabelRead> label_reads(std::span<const std::string> reads, std::span<const std::string> predicts) {
  std::vector<LabelRead> result;
  std::vector<std::string> fields;
  for (const std::string& name : reads) {
    const FieldRead read = parse_read(name);
    if (read.back == 0 || std::ranges::find(predicts, read.field) == predicts.end()) continue;
    const auto known = std::ranges::find(fields, read.field);
    result.push_back({.name = name, .read = read, .field = static_cast<std::size_t>(known - fields.begin())});
    if (known == fields.end()) fields.push_back(read.field);
  }
  return result;
}

template <class T>
LabelDecoder<T>::LabelDecoder(const Network<T>& network, const Parameters<T>& parameters, const ExampleSet& examples,
                              Team& team)
    : examples_(examples), stepper_(network.plan, parameters, team) {
  const std::vector<LabelRead> own = label_reads(network);
  for (const NetworkInput& input : network.inputs) {
    const FieldRead read = parse_read(input.field);
    const auto found = std::ranges::find(own, input.field, &LabelRead::name);
    const bool is_own = found != own.end();
    inputs_.push_back({.read = read,
                       .field = &examples.data().field(read.field),
                       .column = is_own ? nullptr : &examples.column(read.field),
                       .own = is_own ? found->field : 0,
                       .signal = input.signal});
  }
  for (const LabelRead& read : own) {
    if (read.field < heads_.size()) continue;
    const auto head = std::ranges::find(network.heads, read.read.field, &Head<T>::field);
    if (head->loss->template as<Categorical<T>>() == nullptr)
      throw UsageError(
          fmt::format("the network reads earlier labels of {0}, whose loss is {1}; labels are chosen one by one only "
                      "with softmax: use {0}=softmax, or leave {0} out of --read",
                      read.read.field, head->loss->name()));
    heads_.push_back(&*head);
  }
}

template <class T>
std::vector<DecodedLabels> LabelDecoder<T>::best(Index example, const LabelSearchOptions& options) {
  const Index beam = std::max(options.beam, options.best);
  std::vector<Partial> kept;
  kept.push_back(start());
  for (Index t = 0; t < examples_.length(example); ++t) {
    std::vector<Extension> all;
    for (std::size_t k = 0; k < kept.size(); ++k) {
      stepper_.state() = kept[k].state;
      step(example, t, kept[k].labels);
      kept[k].state = stepper_.state();
      std::ranges::move(extensions(k, kept[k].labels.log_probability, beam), std::back_inserter(all));
    }
    keep_best(all, beam);
    std::vector<Partial> next;
    next.reserve(all.size());
    for (const Extension& extension : all) {
      next.push_back(kept[extension.of]);
      DecodedLabels& labels = next.back().labels;
      for (std::size_t f = 0; f < heads_.size(); ++f) labels.labels[f].push_back(extension.labels[f]);
      labels.log_probability = extension.log_probability;
    }
    kept = std::move(next);
  }
  std::vector<DecodedLabels> result;
  for (std::size_t k = 0; k < kept.size() && k < at(options.best); ++k) result.push_back(std::move(kept[k].labels));
  return result;
}

template <class T>
DecodedLabels LabelDecoder<T>::sample(Index example, Random& random) {
  DecodedLabels drawn = start().labels;
  stepper_.reset();
  for (Index t = 0; t < examples_.length(example); ++t) {
    step(example, t, drawn);
    for (std::size_t f = 0; f < heads_.size(); ++f) {
      const std::vector<T> log_p = log_probabilities(f);
      const Symbol label = sample_symbol<T>(std::span<const T>(log_p), random);
      drawn.labels[f].push_back(label);
      drawn.log_probability += static_cast<double>(log_p[at(label)]);
    }
  }
  return drawn;
}

template <class T>
typename LabelDecoder<T>::Partial LabelDecoder<T>::start() const {
  Partial partial{.state = stepper_.state(), .labels = {}};
  partial.state.reset_all();
  partial.labels.labels.resize(heads_.size());
  return partial;
}

/// Reads the inputs of a position and runs one step of the network. `before`: the labels of all earlier positions.
template <class T>
void LabelDecoder<T>::step(Index example, Index position, const DecodedLabels& before) {
  const Index first = examples_.begin(example);
  for (const Input& input : inputs_) {
    const Index place = position - input.read.back;
    const Index entry = input.field->once ? example : first + place;
    const bool exists = input.field->once || place >= 0;
    if (input.field->type == FieldSpecification::Type::symbols) {
      stepper_.symbols(input.signal)[0] = !exists                   ? kNoSymbol
                                          : input.column == nullptr ? before.labels[input.own][at(place)]
                                                                    : input.column->symbols[at(entry)];
      continue;
    }
    const Matrix<T> to = stepper_.input(input.signal);
    const bool present = exists && (input.column->present.empty() || input.column->present[at(entry)] != 0);
    for (Index i = 0; i < input.field->size; ++i)
      to.row(0)[i] = present ? static_cast<T>(input.column->values[at(entry * input.field->size + i)]) : T{0};
  }
  stepper_.step();
}

template <class T>
std::vector<T> LabelDecoder<T>::log_probabilities(std::size_t own) const {
  const Matrix<const T> logits = stepper_.value(heads_[own]->signal);
  std::vector<T> result(at(logits.cols));
  log_softmax(logits.row(0), result.data(), logits.cols);
  for (T& x : result)
    if (std::isnan(x)) x = -std::numeric_limits<T>::infinity();
  return result;
}

/// Returns the most probable extensions of a labeling by the labels of one position. The fields are independent, given
/// the labels of earlier positions.
template <class T>
std::vector<typename LabelDecoder<T>::Extension> LabelDecoder<T>::extensions(std::size_t of, double log_probability,
                                                                             Index count) const {
  std::vector<Extension> result = {{.of = of, .log_probability = log_probability}};
  for (std::size_t f = 0; f < heads_.size(); ++f) {
    const std::vector<T> log_p = log_probabilities(f);
    std::vector<Extension> longer;
    longer.reserve(result.size() * log_p.size());
    for (const Extension& one : result)
      for (std::size_t x = 0; x < log_p.size(); ++x) {
        longer.push_back(one);
        longer.back().labels.push_back(static_cast<Symbol>(x));
        longer.back().log_probability += static_cast<double>(log_p[x]);
      }
    keep_best(longer, count);
    result = std::move(longer);
  }
  return result;
}

template class LabelDecoder<float>;
template class LabelDecoder<double>;

}  // namespace unfold
