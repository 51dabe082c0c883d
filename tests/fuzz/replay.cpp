// Runs a fuzz target over the files of a folder, each unchanged, truncated at every byte and with every bit flipped.

#include <cstdio>
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
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    run(bytes.substr(0, i));
    for (int bit = 0; bit < 8; ++bit) {
      std::string changed = bytes;
      changed[i] = static_cast<char>(changed[i] ^ (1 << bit));
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
