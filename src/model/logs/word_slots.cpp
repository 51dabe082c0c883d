#include "model/logs/word_slots.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "data/counts/distinct_count.h"
#include "model/logs/log_json.h"

namespace unfold {
namespace {

constexpr std::size_t kMostWords = std::size_t{1} << 20, kMostPlaces = std::size_t{1} << 19;
constexpr Index kRareCount = 2;
constexpr std::uint64_t kBorder = 0x9e3779b97f4a7c15;

bool is_word(std::string_view token) {
  const char c = token[0];
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_' || static_cast<unsigned char>(c) >= 0x80;
}

std::uint64_t joined(std::uint64_t a, std::uint64_t b) {
  std::uint64_t x = a * 0xff51afd7ed558ccd + b + 0x9e3779b97f4a7c15;
  x ^= x >> 32;
  x *= 0xc4ceb9fe1a85ec53;
  return x ^ (x >> 29);
}

/// The three ways to describe the position of a token.
struct PlaceKeys {
  std::uint64_t two_before, two_after, before;
};

PlaceKeys keys_of(const std::vector<std::string_view>& tokens, std::size_t i) {
  const auto at = [&](std::ptrdiff_t j) {
    const bool inside = j >= 0 && j < static_cast<std::ptrdiff_t>(tokens.size());
    return inside ? hash_of_cell(tokens[static_cast<std::size_t>(j)]) : kBorder;
  };
  const auto here = static_cast<std::ptrdiff_t>(i);
  const std::uint64_t before = joined(at(here - 2), at(here - 1));
  const std::uint64_t around = joined(at(here - 1), at(here + 1));
  return {joined(joined(before, at(here + 1)), 1), joined(joined(around, at(here + 2)), 2), joined(before, 3)};
}

constexpr std::string_view kHex = "hex", kId = "id", kNumber = "num";

bool is_hex_digit(char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F'); }
bool is_decimal_digit(char c) { return c >= '0' && c <= '9'; }

/// Returns whether a value that matched a different rule may be an identifier of this name.
bool may_be(const MaskedValue& value, std::string_view name) {
  if (value.name == name) return false;
  if (name == kHex)
    return (value.name == kNumber || value.name == kWordValue) && std::ranges::all_of(value.text, is_hex_digit);
  return value.name == kHex || (value.name == kNumber && std::ranges::all_of(value.text, is_decimal_digit));
}

/// Calls use(value, position) for each masked value of a line. `tokens`: the tokens of its shape.
template <class Line, class Use>
void for_each_value(Line& line, const std::vector<std::string_view>& tokens, Use&& use) {
  std::size_t next = 0;
  for (std::size_t i = 0; i < tokens.size() && next < line.masked.size(); ++i) {
    if (!is_placeholder(tokens[i])) continue;
    auto& value = line.masked[next++];
    const std::uint64_t place =
        value.key.empty() ? joined(keys_of(tokens, i).two_before, 4) : joined(hash_of_cell(value.key), 5);
    use(value, place);
  }
}

}  // namespace

void split_shape(std::string_view shape, std::vector<std::string_view>& tokens) {
  tokens.clear();
  while (!shape.empty()) {
    const std::size_t end = std::min(shape.find(' '), shape.size());
    if (end > 0) tokens.push_back(shape.substr(0, end));
    shape.remove_prefix(std::min(end + 1, shape.size()));
  }
}

void WordSlots::rename(LogLine& line) {
  if (names_.empty()) return;
  split_shape(line.shape, tokens_);
  bool any = false;
  for_each_value(line, tokens_, [&](MaskedValue& value, std::uint64_t place) {
    const auto found = names_.find(place);
    if (found == names_.end() || !may_be(value, found->second)) return;
    value.name = found->second;
    any = true;
  });
  if (!any) return;
  former_.clear();
  std::size_t next = 0;
  for (const std::string_view token : tokens_) {
    if (!former_.empty()) former_ += ' ';
    if (is_placeholder(token) && next < line.masked.size())
      former_.append(1, '<').append(line.masked[next++].name).append(1, '>');
    else
      former_ += token;
  }
  line.shape.swap(former_);
}

void WordSlots::mask(LogLine& line) {
  rename(line);
  if (places_.empty()) return;
  split_shape(line.shape, tokens_);
  std::size_t first = 0;
  const auto is_open = [&](std::size_t i) {
    if (!is_word(tokens_[i])) return false;
    const PlaceKeys keys = keys_of(tokens_, i);
    return places_.contains(keys.two_before) || places_.contains(keys.two_after) || places_.contains(keys.before);
  };
  while (first < tokens_.size() && !is_open(first)) ++first;
  if (first == tokens_.size()) return;
  former_.swap(line.shape);
  split_shape(former_, tokens_);
  line.shape.clear();
  masked_.clear();
  std::size_t value = 0;
  for (std::size_t i = 0; i < tokens_.size(); ++i) {
    if (i > 0) line.shape += ' ';
    if (is_placeholder(tokens_[i])) {
      if (value < line.masked.size()) masked_.push_back(line.masked[value++]);
      line.shape += tokens_[i];
    } else if (i >= first && is_open(i)) {
      masked_.push_back({kWordValue, tokens_[i], {}});
      line.shape.append(1, '<').append(kWordValue).append(1, '>');
    } else {
      line.shape += tokens_[i];
    }
  }
  line.masked.swap(masked_);
}

nlohmann::json WordSlots::to_json() const {
  std::vector<std::uint64_t> places(places_.begin(), places_.end());
  std::ranges::sort(places);
  nlohmann::json json = {{"places", places}};
  for (const std::string_view name : {kHex, kId}) {
    std::vector<std::uint64_t> named;
    for (const auto& [place, its_name] : names_)
      if (its_name == name) named.push_back(place);
    std::ranges::sort(named);
    json[std::string(name)] = named;
  }
  return json;
}

WordSlots WordSlots::from_json(const nlohmann::json& json) {
  WordSlots slots;
  for (const std::uint64_t place : log_hashes(json, "places")) slots.places_.insert(place);
  for (const std::string_view name : {kHex, kId})
    if (const std::string key(name); json.contains(key))
      for (const std::uint64_t place : log_hashes(json, key.c_str())) slots.names_.emplace(place, name);
  return slots;
}

void WordSlotLearner::count_words(const LogLine& line) {
  split_shape(line.shape, tokens_);
  for (const std::string_view token : tokens_) {
    if (!is_word(token)) continue;
    const auto found = words_.find(hash_of_cell(token));
    if (found != words_.end())
      ++found->second;
    else if (words_.size() < kMostWords)
      words_.emplace(hash_of_cell(token), 1);
  }
}

/// Counts the names of the values at their positions.
void WordSlotLearner::see_values(const LogLine& line) {
  for_each_value(line, tokens_, [&](const MaskedValue& value, std::uint64_t place) {
    if (values_.size() >= kMostPlaces && !values_.contains(place)) return;
    Values& values = values_[place];
    ++values.all;
    values.hex += value.name == kHex;
    values.id += value.name == kId;
    const auto hash = static_cast<std::uint32_t>(hash_of_cell(value.text) >> 32);
    const auto end = values.hashes.begin() + static_cast<std::ptrdiff_t>(values.different);
    if (values.different < values.hashes.size() && std::find(values.hashes.begin(), end, hash) == end)
      values.hashes[values.different++] = hash;
  });
}

void WordSlotLearner::see(const LogLine& line) {
  split_shape(line.shape, tokens_);
  see_values(line);
  for (std::size_t i = 0; i < tokens_.size(); ++i) {
    if (!is_word(tokens_[i])) continue;
    const std::uint64_t word = hash_of_cell(tokens_[i]);
    const auto count = words_.find(word);
    const bool rare = count == words_.end() || count->second <= kRareCount;
    const PlaceKeys keys = keys_of(tokens_, i);
    add(places_, keys.two_before, word, rare);
    add(places_, keys.two_after, word, rare);
    add(after_, keys.before, word, rare);
  }
}

void WordSlotLearner::add(Places& places, std::uint64_t key, std::uint64_t word, bool rare) {
  auto found = places.find(key);
  if (found == places.end()) {
    if (places.size() >= kMostPlaces) {
      ++dropped_;
      return;
    }
    found = places.emplace(key, Place{}).first;
  }
  Place& place = found->second;
  ++place.lines;
  place.rare += rare;
  const auto short_hash = static_cast<std::uint32_t>(word >> 32);
  const auto end = place.words.begin() + static_cast<std::ptrdiff_t>(place.different);
  if (place.different < place.words.size() && std::find(place.words.begin(), end, short_hash) == end)
    place.words[place.different++] = short_hash;
}

WordSlots WordSlotLearner::finish() const {
  WordSlots slots;
  const auto novel = [](const Place& place) { return 5 * place.rare >= place.lines; };
  for (const auto& [key, place] : places_)
    if (place.different >= 2 * WordSlots::kOpenWords || (place.different >= WordSlots::kOpenWords && novel(place)))
      slots.places_.insert(key);
  for (const auto& [key, place] : after_)
    if (place.different >= 2 * WordSlots::kOpenWords && novel(place)) slots.places_.insert(key);
  for (const auto& [place, values] : values_)
    if (values.different >= WordSlots::kIdentifiers && 2 * (values.hex + values.id) >= values.all)
      slots.names_.emplace(place, values.hex >= values.id ? kHex : kId);
  return slots;
}

}  // namespace unfold
