#pragma once
/// Memory for large arrays whose elements are written before they are read.

#include <algorithm>
#include <cstddef>
#include <cstdlib>
#include <memory>
#include <type_traits>

namespace unfold {

/// Like std::realloc, but throws std::bad_alloc, and large blocks use large pages.
void* reallocate(void* memory, std::size_t bytes);

/// Asks the system to provide memory that is not yet in use in large pages, which takes less time than page by page.
/// Parts of large pages at both ends are excluded, so no more memory is used than allocated.
void use_large_pages(const void* begin, std::size_t bytes);
/// The same for the capacity of a std::vector or std::string.
template <class List>
void use_large_pages(const List& list) {
  use_large_pages(list.data(), list.capacity() * sizeof(*list.data()));
}

/// Growing keeps the elements; large blocks are not copied.
template <class T>
class RawMemory {
  static_assert(std::is_trivially_copyable_v<T>);

 public:
  T* data() { return data_.get(); }
  const T* data() const { return data_.get(); }
  std::size_t capacity() const { return capacity_; }
  /// Grows to a capacity of at least `capacity`, and by half if that is more.
  void grow(std::size_t capacity) { reserve(std::max(capacity, capacity_ + capacity_ / 2)); }
  void reserve(std::size_t capacity) {
    if (capacity <= capacity_) return;
    void* const memory = reallocate(data_.get(), capacity * sizeof(T));
    static_cast<void>(data_.release());
    data_.reset(static_cast<T*>(memory));
    capacity_ = capacity;
  }

 private:
  struct Free {
    void operator()(T* memory) const { std::free(memory); }
  };
  std::unique_ptr<T[], Free> data_;
  std::size_t capacity_ = 0;
};

}  // namespace unfold
