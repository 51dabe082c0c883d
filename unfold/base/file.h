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

#include "unfold/base/signals.h"
#include "unfold/base/types.h"

namespace unfold {

/// The bytes of a regular file, mapped read-only. Movable.
///
/// Somebody may shorten the file while it is mapped: what is read then may be zeros that it never held, and behind its
/// new end there is nothing to be read at all (the signal SIGBUS; see signals.h). `require_whole` finds that out;
/// called after bytes were used, it makes sure that they were those of the file. What is small enough is better read.
class MappedFile {
 public:
  MappedFile() = default;
  explicit MappedFile(const std::string& path);  ///< throws DataError
  /// Maps an open file (the descriptor stays with the caller). Throws DataError.
  MappedFile(int descriptor, std::size_t size, std::string name);
  MappedFile(MappedFile&& other) noexcept { swap(other); }
  MappedFile& operator=(MappedFile&& other) noexcept {
    swap(other);
    return *this;
  }
  ~MappedFile();

  std::string_view bytes() const { return {data_, size_}; }
  void require_whole() const;  ///< throws RuntimeFailure when the file has become shorter
  /// Says that a stretch will not be read again soon, so that it need not lie in memory.
  void release(std::string_view stretch) const;

 private:
  void swap(MappedFile& other) noexcept {
    std::swap(name_, other.name_);
    std::swap(descriptor_, other.descriptor_);
    std::swap(data_, other.data_);
    std::swap(size_, other.size_);
    std::swap(announced_, other.announced_);
  }
  std::string name_;
  int descriptor_ = -1;
  const char* data_ = nullptr;
  std::size_t size_ = 0;
  AnnouncedFile announced_;
};

/// The bytes of a regular file: read when they are few, mapped when they are many. Throws DataError.
class FileBytes {
 public:
  FileBytes() = default;
  explicit FileBytes(const std::string& path);
  FileBytes(int descriptor, const std::string& name, std::size_t size);
  static FileBytes in_memory(std::string bytes);

  std::string_view bytes() const { return memory_.empty() ? mapping_.bytes() : std::string_view(memory_); }
  const MappedFile& mapping() const { return mapping_; }  ///< empty when they were read

 private:
  MappedFile mapping_;
  std::string memory_;
};

/// Waits for the other end of a pipe, but not in vain when the process is told to stop. Throws DataError.
int open_for_reading(const std::string& path);
/// At most `size` bytes, 0 at the end. Waits for others. Throws DataError beginning with `name`.
std::size_t read_some(int descriptor, const std::string& name, char* out, std::size_t size);

enum class EmptyInput { error, allowed };

/// An input as the user names it: "-" is standard input; a name ending in .gz, .xz or .zst is decompressed into memory
/// (several members after one another included) after its first bytes were checked to be what the ending says; a large
/// plain file is mapped, a small one read; a pipe is read to its end. A copy shares the bytes.
class Input {
 public:
  /// Throws DataError: missing file, directory, no permission, empty (unless allowed), not what its ending says,
  /// damaged or cut short, unpacking to more than `unpacking_limit` allows.
  static Input open(const std::string& path, EmptyInput empty = EmptyInput::error);
  /// An input held in memory, for generated data and tests.
  static Input from_bytes(std::string name, std::string bytes);

  const std::string& name() const;  ///< as given by the user; "standard input" for "-"
  std::string_view bytes() const;   ///< uncompressed; valid while any copy of the input lives
  /// To be called after bytes were used and before anything is made of them: throws RuntimeFailure when the file was
  /// shortened meanwhile, so that they may not have been its own.
  void require_whole() const;

 private:
  struct Content;
  explicit Input(std::shared_ptr<const Content> content);
  std::shared_ptr<const Content> content_;
};

/// Opens all of them in order. Throws DataError; UsageError when "-" is named twice.
std::vector<Input> open_inputs(const std::vector<std::string>& paths);

/// The raw bytes of a file (nothing is decompressed, empty is allowed). Throws DataError.
std::string read_file(const std::string& path);

/// How many bytes a compressed input may unpack to, for all that are opened from now on; 0, as at the start: 256 MiB
/// and 100 times its size.
void set_unpacking_limit(Index bytes);

/// A file that appears under its name complete or not at all: bytes go to a temporary file in the same folder, `commit`
/// brings them to the disk and renames. Without `commit` the temporary file is removed and what stood there before
/// stays. The temporary file, NAME.unfold-tmp- and sixteen random digits, is always a new one and locked; one that a
/// killed process left behind is removed by the next that writes the same file. A symbolic link is followed, also to a
/// file that is not there yet; a device or pipe (such as /dev/stdout) is written directly. Throws RuntimeFailure.
class AtomicFile {
 public:
  explicit AtomicFile(std::string path);
  AtomicFile(const AtomicFile&) = delete;
  AtomicFile& operator=(const AtomicFile&) = delete;
  ~AtomicFile();

  void write(std::string_view bytes);
  void commit();

 private:
  void open_temporary();
  void put(std::string_view bytes);
  [[noreturn]] void fail(int error);

  std::string path_;       ///< as the user gave it, for messages
  std::string target_;     ///< after symbolic links
  std::string temporary_;  ///< empty when the target is written directly
  AnnouncedFile announced_;
  std::string pending_;
  int descriptor_ = -1;
};

void write_file_atomically(const std::string& path, std::string_view bytes);

}  // namespace unfold
