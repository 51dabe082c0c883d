#include "unfold/data/symbol_store.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <system_error>
#include <utility>

#include "unfold/base/error.h"

namespace unfold {
namespace {

constexpr std::size_t kStoreBlock = std::size_t{4} << 20;

std::string temporary_folder() {
  const char* folder = std::getenv("TMPDIR");
  return folder != nullptr && *folder != '\0' ? folder : "/tmp";
}

/// A file without a name, which vanishes with its descriptor; -1 with errno set on failure.
int open_unnamed() {
  std::string name = temporary_folder() + "/unfold-XXXXXX";
  const int descriptor = ::mkostemp(name.data(), O_CLOEXEC);
  if (descriptor >= 0) ::unlink(name.c_str());
  return descriptor;
}

template <class T>
void widen(const char* from, std::span<Symbol> out) {
  for (Symbol& symbol : out) {
    T value;
    std::memcpy(&value, from, sizeof value);
    symbol = static_cast<Symbol>(value);
    from += sizeof value;
  }
}

}  // namespace

SymbolStore::SymbolStore(Index alphabet_size, Index memory_limit)
    : width_(alphabet_size <= 256     ? 1
             : alphabet_size <= 65536 ? 2
                                      : 4),
      memory_limit_(memory_limit) {}

SymbolStore::~SymbolStore() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

void SymbolStore::fail(int error) {
  throw RuntimeFailure(fmt::format("cannot keep the tokenised corpus in {}: {}; set TMPDIR to a folder with more space",
                                   temporary_folder(), std::generic_category().message(error)));
}

void SymbolStore::append(Symbol symbol) {
  const char* bytes = reinterpret_cast<const char*>(&symbol);  // little-endian: the low bytes come first
  buffer_.insert(buffer_.end(), bytes, bytes + width_);
  ++size_;
  const std::size_t limit = descriptor_ < 0 ? static_cast<std::size_t>(memory_limit_) : kStoreBlock;
  if (buffer_.size() > limit) spill();
}

void SymbolStore::spill() {
  if (descriptor_ < 0) descriptor_ = open_unnamed();
  if (descriptor_ < 0) fail(errno);
  for (std::size_t done = 0; done < buffer_.size();) {
    const ssize_t count =
        ::write(descriptor_, buffer_.data() + done, std::min(buffer_.size() - done, 16 * kStoreBlock));
    if (count < 0 && errno != EINTR) fail(errno);
    if (count > 0) done += static_cast<std::size_t>(count);
  }
  written_ += buffer_.size();
  buffer_ = {};
}

void SymbolStore::finish() {
  buffer_.shrink_to_fit();
  if (descriptor_ < 0) return;
  spill();
  mapping_ = MappedFile(descriptor_, written_, temporary_folder());
  ::close(std::exchange(descriptor_, -1));
}

void SymbolStore::read(Index begin, std::span<Symbol> out) const {
  const char* from = (written_ > 0 ? mapping_.bytes().data() : buffer_.data()) + begin * width_;
  if (width_ == 1) {
    widen<std::uint8_t>(from, out);
  } else if (width_ == 2) {
    widen<std::uint16_t>(from, out);
  } else {
    widen<std::uint32_t>(from, out);
  }
}

}  // namespace unfold
