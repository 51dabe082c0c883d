#include <nlohmann/json.hpp>

#include "base/formats/decompress.h"
#include "check.h"
#include "data/files/idx.h"
#include "model/adaptive/learning.h"
#include "model/ngram/arpa.h"
#include "unfold/base/error.h"
#include "unfold/base/formats/authentication_key.h"
#include "unfold/base/formats/json.h"
#include "unfold/data/tasks/task_spec.h"
#include "unfold/data/text/split.h"
#include "unfold/model/registry/registry.h"
#include "unfold/optim/optimizer.h"

using namespace unfold;

namespace {

template <class E, class Action>
void refused_by(Action action) {
  try {
    action();
  } catch (const E&) {
  }
}

void read_specs(const std::string& text) {
  refused_by<UsageError>([&] { check(canonical_model(canonical_model(text)) == canonical_model(text)); });
  refused_by<UsageError>([&] { check(canonical_learner(canonical_learner(text)) == canonical_learner(text)); });
  refused_by<UsageError>([&] { make_optimizer<float>(text, 3); });
  refused_by<UsageError>([&] { parse_split(text); });
}

}  // namespace

/// The first byte selects the parser for the rest: JSON, compressed data, ARPA, IDX, SPECs, keys.
extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
  if (size == 0) return 0;
  const std::string bytes(as_text(data + 1, size - 1));
  constexpr std::size_t kMost = 1 << 20;
  switch (data[0] % 8) {
    case 0: refused_by<ModelError>([&] { parse_json(bytes, "text"); }); break;
    case 1:
    case 2:
    case 3:
      refused_by<DataError>(
          [&] { check(decompress(static_cast<Compression>(data[0] % 8), bytes, "input", kMost).size() <= kMost); });
      break;
    case 4: refused_by<DataError>([&] { read_arpa(Input::from_bytes("input", bytes), SymbolKind::words); }); break;
    case 5: refused_by<DataError>([&] { Idx idx(Input::from_bytes("input", bytes)); }); break;
    case 6: read_specs(bytes); break;
    default: refused_by<UsageError>([&] { Key::of_bytes(bytes); }); break;
  }
  return 0;
}
