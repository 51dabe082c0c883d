#include "model/logs/log_json.h"

#include <fmt/format.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "unfold/base/error.h"
#include "unfold/base/formats/json.h"

namespace unfold {

void refuse_log_model(std::string_view why) {
  throw ModelError(fmt::format("the log model is damaged: {}; train it again", why));
}

const nlohmann::json& log_part(const nlohmann::json& json, const char* key) {
  const auto found = json.is_object() ? json.find(key) : json.end();
  if (!json.is_object() || found == json.end()) refuse_log_model(fmt::format("there is no \"{}\"", key));
  return *found;
}

namespace {

Index count_in(const nlohmann::json& value, const char* key) {
  const auto number = whole_number<Index>(value);
  if (!number || *number < 0 || *number > Index{1} << 52) refuse_log_model(fmt::format("\"{}\" is not a count", key));
  return *number;
}

double number_in(const nlohmann::json& value, const char* key) {
  if (!value.is_number() || !std::isfinite(value.get<double>()))
    refuse_log_model(fmt::format("\"{}\" is not a number", key));
  return value.get<double>();
}

}  // namespace

Index log_count(const nlohmann::json& json, const char* key) { return count_in(log_part(json, key), key); }

bool log_flag(const nlohmann::json& json, const char* key) {
  const nlohmann::json& value = log_part(json, key);
  if (!value.is_boolean()) refuse_log_model(fmt::format("\"{}\" is not true or false", key));
  return value.get<bool>();
}

double log_number(const nlohmann::json& json, const char* key) { return number_in(log_part(json, key), key); }

std::string log_text(const nlohmann::json& json, const char* key) {
  const nlohmann::json& value = log_part(json, key);
  if (!value.is_string()) refuse_log_model(fmt::format("\"{}\" is not text", key));
  return value.get<std::string>();
}

const nlohmann::json& log_list(const nlohmann::json& json, const char* key) {
  const nlohmann::json& value = log_part(json, key);
  if (!value.is_array()) refuse_log_model(fmt::format("\"{}\" is not a list", key));
  return value;
}

std::vector<Index> log_counts(const nlohmann::json& json, const char* key) {
  std::vector<Index> counts;
  for (const nlohmann::json& value : log_list(json, key)) counts.push_back(count_in(value, key));
  return counts;
}

std::vector<std::uint64_t> log_hashes(const nlohmann::json& json, const char* key) {
  std::vector<std::uint64_t> hashes;
  for (const nlohmann::json& value : log_list(json, key)) {
    if (!value.is_number_unsigned()) refuse_log_model(fmt::format("\"{}\" is not a list of hashes", key));
    hashes.push_back(value.get<std::uint64_t>());
  }
  return hashes;
}

std::vector<double> log_numbers(const nlohmann::json& json, const char* key) {
  std::vector<double> numbers;
  for (const nlohmann::json& value : log_list(json, key)) numbers.push_back(number_in(value, key));
  return numbers;
}

}  // namespace unfold
