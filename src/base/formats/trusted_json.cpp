#include "base/formats/trusted_json.h"

#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>

#include "unfold/base/error.h"

namespace unfold {

nlohmann::ordered_json parse_trusted_json(std::string_view text, const std::string& where) {
  nlohmann::ordered_json value = try_parse_trusted_json(text);
  if (value.is_discarded()) throw ModelError(where + ": not valid JSON");
  return value;
}

nlohmann::ordered_json try_parse_trusted_json(std::string_view text) {
  return nlohmann::ordered_json::parse(text.begin(), text.end(), nullptr, false);
}

nlohmann::ordered_json try_parse_trusted_json_file(const std::string& path) {
  std::ifstream file(path);
  return try_parse_trusted_json(std::string(std::istreambuf_iterator<char>(file), {}));
}

std::string text_under(const nlohmann::ordered_json& object, const char* key) {
  const auto found = object.find(key);
  return found != object.end() && found->is_string() ? found->get<std::string>() : std::string();
}

std::string json_fault(const std::exception& error) {
  const std::string_view text = error.what();
  const std::size_t end = text.starts_with("[json.exception.") ? text.find("] ") : std::string_view::npos;
  return std::string(end == std::string_view::npos ? text : text.substr(end + 2));
}

}  // namespace unfold
