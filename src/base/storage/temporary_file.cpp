#include "base/storage/temporary_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <system_error>
#include <utility>

#include "unfold/base/error.h"

namespace unfold {
namespace {

/// Linux transfers at most 2 GiB per call.
constexpr std::size_t kMostAtOnce = std::size_t{64} << 20;

}  // namespace

std::string UnnamedFile::folder() {
  const char* folder = std::getenv("TMPDIR");
  return folder != nullptr && *folder != '\0' ? folder : "/tmp";
}

UnnamedFile::UnnamedFile(std::string what) : what_(std::move(what)) {
  std::string name = folder() + "/unfold-XXXXXX";
  descriptor_ = ::mkostemp(name.data(), O_CLOEXEC);
  if (descriptor_ < 0) fail(errno);
  ::unlink(name.c_str());
}

UnnamedFile::~UnnamedFile() { ::close(descriptor_); }

void UnnamedFile::fail(int error) const {
  throw RuntimeFailure(fmt::format("cannot store {} in {}: {}; set TMPDIR to a directory with more space", what_,
                                   folder(), std::generic_category().message(error)));
}

void UnnamedFile::append(std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const ssize_t count =
        ::pwrite(descriptor_, bytes.data(), std::min(bytes.size(), kMostAtOnce), static_cast<off_t>(size_));
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) fail(errno);
    bytes = bytes.subspan(static_cast<std::size_t>(count));
    size_ += static_cast<std::size_t>(count);
  }
}

void UnnamedFile::reserve(std::size_t size) {
  if (size <= size_) return;
  int error = EINTR;
  while (error == EINTR) {
#if defined(_POSIX_ADVISORY_INFO) && _POSIX_ADVISORY_INFO > 0
    error = ::posix_fallocate(descriptor_, static_cast<off_t>(size_), static_cast<off_t>(size - size_));
#else
    error = ::ftruncate(descriptor_, static_cast<off_t>(size)) == 0 ? 0 : errno;
#endif
  }
  if (error != 0) fail(error);
  size_ = size;
}

void UnnamedFile::read(std::size_t offset, std::span<std::byte> bytes) const {
  while (!bytes.empty()) {
    const ssize_t count =
        ::pread(descriptor_, bytes.data(), std::min(bytes.size(), kMostAtOnce), static_cast<off_t>(offset));
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) fail(count < 0 ? errno : EIO);
    bytes = bytes.subspan(static_cast<std::size_t>(count));
    offset += static_cast<std::size_t>(count);
  }
}

}  // namespace unfold
