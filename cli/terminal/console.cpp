#include "cli/terminal/console.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <utility>

#include "base/printable.h"
#include "cli/terminal/result_position.h"
#include "unfold/base/error.h"
#include "unfold/base/signals.h"

namespace unfold {
namespace {

using std::chrono::milliseconds;
constexpr milliseconds kTerminalPause{100}, kPlainPause{10000};

[[noreturn]] void fail_output() {
  if (errno == EPIPE) throw ClosedOutput();
  throw RuntimeFailure(
      fmt::format("cannot write to standard output: {}; free space or redirect the output", std::strerror(errno)));
}

/// Standard output, written in blocks.
class Output {
 public:
  void write(std::string_view text) {
    if (terminal_)
      write_styled(printable_.next(text));
    else
      append(text);
  }
  void write_styled(std::string_view text) {
    append(text);
    if (terminal_ && text.find('\n') != std::string_view::npos) drain();
  }
  void flush() {
    pending_ += printable_.finish();
    drain();
  }
  void leave_out(std::string bytes) { written_ = std::move(bytes); }

 private:
  void append(std::string_view text) {
    text.remove_prefix(written_before(text));
    pending_ += text;
    if (pending_.size() >= kBlock) drain();
  }
  /// Returns how many bytes of the text match the next bytes of `written_`.
  std::size_t written_before(std::string_view text) {
    const auto same = static_cast<std::size_t>(
        std::mismatch(text.begin(), text.end(), written_.begin(), written_.end()).first - text.begin());
    if (same == text.size())
      written_.erase(0, same);
    else
      written_.clear();
    return same;
  }
  void drain() {
    const std::string bytes = std::exchange(pending_, {});  // output whose writing failed is not written again
    const BlockingSection waiting;
    for (std::size_t done = 0; done < bytes.size();) {
      const ssize_t count = ::write(STDOUT_FILENO, bytes.data() + done, bytes.size() - done);
      if (count < 0 && errno != EINTR) fail_output();
      if (count > 0) done += static_cast<std::size_t>(count);
    }
  }

  static constexpr std::size_t kBlock = std::size_t{1} << 16;
  std::string pending_, written_;
  TerminalText printable_;
  bool terminal_ = isatty(STDOUT_FILENO) == 1;
};

Output& output() {
  static Output one;
  return one;
}

std::size_t terminal_width() {
  winsize size{};
  if (ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0) return size.ws_col;
  return 80;
}

bool set_in_environment(const char* name) {
  const char* value = std::getenv(name);
  return value != nullptr && *value != '\0';
}

/// Returns the first `count` characters of a text, each assumed to be one column wide.
std::string_view first_letters(std::string_view text, std::size_t count) {
  std::size_t end = 0;
  while (end < text.size() && (count > 0 || (text[end] & 0xC0) == 0x80)) {
    if ((text[end] & 0xC0) != 0x80) --count;
    ++end;
  }
  return text.substr(0, end);
}

std::string* captured_text = nullptr;  // text of the active CapturedResults, or null

}  // namespace

CapturedResults::CapturedResults() { captured_text = &text_; }
CapturedResults::~CapturedResults() { captured_text = nullptr; }

void print_result(std::string_view text) {
  if (captured_text != nullptr) {
    captured_text->append(text);
    return;
  }
  output().write(text);
}

void print_styled_result(std::string_view text) {
  if (captured_text != nullptr)
    captured_text->append(text);
  else
    output().write_styled(text);
}

void flush_results() { output().flush(); }

std::optional<ResultPosition> result_position() {
  struct stat info {};
  if (::fstat(STDOUT_FILENO, &info) != 0 || !S_ISREG(info.st_mode)) return std::nullopt;
  const int flags = ::fcntl(STDOUT_FILENO, F_GETFL);
  if ((flags & O_APPEND) == 0 && ::lseek(STDOUT_FILENO, 0, SEEK_CUR) != info.st_size) return std::nullopt;
  return ResultPosition{.device = static_cast<std::uint64_t>(info.st_dev),
                        .inode = static_cast<std::uint64_t>(info.st_ino),
                        .bytes = static_cast<Index>(info.st_size)};
}

void continue_results(const ResultPosition& position) {
  constexpr Index kMost = Index{64} << 20;
  const std::optional<ResultPosition> now = result_position();
  if (!now || now->device != position.device || now->inode != position.inode) return;
  if (now->bytes <= position.bytes || now->bytes - position.bytes > kMost) return;
  const int descriptor = ::open("/proc/self/fd/1", O_RDONLY | O_CLOEXEC);  // opens the file a second time, for reading
  if (descriptor < 0) return;
  std::string bytes(static_cast<std::size_t>(now->bytes - position.bytes), '\0');
  const ssize_t got = ::pread(descriptor, bytes.data(), bytes.size(), static_cast<off_t>(position.bytes));
  ::close(descriptor);
  bytes.resize(static_cast<std::size_t>(std::max<ssize_t>(got, 0)));
  output().leave_out(std::move(bytes));
}

Console::Console(bool quiet) : quiet_(quiet), next_(std::chrono::steady_clock::now()) {
  const char* term = std::getenv("TERM");
  terminal_ = isatty(STDERR_FILENO) == 1 && term != nullptr && std::string_view(term) != "dumb";
  colors_ = terminal_ && !set_in_environment("NO_COLOR");
  if (!terminal_) next_ += kPlainPause;
}

void Console::write(std::string_view text) {
  // A failure of standard error cannot be reported.
  std::fwrite(text.data(), 1, text.size(), stderr);
  std::fflush(stderr);
}

void Console::clear_line() {
  if (line_open_) write("\r\x1b[K");
  line_open_ = false;
}

Console::~Console() {
  const std::lock_guard lock(mutex_);
  clear_line();
}

void Console::line(std::string_view text) {
  const std::lock_guard lock(mutex_);
  clear_line();
  write(fmt::format("{}\n", text));
}

void Console::remark(std::string_view text) {
  if (!quiet_) line(bounded_message(text));
}

void Console::remark(std::string_view text, std::string_view lines) {
  if (quiet_) return;
  TerminalText printable;
  std::string shown = printable.next(lines);
  line(fmt::format("{}\n{}{}", bounded_message(text), shown, printable.finish()));
}

void Console::warn(std::string_view text) { line(bounded_message(text)); }

void Console::error(std::string_view message, std::span<const std::string> lines) {
  const std::lock_guard lock(mutex_);
  clear_line();
  write(
      fmt::format("{}unfold:{} {}\n", colors_ ? "\x1b[1;31m" : "", colors_ ? "\x1b[0m" : "", bounded_message(message)));
  for (const std::string& further : lines) write("  " + bounded_message(further) + "\n");
}

bool Console::is_due() const { return !quiet_ && std::chrono::steady_clock::now() >= next_; }

bool Console::due() const {
  const std::lock_guard lock(mutex_);
  return is_due();
}

std::size_t Console::columns() const { return terminal_ ? terminal_width() : 0; }

void Console::progress(std::string_view text) {
  const std::lock_guard lock(mutex_);
  if (!is_due()) return;
  next_ = std::chrono::steady_clock::now() + (terminal_ ? kTerminalPause : kPlainPause);
  if (!terminal_) return write(fmt::format("{}\n", bounded_message(text)));
  write(fmt::format("\r{}\x1b[K", first_letters(escape_controls(text), terminal_width() - 1)));
  line_open_ = true;
}

std::string duration_text(double seconds) {
  if (!(seconds < 1e9)) return "a long time";
  if (seconds < 10) return fmt::format("{:.1f} s", seconds);
  const auto whole = static_cast<long>(std::lround(seconds));
  if (whole < 60) return fmt::format("{} s", whole);
  if (whole < 3600) return fmt::format("{} min {:02} s", whole / 60, whole % 60);
  return fmt::format("{} h {:02} min", whole / 3600, whole % 3600 / 60);
}

std::string count_text(double number) {
  if (number < 1000) return fmt::format("{:.3g}", number);
  if (number < 999.5e3) return fmt::format("{:.3g} k", number / 1e3);
  return fmt::format("{:.3g} M", number / 1e6);
}

}  // namespace unfold
