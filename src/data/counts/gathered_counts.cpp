#include "data/counts/gathered_counts.h"

#include <algorithm>
#include <span>

namespace unfold {
namespace {

constexpr std::size_t kKeysOfBlock = std::size_t{1} << 16;

/// A block of keys sent between processes: the number of keys, then the codes and the count of each. All blocks have
/// the same capacity; a block that is not full is the last one.
class KeyBlock {
 public:
  explicit KeyBlock(Index codes) : width_(static_cast<std::size_t>(codes) + 1), numbers_(1 + kKeysOfBlock * width_) {}

  std::uint32_t size() const { return numbers_[0]; }
  bool full() const { return size() == kKeysOfBlock; }
  void clear() { numbers_[0] = 0; }
  void append(const CountedKey& key) {
    const auto place = numbers_.begin() + static_cast<std::ptrdiff_t>(1 + numbers_[0]++ * width_);
    std::ranges::copy(key.codes, place);
    place[static_cast<std::ptrdiff_t>(width_ - 1)] = key.count;
  }
  void get(std::uint32_t i, CountedKey& key) const {
    const auto place = numbers_.begin() + static_cast<std::ptrdiff_t>(1 + i * width_);
    key.codes.assign(place, place + static_cast<std::ptrdiff_t>(width_ - 1));
    key.count = place[static_cast<std::ptrdiff_t>(width_ - 1)];
  }
  std::span<std::byte> bytes() { return std::as_writable_bytes(std::span(numbers_)); }

 private:
  std::size_t width_;
  std::vector<std::uint32_t> numbers_;
};

void send_all(CountStream& stream, Index codes, Processes& processes) {
  KeyBlock block(codes);
  CountedKey key;
  for (bool more = true; more;) {
    block.clear();
    while (!block.full() && (more = stream.next(key))) block.append(key);
    const Sending sending{0, block.bytes()};
    processes.exchange(std::span(&sending, 1), {});
  }
}

/// The stream that another process sends.
class ReceivedStream final : public CountStream {
 public:
  ReceivedStream(int from, Index codes, Processes& processes) : from_(from), processes_(processes), block_(codes) {}
  bool next(CountedKey& key) override {
    if (at_ == block_.size() && !receive()) return false;
    block_.get(at_++, key);
    return true;
  }

 private:
  bool receive() {
    if (begun_ && !block_.full()) return false;
    const Receiving receiving{from_, block_.bytes()};
    processes_.exchange({}, std::span(&receiving, 1));
    begun_ = true;
    at_ = 0;
    return block_.size() > 0;
  }

  int from_;
  Processes& processes_;
  KeyBlock block_;
  bool begun_ = false;
  std::uint32_t at_ = 0;
};

}  // namespace

std::unique_ptr<CountStream> gather_counts(std::unique_ptr<CountStream> mine, Index codes, Processes& processes) {
  if (!processes.first()) {
    send_all(*mine, codes, processes);
    return nullptr;
  }
  std::vector<std::unique_ptr<CountStream>> streams;
  streams.push_back(std::move(mine));
  for (int p = 1; p < processes.count(); ++p) streams.push_back(std::make_unique<ReceivedStream>(p, codes, processes));
  return merge(std::move(streams));
}

}  // namespace unfold
