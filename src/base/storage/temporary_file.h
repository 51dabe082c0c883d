#pragma once
/// A temporary file without a name, in $TMPDIR or /tmp, for data that does not fit in memory. It disappears with the
/// process.

#include <cstddef>
#include <span>
#include <string>

namespace unfold {

/// Throws a RuntimeFailure that names the contents of the file (`what`) and the directory if it cannot be written or
/// read.
class UnnamedFile {
 public:
  explicit UnnamedFile(std::string what);
  UnnamedFile(const UnnamedFile&) = delete;
  UnnamedFile& operator=(const UnnamedFile&) = delete;
  ~UnnamedFile();

  void append(std::span<const std::byte> bytes);
  /// Makes the file at least this long; new bytes are 0, and the disk has space for all of them.
  void reserve(std::size_t size);
  /// Fills `bytes` from the given offset. REQUIRES: offset + bytes.size() <= size().
  void read(std::size_t offset, std::span<std::byte> bytes) const;

  std::size_t size() const { return size_; }
  int descriptor() const { return descriptor_; }
  static std::string folder();

 private:
  [[noreturn]] void fail(int error) const;

  std::string what_;
  int descriptor_ = -1;
  std::size_t size_ = 0;
};

}  // namespace unfold
