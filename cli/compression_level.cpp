#include "cli/compression_level.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>

#include "model/context_mixing/record_length.h"

namespace unfold {
namespace {

// Files up to kSmall bytes, and record files up to kSmallRecords bytes, are compressed so quickly that all contexts are
// used.
constexpr Index kSmall = 1 << 16, kSmallRecords = 1 << 17;

/// A compression level: the memory limit of context mixing in MiB; the context sets for text, for other files and for
/// unknown content; and the model, in which {} is replaced by the context-mixing model.
struct Level {
  Index memory;
  const char *of_texts, *of_others, *of_unknown;
  const char* model;
};

constexpr const char *kFew = ",level=fast", *kTexts = ",level=text", *kOthers = ",level=binary", *kAll = "";
constexpr Index kDefaultMemory = 60;
constexpr Level without_mixing(const char* model) { return {0, kAll, kAll, kAll, model}; }
constexpr std::array<Level, 9> kLevels = {{without_mixing("ppm:4,memory={1}"),
                                           without_mixing("ppm:5,memory={1}"),
                                           without_mixing("ppm:6,memory={1}"),
                                           without_mixing("ppm:{0},memory={1}"),
                                           {kDefaultMemory, kFew, kFew, kFew, "{}"},
                                           {kDefaultMemory, kTexts, kOthers, kAll, "{}"},
                                           {256, kTexts, kAll, kAll, "{}"},
                                           {512, kAll, kAll, kAll, "{}"},
                                           {512, kAll, kAll, kAll, "mix:{}+ppm:6,memory=256"}}};

/// Returns the order of prediction by partial matching that suits the beginning of the file. Long repetitions are rare
/// in large texts and common elsewhere.
Index order_of(std::string_view beginning, Index size) {
  constexpr Index kLargeText =
      448 << 10;  // order 7 gives smaller files for news and lcet10; order 6 gives smaller files for plrabn12 and book1
  if (beginning.empty()) return 7;
  if (!is_text(beginning)) return 32;
  return size > kLargeText ? 6 : 7;
}

/// Returns the memory for prediction by partial matching in MiB. It is sufficient for nearly all files up to 1 MiB; for
/// larger files the model restarts when memory is full, which improves compression.
Index matching_memory(Index size) {
  constexpr Index kOfMebibyte = 10, kOfLarger = 64;
  return size >= 0 && size <= (Index{1} << 20) ? kOfMebibyte : kOfLarger;
}

/// Returns the memory of context mixing in MiB for a file of `size` bytes. A byte needs two rows per context, most of
/// which are shared with other bytes. More memory reduces the file size by at most 0.1 %.
Index mixing_memory(Index size, Index most) {
  const Index per_byte = most > kDefaultMemory ? 1024 : 512;
  return size < 0 || size >= (most << 20) / per_byte ? most : std::clamp<Index>((size * per_byte >> 20) + 1, 1, most);
}

int bases_size(Index size, bool best) {
  constexpr int kLeast = 14, kMost = 22, kBest = 24;
  const int fitting = size < 0 ? kMost : std::bit_width(static_cast<std::uint64_t>(size));
  return std::clamp(fitting, kLeast, best ? kBest : kMost);
}

}  // namespace

std::string bases_of(std::string_view bytes) {
  constexpr std::size_t kFewest = 1000;
  constexpr double kNearlyAll = 0.95;
  if (bytes.size() < kFewest) return {};
  for (const std::string_view bases : {"ACGT", "acgt", "ACGU", "acgu"}) {
    const auto known = std::ranges::count_if(bytes, [&](char byte) { return bases.find(byte) != bases.npos; });
    const bool all_occur = std::ranges::all_of(bases, [&](char base) { return bytes.find(base) != bytes.npos; });
    if (all_occur && static_cast<double>(known) >= kNearlyAll * static_cast<double>(bytes.size()))
      return std::string(bases);
  }
  return {};
}

bool is_text(std::string_view bytes) {
  constexpr std::ptrdiff_t kRest = 100;  // one byte in kRest may be a control character
  constexpr std::string_view kOfTexts = "\t\n\f\r";
  const auto strange = std::ranges::count_if(bytes, [&](char byte) {
    const auto code = static_cast<std::uint8_t>(byte);
    return code == 127 || (code < 32 && kOfTexts.find(byte) == kOfTexts.npos);
  });
  return !bytes.empty() && strange * kRest <= std::ssize(bytes);
}

LevelChoice choose_level(Index level, std::string_view beginning, Index size) {
  const Level& chosen = kLevels.at(static_cast<std::size_t>(level - 1));
  if (chosen.memory == 0)
    return {.model = fmt::format(fmt::runtime(chosen.model), order_of(beginning, size), matching_memory(size))};
  if (std::string bases = bases_of(beginning); !bases.empty())
    return {.model = fmt::format("dna:{}", bases_size(size, level == kBestLevel)), .bytes = std::move(bases)};
  const Index row = find_row({reinterpret_cast<const std::uint8_t*>(beginning.data()), beginning.size()});
  const bool text = is_text(beginning);
  const bool small = size >= 0 && size <= (row > 0 && !text ? kSmallRecords : kSmall);
  const char* const contexts = beginning.empty() || small ? chosen.of_unknown
                               : text                     ? chosen.of_texts
                                                          : chosen.of_others;
  std::string mixing = fmt::format("cm:memory={}{}", mixing_memory(size, chosen.memory), contexts);
  if (row > 0) mixing += fmt::format(",row={}", row);
  return {.model = fmt::format(fmt::runtime(chosen.model), mixing)};
}

}  // namespace unfold
