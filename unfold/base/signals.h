#pragma once
/// What a signal handler has to know, in a form that it may touch: whether somebody wants the process to stop, whether
/// a thread waits for others (a pipe), which temporary files exist, which files are mapped where. Nothing here installs
/// a handler: that is the program's choice (terminal/interrupt.h).

#include <atomic>
#include <cstddef>
#include <string>

namespace unfold {

/// Set by a signal handler, polled by long loops.
std::atomic<bool>& stop_requested();

/// While one lives, a thread waits for somebody else: a pipe, a terminal, a lock. A handler that finds one ends the
/// process, for the wait may be endless. Throws InterruptedError when a stop was asked for already.
class WaitingForOthers {
 public:
  WaitingForOthers();
  ~WaitingForOthers();
  WaitingForOthers(const WaitingForOthers&) = delete;
  WaitingForOthers& operator=(const WaitingForOthers&) = delete;
  static bool any() noexcept;  ///< may be called by a handler
};

/// A file that handlers know of while this lives. Of many hundreds at a time some are not known. Movable.
class AnnouncedFile {
 public:
  AnnouncedFile() = default;
  static AnnouncedFile temporary(const std::string& path);  ///< to be removed when the process ends
  static AnnouncedFile mapped(const std::string& name, const void* begin, std::size_t size);
  AnnouncedFile(AnnouncedFile&& other) noexcept;
  AnnouncedFile& operator=(AnnouncedFile&& other) noexcept;
  ~AnnouncedFile();

 private:
  struct Slot;
  friend void remove_temporary_files() noexcept;
  friend const char* mapped_file_at(const void* address) noexcept;
  static Slot* slots() noexcept;
  static AnnouncedFile announce(const std::string& name, const void* begin, std::size_t size);
  Slot* slot_ = nullptr;
};

/// Both may be called by a handler.
void remove_temporary_files() noexcept;
const char* mapped_file_at(const void* address) noexcept;  ///< its name; null if no file is mapped there

}  // namespace unfold
