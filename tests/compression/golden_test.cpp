#include <gtest/gtest.h>

#include <cstdlib>

#include "tests/compression/memory.h"
#include "unfold/base/formats/file.h"
#include "unfold/compression/compress.h"

namespace unfold::test {
namespace {

/// Containers written by an optimized build with AVX2; every other build, instruction set and number of threads must
/// write the same bytes and read them. UNFOLD_WRITE_GOLDEN=1 rewrites them after a deliberate change of the format.
struct Golden {
  const char *file, *model;
  bool independent;
};

constexpr Golden kGolden[] = {{"cm.unf", "cm:memory=1,row=9", false},
                              {"cm_text.unf", "cm:memory=1,level=text", false},
                              {"cm_binary.unf", "cm:memory=1,level=binary", true},
                              {"cm_fast.unf", "cm:memory=1,level=fast", true},
                              {"ppm.unf", "ppm:3", false},
                              {"packed_ppm.unf", "ppm:4,memory=1", false},
                              {"ctw.unf", "ctw:24", false},
                              {"mix.unf", "mix:ppm:2+lstm:9+gru:5", false}};

std::string text() {
  std::string text;
  for (int i = 0; i < 60; ++i)
    text += "line " + std::to_string(i * i) + (i % 3 == 0 ? " of the golden text\n" : "\tand then\n");
  return text + '\0' + "\xFF";
}

TEST(Golden, containers_are_identical_for_every_build) {
  for (const auto& [file, model, independent] : kGolden) {
    const std::string path = std::string(UNFOLD_SOURCE_DIR "/tests/compression/golden/") + file;
    std::string packed, restored;
    compress(from(text()), into(packed), {.model = model, .block = 500, .independent = independent, .threads = 2});
    if (std::getenv("UNFOLD_WRITE_GOLDEN") != nullptr) write_file_atomically(path, packed);
    EXPECT_EQ(packed, read_file(path)) << model;
    decompress(from(read_file(path)), into(restored), {.threads = 1});
    EXPECT_EQ(restored, text()) << model;
  }
}

}  // namespace
}  // namespace unfold::test
