#include "unfold/base/signals.h"

#include <unistd.h>

#include <climits>
#include <cstring>
#include <utility>

#include "base/printable.h"
#include "unfold/base/error.h"

namespace unfold {
namespace {

constexpr std::size_t kSlots = 128;
std::atomic<int> waiting_sections{0};
static_assert(std::atomic<bool>::is_always_lock_free && std::atomic<int>::is_always_lock_free,
              "a signal handler may access only lock-free atomics");

}  // namespace

std::atomic<bool>& stop_requested() {
  static constinit std::atomic<bool> requested{false};
  return requested;
}

BlockingSection::BlockingSection() {
  ++waiting_sections;  // precedes the check below, so that it is set for any signal that arrives after the check
  if (!stop_requested()) return;
  --waiting_sections;
  throw InterruptedError("interrupted");
}

BlockingSection::~BlockingSection() { --waiting_sections; }
bool BlockingSection::any() noexcept { return waiting_sections > 0; }

/// Names are stored in place and never freed, because a handler may run at any time in any thread.
struct RegisteredFile::Slot {
  enum State : int { kFree, kChanging, kReady };
  std::atomic<int> state{kFree};
  const char* begin = nullptr;  ///< address of the mapping; null for a temporary file
  std::size_t size = 0;
  char name[PATH_MAX] = {};
};

RegisteredFile::Slot* RegisteredFile::slots() noexcept {
  static constinit Slot all[kSlots];
  return all;
}

RegisteredFile RegisteredFile::announce(const std::string& name, const void* begin, std::size_t size) {
  RegisteredFile result;
  if (name.size() >= PATH_MAX) return result;
  for (Slot* slot = slots(); slot != slots() + kSlots; ++slot) {
    int expected = Slot::kFree;
    if (!slot->state.compare_exchange_strong(expected, Slot::kChanging)) continue;
    slot->begin = static_cast<const char*>(begin);
    slot->size = size;
    std::memcpy(slot->name, name.c_str(), name.size() + 1);
    slot->state = Slot::kReady;
    result.slot_ = slot;
    break;
  }
  return result;
}

RegisteredFile RegisteredFile::temporary(const std::string& path) { return announce(path, nullptr, 0); }

RegisteredFile RegisteredFile::mapped(const std::string& name, const void* begin, std::size_t size) {
  return announce(escape_controls(name), begin, size);  // the name is only printed
}

RegisteredFile::RegisteredFile(RegisteredFile&& other) noexcept : slot_(std::exchange(other.slot_, nullptr)) {}

RegisteredFile& RegisteredFile::operator=(RegisteredFile&& other) noexcept {
  std::swap(slot_, other.slot_);
  return *this;
}

RegisteredFile::~RegisteredFile() {
  if (slot_ != nullptr) slot_->state = Slot::kFree;
}

void remove_temporary_files() noexcept {
  using Slot = RegisteredFile::Slot;
  for (Slot* slot = RegisteredFile::slots(); slot != RegisteredFile::slots() + kSlots; ++slot)
    if (slot->state == Slot::kReady && slot->begin == nullptr) ::unlink(slot->name);
}

const char* mapped_file_at(const void* address) noexcept {
  using Slot = RegisteredFile::Slot;
  const char* at = static_cast<const char*>(address);
  for (Slot* slot = RegisteredFile::slots(); slot != RegisteredFile::slots() + kSlots; ++slot)
    if (slot->state == Slot::kReady && slot->begin != nullptr && at >= slot->begin && at < slot->begin + slot->size)
      return slot->name;
  return nullptr;
}

}  // namespace unfold
