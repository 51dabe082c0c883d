#include "app/common/line_source.h"

#include <fmt/format.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "unfold/base/error.h"

namespace unfold {
namespace {

constexpr std::size_t kReadBlock = std::size_t{1} << 16;

bool is_packed(const std::string& path) {
  return path.ends_with(".gz") || path.ends_with(".xz") || path.ends_with(".zst");
}

}  // namespace

LineSource::LineSource(const std::string& path) : name_(path == "-" ? "standard input" : path) {
  if (path != "-" && is_packed(path)) {
    whole_ = Input::open(path);
    rest_ = whole_->bytes();
    ended_ = true;
  } else {
    descriptor_ = path == "-" ? STDIN_FILENO : open_for_reading(path);
  }
}

LineSource::LineSource(Input input)
    : name_(input.name()), whole_(std::move(input)), rest_(whole_->bytes()), ended_(true) {}

LineSource::~LineSource() {
  if (descriptor_ > STDIN_FILENO) ::close(descriptor_);
}

/// Reads more bytes into the buffer after the remaining ones; returns false at the end of the input.
bool LineSource::fill() {
  if (ended_) return false;
  buffer_.erase(0, buffer_.size() - rest_.size());
  const std::size_t kept = buffer_.size();
  buffer_.resize(kept + kReadBlock);
  const std::size_t got = read_some(descriptor_, name_, buffer_.data() + kept, kReadBlock);
  buffer_.resize(kept + got);
  rest_ = buffer_;
  ended_ = got == 0;
  return !ended_;
}

void LineSource::skip(Index bytes) {
  any_ = true;
  if (whole_)
    rest_.remove_prefix(std::min(static_cast<std::size_t>(bytes), rest_.size()));
  else if (::lseek(descriptor_, static_cast<off_t>(bytes), SEEK_SET) < 0)
    throw DataError(fmt::format("{}: cannot continue after byte {}: {}", name_, bytes, std::strerror(errno)));
}

bool LineSource::ready() const { return rest_.find(line_end_) != std::string_view::npos || (ended_ && !rest_.empty()); }

bool LineSource::wait(std::chrono::milliseconds longest) const {
  if (ready() || ended_ || descriptor_ < 0) return true;
  pollfd input{.fd = descriptor_, .events = POLLIN, .revents = 0};
  return ::poll(&input, 1, static_cast<int>(longest.count())) != 0;
}

/// Returns whether lines end with CR: no LF was found, either up to the end or in many bytes. `searched`: the number of
/// bytes that contain no LF.
bool LineSource::finds_carriage_returns(std::size_t searched, bool ended) {
  if (!accepts_returns_ || any_ || line_end_ != '\n' || (!ended && rest_.size() < kMostBeforeLineEnd)) return false;
  if (rest_.find('\n', searched) != std::string_view::npos || rest_.find('\r') == std::string_view::npos) return false;
  line_end_ = '\r';
  return true;
}

bool LineSource::next(std::string_view& line) {
  std::size_t end = rest_.find(line_end_);
  while (end == std::string_view::npos) {
    const std::size_t searched = rest_.size();
    const bool more = fill();
    const bool returns = finds_carriage_returns(searched, !more);
    if (!more && !returns) break;
    end = rest_.find(line_end_, returns ? 0 : searched);
  }
  if (rest_.empty()) {
    if (!any_) throw DataError(fmt::format("{} is empty; there is nothing to read", name_));
    if (whole_) whole_->require_whole();
    return false;
  }
  any_ = true;
  line_ended_ = end < rest_.size();
  end = std::min(end, rest_.size());
  line = rest_.substr(0, end);
  rest_.remove_prefix(std::min(end + 1, rest_.size()));
  return true;
}

}  // namespace unfold
