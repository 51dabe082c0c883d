#include "data/schema/distinct_count.h"

#include <cmath>
#include <cstring>

namespace unfold {
namespace {

constexpr std::uint64_t kMultiplier = 0x9E3779B97F4A7C15;

std::uint64_t load_bytes(const char* bytes, std::size_t size) {
  std::uint64_t word = 0;
  std::memcpy(&word, bytes, size);
  return word;
}

/// The finalizer of MurmurHash3.
std::uint64_t mixed(std::uint64_t h) {
  h ^= h >> 33;
  h *= 0xFF51AFD7ED558CCD;
  h ^= h >> 33;
  h *= 0xC4CEB9FE1A85EC53;
  return h ^ (h >> 33);
}

}  // namespace

std::uint64_t hash_of_cell(std::string_view text) {
  std::uint64_t h = text.size() * kMultiplier;
  std::size_t i = 0;
  for (; i + 8 <= text.size(); i += 8) {
    h = (h ^ load_bytes(text.data() + i, 8)) * kMultiplier;
    h ^= h >> 32;
  }
  const std::size_t left = text.size() - i;
  const char* tail = text.data() + i;
  if (left >= 4) {  // two loads that overlap
    h = (h ^ (load_bytes(tail, 4) | load_bytes(tail + left - 4, 4) << 32)) * kMultiplier;
  } else if (left > 0) {
    const auto byte = [&](std::size_t k) { return static_cast<std::uint64_t>(static_cast<unsigned char>(tail[k])); };
    h = (h ^ (byte(0) | byte(left / 2) << 8 | byte(left - 1) << 16)) * kMultiplier;
  }
  return mixed(h);
}

std::uint64_t hash_of_pair(std::uint64_t first, std::uint64_t second) {
  std::uint64_t h = (first ^ (second << 1)) * kMultiplier;
  h ^= h >> 32;
  return h * kMultiplier;
}

Index DistinctCount::count() const {
  return exact() ? size_ : static_cast<Index>(std::ldexp(static_cast<double>(size_), depth_));
}

bool DistinctCount::insert(std::uint64_t hash) {
  if (slots_.empty()) slots_.resize(16);
  const std::size_t mask = slots_.size() - 1;
  std::size_t i = hash & mask;
  for (; slots_[i] != 0; i = (i + 1) & mask) {
    if (slots_[i] != hash) continue;
    ++repeats_;
    return false;
  }
  slots_[i] = hash;
  ++size_;
  while (size_ > bound_ && limit_ > 0) {
    ++depth_;
    limit_ >>= 1;
    rebuild(slots_.size());
  }
  if (static_cast<std::size_t>(size_) * 2 > slots_.size()) rebuild(slots_.size() * 2);
  return true;
}

void DistinctCount::rebuild(std::size_t slots) {
  std::vector<std::uint64_t> old(slots);
  old.swap(slots_);
  size_ = 0;
  for (const std::uint64_t hash : old) {
    if (hash == 0 || hash > limit_) continue;
    std::size_t i = hash & (slots - 1);
    while (slots_[i] != 0) i = (i + 1) & (slots - 1);
    slots_[i] = hash;
    ++size_;
  }
}

}  // namespace unfold
