#include <cmath>

#include "check.h"
#include "repair.h"
#include "unfold/base/error.h"
#include "unfold/model/registry/registry.h"

using namespace unfold;

/// The input is the header without its checksum up to the first zero byte, followed by the tensors. The result is
/// either a ModelError or a model that predicts something, finite or not, and is written as it was read.
extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
  const std::string_view bytes = as_text(data, size);
  const std::size_t end = std::min(bytes.find('\0'), bytes.size());
  try {
    const auto model = symbol_model_from_bytes(
        model_file_of(bytes.substr(0, end), bytes.substr(std::min(end + 1, bytes.size()))), "file");
    const auto predictor = model->predictor();
    for (Symbol x = 0; x < 3; ++x) {
      check(static_cast<Index>(predictor->log_probabilities().size()) == predictor->alphabet());
      predictor->observe(x % static_cast<Symbol>(predictor->alphabet()));
    }
    check(symbol_model_from_bytes(model->bytes(), "again")->bytes() == model->bytes());
  } catch (const ModelError&) {
  }
  return 0;
}
