#include "model/network/feedback.h"

#include <fmt/format.h>

#include <algorithm>

#include "loss/expected_target.h"
#include "unfold/base/error.h"
#include "unfold/data/examples/example_set.h"
#include "unfold/train/objective/output_feedback.h"

namespace unfold {

bool FeedbackLoops::is_predicted(const std::string& field) const {
  return std::ranges::any_of(layout_.heads, [&](const HeadSpecification& head) { return head.field == field; });
}

Signal FeedbackLoops::open(const std::string& read, const FieldSpecification& field, const std::string& name,
                           Circuit& circuit) {
  const FieldRead what = parse_read(read);
  const bool symbols = field.type == FieldSpecification::Type::symbols;
  const bool always = std::ranges::find(layout_.feedback, read) != layout_.feedback.end();
  const bool fed_back = wanted_ && what.back > 0 && is_predicted(what.field) && !field.spelt;
  if (!always && !fed_back) return symbols ? circuit.symbols(name, field.size) : circuit.input(name, field.size);
  Loop loop{.read = read, .field = what.field, .own = {}, .symbols = symbols};
  if (!always) {
    loop.input = circuit.input(name, field.size);
    loop.free = circuit.input(free_field(read), field.size);
  }
  loop.own = circuit.link(field.size, Delay::previous(what.back));
  loops_.push_back(loop);
  if (always) return loop.own;
  return symbols ? loop.input + loop.free * loop.own : one_minus(loop.free) * loop.input + loop.free * loop.own;
}

template <class T>
void FeedbackLoops::close(const Head<T>& head, Circuit& circuit) {
  Signal expected;
  for (const Loop& loop : loops_) {
    if (loop.field != head.field) continue;
    const auto* loss = head.loss->template as<ExpectedTarget<T>>();
    if (loss == nullptr)
      throw UsageError(
          fmt::format("feedback requires the mean of the prediction, or its probabilities, as a function of the signal "
                      "of one position, which the loss {} of {} does not have; use softmax, gaussian, normal, mixture, "
                      "bernoulli or poisson, or leave --feedback out",
                      head.loss->name(), head.field));
    if (!expected.valid()) {
      const auto scope = circuit.scope("feedback/" + head.field);
      expected = loss->expected_target(circuit, head.signal);
    }
    if (expected.size() != loop.own.size())
      throw UsageError(fmt::format("feedback: the prediction of {} has {} numbers, but {} has {}", head.field,
                                   expected.size(), loop.read, loop.own.size()));
    circuit.feed(loop.own, expected);
  }
}

std::vector<NetworkInput> FeedbackLoops::inputs(const std::vector<NetworkInput>& read) const {
  std::vector<NetworkInput> result;
  result.reserve(read.size() + loops_.size());
  for (const NetworkInput& input : read) {
    const auto loop = std::ranges::find(loops_, input.field, &Loop::read);
    if (loop == loops_.end()) {
      result.push_back(input);
    } else if (loop->input.valid()) {
      result.push_back({loop->symbols ? shown_field(loop->read) : loop->read, loop->input});
    }
  }
  for (const Loop& loop : loops_)
    if (loop.free.valid()) result.push_back({free_field(loop.read), loop.free});
  return result;
}

void FeedbackLoops::require_feedback() const {
  if (wanted_ && loops_.empty())
    throw UsageError(
        "feedback requires a network that reads the field that it predicts as \"previous F\" (train --ahead, --read "
        "'previous F'); leave --feedback out");
}

template <class T>
Network<T> build_feedback_network(const ModelSpec& spec, const DataSpecification& data, const NetworkLayout& layout,
                                  const Circuit& plain, Circuit& circuit, bool output_hidden) {
  Network<T> network =
      build_network<T>(spec, data, layout, circuit, {.output_hidden = output_hidden, .feedback = true});
  for (std::size_t i = 0; i < plain.parameters().size(); ++i) {
    const ParameterInfo& own = plain.parameters()[i];
    const auto is_same = [&](const ParameterInfo& found) {
      return found.name == own.name && found.rows == own.rows && found.cols == own.cols;
    };
    if (i < circuit.parameters().size() && is_same(circuit.parameters()[i])) continue;
    throw UsageError(
        fmt::format("feedback: the weights {} of {} for symbols cannot read probabilities; use a model such as lstm, "
                    "gru, rnn or mrnn, or leave --feedback out",
                    own.name, to_string(spec)));
  }
  return network;
}

template Network<float> build_feedback_network(const ModelSpec&, const DataSpecification&, const NetworkLayout&,
                                               const Circuit&, Circuit&, bool);
template Network<double> build_feedback_network(const ModelSpec&, const DataSpecification&, const NetworkLayout&,
                                                const Circuit&, Circuit&, bool);
template void FeedbackLoops::close(const Head<float>&, Circuit&);
template void FeedbackLoops::close(const Head<double>&, Circuit&);

}  // namespace unfold
