#include "unfold/base/formats/file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <climits>
#include <cstdlib>
#include <filesystem>
#include <map>
#include <mutex>
#include <new>
#include <optional>
#include <system_error>
#include <utility>

#include "base/formats/decompress.h"
#include "base/links.h"
#include "base/printable.h"
#include "base/threads/available_memory.h"
#include "unfold/base/error.h"
#include "unfold/base/raw_memory.h"

namespace unfold {
namespace {

constexpr std::size_t kFileBlock = std::size_t{1} << 20;
constexpr std::size_t kMappedFrom = std::size_t{16}
                                    << 20;  ///< smaller files are read: copying them costs less than mapping

constexpr std::size_t kCheckedFrom = std::size_t{256} << 20;  ///< size from which an input of unknown size is checked

std::string reason(int error) { return std::generic_category().message(error); }

/// A file descriptor that is closed at the end of its scope.
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
    throw DataError(fmt::format("{}: permission denied; change the permissions of the file", name));
  }
  if (error == EISDIR) throw DataError(fmt::format("{} is a directory; specify the files in it", name));
  throw DataError(fmt::format("{}: cannot be read: {}", name, reason(error)));
}

/// Throws DataError if the descriptor is a directory.
struct stat status_of(int descriptor, const std::string& name) {
  struct stat status {};
  if (::fstat(descriptor, &status) != 0) fail_reading(name, errno);
  if (S_ISDIR(status.st_mode)) fail_reading(name, EISDIR);
  return status;
}

/// Throws the error for an input of unknown size that is too long for the available memory.
[[noreturn]] void fail_too_long(const std::string& name, std::size_t size) {
  throw RuntimeFailure(fmt::format(
      "{}: the first {} MiB fill the available memory, but the input is longer; use a shorter input (head -c 1G)", name,
      size >> 20));
}

/// `likely_size`: the size that the file reports; it may still grow or shrink.
std::string read_to_end(int descriptor, const std::string& name, std::size_t likely_size = 0) {
  std::string out;
  std::size_t size = 0, room = likely_size > 0 ? likely_size + 1 : kFileBlock;
  out.reserve(likely_size > 0 ? room : 0);
  use_large_pages(out);
  for (;;) {
    // A growing string doubles its capacity and keeps the old memory until the new memory is filled.
    const bool grows = likely_size == 0 && size >= kCheckedFrom && out.capacity() < size + room;
    if (grows && available_memory() < 2 * out.capacity()) fail_too_long(name, size);
    try {
      out.resize(size + room);
    } catch (const std::bad_alloc&) {
      if (likely_size > 0) throw;
      fail_too_long(name, size);
    }
    const std::size_t got = read_some(descriptor, name, out.data() + size, room);
    if (got == 0) break;
    size += got;
    room = got < room ? room - got : std::clamp(size, kFileBlock, 64 * kFileBlock);
  }
  out.resize(size);
  return out;
}

}  // namespace

int open_for_reading(const std::string& path) {
  const BlockingSection waiting;  // opening a pipe blocks until its other end is open
  int descriptor = -1;
  do descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  while (descriptor < 0 && errno == EINTR);
  if (descriptor < 0) fail_reading(path, errno);
  return descriptor;
}

std::size_t read_some(int descriptor, const std::string& name, char* out, std::size_t size) {
  const BlockingSection waiting;
  for (;;) {
    const ssize_t got = ::read(descriptor, out, size);
    if (got >= 0) return static_cast<std::size_t>(got);
    if (errno != EINTR) fail_reading(name, errno);
  }
}

MappedFile::MappedFile(const std::string& path) {
  const Descriptor file(open_for_reading(path));
  const struct stat status = status_of(file.get(), path);
  if (!S_ISREG(status.st_mode))
    throw DataError(fmt::format("{} is not a regular file; copy its contents to a file first", path));
  MappedFile mapped(file.get(), static_cast<std::size_t>(status.st_size), path);
  swap(mapped);
}

MappedFile::MappedFile(int descriptor, std::size_t size, std::string name) {
  if (size == 0) return;
  void* data = ::mmap(nullptr, size, PROT_READ, MAP_SHARED, descriptor, 0);
  if (data == MAP_FAILED) throw DataError(fmt::format("{}: {} bytes cannot be mapped: {}", name, size, reason(errno)));
  data_ = static_cast<const char*>(data);
  size_ = size;
  name_ = std::move(name);
  descriptor_ = ::fcntl(descriptor, F_DUPFD_CLOEXEC, 0);
  announced_ = RegisteredFile::mapped(name_, data_, size_);
}

MappedFile::~MappedFile() {
  if (data_ != nullptr) ::munmap(const_cast<char*>(data_), size_);
  if (descriptor_ >= 0) ::close(descriptor_);
}

void MappedFile::require_whole() const {
  struct stat status {};
  if (data_ == nullptr || ::fstat(descriptor_, &status) != 0 || static_cast<std::size_t>(status.st_size) >= size_)
    return;
  throw RuntimeFailure(
      fmt::format("{} was truncated while it was read; do not modify it while the command runs", name_));
}

void MappedFile::release(std::string_view stretch) const {
  const auto page = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
  const auto begin = static_cast<std::size_t>(stretch.data() - data_) / page * page;
  if (data_ == nullptr || stretch.empty()) return;
  const std::size_t end = static_cast<std::size_t>(stretch.data() - data_) + stretch.size();
  ::madvise(const_cast<char*>(data_ + begin), end - begin, MADV_DONTNEED);
}

FileBytes::FileBytes(const std::string& path) {
  const Descriptor file(open_for_reading(path));
  const struct stat status = status_of(file.get(), path);
  if (!S_ISREG(status.st_mode))
    throw DataError(fmt::format("{} is not a regular file; copy its contents to a file first", path));
  *this = FileBytes(file.get(), path, static_cast<std::size_t>(status.st_size));
}

FileBytes FileBytes::in_memory(std::string bytes) {
  FileBytes result;
  result.memory_ = std::move(bytes);
  return result;
}

FileBytes::FileBytes(int descriptor, const std::string& name, std::size_t size) {
  if (size >= kMappedFrom)
    mapping_ = MappedFile(descriptor, size, name);
  else
    memory_ = read_to_end(descriptor, name, size);
}

namespace {

std::atomic<Index> unpacking_limit{0};

std::size_t unpacking_limit_for(std::size_t packed) {
  const Index limit = unpacking_limit;
  return limit > 0 ? static_cast<std::size_t>(limit) : (std::size_t{256} << 20) + 100 * packed;
}

}  // namespace

void set_decompression_limit(Index bytes) { unpacking_limit = bytes; }

struct Input::Content {
  std::string name;
  FileBytes file;
};

Input::Input(std::shared_ptr<const Content> content) : content_(std::move(content)) {}

namespace {

/// The inputs of Input::keep.
struct KeptInputs {
  std::optional<Input> find(const std::string& path) {
    const std::lock_guard lock(mutex);
    const auto place = by_path.find(path);
    return place == by_path.end() ? std::nullopt : std::optional(place->second);
  }
  std::mutex mutex;
  std::map<std::string, Input> by_path;
};
KeptInputs kept_inputs;

}  // namespace

void Input::keep(const std::string& path) {
  std::error_code ignored;
  const bool pipe =
      path == "-" || (std::filesystem::exists(path, ignored) && !std::filesystem::is_directory(path, ignored) &&
                      !std::filesystem::is_regular_file(path, ignored));
  if (!pipe) return;
  const Input input = open(path);
  const std::lock_guard lock(kept_inputs.mutex);
  kept_inputs.by_path.insert_or_assign(path, input);
}

Input Input::open(const std::string& path, EmptyInput empty) {
  if (const std::optional<Input> kept = kept_inputs.find(path)) return *kept;
  auto content = std::make_shared<Content>();
  const bool standard = path == "-";
  content->name = standard ? "standard input" : path;
  const Descriptor file(standard ? STDIN_FILENO : open_for_reading(path));
  const struct stat status = status_of(file.get(), content->name);
  // Some regular files (in /proc) report size 0, and standard input may be in the middle of a file.
  const bool sized = S_ISREG(status.st_mode) && !standard;
  content->file = sized ? FileBytes(file.get(), content->name, static_cast<std::size_t>(status.st_size))
                        : FileBytes::in_memory(read_to_end(file.get(), content->name));
  const Compression compression = standard ? Compression::none : compression_of(path);
  if (compression != Compression::none && !content->file.bytes().empty()) {
    const std::string_view packed = content->file.bytes();
    std::string unpacked = decompress(compression, packed, content->name, unpacking_limit_for(packed.size()));
    content->file.mapping().require_whole();
    content->file = FileBytes::in_memory(std::move(unpacked));
  }
  if (content->file.bytes().empty() && empty == EmptyInput::error) {
    throw DataError(fmt::format("{} is empty; there is nothing to read", content->name));
  }
  return Input(std::move(content));
}

Input Input::from_bytes(std::string name, std::string bytes) {
  auto content = std::make_shared<Content>();
  content->name = std::move(name);
  content->file = FileBytes::in_memory(std::move(bytes));
  return Input(std::move(content));
}

const std::string& Input::name() const { return content_->name; }
std::string_view Input::bytes() const { return content_->file.bytes(); }
void Input::require_whole() const { content_->file.mapping().require_whole(); }

std::vector<Input> open_inputs(const std::vector<std::string>& paths) {
  if (std::count(paths.begin(), paths.end(), "-") > 1) {
    throw UsageError("standard input (-) can be read only once; name it only once");
  }
  std::vector<Input> inputs;
  inputs.reserve(paths.size());
  for (const std::string& path : paths) inputs.push_back(Input::open(path));
  return inputs;
}

std::string read_file(const std::string& path) {
  const Descriptor file(open_for_reading(path));
  const struct stat status = status_of(file.get(), path);
  return read_to_end(file.get(), path, S_ISREG(status.st_mode) ? static_cast<std::size_t>(status.st_size) : 0);
}

namespace {

constexpr std::string_view kTemporaryEnding = ".unfold-tmp-";
constexpr std::size_t kRandomDigits = 16;
/// longer names are truncated, so that the name of the temporary file is not too long
constexpr std::size_t kMostOfName = 200;

std::string_view remedy(int error) {
  switch (error) {
    case ENOSPC:
    case EDQUOT: return "free some space or write to another disk";
    case EACCES:
    case EPERM:
    case EROFS: return "choose a file and directory that you have permission to write";
    case ENOENT:
    case ENOTDIR: return "create the directory first";
    case EISDIR: return "specify a file, not a directory";
    case EWOULDBLOCK: return "another process is writing this file; wait for it or choose another name";
    case EFBIG: return "raise the limit of the file size (ulimit -f) or write to another file system";
    default: return "check the path and the disk";
  }
}

/// Returns the common prefix of the names of all temporary files of a target, without the directory.
std::string temporary_stem(const std::filesystem::path& target) {
  return target.filename().string().substr(0, kMostOfName).append(kTemporaryEnding);
}

std::string random_digits() {
  std::uint64_t number = 0;
  if (::getentropy(&number, sizeof number) != 0) throw RuntimeFailure("the system cannot provide random numbers");
  return fmt::format("{:0{}x}", number, kRandomDigits);
}

bool is_temporary(const std::string& name, const std::string& stem) {
  return name.size() == stem.size() + kRandomDigits && name.starts_with(stem) &&
         name.find_first_not_of("0123456789abcdef", stem.size()) == std::string::npos;
}

enum class Leftover { removed, alive, foreign };

/// Removes a temporary file unless a living process holds its lock (the kernel releases the lock when the process
/// ends). Files of other users are not removed.
Leftover remove_leftover(const std::string& path) {
  const Descriptor file(::open(path.c_str(), O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC));
  struct stat status {};
  if (file.get() < 0 || ::fstat(file.get(), &status) != 0) return Leftover::foreign;
  if (!S_ISREG(status.st_mode) || status.st_uid != ::geteuid()) return Leftover::foreign;
  if (::flock(file.get(), LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK) return Leftover::alive;
  ::unlink(path.c_str());
  return Leftover::removed;
}

/// Removes leftover temporary files of a target. Returns false if another living process is writing the same target.
bool remove_leftovers(const std::filesystem::path& target) {
  const std::string stem = temporary_stem(target);
  const std::filesystem::path folder = target.has_parent_path() ? target.parent_path() : ".";
  std::error_code error;
  for (std::filesystem::directory_iterator entry(folder, error), end; !error && entry != end; entry.increment(error)) {
    if (!is_temporary(entry->path().filename().string(), stem)) continue;
    if (remove_leftover(entry->path().string()) == Leftover::alive) return false;
  }
  return true;
}

/// Creates and locks a new file. Returns its descriptor, or -1 with errno set.
int create_locked(const std::string& path) {
  const int descriptor = ::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0666);
  if (descriptor < 0) return -1;
  // Between creation and locking, another process may take the file for a leftover and remove it.
  struct stat status {};
  const bool locked = ::flock(descriptor, LOCK_EX | LOCK_NB) == 0 || errno != EWOULDBLOCK;
  if (locked && ::fstat(descriptor, &status) == 0 && status.st_nlink > 0) return descriptor;
  ::close(descriptor);
  errno = EEXIST;
  return -1;
}

/// Opens a device or a pipe for writing; this may wait until the other end is opened.
int open_directly(const std::string& path) {
  const BlockingSection waiting;
  int descriptor = -1;
  do descriptor = ::open(path.c_str(), O_WRONLY | O_CLOEXEC);
  while (descriptor < 0 && errno == EINTR);
  return descriptor;
}

}  // namespace

void AtomicFile::fail(int error) {
  throw RuntimeFailure(fmt::format("cannot write {}: {}; {}", path_, reason(error), remedy(error)));
}

AtomicFile::AtomicFile(std::string path) : path_(std::move(path)) {
  struct stat status {};
  // Check the path as given, because /dev/stdout links to a file that does not exist if it is a pipe.
  const bool exists = ::stat(path_.c_str(), &status) == 0;
  if (exists && !S_ISREG(status.st_mode)) {
    if (S_ISDIR(status.st_mode)) fail(EISDIR);
    descriptor_ = open_directly(path_);
    if (descriptor_ < 0) fail(errno);
    return;
  }
  int error = 0;
  target_ = resolve_links(path_, error);
  if (error != 0) fail(error);
  // Renaming would silently replace a write-protected file.
  if (exists && ::access(target_.c_str(), W_OK) != 0) fail(errno);
  if (target_.empty() || target_.ends_with('/')) fail(EISDIR);
  open_temporary();
  if (exists) ::fchmod(descriptor_, status.st_mode & 07777);
}

void AtomicFile::open_temporary() {
  if (!remove_leftovers(target_)) fail(EWOULDBLOCK);
  const std::filesystem::path folder = std::filesystem::path(target_).parent_path();
  while (descriptor_ < 0) {
    temporary_ = (folder / (temporary_stem(target_) + random_digits())).string();
    announced_ = RegisteredFile::temporary(temporary_);
    descriptor_ = create_locked(temporary_);
    if (descriptor_ < 0 && errno != EEXIST) fail(errno);
  }
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
  std::optional<BlockingSection> waiting;
  if (temporary_.empty()) waiting.emplace();
  std::string printable;
  if (temporary_.empty() && ::isatty(descriptor_) == 1) {  // each piece consists of whole blocks or is the complete
                                                           // output
    TerminalText text;
    printable = text.next(bytes);
    bytes = printable += text.finish();
  }
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
  announced_ = RegisteredFile();
  if (::close(std::exchange(descriptor_, -1)) != 0) fail(errno);
  const std::string folder = std::filesystem::path(target_).parent_path().string();
  const Descriptor directory(::open(folder.empty() ? "." : folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  // If the directory cannot be opened or synchronized (some network file systems), the renamed file is still complete.
  if (directory.get() >= 0 && ::fsync(directory.get()) != 0 && errno == EIO) fail(EIO);
}

void write_file_atomically(const std::string& path, std::string_view bytes) {
  AtomicFile file(path);
  file.write(bytes);
  file.commit();
}

}  // namespace unfold
