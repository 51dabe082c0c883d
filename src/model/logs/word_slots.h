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
///
/// Also finds the positions of identifiers: at least half of the values there match `hex` or `id`, and there are at
/// least kIdentifiers different ones. An identifier that happens to consist of digits only, `24106491` instead of
/// `a8d546f4`, is renamed, so it does not make a new template. The position of the value of a named field is its key.

#include <array>
#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "data/logs/log_lines.h"

namespace unfold {

class WordSlots {
 public:
  static constexpr std::size_t kOpenWords = 6, kIdentifiers = 8;

  /// Renames numbers at the positions of identifiers (see above).
  void rename(LogLine& line);
  /// First renames (see `rename`). Then replaces the words at open positions with `<word>` and adds them to the masked
  /// values. The key of such a value is the word before it. `line` keeps views into its previous shape, so it must
  /// outlive the use of its values.
  void mask(LogLine& line);
  std::size_t size() const { return places_.size(); }

  nlohmann::json to_json() const;
  static WordSlots from_json(const nlohmann::json& json);

 private:
  friend class WordSlotLearner;
  using Names = std::unordered_map<std::uint64_t, std::string_view>;
  std::unordered_set<std::uint64_t> places_;
  Names names_;  // names of the identifiers at their positions: `hex` or `id`
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
  /// The values of one position by name.
  struct Values {
    Index all = 0, hex = 0, id = 0;
    std::array<std::uint32_t, WordSlots::kIdentifiers> hashes{};
    std::size_t different = 0;
  };
  void see_values(const LogLine& line);
  void add(Places& places, std::uint64_t place, std::uint64_t word, bool rare);

  std::unordered_map<std::uint64_t, Index> words_;
  Places places_, after_;
  std::unordered_map<std::uint64_t, Values> values_;
  std::vector<std::string_view> tokens_;
  Index dropped_ = 0;
};

/// Splits a shape into its tokens.
void split_shape(std::string_view shape, std::vector<std::string_view>& tokens);
/// Returns whether a token represents a masked value.
inline bool is_placeholder(std::string_view token) { return token.size() > 2 && token[0] == '<'; }

}  // namespace unfold
