#pragma once
/// Internal: a large table that is initially zero. The system provides the memory page by page on first use, so only
/// the pages in use take memory. It uses large pages if available, which saves a TLB miss for nearly every access to a
/// hash table.

#include <sys/mman.h>

#include <cstddef>
#include <cstring>
#include <memory>
#include <new>
#include <type_traits>

namespace unfold {

template <class T>
class ZeroPages {
  static_assert(std::is_trivially_copyable_v<T>);

 public:
  explicit ZeroPages(std::size_t size) : size_(size), data_(allocate(size * sizeof(T))) {}
  ZeroPages(const ZeroPages& other) : ZeroPages(other.size_) {
    std::memcpy(static_cast<void*>(data_.get()), other.data_.get(), size_ * sizeof(T));
  }
  ZeroPages(ZeroPages&&) noexcept = default;
  ZeroPages& operator=(const ZeroPages&) = delete;
  ZeroPages& operator=(ZeroPages&&) = delete;
  ~ZeroPages() = default;

  std::size_t size() const { return size_; }
  T* data() const { return data_.get(); }
  T& operator[](std::size_t i) const { return data_.get()[i]; }

 private:
  struct Unmap {
    void* begin;
    std::size_t bytes;
    void operator()(T*) const { munmap(begin, bytes); }
  };
  using Pages = std::unique_ptr<T[], Unmap>;

  static Pages allocate(std::size_t bytes) {
    constexpr std::size_t kLarge = std::size_t{2} << 20;
    const std::size_t mapped = bytes + kLarge;  // allows alignment to a large page
    void* const begin = mmap(nullptr, mapped, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (begin == MAP_FAILED) throw std::bad_alloc();
    void* first = begin;
    std::size_t space = mapped;
    std::align(kLarge, bytes, first, space);
#ifdef MADV_HUGEPAGE
    if (bytes >= kLarge) madvise(first, bytes / kLarge * kLarge, MADV_HUGEPAGE);
#endif
    return {static_cast<T*>(first), Unmap{begin, mapped}};
  }

  std::size_t size_;
  Pages data_;
};

}  // namespace unfold
