#include <nlohmann/json.hpp>

#include "check.h"
#include "unfold/base/error.h"
#include "unfold/base/formats/json.h"
#include "unfold/data/text/alphabet.h"

using namespace unfold;

/// The result is either a ModelError or an alphabet whose symbols are found by text and name and whose card
/// round-trips.
extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
  try {
    const Alphabet alphabet = Alphabet::from_json(parse_json(as_text(data, size), "card"));
    check(Alphabet::from_json(parse_json(alphabet.to_json().dump(), "card")) == alphabet);
    for (Symbol s = 0; s < alphabet.size(); ++s) {
      check(alphabet.find(alphabet.text(s)) == s);
      check(!alphabet.name(s).empty());
    }
  } catch (const ModelError&) {
  }
  return 0;
}
