#pragma once
/// File input and output: inputs are mapped or decompressed, outputs are written atomically.
///
///   const Input input = Input::open("data.csv.gz");   // decompressed
///   use(input.bytes());
///   AtomicFile out("result.txt");
///   out.write("done\n");
///   out.commit();
///
/// Throws a DataError that names the file if an input is missing, unreadable, damaged or a directory. Throws a
/// RuntimeFailure that names the file, the operating system's reason and a remedy if an output cannot be written.

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
/// Another process may truncate the file while it is mapped: bytes before the new end may then be zero, and reading
/// beyond the new end raises SIGBUS (see signals.h). `require_whole` detects truncation; call it after using the bytes,
/// to make sure that they were the contents of the file. Small files should be read instead (FileBytes).
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
  void require_whole() const;  ///< throws RuntimeFailure if the file was truncated
  /// Advises the kernel that a range will not be read again soon, so that its pages can be dropped.
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
  RegisteredFile announced_;
};

/// The bytes of a regular file: read if the file is small, mapped if it is large. Throws DataError.
class FileBytes {
 public:
  FileBytes() = default;
  explicit FileBytes(const std::string& path);
  FileBytes(int descriptor, const std::string& name, std::size_t size);
  static FileBytes in_memory(std::string bytes);

  std::string_view bytes() const { return memory_.empty() ? mapping_.bytes() : std::string_view(memory_); }
  const MappedFile& mapping() const { return mapping_; }  ///< the mapping; empty if the file was read

 private:
  MappedFile mapping_;
  std::string memory_;
};

/// Opens a file for reading. For a pipe, blocks until the other end is opened; a stop request interrupts the wait.
/// Throws DataError.
int open_for_reading(const std::string& path);
/// Reads at most `size` bytes; returns 0 at the end of the file. May block. Throws a DataError that begins with `name`.
std::size_t read_some(int descriptor, const std::string& name, char* out, std::size_t size);

enum class EmptyInput { error, allowed };

/// An input file named by the user; "-" is standard input. A name that ends in .gz, .xz or .zst is decompressed into
/// memory (all concatenated members), after a check that the first bytes match the suffix. Large uncompressed files are
/// mapped, small files are read, and a pipe is read to its end. Copies share the bytes.
class Input {
 public:
  /// Throws DataError if the file is missing, a directory, not readable, empty (unless allowed), in a format that does
  /// not match its suffix, damaged, truncated, or larger when decompressed than `unpacking_limit` allows.
  static Input open(const std::string& path, EmptyInput empty = EmptyInput::error);
  /// Reads standard input or a pipe, which can be read only once, if `path` is one. Later calls of `open` with this
  /// path return the same input, so that its format can be detected before it is read.
  static void keep(const std::string& path);
  /// Creates an input from memory, for generated data and tests.
  static Input from_bytes(std::string name, std::string bytes);

  const std::string& name() const;  ///< name as given by the user; "standard input" for "-"
  std::string_view bytes() const;   ///< decompressed; valid while any copy of the input exists
  /// Throws RuntimeFailure if the file was truncated in the meantime, in which case the bytes may not have been the
  /// contents of the file. Call this function after using the bytes and before using results that depend on them.
  void require_whole() const;

 private:
  struct Content;
  explicit Input(std::shared_ptr<const Content> content);
  std::shared_ptr<const Content> content_;
};

/// Opens all inputs in order. Throws DataError, or UsageError if "-" occurs twice.
std::vector<Input> open_inputs(const std::vector<std::string>& paths);

/// Reads a file without decompressing it; it may be empty. Throws DataError.
std::string read_file(const std::string& path);

/// Sets how many bytes a compressed input may expand to, for all inputs opened afterwards. 0, the default, means 256
/// MiB plus 100 times the compressed size.
void set_decompression_limit(Index bytes);

/// An output file that is written atomically: bytes go to a temporary file in the same directory; `commit` synchronizes
/// it to disk and renames it to its final name. Without `commit` the temporary file is removed and an existing target
/// is unchanged. The temporary file, NAME.unfold-tmp- followed by sixteen random digits, is always new and locked. If a
/// killed process leaves such a file behind, the next process that writes the same target removes it. Symbolic links
/// are followed, even if the final target does not exist yet; a device or pipe (such as /dev/stdout) is written
/// directly. Throws RuntimeFailure.
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

  std::string path_;       ///< path as given by the user, for messages
  std::string target_;     ///< after following symbolic links
  std::string temporary_;  ///< path of the temporary file; empty if the target is written directly
  RegisteredFile announced_;
  std::string pending_;
  int descriptor_ = -1;
};

void write_file_atomically(const std::string& path, std::string_view bytes);

}  // namespace unfold
