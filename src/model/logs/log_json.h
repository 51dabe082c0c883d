#pragma once
/// Reads the parts of a log model from JSON. All functions throw a ModelError for JSON that the model cannot have
/// written.

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "unfold/base/types.h"

namespace unfold {

[[noreturn]] void refuse_log_model(std::string_view why);
/// Returns the value under a key of an object.
const nlohmann::json& log_part(const nlohmann::json& json, const char* key);
/// Returns an integer from 0 to 2^52.
Index log_count(const nlohmann::json& json, const char* key);
bool log_flag(const nlohmann::json& json, const char* key);
/// Returns a finite number.
double log_number(const nlohmann::json& json, const char* key);
std::string log_text(const nlohmann::json& json, const char* key);
std::vector<Index> log_counts(const nlohmann::json& json, const char* key);
std::vector<std::uint64_t> log_hashes(const nlohmann::json& json, const char* key);
std::vector<double> log_numbers(const nlohmann::json& json, const char* key);
const nlohmann::json& log_list(const nlohmann::json& json, const char* key);

}  // namespace unfold
