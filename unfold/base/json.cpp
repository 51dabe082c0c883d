#include "unfold/base/json.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <set>
#include <vector>

#include "unfold/base/error.h"

namespace unfold {

JsonBox::JsonBox() : JsonBox(nlohmann::json()) {}
JsonBox::JsonBox(nlohmann::json value) : value_(std::make_unique<nlohmann::json>(std::move(value))) {}
JsonBox::JsonBox(const JsonBox& other) : JsonBox(*other) {}
JsonBox::JsonBox(JsonBox&&) noexcept = default;
JsonBox& JsonBox::operator=(JsonBox other) noexcept {
  value_ = std::move(other.value_);
  return *this;
}
JsonBox::~JsonBox() = default;

nlohmann::json parse_json(std::string_view text, const std::string& where) {
  using nlohmann::json;
  constexpr int kMaxDepth = 32;
  std::vector<std::set<std::string>> keys;  // of the objects being read, outermost first
  const json::parser_callback_t watch = [&](int depth, json::parse_event_t event, json& parsed) {
    if (depth > kMaxDepth) throw ModelError(fmt::format("{}: nested deeper than {} levels", where, kMaxDepth));
    if (event == json::parse_event_t::object_start) keys.emplace_back();
    if (event == json::parse_event_t::object_end) keys.pop_back();
    if (event == json::parse_event_t::key && !keys.back().insert(parsed.get<std::string>()).second) {
      throw ModelError(fmt::format("{}: the key {} occurs twice", where, parsed.dump()));
    }
    return true;
  };
  try {
    return json::parse(text.begin(), text.end(), watch);
  } catch (const json::exception& error) {
    throw ModelError(fmt::format("{}: not valid JSON: {}", where, error.what()));
  }
}

}  // namespace unfold
