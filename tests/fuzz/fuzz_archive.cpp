#include "check.h"
#include "repair.h"
#include "unfold/base/error.h"
#include "unfold/compression/compress.h"

using namespace unfold;

/// An archive without the checksums of its records: they are added, and then it is decompressed within small limits.
extern "C" int LLVMFuzzerTestOneInput(const unsigned char* data, std::size_t size) {
  const std::string archive = archive_of(as_text(data, size));
  std::string_view left = archive;
  const ByteSource source = [&](char* out, std::size_t most) {
    const std::size_t n = std::min(most, left.size());
    left.copy(out, n);
    left.remove_prefix(n);
    return n;
  };
  Index written = 0;
  const DecompressOptions options{.name = "input",
                                  .size = static_cast<Index>(archive.size()),
                                  .limits = {.memory = Index{16} << 20, .output = 1 << 12}};
  try {
    decompress(
        source, [&](std::string_view bytes) { written += static_cast<Index>(bytes.size()); }, options);
  } catch (const Error& error) {
    check(error.code() != ExitCode::usage && error.code() != ExitCode::bad_data);
  }
  check(written <= 1 << 12);
  return 0;
}
