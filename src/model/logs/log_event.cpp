#include "model/logs/log_event.h"

#include <fmt/format.h>

#include <charconv>
#include <cmath>

#include "data/counts/distinct_count.h"
#include "model/logs/word_slots.h"

namespace unfold {
namespace {

constexpr std::uint64_t kKeySalt = 0x51ed270b7a3c91f5, kRoleSalt = 0xa0761d6478bd642f;
constexpr std::size_t kLongestUnit = 3, kLongestPattern = 256;

std::uint64_t mixed(std::uint64_t a, std::uint64_t b) {
  std::uint64_t x = (a ^ (b + 0x9e3779b97f4a7c15 + (a << 6) + (a >> 2))) * 0xff51afd7ed558ccd;
  return x ^ (x >> 31);
}

bool is_digit_char(char c) { return c >= '0' && c <= '9'; }
bool is_part_char(char c) {
  return is_digit_char(c) || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || static_cast<unsigned char>(c) >= 0x80;
}

/// "/products/8573" -> "/products/#"; std::nullopt for a text with a single part.
std::optional<std::uint64_t> pattern_of(std::string_view text) {
  text = text.substr(0, kLongestPattern);
  std::string pattern;
  bool joined = false;
  for (std::size_t at = 0; at < text.size();) {
    if (!is_part_char(text[at])) {
      joined = true;
      pattern += text[at++];
      continue;
    }
    std::size_t end = at;
    bool digits = false;
    for (; end < text.size() && is_part_char(text[end]); ++end) digits |= is_digit_char(text[end]);
    if (digits)
      pattern += '#';
    else
      pattern.append(text.substr(at, end - at));
    at = end;
  }
  return joined ? std::optional(hash_of_cell(pattern)) : std::nullopt;
}

}  // namespace

std::optional<double> number_of_value(std::string_view text) {
  if (!text.empty() && text[0] == '+') text.remove_prefix(1);
  double number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  const auto rest = static_cast<std::size_t>(text.data() + text.size() - end);
  if (error != std::errc() || !std::isfinite(number) || rest > kLongestUnit) return std::nullopt;
  for (const char* c = end; c != text.data() + text.size(); ++c)
    if (*c != '%' && !((*c >= 'a' && *c <= 'z') || (*c >= 'A' && *c <= 'Z'))) return std::nullopt;
  return number;
}

const LogEvent& LogEventReader::read(const LogLine& line) {
  event_.shape = line.shape;
  event_.template_id = hash_of_cell(line.shape);
  event_.values.clear();
  split_shape(line.shape, tokens_);
  std::size_t next = 0;
  std::uint64_t ordinals[32] = {};
  for (std::size_t i = 0; i < tokens_.size() && next < line.masked.size(); ++i) {
    if (!is_placeholder(tokens_[i])) continue;
    const MaskedValue& value = line.masked[next++];
    if (value.name == "time") continue;
    LogEventValue out{.name = value.name, .text = value.text, .key = value.key};
    const std::uint64_t name = hash_of_cell(value.name);
    if (!value.key.empty()) {
      out.label = out.role = mixed(hash_of_cell(value.key), kKeySalt);
    } else {
      for (std::size_t back = 1; back <= 2 && back <= i; ++back) out.before[2 - back] = tokens_[i - back];
      out.label = mixed(mixed(hash_of_cell(out.before[0]), hash_of_cell(out.before[1])), name);
      out.role = mixed(name + ordinals[name % 32]++, kRoleSalt);
    }
    out.hash = hash_of_cell(value.text);
    const bool measured = value.name == "num" || (!value.key.empty() && value.name != "hex");
    if (measured) out.number = number_of_value(value.text);
    if (!out.number) out.pattern = pattern_of(value.text);
    event_.values.push_back(out);
  }
  return event_;
}

std::string label_text(const LogEventValue& value) {
  if (!value.key.empty()) return std::string(value.key);
  std::string text;
  for (const std::string_view token : value.before)
    if (!token.empty()) text.append(token).append(1, ' ');
  return fmt::format("{}<{}>", text, value.name);
}

std::string role_text(const LogEventValue& value, const LogEvent& event) {
  if (!value.key.empty()) return std::string(value.key);
  int number = 1;
  for (const LogEventValue& other : event.values) {
    if (&other == &value) break;
    number += other.key.empty() && other.name == value.name;
  }
  return number == 1 ? std::string(value.name) : fmt::format("{}.{}", value.name, number);
}

std::string template_name(std::uint64_t template_id) { return fmt::format("{:08x}", template_id >> 32); }

}  // namespace unfold
