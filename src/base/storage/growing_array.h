#pragma once
/// An array that grows at its end by whole memory pages, for hundreds of megabytes. Growing neither copies the array
/// nor needs a second one, and pages that were never used take no memory. An array in a temporary file can be larger
/// than memory: the operating system writes its pages to the file and reads them again when they are needed.
///
///   auto counts = GrowingArray<std::uint32_t>::in_file("counts");
///   counts.push_back(1);
///   counts.release();   // until they are used again, its pages take no memory of this process

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <memory>
#include <span>
#include <string>
#include <type_traits>
#include <utility>

#include "base/storage/temporary_file.h"

namespace unfold {

/// Pages in memory, or in a temporary file. Throws RuntimeFailure if the file cannot be written.
class GrowingPages {
 public:
  GrowingPages() = default;
  explicit GrowingPages(std::unique_ptr<UnnamedFile> file) : file_(std::move(file)) {}
  GrowingPages(GrowingPages&& other) noexcept { swap(other); }
  GrowingPages& operator=(GrowingPages&& other) noexcept {
    swap(other);
    return *this;
  }
  ~GrowingPages();

  void* begin() const { return begin_; }
  std::size_t bytes() const { return bytes_; }
  void grow(std::size_t needed);  ///< to at least this many bytes; they may move
  /// Drops the pages of a file from the memory of this process. Their contents remain.
  void release() const;

 private:
  void swap(GrowingPages& other) noexcept {
    std::swap(begin_, other.begin_);
    std::swap(bytes_, other.bytes_);
    std::swap(file_, other.file_);
  }
  void* mapped(std::size_t bytes) const;

  void* begin_ = nullptr;
  std::size_t bytes_ = 0;
  std::unique_ptr<UnnamedFile> file_;
};

template <class T>
class GrowingArray {
  static_assert(std::is_trivially_copyable_v<T>);

 public:
  GrowingArray() = default;
  /// Returns an empty array in a temporary file; `what`: its contents, for messages.
  static GrowingArray in_file(const std::string& what) {
    GrowingArray array;
    array.pages_ = GrowingPages(std::make_unique<UnnamedFile>(what));
    return array;
  }
  /// The copy is in memory.
  GrowingArray(const GrowingArray& other) {
    if (other.size_ > 0) std::memcpy(static_cast<void*>(more(other.size_)), other.data_, other.size_ * sizeof(T));
  }
  GrowingArray(GrowingArray&& other) noexcept { swap(other); }
  GrowingArray& operator=(GrowingArray other) noexcept {
    swap(other);
    return *this;
  }
  ~GrowingArray() = default;

  std::size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  T* data() { return data_; }
  const T* data() const { return data_; }
  T* begin() { return data_; }
  const T* begin() const { return data_; }
  T* end() { return data_ + size_; }
  const T* end() const { return data_ + size_; }
  T& operator[](std::size_t i) { return data_[i]; }
  const T& operator[](std::size_t i) const { return data_[i]; }
  T& back() { return data_[size_ - 1]; }
  const T& back() const { return data_[size_ - 1]; }

  void push_back(T value) { *more(1) = value; }
  /// Appends `count` elements with unspecified contents and returns the first of them.
  T* more(std::size_t count) {
    if (const std::size_t needed = (size_ + count) * sizeof(T); needed > pages_.bytes()) {
      pages_.grow(needed);
      data_ = static_cast<T*>(pages_.begin());
    }
    size_ += count;
    return data_ + size_ - count;
  }
  /// New elements have this value.
  void resize(std::size_t size, T value = {}) {
    if (size > size_) std::fill_n(more(size - size_), size - size_, value);
    size_ = size;
  }
  void assign(std::size_t size, T value) {
    clear();
    resize(size, value);
  }
  /// Clears the array and keeps its pages.
  void clear() { size_ = 0; }
  void release() const { pages_.release(); }

  friend bool operator==(const GrowingArray& a, const GrowingArray& b) {
    return std::equal(a.begin(), a.end(), b.begin(), b.end());
  }

 private:
  void swap(GrowingArray& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(size_, other.size_);
    std::swap(pages_, other.pages_);
  }

  T* data_ = nullptr;
  std::size_t size_ = 0;
  GrowingPages pages_;
};

}  // namespace unfold
