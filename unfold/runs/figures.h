#pragma once
/// The units of every result: natural logarithms inside, bits outside, always with what was counted.

#include <nlohmann/json_fwd.hpp>

#include "unfold/base/config.h"
#include "unfold/base/types.h"

namespace unfold {

struct Figures {
  double nats_per_symbol = 0;
  Index symbols = 0;  ///< predicted
  Index bytes = 0;    ///< source bytes of the part; 0: unknown

  double bits_per_symbol() const;
  double bits_per_byte() const;
  double perplexity() const;
};

double bits(double nats);

/// {"bits_per_symbol", "nats_per_symbol", "bits_per_byte", "perplexity", "symbols"}.
nlohmann::ordered_json to_json(const Figures& figures);

/// A configuration as a JSON object.
nlohmann::json to_json(const Config& config);

}  // namespace unfold
