#pragma once
/// Decompression of gzip, xz and zstd data, through zlib, liblzma and libzstd.

#include <string>
#include <string_view>

namespace unfold {

enum class Compression { none, gzip, xz, zstd };

/// Chooses the format by the suffix of the file name: .gz, .xz, .zst.
Compression compression_of(std::string_view filename);

/// Returns the decompressed bytes; concatenated members are all decompressed. Throws a DataError that begins with
/// `name` if the bytes are in a different format, damaged or truncated, or if they expand to more than `most` bytes (a
/// few kilobytes can expand to terabytes).
std::string decompress(Compression compression, std::string_view compressed, const std::string& name,
                       std::size_t most = ~std::size_t{0});

}  // namespace unfold
