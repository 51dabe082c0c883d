#pragma once
/// Internal: selects the Highway targets for which the kernels are compiled. Include it before any header of Highway,
/// only in .cpp files:
///
///   #undef HWY_TARGET_INCLUDE
///   #define HWY_TARGET_INCLUDE "numerics/product.cpp"
///   #include "src/numerics/targets-inl.h"
///
///   #include "hwy/foreach_target.h"
///
///   #include "src/numerics/fma-inl.h"  // brings hwy/highway.h
///
/// The enabled targets are the baseline (SSE2 on x86-64), AVX2 with FMA, AVX-512 and NEON. The other targets either
/// have no fused multiply-add and would not be faster than the baseline, or add only instructions that the kernels do
/// not use.

#define HWY_DISABLED_TARGETS                                                              \
  (HWY_SSSE3 | HWY_SSE4 | HWY_AVX3_DL | HWY_SVE | HWY_SVE2 | HWY_SVE_256 | HWY_SVE2_128 | \
   UNFOLD_DISABLED_IF_KNOWN_ZEN4 | UNFOLD_DISABLED_IF_KNOWN_SPR)

#include "hwy/detect_targets.h"

// Targets that exist only in newer releases of Highway. A macro that expands to its own name is not expanded again, so
// these targets are tested here, after the header of Highway and before their first use.
#ifdef HWY_AVX3_ZEN4
#define UNFOLD_DISABLED_IF_KNOWN_ZEN4 HWY_AVX3_ZEN4
#else
#define UNFOLD_DISABLED_IF_KNOWN_ZEN4 0
#endif
#ifdef HWY_AVX3_SPR
#define UNFOLD_DISABLED_IF_KNOWN_SPR HWY_AVX3_SPR
#else
#define UNFOLD_DISABLED_IF_KNOWN_SPR 0
#endif

namespace unfold {

/// Applies UNFOLD_SIMD; an invalid value is reported later, by simd_name().
bool apply_simd_environment();

/// Every file with kernels refers to this variable, so the environment is read before main in every program that links
/// kernels.
inline const bool kSimdEnvironmentApplied = apply_simd_environment();

}  // namespace unfold

// Target-dependent kernels are called through a table of functions, `template <class T> constexpr Table<T> table`:
//   UNFOLD_TARGET_TABLE(Table, table);  // among the kernels, compiled for each target
//   UNFOLD_CHOOSE_TABLE(Table, name);   // once: name<T>() is the table of the current target, for float and double

#define UNFOLD_TARGET_TABLE(Table, table)                         \
  const Table<float>* Table##Float() { return &table<float>; }    \
  const Table<double>* Table##Double() { return &table<double>; } \
  static_assert(true)

#define UNFOLD_CHOOSE_TABLE(Table, name)             \
  HWY_EXPORT(Table##Float);                          \
  HWY_EXPORT(Table##Double);                         \
  template <class T>                                 \
  const Table<T>& name() {                           \
    if constexpr (sizeof(T) == sizeof(float)) {      \
      return *HWY_DYNAMIC_DISPATCH(Table##Float)();  \
    } else {                                         \
      return *HWY_DYNAMIC_DISPATCH(Table##Double)(); \
    }                                                \
  }                                                  \
  static_assert(true)
