#include "base/decimals.h"

#include <fmt/format.h>

namespace unfold {

std::string decimals(double number, int digits) {
  std::string text = fmt::format("{:.{}f}", number, digits);
  if (text.starts_with('-') && text.find_first_not_of("-0.") == std::string::npos) text.erase(0, 1);
  return text;
}

}  // namespace unfold
