#include "unfold/base/views.h"

#include <sys/mman.h>

#include <cstdint>

namespace unfold {

void* allocate_aligned(std::size_t bytes) {
  constexpr std::size_t kLine = 64, kHugePage = std::size_t{2} << 20;
  const bool huge = bytes >= 2 * kHugePage;
  const std::size_t alignment = huge ? kHugePage : kLine;
  if (bytes > static_cast<std::size_t>(PTRDIFF_MAX) - alignment) throw std::bad_alloc();
  const std::size_t rounded = (bytes + alignment - 1) / alignment * alignment;
  void* memory = std::aligned_alloc(alignment, rounded);
  if (!memory) throw std::bad_alloc();
#ifdef MADV_HUGEPAGE
  // A hint to the system: if it fails, only speed is lost. The end is excluded, because a huge page there would use
  // more memory than requested.
  if (huge) madvise(memory, bytes / kHugePage * kHugePage, MADV_HUGEPAGE);
#endif
  std::memset(memory, 0, bytes);
  return memory;
}

}  // namespace unfold
