#include "unfold/base/file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <cstdlib>
#include <filesystem>
#include <system_error>
#include <utility>

#include "unfold/base/decompress.h"
#include "unfold/base/error.h"

namespace unfold {
namespace {

constexpr std::size_t kFileBlock = std::size_t{1} << 20;

std::string reason(int error) { return std::generic_category().message(error); }

/// A descriptor that is closed at the end of its scope.
class Descriptor {
 public:
  explicit Descriptor(int value) : value_(value) {}
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  ~Descriptor() {
    if (value_ > STDERR_FILENO) ::close(value_);
  }
  int get() const { return value_; }

 private:
  int value_;
};

[[noreturn]] void fail_reading(const std::string& name, int error) {
  if (error == ENOENT || error == ENOTDIR) throw DataError(fmt::format("{}: no such file; check the name", name));
  if (error == EACCES || error == EPERM) {
    throw DataError(fmt::format("{}: no permission to read it; change its permissions", name));
  }
  if (error == EISDIR) throw DataError(fmt::format("{} is a directory; name the files in it", name));
  throw DataError(fmt::format("{}: cannot be read: {}", name, reason(error)));
}

int open_for_reading(const std::string& path) {
  const int descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (descriptor < 0) fail_reading(path, errno);
  return descriptor;
}

/// Throws for directories.
struct stat status_of(int descriptor, const std::string& name) {
  struct stat status {};
  if (::fstat(descriptor, &status) != 0) fail_reading(name, errno);
  if (S_ISDIR(status.st_mode)) fail_reading(name, EISDIR);
  return status;
}

std::string read_to_end(int descriptor, const std::string& name) {
  std::string out;
  std::size_t size = 0;
  for (;;) {
    out.resize(std::max(size + kFileBlock, std::min(2 * size, size + 64 * kFileBlock)));
    const ssize_t got = ::read(descriptor, out.data() + size, out.size() - size);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) fail_reading(name, errno);
    if (got == 0) break;
    size += static_cast<std::size_t>(got);
  }
  out.resize(size);
  return out;
}

}  // namespace

MappedFile::MappedFile(const std::string& path) {
  const Descriptor file(open_for_reading(path));
  const struct stat status = status_of(file.get(), path);
  if (!S_ISREG(status.st_mode)) throw DataError(fmt::format("{} is not a regular file", path));
  MappedFile mapped(file.get(), static_cast<std::size_t>(status.st_size));
  swap(mapped);
}

MappedFile::MappedFile(int descriptor, std::size_t size) {
  if (size == 0) return;
  void* data = ::mmap(nullptr, size, PROT_READ, MAP_SHARED, descriptor, 0);
  if (data == MAP_FAILED) throw DataError(fmt::format("a file of {} bytes cannot be mapped: {}", size, reason(errno)));
  data_ = static_cast<const char*>(data);
  size_ = size;
}

MappedFile::~MappedFile() {
  if (data_ != nullptr) ::munmap(const_cast<char*>(data_), size_);
}

struct Input::Content {
  std::string name;
  MappedFile mapping;
  std::string memory;
  std::string_view bytes;
};

Input::Input(std::shared_ptr<const Content> content) : content_(std::move(content)) {}

Input Input::open(const std::string& path, EmptyInput empty) {
  auto content = std::make_shared<Content>();
  const bool standard = path == "-";
  content->name = standard ? "standard input" : path;
  const Descriptor file(standard ? STDIN_FILENO : open_for_reading(path));
  const struct stat status = status_of(file.get(), content->name);
  // Some regular files (under /proc) claim no size; and standard input may stand in the middle of a file.
  if (S_ISREG(status.st_mode) && status.st_size > 0 && !standard) {
    content->mapping = MappedFile(file.get(), static_cast<std::size_t>(status.st_size));
    content->bytes = content->mapping.bytes();
  } else {
    content->memory = read_to_end(file.get(), content->name);
    content->bytes = content->memory;
  }
  const Compression compression = standard ? Compression::none : compression_of(path);
  if (compression != Compression::none && !content->bytes.empty()) {
    std::string unpacked = decompress(compression, content->bytes, content->name);
    content->memory = std::move(unpacked);
    content->mapping = MappedFile();
    content->bytes = content->memory;
  }
  if (content->bytes.empty() && empty == EmptyInput::error) {
    throw DataError(fmt::format("{} is empty; there is nothing to read", content->name));
  }
  return Input(std::move(content));
}

Input Input::from_bytes(std::string name, std::string bytes) {
  auto content = std::make_shared<Content>();
  content->name = std::move(name);
  content->memory = std::move(bytes);
  content->bytes = content->memory;
  return Input(std::move(content));
}

const std::string& Input::name() const { return content_->name; }
std::string_view Input::bytes() const { return content_->bytes; }

std::vector<Input> open_inputs(const std::vector<std::string>& paths) {
  if (std::count(paths.begin(), paths.end(), "-") > 1) {
    throw UsageError("- (standard input) can be read only once; name it once");
  }
  std::vector<Input> inputs;
  inputs.reserve(paths.size());
  for (const std::string& path : paths) inputs.push_back(Input::open(path));
  return inputs;
}

std::string read_file(const std::string& path) {
  const Descriptor file(open_for_reading(path));
  status_of(file.get(), path);
  return read_to_end(file.get(), path);
}

namespace {

constexpr const char* kTemporaryEnding = ".unfold-tmp";

std::string_view remedy(int error) {
  switch (error) {
    case ENOSPC:
    case EDQUOT: return "free some space or write to another disk";
    case EACCES:
    case EPERM:
    case EROFS: return "choose a file and folder that you may write to";
    case ENOENT:
    case ENOTDIR: return "create the folder first";
    case EISDIR: return "name a file, not a folder";
    case EWOULDBLOCK: return "another process is writing it; wait for it or choose another name";
    case EFBIG: return "raise the limit of the file size (ulimit -f) or write to another file system";
    default: return "check the path and the disk";
  }
}

/// Opens and locks the temporary file. One that a killed process left behind is taken over; one that a living process
/// holds is not. Returns -1 with errno set on failure.
int open_temporary(const std::string& path) {
  for (;;) {
    const int descriptor = ::open(path.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0666);
    if (descriptor < 0) return -1;
    if (::flock(descriptor, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK) {
      ::close(descriptor);
      errno = EWOULDBLOCK;
      return -1;
    }
    // The name may have been renamed away between opening and locking; then the lock is on the wrong file.
    struct stat held {
    }, named{};
    const bool same = ::fstat(descriptor, &held) == 0 && ::stat(path.c_str(), &named) == 0 &&
                      held.st_ino == named.st_ino && held.st_dev == named.st_dev;
    if (same && ::ftruncate(descriptor, 0) == 0) return descriptor;
    const int error = errno;
    ::close(descriptor);
    if (same) {
      errno = error;
      return -1;
    }
  }
}

std::string resolve_links(const std::string& path) {
  struct stat status {};
  if (::lstat(path.c_str(), &status) != 0 || !S_ISLNK(status.st_mode)) return path;
  const std::unique_ptr<char, void (*)(void*)> resolved(::realpath(path.c_str(), nullptr), std::free);
  return resolved ? resolved.get() : path;
}

}  // namespace

void AtomicFile::fail(int error) {
  throw RuntimeFailure(fmt::format("cannot write {}: {}; {}", path_, reason(error), remedy(error)));
}

AtomicFile::AtomicFile(std::string path) : path_(std::move(path)), target_(resolve_links(path_)) {
  struct stat status {};
  const bool exists = ::stat(target_.c_str(), &status) == 0;
  if (exists && S_ISDIR(status.st_mode)) fail(EISDIR);
  if (exists && !S_ISREG(status.st_mode)) {
    descriptor_ = ::open(target_.c_str(), O_WRONLY | O_CLOEXEC);
    if (descriptor_ < 0) fail(errno);
    return;
  }
  // Renaming would replace a write-protected file without a word.
  if (exists && ::access(target_.c_str(), W_OK) != 0) fail(errno);
  const std::string temporary = target_ + kTemporaryEnding;
  descriptor_ = open_temporary(temporary);
  if (descriptor_ < 0) fail(errno);
  temporary_ = temporary;
  if (exists) ::fchmod(descriptor_, status.st_mode & 07777);
}

AtomicFile::~AtomicFile() {
  if (descriptor_ < 0) return;
  if (!temporary_.empty()) ::unlink(temporary_.c_str());
  ::close(descriptor_);
}

void AtomicFile::write(std::string_view bytes) {
  if (pending_.size() + bytes.size() < kFileBlock) {
    pending_.append(bytes);
    return;
  }
  put(pending_);
  pending_.clear();
  put(bytes);
}

void AtomicFile::put(std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t done = ::write(descriptor_, bytes.data(), std::min(bytes.size(), 64 * kFileBlock));
    if (done < 0 && errno != EINTR) fail(errno);
    if (done > 0) bytes.remove_prefix(static_cast<std::size_t>(done));
  }
}

void AtomicFile::commit() {
  put(pending_);
  pending_.clear();
  if (temporary_.empty()) {
    const int status = ::close(std::exchange(descriptor_, -1));
    if (status != 0) fail(errno);
    return;
  }
  if (::fsync(descriptor_) != 0) fail(errno);
  if (::rename(temporary_.c_str(), target_.c_str()) != 0) fail(errno);
  temporary_.clear();
  if (::close(std::exchange(descriptor_, -1)) != 0) fail(errno);
  const std::string folder = std::filesystem::path(target_).parent_path().string();
  const Descriptor directory(::open(folder.empty() ? "." : folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  // A folder that cannot be opened or synchronised (some network file systems) still holds the renamed file.
  if (directory.get() >= 0 && ::fsync(directory.get()) != 0 && errno == EIO) fail(EIO);
}

void write_file_atomically(const std::string& path, std::string_view bytes) {
  AtomicFile file(path);
  file.write(bytes);
  file.commit();
}

}  // namespace unfold
