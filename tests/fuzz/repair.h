#pragma once
/// Corrects checksums, so that the fuzzer gets past them.

#include <fmt/format.h>
#include <zlib.h>

#include <cstdint>
#include <cstring>
#include <string>

namespace unfold {

inline std::uint32_t crc_of(std::string_view bytes, std::uint32_t start = 0) {
  return static_cast<std::uint32_t>(
      crc32_z(start, reinterpret_cast<const Bytef*>(bytes.empty() ? "" : bytes.data()), bytes.size()));
}

/// Returns a model file with this header and these tensors and a correct checksum (data/files/safetensors.h). `header`
/// is the part after the checksum: "card":"..."},"tensor":{...}}
inline std::string model_file_of(std::string_view header, std::string_view tensors) {
  std::string json = R"({"__metadata__":{"checksum":"crc32:00000000",)";
  const std::size_t digits = 8 + json.find("00000000");
  json += header;
  const std::uint64_t length = json.size();
  std::string file(sizeof length, '\0');
  std::memcpy(file.data(), &length, sizeof length);
  file += json;
  file += tensors;
  file.replace(digits, 8, fmt::format("{:08x}", crc_of(file)));
  return file;
}

/// Treats bytes as an archive (compression/container.h) whose records have no checksums yet, and adds them. Everything
/// after the first invalid record is unchanged.
inline std::string archive_of(std::string_view bytes) {
  std::string out;
  std::uint32_t chain = 0;
  std::size_t begin = 0, at = 0;
  const auto number = [&](std::uint64_t& n) {
    n = 0;
    for (int shift = 0; at < bytes.size() && shift < 63; shift += 7) {
      const auto byte = static_cast<std::uint8_t>(bytes[at++]);
      n |= static_cast<std::uint64_t>(byte & 0x7F) << shift;
      if (byte < 0x80) return true;
    }
    return false;
  };
  const auto skip = [&](std::uint64_t n) {
    if (n > bytes.size() - at) return false;
    at += n;
    return true;
  };
  const auto seal = [&] {
    const std::string_view record = bytes.substr(begin, at - begin);
    chain = crc_of(record, chain);
    out += record;
    for (int i = 0; i < 4; ++i) out += static_cast<char>(chain >> (8 * i));
    begin = at;
  };
  std::uint64_t n = 0, code = 0, side = 0;
  constexpr std::uint64_t kMagicAndVersion = 5;
  if (skip(kMagicAndVersion) && number(n) && skip(n)) {
    seal();
    while (at < bytes.size()) {
      const char tag = bytes[at++];
      const bool block = tag == 1 && number(n) && number(n) && number(code) && number(side) && skip(code) &&
                         skip(side) && skip(4);  // the checksum of the contents
      if (!block && !(tag == 2 && number(n) && number(n))) break;
      seal();
    }
  }
  return out + std::string(bytes.substr(begin));
}

}  // namespace unfold
