#pragma once
/// A file without a name, in $TMPDIR, else /tmp: what does not fit into memory. It vanishes with the process.

#include <cstddef>
#include <span>
#include <string>

namespace unfold {

/// Throws RuntimeFailure, naming `what` it holds and the folder, when it cannot be written or read.
class UnnamedFile {
 public:
  explicit UnnamedFile(std::string what);
  UnnamedFile(const UnnamedFile&) = delete;
  UnnamedFile& operator=(const UnnamedFile&) = delete;
  ~UnnamedFile();

  void append(std::span<const std::byte> bytes);
  /// Fills `bytes` from an offset on. REQUIRES offset + bytes.size() <= size().
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
