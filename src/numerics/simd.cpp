#include "numerics/simd.h"

#include <cstdlib>

#include "numerics/targets-inl.h"  // must precede Highway: selects its targets
#include "unfold/base/error.h"

#include "hwy/highway.h"

namespace unfold {
namespace {

struct Level {
  std::string_view option;  // value of UNFOLD_SIMD
  const char* name;         // display name
  std::int64_t targets;     // Highway targets; some releases have two for one level
};

// Instruction sets in descending order of preference.
constexpr Level kLevels[] = {
#if HWY_ARCH_X86
    {"avx512", "AVX-512", HWY_AVX3},
    {"avx2", "AVX2", HWY_AVX2},
    {"sse2", "SSE2", HWY_STATIC_TARGET & ~(HWY_AVX3 | HWY_AVX2)},
#elif HWY_ARCH_ARM
    {"neon", "NEON", HWY_STATIC_TARGET | HWY_NEON},
#else
    {"plain", "plain", HWY_STATIC_TARGET},
#endif
};

/// Returns the targets for which the kernels are compiled and which the processor supports, regardless of UNFOLD_SIMD.
std::int64_t usable_targets(const Level& level) {
  static const std::int64_t usable = HWY_TARGETS & (hwy::SupportedTargets() | HWY_STATIC_TARGET);
  return level.targets & usable;
}

/// Returns nullptr if the name is unknown or not available on this machine.
const Level* find_level(std::string_view option) {
  for (const Level& level : kLevels) {
    if (level.option == option && usable_targets(level) != 0) return &level;
  }
  return nullptr;
}

void use_nothing_better_than(const Level& limit) {
  std::int64_t targets = 0;
  for (const Level* level = &limit; level != std::end(kLevels); ++level) targets |= usable_targets(*level);
  hwy::SetSupportedTargetsForTest(targets);
  hwy::GetChosenTarget().Update(targets);
}

[[noreturn]] void refuse(std::string_view what, std::string_view option) {
  std::string names;
  for (const std::string& name : simd_available()) names += (names.empty() ? "" : ", ") + name;
  throw UsageError(std::string(what) + " \"" + std::string(option) +
                   "\" is not an instruction set that this processor supports; choose one of " + names);
}

}  // namespace

bool apply_simd_environment() {
  const char* option = std::getenv("UNFOLD_SIMD");
  const Level* level = option ? find_level(option) : nullptr;
  if (level) use_nothing_better_than(*level);
  return level != nullptr;
}

std::string simd_name() {
  const char* option = std::getenv("UNFOLD_SIMD");
  if (option && *option && !find_level(option)) refuse("UNFOLD_SIMD", option);
  const std::int64_t allowed = hwy::SupportedTargets() | HWY_STATIC_TARGET;
  for (const Level& level : kLevels) {
    if ((usable_targets(level) & allowed) != 0) return level.name;
  }
  return kLevels[std::size(kLevels) - 1].name;
}

std::vector<std::string> simd_available() {
  std::vector<std::string> names;
  for (const Level& level : kLevels) {
    if (usable_targets(level) != 0) names.emplace_back(level.option);
  }
  return names;
}

void simd_limit(std::string_view name) {
  const Level* level = find_level(name);
  if (!level) refuse("SIMD limit", name);
  use_nothing_better_than(*level);
}

}  // namespace unfold
