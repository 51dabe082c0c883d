#include "unfold/fields/sequence_choice.h"

#include <fmt/format.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <limits>
#include <optional>

#include "unfold/engine/memory.h"
#include "unfold/models/registry.h"
#include "unfold/optim/optimizer.h"

namespace unfold {
namespace {

/// The number after `name` in a file of lines "name number"; with an empty name: the first thing in the file.
std::optional<std::size_t> number_in(const char* path, std::string_view name) {
  std::ifstream file(path);
  std::string word;
  while (file >> word) {
    if (!name.empty() && word != name) continue;
    if (!name.empty() && !(file >> word)) break;
    if (word.empty() || word.find_first_not_of("0123456789") != std::string::npos || word.size() > 18) break;
    return std::stoull(word);
  }
  return std::nullopt;
}

std::size_t left_of(std::size_t limit, std::size_t used) { return limit > used ? limit - used : 0; }

/// What the control group leaves, files that it could forget counted as free.
std::size_t left_in_group() {
  const auto limit = number_in("/sys/fs/cgroup/memory.max", "");
  const auto used = number_in("/sys/fs/cgroup/memory.current", "");
  if (!limit || !used) return std::numeric_limits<std::size_t>::max();
  return left_of(*limit, left_of(*used, number_in("/sys/fs/cgroup/memory.stat", "inactive_file").value_or(0)));
}

std::size_t left_to_process() {
  rlimit limit{};
  if (getrlimit(RLIMIT_AS, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY)
    return std::numeric_limits<std::size_t>::max();
  const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  return left_of(limit.rlim_cur, number_in("/proc/self/statm", "").value_or(0) * page);
}

std::size_t left_on_machine() {
  if (const auto kib = number_in("/proc/meminfo", "MemAvailable:")) return *kib << 10;
  const long pages = sysconf(_SC_AVPHYS_PAGES), page = sysconf(_SC_PAGESIZE);
  return pages > 0 && page > 0 ? static_cast<std::size_t>(pages) * static_cast<std::size_t>(page)
                               : std::numeric_limits<std::size_t>::max();
}

std::string optimizer_name(const TrainSettings& s) { return s.optimizer.substr(0, s.optimizer.find(':')); }

}  // namespace

bool chooses_sequences(const TrainSettings& s, const Given& given) {
  return !s.task && !is_fitted_model(s.model) && compares_losses(s.optimizer) && s.sampled_softmax == 0 &&
         !given.contains("window") && !given.contains("whole-sequences");
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
  const Index row = std::max<Index>(memory.row - 2 * outputs, 0);  // without logits and their adjoints
  const auto numbers =
      static_cast<std::size_t>(rows * row + static_cast<Index>(lengths.size()) * memory.chain + memory.weights);
  // Measured with ruop, rbpm and ascent: up to three fourths more for the sums of a metric, and what the window, the
  // text and the metric keep of a position whatever the size of the network.
  constexpr std::size_t kBytesOfARow = 256;
  return (numbers + numbers * 3 / 4) * element_bytes + static_cast<std::size_t>(rows) * kBytesOfARow;
}

SequenceChoice choose_sequences(const TrainSettings& s, std::size_t needed, std::size_t available) {
  const std::string name = optimizer_name(s);
  if (needed <= available)
    return {true, fmt::format("{} compares losses of the whole text: it reads whole sequences, as with "
                              "--whole-sequences, in about {} of memory; --window {} would keep windows",
                              name, bytes_text(needed), s.window)};
  return {false, fmt::format("{} compares losses of the whole text and would read whole sequences, but they need about "
                             "{} of memory and {} are left: it reads windows of {} symbols and will learn less; "
                             "shorter sequences (--lines) or a smaller --batch help",
                             name, bytes_text(needed), bytes_text(available), s.window)};
}

std::size_t available_memory() { return std::min({left_on_machine(), left_in_group(), left_to_process()}); }

std::string bytes_text(std::size_t bytes) {
  const auto number = static_cast<double>(bytes);
  return bytes < 999'500'000 ? fmt::format("{:.3g} MB", std::max(0.1, number / 1e6))
                             : fmt::format("{:.3g} GB", number / 1e9);
}

}  // namespace unfold
