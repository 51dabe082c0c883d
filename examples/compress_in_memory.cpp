/// Compresses and decompresses data in memory, without loss, with a model that learns online.
///
///   compress_in_memory

#include <algorithm>
#include <cstring>
#include <iostream>

#include "unfold/compression/compress.h"

using namespace unfold;

namespace {

/// A source supplies bytes until none are left, and a sink receives bytes. Both can be files, pipes or, as here,
/// strings.
ByteSource from(const std::string& bytes) {
  return [&bytes, at = std::size_t{0}](char* out, std::size_t size) mutable {
    const std::size_t n = std::min(size, bytes.size() - at);
    std::memcpy(out, bytes.data() + at, n);
    at += n;
    return n;
  };
}

ByteSink into(std::string& bytes) {
  return [&bytes](std::string_view more) { bytes += more; };
}

}  // namespace

int main() {
  try {
    std::string text;
    for (int i = 0; i < 200; ++i) text += "line " + std::to_string(i) + " of " + std::to_string(i * i) + "\n";

    // Any online model works: "cm:1" is fast, "mix:cm:1+ppm:4+lstm:32" is slow and compresses better. By default, the
    // output is decoded and verified before it is written.
    std::string packed;
    compress(from(text), into(packed), {.model = "cm:1"});

    // The container stores the model specification, and checksums detect any damage. It can be decoded on any machine.
    std::string restored;
    decompress(from(packed), into(restored), {});
    std::cout << text.size() << " bytes, " << packed.size() << " compressed, "
              << (restored == text ? "restored" : "LOST") << "\n";

    // A damaged container causes an error, never wrong output.
    packed[packed.size() / 2] ^= 1;
    try {
      decompress(from(packed), into(restored), {});
      return 1;
    } catch (const VerificationError& error) {
      std::cout << "one bit flipped: " << error.what() << "\n";
    }
    return 0;
  } catch (const Error& error) {
    std::cerr << "compress_in_memory: " << error.what() << "\n";
    return static_cast<int>(error.code());
  }
}
