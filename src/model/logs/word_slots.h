#pragma once
/// Finds the positions in log lines where words vary freely, such as the user in "Invalid user bob", and masks the
/// words there.
///
///   WordSlotLearner learner;
///   for (lines, twice) learner.see(line);      // first pass: words; second pass: their contexts
///   WordSlots slots = learner.finish();
///   slots.mask(line);                          // line.shape: "... Invalid user <word> from <ip>"
///
/// A position is identified by its neighbors: two tokens before and one after, or one before and two after. It is open
/// if 2 kOpenWords different words occurred there, or if kOpenWords different words occurred of which a fifth are rare
/// (at most two occurrences in the log). If both conditions hold, the two tokens before a word are sufficient. The
/// learner holds a bounded number of positions.

#include <array>
#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "data/logs/log_lines.h"

namespace unfold {

class WordSlots {
 public:
  static constexpr std::size_t kOpenWords = 6;

  /// Replaces the words at open positions with `<word>` and adds them to the masked values. The key of such a value is
  /// the word before it. `line` keeps views into its previous shape, so it must outlive the use of its values.
  void mask(LogLine& line);
  std::size_t size() const { return places_.size(); }

  nlohmann::json to_json() const;
  static WordSlots from_json(const nlohmann::json& json);

 private:
  friend class WordSlotLearner;
  std::unordered_set<std::uint64_t> places_;
  std::vector<std::string_view> tokens_;
  std::string former_;  // the shape before masking, to which masked values refer
  std::vector<MaskedValue> masked_;
};

class WordSlotLearner {
 public:
  void count_words(const LogLine& line);  ///< first pass
  void see(const LogLine& line);          ///< second pass
  WordSlots finish() const;
  /// Returns the number of occurrences of positions that were not counted because there are too many positions.
  Index dropped() const { return dropped_; }

 private:
  struct Place {
    Index lines = 0, rare = 0;
    std::array<std::uint32_t, 2 * WordSlots::kOpenWords> words{};
    std::size_t different = 0;
  };
  using Places = std::unordered_map<std::uint64_t, Place>;
  void add(Places& places, std::uint64_t place, std::uint64_t word, bool rare);

  std::unordered_map<std::uint64_t, Index> words_;
  Places places_, after_;
  std::vector<std::string_view> tokens_;
  Index dropped_ = 0;
};

/// Splits a shape into its tokens.
void split_shape(std::string_view shape, std::vector<std::string_view>& tokens);
/// Returns whether a token represents a masked value.
inline bool is_placeholder(std::string_view token) { return token.size() > 2 && token[0] == '<'; }

}  // namespace unfold
