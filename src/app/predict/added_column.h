#pragma once
/// Internal: a column of results that is written next to the data.

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "unfold/base/types.h"

namespace unfold {

/// A column of strings or numbers, with one entry per position, or one per example if `once`. In JSON lines, an entry
/// may be any value.
struct AddedColumn {
  std::string name;
  bool once = false;
  std::vector<std::string> texts = {};
  std::vector<double> numbers = {};
  std::vector<nlohmann::ordered_json> values = {};
  double deviation = 1;   ///< deviation of the numbers; determines their number of digits
  bool integers = false;  ///< the strings are integers

  nlohmann::ordered_json json(Index entry) const;
  std::string text(Index entry) const;
};

}  // namespace unfold
