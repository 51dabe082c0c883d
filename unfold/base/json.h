#pragma once
/// Strict reading of JSON: one value, valid UTF-8, no key twice, bounded depth; and JSON as a member of a class.

#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

namespace unfold {

/// Throws ModelError: `where`, what is wrong, at which byte.
nlohmann::json parse_json(std::string_view text, const std::string& where);

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
