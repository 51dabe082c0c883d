#include "app/common/perplexity.h"

#include <limits>
#include <nlohmann/json.hpp>
#include <numbers>

#include "numerics/functions.h"

namespace unfold {

double bits(double nats) { return nats / std::numbers::ln2; }

double Figures::bits_per_symbol() const { return bits(nats_per_symbol); }

double Figures::bits_per_byte() const {
  if (bytes == 0) return std::numeric_limits<double>::quiet_NaN();
  return bits_per_symbol() * static_cast<double>(symbols) / static_cast<double>(bytes);
}

double Figures::perplexity() const {
  double result = 0;
  vector_exp(&nats_per_symbol, &result, 1);
  return result;
}

nlohmann::ordered_json to_json(const Figures& figures) {
  return {{"bits_per_symbol", figures.bits_per_symbol()},
          {"nats_per_symbol", figures.nats_per_symbol},
          {"bits_per_byte", figures.bits_per_byte()},
          {"perplexity", figures.perplexity()},
          {"symbols", figures.symbols}};
}

nlohmann::json to_json(const Config& config) {
  nlohmann::json result = nlohmann::json::object();
  for (const ConfigEntry& entry : config.entries())
    std::visit([&](const auto& value) { result[entry.key] = value; }, entry.value);
  return result;
}

}  // namespace unfold
