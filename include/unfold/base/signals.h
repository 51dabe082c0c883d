#pragma once
/// State shared with signal handlers, in async-signal-safe form: whether a stop was requested, whether a thread is
/// blocked (on a pipe, for example), which temporary files exist, and which files are mapped at which addresses. This
/// module does not install handlers; that is up to the program.

#include <atomic>
#include <cstddef>
#include <string>

namespace unfold {

/// Set by a signal handler, polled by long loops.
std::atomic<bool>& stop_requested();

/// While an object of this class exists, a thread is blocked on something outside the process: a pipe, a terminal, a
/// lock. The handler then ends the process at once, because the wait may never end. The constructor throws
/// InterruptedError if a stop has already been requested.
class BlockingSection {
 public:
  BlockingSection();
  ~BlockingSection();
  BlockingSection(const BlockingSection&) = delete;
  BlockingSection& operator=(const BlockingSection&) = delete;
  static bool any() noexcept;  ///< async-signal-safe
};

/// Registers a file with the signal handlers for the lifetime of the object. The table has a fixed size; if it is full
/// (several hundred files), further files are not registered. Movable.
class RegisteredFile {
 public:
  RegisteredFile() = default;
  static RegisteredFile temporary(const std::string& path);  ///< removed when a signal ends the process
  static RegisteredFile mapped(const std::string& name, const void* begin, std::size_t size);
  RegisteredFile(RegisteredFile&& other) noexcept;
  RegisteredFile& operator=(RegisteredFile&& other) noexcept;
  ~RegisteredFile();

 private:
  struct Slot;
  friend void remove_temporary_files() noexcept;
  friend const char* mapped_file_at(const void* address) noexcept;
  static Slot* slots() noexcept;
  static RegisteredFile announce(const std::string& name, const void* begin, std::size_t size);
  Slot* slot_ = nullptr;
};

/// Removes all registered temporary files. Async-signal-safe.
void remove_temporary_files() noexcept;
/// Returns the name of the file that is mapped at the address, or nullptr. Async-signal-safe.
const char* mapped_file_at(const void* address) noexcept;

}  // namespace unfold
