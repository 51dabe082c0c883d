#pragma once
/// Reports a violated guarantee in a fuzz target: aborts the program so that the fuzzer keeps the input.

#include <cstdlib>
#include <string_view>

extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size);

namespace unfold {

inline void check(bool promise) {
  if (!promise) std::abort();
}

inline std::string_view as_text(const unsigned char* data, std::size_t size) {
  return {reinterpret_cast<const char*>(data), size};
}

}  // namespace unfold
