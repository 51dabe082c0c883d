#include "model/network/feedback.h"

#include <fmt/format.h>

#include <algorithm>

#include "loss/distribution.h"
#include "unfold/base/error.h"
#include "unfold/data/examples/example_set.h"
#include "unfold/train/objective/output_feedback.h"

namespace unfold {
namespace {

/// Returns whether the signal of a loss begins with its mean, element by element. This is tested by evaluating the loss
/// on sample values.
template <class T>
bool begins_with_mean(const Loss<T>& loss, Index size) {
  const auto* law = loss.template as<ValueDistribution<T>>();
  if (law == nullptr) return false;
  std::vector<T> signal(at(size)), mean(at(loss.target_size(size)));
  for (std::size_t i = 0; i < signal.size(); ++i) signal[i] = static_cast<T>(0.25 + 0.125 * static_cast<double>(i));
  law->mean(signal, mean);
  return std::equal(mean.begin(), mean.end(), signal.begin());
}

}  // namespace

Signal FeedbackLoops::open(const std::string& read, Signal input, Circuit& circuit) {
  const FieldRead what = parse_read(read);
  const bool predicted = std::ranges::any_of(layout_.heads, [&](const auto& head) { return head.field == what.field; });
  if (!wanted_ || what.back == 0 || !predicted || circuit.is_symbols(input)) return input;
  const Signal free = circuit.input(free_field(read), input.size());
  const Signal own = circuit.link(input.size(), Delay::previous(what.back));
  loops_.push_back({.read = read, .field = what.field, .input = input, .free = free, .own = own});
  return one_minus(free) * input + free * own;
}

template <class T>
void FeedbackLoops::close(const HeadSpecification& head, const Loss<T>& loss, Signal signal, Circuit& circuit) {
  for (const Loop& loop : loops_) {
    if (loop.field != head.field) continue;
    if (!begins_with_mean(loss, signal.size()))
      throw UsageError(
          fmt::format("feedback requires the mean of the prediction as a part of the signal, which the loss {} of {} "
                      "does not have; "
                      "use gaussian or normal, or --teacher-forcing without --feedback",
                      loss.name(), head.field));
    circuit.feed(loop.own, circuit.map(Map::copy, circuit.slice(signal, 0, loop.input.size())));
  }
}

std::vector<NetworkInput> FeedbackLoops::inputs(std::vector<NetworkInput> read) const {
  for (const Loop& loop : loops_) {
    for (NetworkInput& input : read)
      if (input.field == loop.read) input.signal = loop.input;
    read.push_back({free_field(loop.read), loop.free});
  }
  return read;
}

void FeedbackLoops::require_feedback() const {
  if (wanted_ && loops_.empty())
    throw UsageError(
        "feedback requires a network that reads the numbers that it predicts as \"previous F\" (train --ahead, --read "
        "'previous F'). Symbols are sampled, and gradients do not flow through sampling; for symbols use "
        "--teacher-forcing without --feedback");
}

template void FeedbackLoops::close(const HeadSpecification&, const Loss<float>&, Signal, Circuit&);
template void FeedbackLoops::close(const HeadSpecification&, const Loss<double>&, Signal, Circuit&);

}  // namespace unfold
