#pragma once
/// Internal: an array that grows at its end by whole memory pages, for models of many megabytes. Growing neither copies
/// the array nor needs a second one, and pages that were never used take no memory.

#include <sys/mman.h>

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <new>
#include <type_traits>

namespace unfold {

template <class T>
class GrowingArray {
  static_assert(std::is_trivially_copyable_v<T>);

 public:
  GrowingArray() = default;
  GrowingArray(const GrowingArray& other) {
    if (other.size_ > 0) std::memcpy(static_cast<void*>(more(other.size_)), other.data_, other.size_ * sizeof(T));
  }
  GrowingArray(GrowingArray&&) = delete;
  GrowingArray& operator=(const GrowingArray&) = delete;
  GrowingArray& operator=(GrowingArray&&) = delete;
  ~GrowingArray() {
    if (data_ != nullptr) munmap(data_, bytes_);
  }

  std::size_t size() const { return size_; }
  T* data() { return data_; }
  const T* data() const { return data_; }
  T& operator[](std::size_t i) { return data_[i]; }
  const T& operator[](std::size_t i) const { return data_[i]; }

  void push_back(T value) { *more(1) = value; }
  /// Appends `count` elements with unspecified contents and returns the first of them.
  T* more(std::size_t count) {
    if (const std::size_t needed = (size_ + count) * sizeof(T); needed > bytes_) enlarge(needed);
    size_ += count;
    return data_ + size_ - count;
  }
  /// Clears the array and keeps its memory.
  void clear() { size_ = 0; }

 private:
  void enlarge(std::size_t needed) {
    constexpr std::size_t kPages = std::size_t{1} << 16;
    const std::size_t bytes = (std::max(needed, bytes_ + bytes_ / 2) + kPages - 1) / kPages * kPages;
    data_ = static_cast<T*>(data_ == nullptr ? pages(bytes) : moved(bytes));
    bytes_ = bytes;
  }
  static void* pages(std::size_t bytes) {
    void* const begin = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (begin == MAP_FAILED) throw std::bad_alloc();
    return begin;
  }
  void* moved(std::size_t bytes) {
#ifdef MREMAP_MAYMOVE
    void* const begin = mremap(data_, bytes_, bytes, MREMAP_MAYMOVE);
    if (begin == MAP_FAILED) throw std::bad_alloc();
#else
    void* const begin = pages(bytes);
    std::memcpy(begin, data_, bytes_);
    munmap(data_, bytes_);
#endif
    return begin;
  }

  T* data_ = nullptr;
  std::size_t size_ = 0, bytes_ = 0;
};

}  // namespace unfold
