#pragma once
/// Views of row-major matrices, and aligned storage.
///
/// A signal over R positions is a matrix [R x n] with one contiguous row per position. Views do not own their data.

#include <cstddef>
#include <cstdlib>
#include <cstring>
#include <new>
#include <span>
#include <type_traits>
#include <utility>

#include "unfold/base/types.h"

namespace unfold {

/// Row-major view [rows x cols]; element (r, c) at data[r * stride + c]. A stride of 0 repeats one row.
template <class T>
struct Matrix {
  T* data = nullptr;
  Index rows = 0, cols = 0, stride = 0;

  T* row(Index r) const { return data + r * stride; }
  T& operator()(Index r, Index c) const { return data[r * stride + c]; }
  Matrix rows_from(Index begin, Index count) const { return {row(begin), count, cols, stride}; }
  Matrix cols_from(Index begin, Index count) const { return {data + begin, rows, count, stride}; }
  operator Matrix<const T>() const requires(!std::is_const_v<T>) { return {data, rows, cols, stride}; }
};

/// Memory initialized to zero and aligned to 64 bytes; blocks of 4 MiB or more are aligned to 2 MiB, and the kernel is
/// advised to use huge pages. `resize` discards the contents.
template <class T>
class Buffer {
  static_assert(std::is_trivially_copyable_v<T>);

 public:
  Buffer() = default;
  explicit Buffer(Index size) { resize(size); }
  Buffer(Buffer&& other) noexcept { swap(other); }
  Buffer& operator=(Buffer&& other) noexcept {
    swap(other);
    return *this;
  }
  Buffer(const Buffer& other) {
    resize(other.size_);
    if (size_ > 0) std::memcpy(data_, other.data_, sizeof(T) * static_cast<std::size_t>(size_));
  }
  Buffer& operator=(const Buffer& other) {
    if (this != &other) {
      Buffer copy(other);
      swap(copy);
    }
    return *this;
  }
  ~Buffer() { std::free(data_); }

  void resize(Index size);  ///< allocates new zeroed memory; throws std::bad_alloc
  void fill_zero() {
    if (size_ > 0) std::memset(static_cast<void*>(data_), 0, sizeof(T) * static_cast<std::size_t>(size_));
  }
  Index size() const { return size_; }
  bool empty() const { return size_ == 0; }
  T* data() { return data_; }
  const T* data() const { return data_; }
  T& operator[](Index i) { return data_[i]; }
  const T& operator[](Index i) const { return data_[i]; }
  T* begin() { return data_; }
  T* end() { return data_ + size_; }
  const T* begin() const { return data_; }
  const T* end() const { return data_ + size_; }
  std::span<T> span() { return {data_, static_cast<std::size_t>(size_)}; }
  std::span<const T> span() const { return {data_, static_cast<std::size_t>(size_)}; }
  void swap(Buffer& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(size_, other.size_);
  }

 private:
  T* data_ = nullptr;
  Index size_ = 0;
};

/// Returns aligned, zeroed memory from the system allocator; release it with std::free. Throws std::bad_alloc.
void* allocate_aligned(std::size_t bytes);

template <class T>
void Buffer<T>::resize(Index size) {
  std::free(data_);
  data_ = nullptr;
  size_ = 0;
  if (size == 0) return;
  data_ = static_cast<T*>(allocate_aligned(sizeof(T) * static_cast<std::size_t>(size)));
  size_ = size;
}

}  // namespace unfold
