#pragma once
/// Files: mapped and decompressed inputs, and outputs that are either whole or absent.
///
/// Inputs that are missing, directories, unreadable or damaged are DataErrors naming the file; outputs that cannot be
/// written are RuntimeFailures naming the file, the reason of the operating system and a remedy.

#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "unfold/base/types.h"

namespace unfold {

/// The bytes of a regular file, mapped read-only. Movable. While the mapping lives the file must not be shortened.
class MappedFile {
 public:
  MappedFile() = default;
  explicit MappedFile(const std::string& path);  ///< throws DataError
  MappedFile(int descriptor, std::size_t size);  ///< maps an open file (the descriptor stays with the caller)
  MappedFile(MappedFile&& other) noexcept { swap(other); }
  MappedFile& operator=(MappedFile&& other) noexcept {
    swap(other);
    return *this;
  }
  ~MappedFile();

  std::string_view bytes() const { return {data_, size_}; }

 private:
  void swap(MappedFile& other) noexcept {
    std::swap(data_, other.data_);
    std::swap(size_, other.size_);
  }
  const char* data_ = nullptr;
  std::size_t size_ = 0;
};

enum class EmptyInput { error, allowed };

/// An input as the user names it: "-" is standard input; a name ending in .gz, .xz or .zst is decompressed into memory
/// (several members after one another included) after its first bytes were checked to be what the ending says; a plain
/// file is mapped; a pipe is read to its end. A copy shares the bytes.
class Input {
 public:
  /// Throws DataError: missing file, directory, no permission, empty (unless allowed), not what its ending says,
  /// damaged or cut short.
  static Input open(const std::string& path, EmptyInput empty = EmptyInput::error);
  /// An input held in memory, for generated data and tests.
  static Input from_bytes(std::string name, std::string bytes);

  const std::string& name() const;  ///< as given by the user; "standard input" for "-"
  std::string_view bytes() const;   ///< uncompressed; valid while any copy of the input lives

 private:
  struct Content;
  explicit Input(std::shared_ptr<const Content> content);
  std::shared_ptr<const Content> content_;
};

/// Opens all of them in order. Throws DataError; UsageError when "-" is named twice.
std::vector<Input> open_inputs(const std::vector<std::string>& paths);

/// The raw bytes of a file (nothing is decompressed, empty is allowed). Throws DataError.
std::string read_file(const std::string& path);

/// A file that appears under its name complete or not at all: bytes go to a temporary file in the same folder, `commit`
/// brings them to the disk and renames. Without `commit` the temporary file is removed and what stood there before
/// stays. A symbolic link is followed; a device or pipe (such as /dev/stdout) is written directly. Throws
/// RuntimeFailure.
class AtomicFile {
 public:
  explicit AtomicFile(std::string path);
  AtomicFile(const AtomicFile&) = delete;
  AtomicFile& operator=(const AtomicFile&) = delete;
  ~AtomicFile();

  void write(std::string_view bytes);
  void commit();

 private:
  void put(std::string_view bytes);
  [[noreturn]] void fail(int error);

  std::string path_;       ///< as the user gave it, for messages
  std::string target_;     ///< after symbolic links
  std::string temporary_;  ///< empty when the target is written directly
  std::string pending_;
  int descriptor_ = -1;
};

void write_file_atomically(const std::string& path, std::string_view bytes);

}  // namespace unfold
