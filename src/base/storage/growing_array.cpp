#include "base/storage/growing_array.h"

#include <sys/mman.h>

#include <algorithm>
#include <new>

namespace unfold {
namespace {

constexpr std::size_t kGranule = std::size_t{1} << 16;        // bytes, a multiple of the page size
constexpr std::size_t kLargestStep = std::size_t{256} << 20;  // of a file: unused space is reserved on the disk

}  // namespace

GrowingPages::~GrowingPages() {
  if (begin_ != nullptr) munmap(begin_, bytes_);
}

void* GrowingPages::mapped(std::size_t bytes) const {
  const int flags = file_ ? MAP_SHARED : MAP_PRIVATE | MAP_ANONYMOUS;
  void* const begin = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, flags, file_ ? file_->descriptor() : -1, 0);
  if (begin == MAP_FAILED) throw std::bad_alloc();
  return begin;
}

void GrowingPages::grow(std::size_t needed) {
  const std::size_t step = file_ ? std::min(bytes_ / 2, kLargestStep) : bytes_ / 2;
  const std::size_t bytes = (std::max(needed, bytes_ + step) + kGranule - 1) / kGranule * kGranule;
  if (file_) file_->reserve(bytes);
  if (begin_ == nullptr) {
    begin_ = mapped(bytes);
  } else {
#ifdef MREMAP_MAYMOVE
    void* const begin = mremap(begin_, bytes_, bytes, MREMAP_MAYMOVE);
    if (begin == MAP_FAILED) throw std::bad_alloc();
#else
    void* const begin = mapped(bytes);
    if (!file_) std::copy_n(static_cast<const std::byte*>(begin_), bytes_, static_cast<std::byte*>(begin));
    munmap(begin_, bytes_);
#endif
    begin_ = begin;
  }
  bytes_ = bytes;
}

void GrowingPages::release() const {
  if (file_ && begin_ != nullptr) madvise(begin_, bytes_, MADV_DONTNEED);  // pages of a shared mapping keep contents
}

}  // namespace unfold
