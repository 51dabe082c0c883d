#include "app/fields/defaults/sequence_choice.h"

#include <fmt/format.h>

#include <algorithm>

#include "graph/engine/memory.h"
#include "unfold/model/registry/registry.h"
#include "unfold/optim/optimizer.h"

namespace unfold {
namespace {

std::string optimizer_name(const TrainSettings& s) { return s.optimizer.substr(0, s.optimizer.find(':')); }

}  // namespace

bool chooses_sequences(const TrainSettings& s, const Given& given) {
  return !s.task && !is_fitted_model(s.model) && compares_losses(s.optimizer) && s.sampled_softmax == 0 &&
         !given.contains(&TrainSettings::window) && !given.contains(&TrainSettings::whole_sequences);
}

std::size_t whole_sequence_bytes(const Plan& plan, Index outputs, const Split& part, Index batch,
                                 std::size_t element_bytes) {
  std::vector<Index> lengths;
  for (const Piece& piece : part.pieces) lengths.push_back(piece.range.end - piece.range.begin);
  std::ranges::sort(lengths, std::greater<>());
  lengths.resize(std::min(lengths.size(), static_cast<std::size_t>(batch)));
  Index rows = 0;
  for (const Index length : lengths) rows += length;
  const PlannedMemory memory = planned_memory(plan, element_bytes);
  const Index row = std::max<Index>(memory.row - 2 * outputs, 0);  // numbers per position without logits and their
                                                                   // adjoints
  const auto numbers =
      static_cast<std::size_t>(rows * row + static_cast<Index>(lengths.size()) * memory.chain + memory.weights);
  // Measured with ruop, rbpm and ascent. The sums of a metric add at most 75 %. The constant is the memory per position
  // of the window, the text and the metric, which does not depend on the network size.
  constexpr std::size_t kBytesOfARow = 256;
  return (numbers + numbers * 3 / 4) * element_bytes + static_cast<std::size_t>(rows) * kBytesOfARow;
}

SequenceChoice choose_sequences(const TrainSettings& s, std::size_t needed, std::size_t available) {
  const std::string name = optimizer_name(s);
  if (needed <= available)
    return {true, fmt::format("{} compares losses of the whole text and therefore reads whole sequences, as with "
                              "--whole-sequences, in about {} of memory; use --window {} to train on windows",
                              name, bytes_text(needed), s.window)};
  return {false,
          fmt::format("{} compares losses of the whole text and would read whole sequences, but they need about "
                      "{} of memory and only {} is available; it reads windows of {} symbols instead, which is less "
                      "effective; shorter sequences (--lines) or a smaller --batch help",
                      name, bytes_text(needed), bytes_text(available), s.window)};
}

std::string bytes_text(std::size_t bytes) {
  const auto number = static_cast<double>(bytes);
  return bytes < 999'500'000 ? fmt::format("{:.3g} MB", std::max(0.1, number / 1e6))
                             : fmt::format("{:.3g} GB", number / 1e9);
}

}  // namespace unfold
