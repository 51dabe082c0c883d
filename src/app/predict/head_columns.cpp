#include "app/predict/head_columns.h"

#include <fmt/format.h>

#include <algorithm>

#include "app/fields/field_model.h"
#include "loss/crf/label_sequences.h"
#include "loss/ctc/unaligned_labels.h"
#include "loss/distribution.h"
#include "loss/hmm/hidden_states.h"
#include "numerics/functions.h"

namespace unfold {
namespace {

using Type = FieldSpecification::Type;

/// The quantiles reported with a mean.
constexpr double kLow = 0.1, kHigh = 0.9;

}  // namespace

template <class T>
HeadColumns<T>::HeadColumns(const Head<T>& head, const FieldSpecification& field, Index entries, bool probabilities)
    : head_(head), field_(field), classes_(field.type == Type::symbols && probabilities) {
  const auto add = [&](const std::string& what, bool texts) {
    AddedColumn& column = columns_.emplace_back(AddedColumn{.name = field.name + "." + what, .once = field.once});
    if (texts)
      column.texts.resize(at(entries));
    else
      column.numbers.resize(at(entries));
  };
  if (field.type == Type::symbols) {
    unsegmented_ = head.loss->template as<Unsegmented<T>>() != nullptr;
    if (head.loss->template as<LabelSequences<T>>() == nullptr && !unsegmented_)
      head.loss->template need<Categorical<T>>("predict");
    for (Symbol x = 0; x < field.size; ++x) names_.emplace_back(field.alphabet->text(x));
    add("best", true);
    add("probability", false);
    for (std::size_t x = 0; classes_ && x < names_.size(); ++x) add(names_[x], false);
    return;
  }
  if (const auto* hidden = head.loss->template as<HiddenStates<T>>()) {
    for (Index k = 1; k <= hidden->states(); ++k) names_.push_back(std::to_string(k));
    classes_ = probabilities;
    add("state", true);
    add("probability", false);
    for (std::size_t k = 0; classes_ && k < names_.size(); ++k) add("state." + names_[k], false);
    return;
  }
  head.loss->template need<ValueDistribution<T>>("predict");
  for (Index i = 0; i < field.size; ++i) {
    const std::string number = field.size > 1 ? fmt::format(".{}", i + 1) : "";
    for (const char* what : {"mean", "q10", "q90"}) {
      add(what + number, false);
      columns_.back().deviation = field.deviation.empty() ? 1 : field.deviation[at(i)];
    }
  }
}

template <class T>
void HeadColumns<T>::set(Index entry, std::span<const T> signal, Symbol best) {
  if (field_.type == Type::symbols || !names_.empty())
    set_symbol(entry, signal, best);
  else
    set_values(entry, signal);
}

template <class T>
void HeadColumns<T>::set_symbol(Index entry, std::span<const T> logits, Symbol chosen) {
  const auto largest = std::max_element(logits.begin(), logits.end());
  const bool none = unsegmented_ && chosen == kNoSymbol;  // if true, the probability is the probability of the blank
  const std::size_t best = none ? logits.size() - 1 : chosen == kNoSymbol ? at(largest - logits.begin()) : at(chosen);
  probabilities_.assign(logits.begin(), logits.end());
  double sum = 0;
  for (double& x : probabilities_) x -= static_cast<double>(*largest);
  vector_exp(probabilities_.data(), probabilities_.data(), static_cast<Index>(probabilities_.size()));
  for (const double x : probabilities_) sum += x;
  if (!none) columns_[0].texts[at(entry)] = names_[best];
  columns_[1].numbers[at(entry)] = probabilities_[best] / sum;
  for (std::size_t x = 0; classes_ && x < names_.size(); ++x)
    columns_[2 + x].numbers[at(entry)] = probabilities_[x] / sum;
}

template <class T>
void HeadColumns<T>::set_values(Index entry, std::span<const T> signal) {
  const auto& distribution = head_.loss->template need<ValueDistribution<T>>("predict");
  values_.resize(at(field_.size));
  const auto put = [&](std::size_t which) {
    for (Index i = 0; i < field_.size; ++i)
      columns_[at(3 * i) + which].numbers[at(entry)] = restored(field_, i, static_cast<double>(values_[at(i)]));
  };
  distribution.mean(signal, values_);
  put(0);
  distribution.quantile(signal, kLow, values_);
  put(1);
  distribution.quantile(signal, kHigh, values_);
  put(2);
}

template class HeadColumns<float>;
template class HeadColumns<double>;

}  // namespace unfold
