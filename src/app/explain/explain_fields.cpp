#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "app/common/perplexity.h"
#include "app/explain/explain.h"
#include "app/explain/input_gradients.h"
#include "app/explain/label_probabilities.h"
#include "app/fields/evaluation/field_metrics.h"
#include "app/fields/field_entries.h"
#include "app/fields/field_model.h"
#include "model/network/linear.h"
#include "model/network/transduce.h"
#include "model/series/kernel_thresholds.h"
#include "numerics/functions.h"

namespace unfold {
namespace {

using Type = FieldSpecification::Type;

/// Returns the input values at a position as text: all columns of text and of single numbers, except the predicted
/// ones.
std::string read_at(const Examples& examples, const std::vector<std::string>& predicts, Index entry) {
  std::string text;
  for (const ExampleColumn& column : examples.columns) {
    const bool shown = !column.once && !column.source && column.width <= 1 &&
                       std::ranges::find(predicts, column.name) == predicts.end();
    if (shown) text += (text.empty() ? "" : " ") + entry_text(column, entry);
  }
  return text;
}

/// Explains one example of data with fields.
template <class T>
class ExplainedExample {
 public:
  ExplainedExample(const NetworkModel<T>& model, const ExplainRequest& request)
      : model_(model), request_(request), team_(thread_count(request.threads)) {}

  FieldExplanation run() {
    choose_head();
    read();
    result_.model = model_.spec_text();
    result_.field = field_->name;
    predict();
    choose_position();
    if (model_.layout().heads[head_].listing != nullptr)
      vote_by_features();
    else
      vote_by_gradient();
    return std::move(result_);
  }

 private:
  void choose_head() {
    if (reads_source(model_.data()))
      throw UsageError(
          "explain does not support models of a source and a target; predict --attention shows their attention "
          "weights");
    if (has_random_kernels(model_.spec()))
      throw UsageError("explain needs gradients, which random kernels do not have; use another model, such as gru:128");
    if (input_part(model_.spec()) > 0)
      throw UsageError(fmt::format(
          "explain does not support networks that merge the positions of a grid into blocks, such as {}; train "
          "a model without patch=",
          model_.spec_text()));
    const auto& heads = model_.network().heads;
    for (head_ = 0; head_ < heads.size(); ++head_) {
      field_ = &model_.data().field(heads[head_].field);
      if (field_->type == Type::symbols && field_->alphabet) return;
    }
    throw UsageError(fmt::format("{} predicts numbers; explain supports only text and labels", model_.spec_text()));
  }

  void read() {
    if (request_.data.empty())
      throw UsageError("explain needs DATA, a file with examples, for a model of data with fields");
    examples_ = read_for(model_, request_.data, request_.reporter);
    if (request_.example < 1 || request_.example > examples_.count())
      throw UsageError(
          fmt::format("--example {}: the data has the examples 1 to {}", request_.example, examples_.count()));
    data_ = std::make_shared<const DataSpecification>(model_.data());
    const ExampleSet all(examples_, data_, {}, UnknownPolicy::skip);
    const std::vector<Index> chosen = {request_.example - 1};
    set_.emplace(all.subset(chosen));
    if (model_.data().found) set_->set_parents(found_parents(model_, *set_, team_));
    first_ = examples_.begin(request_.example - 1);
  }

  void predict() {
    const bool observed = set_->has(field_->name);
    const std::vector<double> nats = observed ? score_heads(model_, *set_, team_)[head_].nats : std::vector<double>();
    const std::vector<std::string> predicts = predicted_fields(model_.layout());
    for_each_prediction<T>(model_, *set_, team_, [&](const PredictedRow<T>& row) {
      if (row.head != head_) return;
      const auto best = row.best != kNoSymbol
                            ? row.best
                            : static_cast<Symbol>(std::ranges::max_element(row.signal) - row.signal.begin());
      const Index entry = field_->once ? request_.example - 1 : first_ + row.position;
      ExplainedLabel label{.position = row.position + 1,
                           .read = read_at(examples_, predicts, first_ + row.position),
                           .observed = {},
                           .best = std::string(field_->alphabet->text(best))};
      label.probability = label_probabilities<T>(row.signal)[at(best)];
      label.bits = std::numeric_limits<double>::quiet_NaN();
      if (const ExampleColumn* column = examples_.find(field_->name)) label.observed = entry_text(*column, entry);
      if (observed) label.bits = bits(nats[field_->once ? 0 : at(row.position)]);
      best_.push_back(best);
      result_.labels.push_back(std::move(label));
    });
  }

  void choose_position() {
    const auto asked = [&](const ExplainedLabel& label) { return label.position == *request_.at; };
    if (request_.at && !field_->once) {
      const auto found = std::ranges::find_if(result_.labels, asked);
      if (found == result_.labels.end())
        throw UsageError(fmt::format("--at {}: the example has the positions 1 to {}", *request_.at, set_->length(0)));
      place_ = found - result_.labels.begin();
    } else {
      const auto doubt = [](const ExplainedLabel& l) { return std::isnan(l.bits) ? 1 - l.probability : 1 + l.bits; };
      place_ = std::ranges::max_element(result_.labels, {}, doubt) - result_.labels.begin();
    }
    result_.at = result_.labels[at(place_)].position;
    result_.label = result_.labels[at(place_)].best;
  }

  Batch batch() const {
    ExampleBatchOptions options = batch_options(model_.layout());
    options.batch = 1;
    Batch batch;
    example_reader(*set_, options)->next(batch);
    return batch;
  }

  /// Uses the gradient of the label's log odds: its score against the scores of the other labels, weighted by their
  /// current probabilities. If positions do not read each other, uses the gradient times the contribution of a
  /// position.
  void vote_by_gradient() {
    const Watched<T> watched(model_.spec(), model_.data(), model_.layout(), model_.parameters());
    Gradients<T> gradients(watched, team_);
    const Batch one = batch();
    gradients.read(one);
    const Signal signal = watched.network().heads[head_].signal;
    const Index row = one.structure.row(0, result_.at - 1);
    const Matrix<const T> output = gradients.value(signal);
    const std::vector<double> share = label_probabilities<T>({output.row(row), at(output.cols)});
    T* seed = gradients.adjoint(signal).row(row);
    for (Index y = 0; y < output.cols; ++y) seed[y] = static_cast<T>((y == best_[at(place_)] ? 1 : 0) - share[at(y)]);
    const bool memoryless = watched.is_memoryless();
    std::vector<double> weights = (memoryless ? gradients.contributions() : gradients.squares()).front();
    for (double& x : weights)
      if (!memoryless) x = std::sqrt(x);
    const std::vector<std::string> predicts = predicted_fields(model_.layout());
    for (std::size_t p = 0; p < weights.size(); ++p)
      result_.votes.push_back({.position = static_cast<Index>(p) + 1,
                               .what = read_at(examples_, predicts, first_ + static_cast<Index>(p)),
                               .weight = weights[p]});
  }

  /// Uses the weights that the features at the position have for the label.
  void vote_by_features() {
    const Listing& listing = *model_.layout().heads[head_].listing;
    const std::string name = model_.layout().output_name(head_) + "/features";
    const auto parameter = std::ranges::find(model_.parameters().info(), name, &ParameterInfo::name);
    const Matrix<const T> weights =
        model_.parameters()[static_cast<int>(parameter - model_.parameters().info().begin())];
    const Batch one = batch();
    const Index row = one.structure.row(0, result_.at - 1);
    Index before = 0;
    std::size_t signal = 0;
    for (const std::string& read : listed_reads(model_.data(), model_.layout().reads)) {
      const Symbol x = std::get<SymbolRows>(one.field(read)).symbols[at(row)];
      const FieldSpecification& field = model_.data().field(parse_read(read).field);
      if (x != kNoSymbol && field.alphabet)
        for (auto pair = listing.begin[at(before + x)]; pair < listing.begin[at(before + x + 1)]; ++pair)
          if (listing.outputs_of[at(pair)] == best_[at(place_)])
            result_.votes.push_back({.position = result_.at,
                                     .what = fmt::format("{}={}", read, field.alphabet->text(x)),
                                     .weight = static_cast<double>(weights.row(0)[pair])});
      before += listing.alphabets[signal++];
    }
    std::ranges::stable_sort(result_.votes, std::greater<>(), [](const Vote& v) { return std::abs(v.weight); });
    result_.features = true;
  }

  const NetworkModel<T>& model_;
  const ExplainRequest& request_;
  Team team_;
  std::size_t head_ = 0;
  const FieldSpecification* field_ = nullptr;
  Examples examples_;
  std::shared_ptr<const DataSpecification> data_;
  std::optional<ExampleSet> set_;
  Index first_ = 0;           // index of the example's first position in the data
  std::vector<Symbol> best_;  // best labels, by label position
  std::ptrdiff_t place_ = 0;  // index of the explained label
  FieldExplanation result_;
};

}  // namespace

FieldExplanation explain_fields(const ExplainRequest& request) {
  return with_network_model(
      request.model, [&]<class T>(const NetworkModel<T>& model) { return ExplainedExample<T>(model, request).run(); });
}

}  // namespace unfold
