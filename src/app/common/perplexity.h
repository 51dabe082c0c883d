#pragma once
/// Metrics of a result: computed in nats, printed in bits, always with the number of symbols.

#include <nlohmann/json_fwd.hpp>

#include "unfold/base/formats/config.h"
#include "unfold/base/types.h"

namespace unfold {

struct Figures {
  double nats_per_symbol = 0;
  Index symbols = 0;  ///< predicted
  Index bytes = 0;    ///< size of the source in bytes; 0: unknown

  double bits_per_symbol() const;
  double bits_per_byte() const;
  double perplexity() const;
};

double bits(double nats);

/// Returns the keys "bits_per_symbol", "nats_per_symbol", "bits_per_byte", "perplexity" and "symbols".
nlohmann::ordered_json to_json(const Figures& figures);

/// Converts a configuration to a JSON object.
nlohmann::json to_json(const Config& config);

}  // namespace unfold
