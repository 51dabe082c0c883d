#pragma once
/// Compressed files, through the libraries of their formats.

#include <string>
#include <string_view>

namespace unfold {

enum class Compression { none, gzip, xz, zstd };

/// By the ending of a file name: .gz, .xz, .zst.
Compression compression_of(std::string_view filename);

/// All the bytes that `compressed` stands for, several members after one another included. Throws DataError beginning
/// with `name` when the bytes are not of that format, damaged, cut short, or stand for more than `most` bytes: a few
/// kilobytes may claim to be terabytes.
std::string decompress(Compression compression, std::string_view compressed, const std::string& name,
                       std::size_t most = ~std::size_t{0});

}  // namespace unfold
