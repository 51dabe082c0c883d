#include "unfold/base/raw_memory.h"

#include <sys/mman.h>

#include <cstdint>
#include <new>

namespace unfold {

void* reallocate(void* memory, std::size_t bytes) {
  void* const block = std::realloc(memory, bytes);
  if (block == nullptr) throw std::bad_alloc();
  use_large_pages(block, bytes);
  return block;
}

void use_large_pages([[maybe_unused]] const void* begin, [[maybe_unused]] std::size_t bytes) {
#ifdef MADV_HUGEPAGE
  constexpr std::uintptr_t kLargePage = std::uintptr_t{2} << 20;
  const auto address = reinterpret_cast<std::uintptr_t>(begin);
  const std::uintptr_t first = (address + kLargePage - 1) / kLargePage * kLargePage,
                       last = (address + bytes) / kLargePage * kLargePage;
  // A hint to the system: if it fails, only speed is lost.
  if (first < last) madvise(reinterpret_cast<void*>(first), last - first, MADV_HUGEPAGE);
#endif
}

}  // namespace unfold
