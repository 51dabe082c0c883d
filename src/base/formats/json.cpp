#include "unfold/base/formats/json.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <utility>
#include <vector>

#include "base/formats/trusted_json.h"
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

namespace {

using nlohmann::json;

/// Builds a value from parser events in linear time and stops at the first event that exceeds a limit; a rejected
/// document leaves nothing behind.
class JsonBuilder {
 public:
  JsonBuilder(const std::string& where, const JsonLimits& limits) : where_(where), limits_(limits) {}

  bool null() { return add(nullptr); }
  bool boolean(bool value) { return add(value); }
  bool number_integer(json::number_integer_t value) { return add(value); }
  bool number_unsigned(json::number_unsigned_t value) { return add(value); }
  bool number_float(json::number_float_t value, const json::string_t&) { return add(value); }
  bool string(json::string_t& value) { return add(std::move(value)); }
  bool binary(json::binary_t&) { return false; }  // JSON has no binary values
  bool start_object(std::size_t) { return open(json::object()); }
  bool start_array(std::size_t) { return open(json::array()); }
  bool end_object() { return close(); }
  bool end_array() { return close(); }
  bool key(json::string_t& name) {
    const auto [place, is_new] = open_.back()->get_ref<json::object_t&>().emplace(std::move(name), nullptr);
    if (!is_new) fail(fmt::format("the key {} occurs twice", json(place->first).dump()));
    member_ = &place->second;
    return true;
  }
  bool parse_error(std::size_t, const std::string&, const json::exception& error) {
    fail(fmt::format("not valid JSON: {}", json_fault(error)));
  }

  json take() { return std::move(root_); }

 private:
  [[noreturn]] void fail(const std::string& what) const { throw ModelError(fmt::format("{}: {}", where_, what)); }

  json* place(json value) {
    if (++values_ > limits_.values) fail(fmt::format("it contains more than {} values", limits_.values));
    if (open_.empty()) return &(root_ = std::move(value));
    if (!open_.back()->is_array()) return &(*member_ = std::move(value));
    json::array_t& list = open_.back()->get_ref<json::array_t&>();
    return &list.emplace_back(std::move(value));
  }
  bool add(json value) {
    place(std::move(value));
    return true;
  }
  bool open(json value) {
    if (++containers_ > limits_.containers)
      fail(fmt::format("it contains more than {} lists and objects", limits_.containers));
    if (static_cast<Index>(open_.size()) >= limits_.depth)
      fail(fmt::format("it is nested deeper than {} levels", limits_.depth));
    open_.push_back(place(std::move(value)));
    return true;
  }
  bool close() {
    open_.pop_back();
    return true;
  }

  const std::string& where_;
  const JsonLimits& limits_;
  json root_;
  std::vector<json*> open_;  // lists and objects being read, outermost first
  json* member_ = nullptr;   // member of the innermost object whose key was read last
  Index values_ = 0, containers_ = 0;
};

}  // namespace

nlohmann::json parse_json(std::string_view text, const std::string& where, const JsonLimits& limits) {
  JsonBuilder builder(where, limits);
  json::sax_parse(text.begin(), text.end(), &builder);
  return builder.take();
}

template <class T>
std::optional<T> whole_number(const nlohmann::json& value) {
  if (value.is_number_unsigned() && std::in_range<T>(value.get<json::number_unsigned_t>())) return value.get<T>();
  if (value.is_number_integer() && !value.is_number_unsigned() && std::in_range<T>(value.get<json::number_integer_t>()))
    return value.get<T>();
  return std::nullopt;
}

template std::optional<Index> whole_number(const nlohmann::json& value);
template std::optional<int> whole_number(const nlohmann::json& value);

}  // namespace unfold
