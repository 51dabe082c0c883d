#include "unfold/cli/compression_level.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>

#include "unfold/mixing/byte_mixing.h"

namespace unfold {
namespace {

/// The largest memory of context mixing, MiB, and the model of a level: {} is the context mixing.
struct Level {
  Index memory;
  const char* model;
};
constexpr std::array<Level, 9> kLevels = {{{0, "ppm:3,memory=64"},
                                           {0, "ppm:4,memory=64"},
                                           {0, "ppm:5,memory=64"},
                                           {0, "ppm:6,memory=64"},
                                           {64, "{},level=fast"},
                                           {72, "{}"},
                                           {256, "{}"},
                                           {72, "mix:{}+ppm:6,memory=64"},
                                           {512, "mix:{}+ppm:6,memory=256"}}};

/// A byte needs two rows of each context, and shares many of them.
Index mixing_memory(Index size, Index most) {
  constexpr Index kPerByte = 2048;
  return size < 0 || size >= most << 9 ? most : std::clamp<Index>((size * kPerByte >> 20) + 1, 1, most);
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

LevelChoice choose_level(Index level, std::string_view beginning, Index size) {
  const Level& chosen = kLevels.at(static_cast<std::size_t>(level - 1));
  if (chosen.memory == 0) return {.model = chosen.model};
  if (std::string bases = bases_of(beginning); !bases.empty())
    return {.model = fmt::format("dna:{}", bases_size(size, level == kBestLevel)), .bytes = std::move(bases)};
  std::string mixing = fmt::format("cm:memory={}", mixing_memory(size, chosen.memory));
  const Index row = find_row({reinterpret_cast<const std::uint8_t*>(beginning.data()), beginning.size()});
  if (row > 0) mixing += fmt::format(",row={}", row);
  return {.model = fmt::format(fmt::runtime(chosen.model), mixing)};
}

}  // namespace unfold
