#pragma once
/// Texts that recently occurred in a column, with the properties that its profile counts. A column of categories
/// consists of a few texts, which therefore need not be examined for each cell.
///
/// The texts are kept in a table with one place per hash. If fewer than half of the lookups succeed, as in a column
/// whose texts are mostly distinct, the table is discarded.

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <cstring>
#include <string_view>
#include <vector>

#include "unfold/base/types.h"

namespace unfold {

/// Properties of a cell that is neither a number nor a date.
struct TextTraits {
  Index words = 0;
  bool blanks = false;  ///< the text contains blanks
  bool digits = false;  ///< the text contains digits
  bool code = false;    ///< the text is short and contains digits but no blanks
};
/// Blanks are space, tab and line feed; a word begins at every other byte that follows a blank.
TextTraits text_traits(std::string_view text);

class RecentTexts {
 public:
  /// `places` is rounded down to a power of two.
  explicit RecentTexts(Index places) : places_(std::bit_floor(static_cast<std::size_t>(std::max<Index>(places, 1)))) {}

  /// Returns nullptr if the text is not in the table.
  const TextTraits* find(std::string_view text, std::uint64_t hash) {
    if (slots_.empty()) return nullptr;
    if (++lookups_ == kLookupsToJudge) judge();
    if (slots_.empty()) return nullptr;
    const Slot& slot = slots_[place_of(hash)];
    const bool same =
        slot.hash == hash && slot.size == text.size() && std::memcmp(slot.text.data(), text.data(), text.size()) == 0;
    if (!same) return nullptr;
    ++hits_;
    return &slot.traits;
  }

  void add(std::string_view text, std::uint64_t hash, const TextTraits& traits) {
    if (places_ == 0 || text.size() > kLongestText) return;
    if (slots_.empty()) slots_.resize(places_);
    Slot& slot = slots_[place_of(hash)];
    slot.hash = hash;
    slot.size = text.size();
    slot.traits = traits;
    std::memcpy(slot.text.data(), text.data(), text.size());
  }

 private:
  static constexpr std::size_t kLongestText = 24;
  static constexpr Index kLookupsToJudge = 1024;
  struct Slot {
    std::uint64_t hash = 0;
    std::size_t size = 0;  ///< 0: free, because cells without text are missing
    TextTraits traits;
    std::array<char, kLongestText> text = {};
  };

  std::size_t place_of(std::uint64_t hash) const { return (hash >> 20) & (slots_.size() - 1); }

  void judge() {
    if (2 * hits_ < lookups_) {
      slots_ = {};
      places_ = 0;
    }
    lookups_ = hits_ = 0;
  }

  std::size_t places_;  ///< 0: the table is discarded
  Index lookups_ = 0, hits_ = 0;
  std::vector<Slot> slots_;
};

}  // namespace unfold
