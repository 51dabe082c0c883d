#include <cmath>

#include "check.h"
#include "unfold/base/error.h"
#include "unfold/base/formats/config.h"

using namespace unfold;

/// The result is either a UsageError or a configuration that round-trips.
extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
  Config config;
  try {
    config = parse_config(as_text(data, size), "config.toml");
  } catch (const UsageError&) {
    return 0;
  }
  const Config again = parse_config(write_config(config), "config.toml");
  check(again.entries().size() == config.entries().size());
  for (std::size_t i = 0; i < config.entries().size(); ++i) {
    const ConfigEntry &a = config.entries()[i], &b = again.entries()[i];
    check(a.key == b.key && a.value.index() == b.value.index());
    const double* number = std::get_if<double>(&a.value);
    check(a.value == b.value || (number != nullptr && std::isnan(*number)));
  }
  return 0;
}
