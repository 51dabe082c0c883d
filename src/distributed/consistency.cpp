#include "distributed/consistency.h"

#include <fmt/format.h>
#include <sodium.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "base/formats/trusted_json.h"
#include "base/utf8.h"
#include "unfold/base/error.h"

namespace unfold {
namespace {

namespace fs = std::filesystem;

class Hash {
 public:
  Hash() { crypto_generichash_init(&state_, nullptr, 0, kBytes); }
  void add(const void* bytes, std::size_t size) {
    crypto_generichash_update(&state_, static_cast<const unsigned char*>(bytes), size);
  }
  void add_file(const fs::path& path) {
    std::ifstream in(path, std::ios::binary);
    std::vector<char> block(std::size_t{1} << 20);
    while (in.read(block.data(), static_cast<std::streamsize>(block.size())) || in.gcount() > 0)
      add(block.data(), static_cast<std::size_t>(in.gcount()));
    if (in.bad() || !in.eof()) throw RuntimeFailure(path.string() + ": cannot be read");
  }
  std::string hexadecimal() {
    std::string text;
    for (const unsigned char byte : finish()) text += fmt::format("{:02x}", byte);
    return text;
  }
  std::uint64_t number() {
    const auto bytes = finish();
    std::uint64_t result = 0;
    std::memcpy(&result, bytes.data(), sizeof result);
    return result;
  }

 private:
  static constexpr std::size_t kBytes = 16;
  std::array<unsigned char, kBytes> finish() {
    std::array<unsigned char, kBytes> bytes{};
    crypto_generichash_final(&state_, bytes.data(), bytes.size());
    return bytes;
  }

  crypto_generichash_state state_{};
};

std::string to_text(const std::vector<Claim>& claims) {
  nlohmann::json list = nlohmann::json::array();
  for (const Claim& claim : claims)
    list.push_back({replace_invalid_utf8(claim.what), replace_invalid_utf8(claim.value)});
  return list.dump();
}

std::vector<Claim> from_text(const std::string& text) {
  std::vector<Claim> claims;
  for (const auto& pair : parse_trusted_json(text, "the settings that the processes compare"))
    claims.push_back({pair.at(0), pair.at(1)});
  return claims;
}

[[noreturn]] void refuse(int process, const std::string& machine, const Claim& there, const Claim& first) {
  throw UsageError(
      fmt::format("process {} on {}: {} is {}, but {} in process 0; run the same version of unfold with the same "
                  "options on the same data everywhere",
                  process, machine, there.what, there.value, first.value));
}

}  // namespace

void require_same_settings(Processes& processes, const std::vector<Claim>& claims) {
  const std::vector<std::string> texts = processes.gather(to_text(claims));
  const std::vector<std::string> machines = processes.gather(processes.machine());
  const std::vector<Claim> first = from_text(texts.front());
  const auto value_in = [](const std::vector<Claim>& all, const std::string& what) {
    const auto found = std::ranges::find(all, what, &Claim::what);
    return found == all.end() ? Claim{what, "missing"} : *found;
  };
  for (std::size_t p = 1; p < texts.size(); ++p) {
    if (texts[p] == texts.front()) continue;
    const std::vector<Claim> there = from_text(texts[p]);
    for (const auto* side : {&first, &there})
      for (const Claim& claim : *side) {
        const Claim here = value_in(there, claim.what), wanted = value_in(first, claim.what);
        if (here.value != wanted.value) refuse(static_cast<int>(p), machines[p], here, wanted);
      }
  }
}

std::string fingerprint(std::span<const std::byte> bytes) {
  Hash hash;
  hash.add(bytes.data(), bytes.size());
  return hash.hexadecimal();
}

std::uint64_t short_fingerprint(std::span<const std::byte> bytes) {
  Hash hash;
  hash.add(bytes.data(), bytes.size());
  return hash.number();
}

std::string fingerprint_of_parts(const std::string& path) {
  constexpr std::uintmax_t kParts = 256, kPart = 1 << 16;
  std::error_code ignored;
  const std::uintmax_t size = fs::is_regular_file(path, ignored) ? fs::file_size(path) : 0;
  if (size <= kParts * kPart) return fingerprint_of_file(path);
  Hash hash;
  hash.add(&size, sizeof size);
  std::ifstream in(path, std::ios::binary);
  std::vector<char> part(kPart);
  for (std::uintmax_t i = 0; i < kParts; ++i) {
    in.seekg(static_cast<std::streamoff>((size - kPart) * i / (kParts - 1)));
    if (!in.read(part.data(), static_cast<std::streamsize>(kPart))) throw RuntimeFailure(path + ": cannot be read");
    hash.add(part.data(), part.size());
  }
  return hash.hexadecimal();
}

std::string fingerprint_of_file(const std::string& path) {
  std::error_code ignored;
  Hash hash;
  if (fs::is_regular_file(path, ignored)) {
    hash.add_file(path);
    return hash.hexadecimal();
  }
  if (!fs::is_directory(path, ignored)) return "none";
  std::vector<fs::path> files;
  for (const fs::directory_entry& entry : fs::recursive_directory_iterator(path))
    if (entry.is_regular_file(ignored)) files.push_back(entry.path());
  std::ranges::sort(files);
  for (const fs::path& file : files) {
    const std::string name = fs::relative(file, path).string();
    hash.add(name.data(), name.size() + 1);
    hash.add_file(file);
  }
  return hash.hexadecimal();
}

}  // namespace unfold
