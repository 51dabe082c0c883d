#pragma once
/// Strict JSON parsing (a single value, valid UTF-8, unique keys, bounded depth and size), and JSON as a class member.

#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>

#include "unfold/base/types.h"

namespace unfold {

/// Limits that prevent a small malicious document from using much time or memory: an empty list or object (two bytes)
/// takes about 50 times its size in memory. The default number of values is enough for a vocabulary of a million words.
struct JsonLimits {
  Index depth = 32;
  Index containers = 100'000;     ///< lists and objects
  Index values = Index{1} << 21;  ///< values of all types
};

/// Parses JSON in linear time. Throws a ModelError that gives `where`, the error and its byte offset.
nlohmann::json parse_json(std::string_view text, const std::string& where, const JsonLimits& limits = {});

/// Returns an integer value as `T` (Index, int, std::int32_t). Returns std::nullopt if the value has a different type,
/// has a fractional part or is out of range for T, whereas the conversion of nlohmann::json would silently truncate
/// such a value.
template <class T>
std::optional<T> whole_number(const nlohmann::json& value);

/// A JSON value as a class member. Headers that use it need not include nlohmann/json.hpp, which takes seconds to
/// compile.
class JsonBox {
 public:
  JsonBox();  ///< null
  JsonBox(nlohmann::json value);
  JsonBox(const JsonBox& other);
  JsonBox(JsonBox&&) noexcept;  ///< a moved-from object may only be assigned to or destroyed
  JsonBox& operator=(JsonBox other) noexcept;
  ~JsonBox();

  nlohmann::json& operator*() { return *value_; }
  const nlohmann::json& operator*() const { return *value_; }
  nlohmann::json* operator->() { return value_.get(); }
  const nlohmann::json* operator->() const { return value_.get(); }

 private:
  std::unique_ptr<nlohmann::json> value_;
};

}  // namespace unfold
