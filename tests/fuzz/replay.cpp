// Runs a fuzz target over the files of a folder, each unchanged, truncated at every byte and with one bit of every byte
// flipped; with UNFOLD_THOROUGH in the environment, with every bit flipped.

#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

#include "check.h"

namespace {

void run(const std::string& bytes) {
  LLVMFuzzerTestOneInput(reinterpret_cast<const unsigned char*>(bytes.data()), bytes.size());
}

void run_with_faults(const std::string& bytes) {
  run(bytes);
  if (bytes.size() > 2000) return;
  const std::size_t flips = std::getenv("UNFOLD_THOROUGH") != nullptr ? 8 : 1;
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    run(bytes.substr(0, i));
    for (std::size_t flip = 0; flip < flips; ++flip) {
      std::string changed = bytes;
      changed[i] = static_cast<char>(changed[i] ^ (1 << (i + flip) % 8));
      run(changed);
    }
  }
}

}  // namespace

int main(int argc, char** argv) {
  int files = 0;
  for (const auto& entry : std::filesystem::directory_iterator(argc > 1 ? argv[1] : ".")) {
    std::ifstream file(entry.path(), std::ios::binary);
    run_with_faults({std::istreambuf_iterator<char>(file), {}});
    ++files;
  }
  std::printf("%d inputs\n", files);
  return files > 0 ? 0 : 1;
}
