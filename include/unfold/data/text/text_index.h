#pragma once
/// Internal: a hash table that numbers texts 0, 1, ... in the order of their addition. The texts are stored by its
/// owner. A slot contains the first bytes of its text, so that looking up a short text takes one access to memory.

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <functional>
#include <limits>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

namespace unfold {

class TextIndex {
 public:
  static constexpr std::uint32_t kNone = std::numeric_limits<std::uint32_t>::max();

  /// Returns the number of a text; kNone if it was not added. `texts`: all texts by number.
  template <class Texts>
  std::uint32_t find(std::string_view text, const Texts& texts) const {
    return slots_.empty() ? kNone : slots_[place(text, hash_of(text), beginning_of(text), texts)].number;
  }

  /// Returns the number of a text and whether it is new; the owner then appends it to the texts.
  template <class Texts>
  std::pair<std::uint32_t, bool> add(std::string_view text, const Texts& texts) {
    if (2 * (size_ + 1) > slots_.size()) grow();
    const std::uint32_t hash = hash_of(text);
    const std::uint64_t beginning = beginning_of(text);
    Slot& slot = slots_[place(text, hash, beginning, texts)];
    if (slot.number != kNone) return {slot.number, false};
    slot = {beginning, hash, static_cast<std::uint32_t>(size_++)};
    return {slot.number, true};
  }

 private:
  static constexpr std::size_t kWhole = 7;  ///< longest text that a slot contains

  struct Slot {
    std::uint64_t beginning = 0;  ///< first bytes; highest byte: size of the text, at most kWhole + 1
    std::uint32_t hash = 0, number = kNone;
  };

  static std::uint32_t hash_of(std::string_view text) {
    const std::size_t hash = std::hash<std::string_view>()(text);
    return static_cast<std::uint32_t>(hash ^ hash >> 32);
  }
  static std::uint64_t beginning_of(std::string_view text) {
    std::uint64_t bytes = 0;
    if (!text.empty()) std::memcpy(&bytes, text.data(), std::min(text.size(), kWhole));
    return bytes | std::uint64_t{std::min(text.size(), kWhole + 1)} << 56;
  }

  /// Returns the slot of a text, or the empty slot for it.
  template <class Texts>
  std::size_t place(std::string_view text, std::uint32_t hash, std::uint64_t beginning, const Texts& texts) const {
    const std::size_t mask = slots_.size() - 1;
    for (std::size_t i = hash & mask;; i = (i + 1) & mask) {
      const Slot& slot = slots_[i];
      const bool same = slot.hash == hash && slot.beginning == beginning;
      if (slot.number == kNone || (same && (text.size() <= kWhole || texts[slot.number] == text))) return i;
    }
  }

  void grow() {
    std::vector<Slot> old(std::max<std::size_t>(16, 2 * slots_.size()));
    old.swap(slots_);
    const std::size_t mask = slots_.size() - 1;
    for (const Slot& slot : old) {
      if (slot.number == kNone) continue;
      std::size_t i = slot.hash & mask;
      while (slots_[i].number != kNone) i = (i + 1) & mask;
      slots_[i] = slot;
    }
  }

  std::vector<Slot> slots_;
  std::size_t size_ = 0;
};

/// Counts texts. `Text`: std::string, or std::string_view for texts that outlive the counts.
template <class Text>
class TextCounts {
 public:
  /// Returns the count of a text, initially 0.
  std::int64_t& operator[](std::string_view text) {
    const auto [number, fresh] = index_.add(text, texts_);
    if (fresh) {
      texts_.emplace_back(text);
      counts_.push_back(0);
    }
    return counts_[number];
  }
  std::unordered_map<std::string_view, std::int64_t> by_text() const {
    std::unordered_map<std::string_view, std::int64_t> result;
    result.reserve(texts_.size());
    for (std::size_t i = 0; i < texts_.size(); ++i) result.emplace(texts_[i], counts_[i]);
    return result;
  }
  const std::vector<Text>& texts() const { return texts_; }  ///< in the order of their first occurrences
  const std::vector<std::int64_t>& counts() const { return counts_; }

 private:
  TextIndex index_;
  std::vector<Text> texts_;
  std::vector<std::int64_t> counts_;
};

}  // namespace unfold
