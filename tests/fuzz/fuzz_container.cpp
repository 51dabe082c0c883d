#include "check.h"
#include "compression/byte_symbols.h"
#include "compression/symbol_coder.h"
#include "model/ppm/ppm.h"
#include "unfold/base/error.h"
#include "unfold/compression/container.h"

using namespace unfold;

namespace {

ByteSource source_of(std::string_view bytes) {
  return [bytes](char* out, std::size_t size) mutable {
    const std::size_t n = std::min(size, bytes.size());
    bytes.copy(out, n);
    bytes.remove_prefix(n);
    return n;
  };
}

}  // namespace

/// The first byte selects the decoder for the rest: a container, codes without a writer, corrections.
extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
  if (size == 0) return 0;
  const std::string_view bytes = as_text(data + 1, size - 1);
  try {
    if (data[0] % 3 == 0) {
      ContainerReader reader(source_of(bytes), "input");
      ContainerBlock block;
      while (reader.next(block)) check(block.bytes <= kMostBlock);
    } else if (data[0] % 3 == 1) {
      PpmPredictor predictor(5, {.order = 2});
      SymbolDecoder decoder(predictor, bytes);
      for (int i = 0; i < 64; ++i) {
        const Symbol x = decoder.decode();
        check(x >= 0 && x < 5);
      }
    } else {
      const Alphabet words(SymbolKind::words, {"<eos>", "<unk>", "the", "cat"});
      const SymbolText exact = to_symbols(words, bytes);
      check(to_bytes(words, exact) == bytes);
      to_bytes(words, {.symbols = {2, 3, 0}, .corrections = std::string(bytes)});
    }
  } catch (const VerificationError&) {
  } catch (const ModelError&) {
  }
  return 0;
}
