#include "unfold/data/text/block_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <system_error>
#include <utility>

#include "distributed/consistency.h"
#include "unfold/base/error.h"
#include "unfold/base/formats/file.h"

namespace unfold {
namespace {

/// An open file that is closed at the end of its scope; only a few of many files are therefore open at a time.
class OpenFile {
 public:
  explicit OpenFile(const std::string& path) : descriptor_(open_for_reading(path)) {}
  OpenFile(const OpenFile&) = delete;
  OpenFile& operator=(const OpenFile&) = delete;
  ~OpenFile() { ::close(descriptor_); }
  int get() const { return descriptor_; }

 private:
  int descriptor_;
};

bool ends_word(char c) { return c == ' ' || c == '\t' || c == '\r' || c == '\n'; }
bool continues_character(char c) { return (static_cast<unsigned char>(c) & 0xC0U) == 0x80; }

}  // namespace

BlockFile::BlockFile(std::string path, SymbolKind kind) : path_(std::move(path)), kind_(kind) {
  const OpenFile file(path_);
  struct stat status {};
  if (::fstat(file.get(), &status) != 0 || !S_ISREG(status.st_mode))
    throw DataError(fmt::format("{} is not a regular file; several processes can share only regular files", path_));
  size_ = status.st_size;
  if (size_ == 0) throw DataError(fmt::format("{} is empty; there is nothing to read", path_));
}

std::string BlockFile::read_bytes(int descriptor, Range range) const {
  std::string bytes(static_cast<std::size_t>(range.size()), '\0');
  for (Index done = 0; done < range.size();) {
    const ssize_t got = ::pread(descriptor, bytes.data() + done, static_cast<std::size_t>(range.size() - done),
                                static_cast<off_t>(range.begin + done));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) throw DataError(fmt::format("{}: cannot be read: {}", path_, std::generic_category().message(errno)));
    if (got == 0)
      throw RuntimeFailure(
          fmt::format("{} was truncated while it was read; do not modify it while the command runs", path_));
    done += got;
  }
  return bytes;
}

/// Returns the beginning of the first token that begins at this byte or later.
Index BlockFile::token_begin(int descriptor, Index at) const {
  if (at == 0 || at >= size_ || kind_ == SymbolKind::bytes) return std::min(at, size_);
  if (kind_ == SymbolKind::chars) {
    constexpr Index kMostContinued = 3;
    const std::string next = read_bytes(descriptor, {at, std::min(size_, at + kMostContinued + 1)});
    const auto found = std::ranges::find_if_not(next, continues_character);
    // If no beginning is found, the text is invalid, which is reported when it is read.
    return found == next.end() ? at : at + (found - next.begin());
  }
  constexpr Index kLooked = 256;
  for (Index from = at - 1; from < std::min(size_, at + kTextBlock); from += kLooked) {
    const std::string next = read_bytes(descriptor, {from, std::min(size_, from + kLooked)});
    const auto found = std::ranges::find_if(next, ends_word);
    if (found != next.end()) return std::max(at, from + (found - next.begin()));
  }
  if (size_ <= at + kTextBlock) return size_;
  throw DataError(
      fmt::format("{}: a word at byte {} is longer than {} bytes, which is not supported with several processes or "
                  "--memory-limit; leave them out, or use --symbols bytes or chars",
                  path_, at, kTextBlock));
}

TextBlock BlockFile::read(Index block) const {
  const OpenFile file(path_);
  const Range tokens = {token_begin(file.get(), block * kTextBlock), token_begin(file.get(), (block + 1) * kTextBlock)};
  return {tokens.begin, read_bytes(file.get(), tokens)};
}

bool BlockFile::ends_within_line() const {
  constexpr Index kLooked = 4096;
  const OpenFile file(path_);
  for (Index end = size_; end > 0; end -= std::min(end, kLooked)) {
    const std::string last = read_bytes(file.get(), {std::max<Index>(0, end - kLooked), end});
    for (std::size_t i = last.size(); i > 0; --i) {
      if (last[i - 1] == '\n') return false;
      if (!ends_word(last[i - 1])) return true;
    }
  }
  return false;
}

Index BlockFile::line_of(Index byte) const {
  const OpenFile file(path_);
  Index line = 1;
  for (Index at = 0; at < byte; at += kTextBlock) {
    const std::string before = read_bytes(file.get(), {at, std::min(byte, at + kTextBlock)});
    line += std::ranges::count(before, '\n');
  }
  return line;
}

std::uint64_t digest_of(std::string_view bytes) { return short_fingerprint(std::as_bytes(std::span(bytes))); }

}  // namespace unfold
