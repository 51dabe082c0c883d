#include "unfold/train/objective/output_feedback.h"

#include <fmt/format.h>

#include <charconv>

#include "unfold/base/error.h"
#include "unfold/data/examples/example_set.h"
#include "unfold/numerics/random.h"

namespace unfold {
namespace {

constexpr std::string_view kFree = "free ", kShown = "shown ", kAlways = "always";
constexpr Index kMostPositions = 1000000;

/// Parses an integer up to kMostPositions; returns -1 on failure.
Index positions_of(std::string_view text) {
  Index count = -1;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), count);
  return error == std::errc() && end == text.data() + text.size() && count <= kMostPositions ? count : -1;
}

}  // namespace

std::string free_field(std::string_view read) { return std::string(kFree) + std::string(read); }
std::string shown_field(std::string_view read) { return std::string(kShown) + std::string(read); }

Feedback Feedback::parse(std::string_view text) {
  if (text == kAlways) return {.always = true};
  const std::size_t plus = text.find('+');
  Feedback feedback;
  if (plus != std::string_view::npos)
    feedback = {.given = positions_of(text.substr(0, plus)), .free = positions_of(text.substr(plus + 1))};
  if (feedback.given < 0 || feedback.free < 1)
    throw UsageError(
        fmt::format("feedback \"{}\": expected the numbers of positions that read true values and that read outputs of "
                    "the network, such as 20+10, or \"always\"",
                    text));
  return feedback;
}

template <class T>
OutputFeedback<T>::OutputFeedback(const Network<T>& network, const Feedback& feedback, std::uint64_t seed)
    : feedback_(feedback), seed_(seed) {
  for (const NetworkInput& input : network.inputs) {
    if (!input.field.starts_with(kFree)) continue;
    const std::string read = input.field.substr(kFree.size());
    uses_.push_back({read, parse_read(read).back, input.signal.size()});
  }
  if (uses_.empty())
    throw UsageError(
        "feedback needs a network that reads the field that it predicts as \"previous F\"; omit --feedback");
}

template <class T>
const Batch& OutputFeedback<T>::mark(const Batch& batch, double forcing, Index step) {
  marked_ = batch;
  Random random(seed_, stream_of("training/free-positions") + static_cast<std::uint64_t>(step));
  for (const Use& use : uses_) mark(use, forcing, random);
  return marked_;
}

template <class T>
void OutputFeedback<T>::mark(const Use& use, double forcing, Random& random) {
  const Field& read = marked_.field(use.read);
  const auto* symbols = std::get_if<SymbolRows>(&read);
  const Index period = feedback_.given + feedback_.free;
  const Structure& structure = marked_.structure;
  ValueRows free, shown;
  free.clear(rows_of(read), use.size);
  if (symbols != nullptr) shown.clear(rows_of(read), use.size);
  for (Index c = 0; c < structure.sequences(); ++c)
    for (Index t = 0; t < structure.size(c); ++t) {
      const Index row = structure.row(c, t);
      const bool present = is_present(read, row);
      bool own = t >= use.back && t % period >= feedback_.given && present;
      if (own && forcing > 0) own = random.uniform() >= forcing;
      for (Index i = 0; i < use.size; ++i) free.set(row, i, own ? 1.F : 0.F);
      if (symbols != nullptr && present && !own) shown.set(row, symbols->symbols[at(row)], 1.F);
    }
  if (symbols != nullptr) marked_.fields[shown_field(use.read)] = std::move(shown);
  marked_.fields[free_field(use.read)] = std::move(free);
}

template class OutputFeedback<float>;
template class OutputFeedback<double>;

}  // namespace unfold
