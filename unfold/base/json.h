#pragma once
/// Strict reading of JSON: one value, valid UTF-8, no key twice, bounded depth and size; and JSON as a member of a
/// class.

#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>

#include "unfold/base/types.h"

namespace unfold {

/// How much a text may hold, so that a small hostile one cannot take much time or memory: a list or object takes some
/// 50 times its two bytes. The values allow for an alphabet of a million words.
struct JsonLimits {
  Index depth = 32;
  Index containers = 100'000;     ///< lists and objects
  Index values = Index{1} << 21;  ///< of all kinds
};

/// In linear time. Throws ModelError: `where`, what is wrong, at which byte.
nlohmann::json parse_json(std::string_view text, const std::string& where, const JsonLimits& limits = {});

/// A whole number as `T` (Index, int, std::int32_t); nothing when the value is something else, has a fraction or lies
/// beyond T, which the library's own conversion would cut without a word.
template <class T>
std::optional<T> whole_number(const nlohmann::json& value);

/// A JSON value as a member: a header that has one need not include the library, which takes seconds to compile.
class JsonBox {
 public:
  JsonBox();  ///< null
  JsonBox(nlohmann::json value);
  JsonBox(const JsonBox& other);
  JsonBox(JsonBox&&) noexcept;  ///< leaves the other without a value: only to be assigned to or destroyed
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
