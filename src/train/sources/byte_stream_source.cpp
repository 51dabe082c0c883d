#include "train/sources/byte_stream_source.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <nlohmann/json.hpp>

#include "unfold/base/error.h"

namespace unfold {
namespace {

constexpr std::size_t kBufferBytes = std::size_t{1} << 16;
constexpr int kWaitMilliseconds = 100;
constexpr int kWaits = 10;

}  // namespace

ByteStreamSource::ByteStreamSource(const std::string& path, Index window, Index kept)
    : name_(path == "-" ? "standard input" : path), window_(window), kept_(kept), buffer_(kBufferBytes) {
  if (window < 1 || kept < 1)
    throw UsageError("a stream requires windows of at least 1 byte, and at least 1 kept window");
  descriptor_ = path == "-" ? STDIN_FILENO : open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (descriptor_ < 0) throw DataError(fmt::format("{}: {}", path, std::strerror(errno)));
}

ByteStreamSource::~ByteStreamSource() {
  if (descriptor_ > STDIN_FILENO) close(descriptor_);
}

/// Appends the bytes received to the current window.
ByteStreamSource::Read ByteStreamSource::read() {
  if (taken_ == buffered_) {
    pollfd waits{.fd = descriptor_, .events = POLLIN, .revents = 0};
    const int ready = poll(&waits, 1, kWaitMilliseconds);
    if (ready == 0 || (ready < 0 && errno == EINTR)) return Read::later;
    const ssize_t count = ::read(descriptor_, buffer_.data(), buffer_.size());
    if (count < 0 && (errno == EINTR || errno == EAGAIN)) return Read::later;
    if (count < 0) throw DataError(fmt::format("{}: cannot be read: {}", name_, std::strerror(errno)));
    if (count == 0) return Read::end;
    taken_ = 0, buffered_ = static_cast<std::size_t>(count);
  }
  const std::size_t wanted = std::min(at(window_) - bytes_.size(), buffered_ - taken_);
  bytes_.insert(bytes_.end(), buffer_.begin() + static_cast<std::ptrdiff_t>(taken_),
                buffer_.begin() + static_cast<std::ptrdiff_t>(taken_ + wanted));
  taken_ += wanted;
  return Read::some;
}

/// Creates a window from the bytes received.
void ByteStreamSource::cut() {
  Window window{.before = last_, .symbols = {bytes_.begin(), bytes_.end()}};
  last_ = window.symbols.back();
  bytes_.clear();
  windows_.push_back(std::move(window));
  ++next_;
  if (static_cast<Index>(windows_.size()) > kept_) windows_.pop_front();
}

void ByteStreamSource::lay(const Window& window) {
  const auto length = static_cast<Index>(window.symbols.size());
  if (batch_.structure.positions() != length || batch_.carry.slots.empty())
    batch_.structure = Structure::chains(1, length);
  std::vector<Symbol>& previous = batch_.symbol_field(kPreviousSymbol).symbols;
  previous.assign(1, window.before);
  previous.insert(previous.end(), window.symbols.begin(), window.symbols.end() - 1);
  batch_.symbol_field(kSymbol).symbols = window.symbols;
  batch_.carry.slots.assign(1, 0);
  batch_.carry.fresh.clear();
  if (position_ == 0) batch_.carry.fresh.push_back(0);
  batch_.carry.slots_needed = 1;
  batch_.passages.assign(1, 0);
  batch_.places.assign(1, 0);
  batch_.predicted = batch_.symbols = length;
}

bool ByteStreamSource::wait(const std::atomic<bool>* stop) {
  for (int waited = 0; next_ <= position_ && end_ < 0;) {
    if (stop != nullptr && stop->load(std::memory_order_relaxed)) return false;
    const Read found = read();
    if (found == Read::later && ++waited == kWaits) return false;
    if (static_cast<Index>(bytes_.size()) == window_ || (found == Read::end && !bytes_.empty())) cut();
    if (found == Read::end) end_ = next_;
  }
  if (position_ >= next_) {
    position_ = std::max(position_, end_);
    return false;
  }
  const Index oldest = next_ - static_cast<Index>(windows_.size());
  if (position_ < oldest)
    throw RuntimeFailure(fmt::format(
        "{}: window {} is no longer kept, so the run cannot return to it; start again with a smaller learning rate",
        name_, position_));
  lay(windows_[at(position_ - oldest)]);
  return true;
}

template <class T>
TrainingSources<T> followed_sources(const std::string& path, Index window, Index kept) {
  auto text = std::make_unique<ByteStreamSource>(path, window, kept);
  TrainingSources<T> sources{.training = nullptr, .step_symbols = window};
  sources.wait = [stream = text.get()](const std::atomic<bool>* stop) { return stream->wait(stop); };
  sources.training = std::move(text);
  sources.configuration = nlohmann::json{{"followed", true}, {"window", window}};
  return sources;
}

template TrainingSources<float> followed_sources(const std::string&, Index, Index);
template TrainingSources<double> followed_sources(const std::string&, Index, Index);

}  // namespace unfold
