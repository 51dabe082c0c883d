#include "data/counts/count_stream.h"

#include <algorithm>
#include <limits>
#include <utility>

namespace unfold {
namespace {

/// Merges streams with a heap ordered by their next keys.
class MergedStream final : public CountStream {
 public:
  explicit MergedStream(std::vector<std::unique_ptr<CountStream>> streams) {
    for (auto& stream : streams) {
      const std::size_t most = stream->most_keys();
      most_keys_ += std::min(most, std::numeric_limits<std::size_t>::max() - most_keys_);
      Head head{std::move(stream), {}};
      if (head.stream->next(head.key)) heads_.push_back(std::move(head));
    }
    std::ranges::make_heap(heads_, later);
  }

  bool next(CountedKey& key) override {
    if (heads_.empty()) return false;
    key = heads_.front().key;
    key.count = 0;
    while (!heads_.empty() && heads_.front().key.codes == key.codes) {
      key.count += heads_.front().key.count;
      std::ranges::pop_heap(heads_, later);
      if (heads_.back().stream->next(heads_.back().key))
        std::ranges::push_heap(heads_, later);
      else
        heads_.pop_back();
    }
    return true;
  }
  std::size_t most_keys() const override { return most_keys_; }

 private:
  struct Head {
    std::unique_ptr<CountStream> stream;
    CountedKey key;
  };
  static bool later(const Head& a, const Head& b) { return a.key.codes > b.key.codes; }

  std::vector<Head> heads_;
  std::size_t most_keys_ = 0;
};

}  // namespace

std::unique_ptr<CountStream> merge(std::vector<std::unique_ptr<CountStream>> streams) {
  if (streams.size() == 1) return std::move(streams.front());
  return std::make_unique<MergedStream>(std::move(streams));
}

}  // namespace unfold
