#include "base/formats/decompress.h"

#include <fmt/format.h>
#include <lzma.h>
#include <zlib.h>
#include <zstd.h>
#include <zstd_errors.h>

#include <algorithm>
#include <memory>
#include <vector>

#include "unfold/base/error.h"

namespace unfold {
namespace {

constexpr std::size_t kInflatedBlock = std::size_t{1} << 17;
constexpr std::string_view kGzipMagic = "\x1f\x8b",
                           kXzMagic{
                               "\xfd"
                               "7zXZ\0",
                               6},
                           kZstdMagic = "\x28\xb5\x2f\xfd";

[[noreturn]] void fail_cut_short(const std::string& name) {
  throw DataError(fmt::format("{}: the compressed data is truncated; download or create the file again", name));
}

[[noreturn]] void fail_damaged(const std::string& name, std::string_view why) {
  throw DataError(fmt::format("{}: the compressed data is damaged ({}); download or create the file again", name, why));
}

/// Output buffer of a decompressor, bounded by a limit.
class Unpacked {
 public:
  Unpacked(std::size_t packed, std::size_t most, const std::string& name) : packed_(packed), most_(most), name_(name) {}
  template <class Byte>
  void append(const std::vector<Byte>& block, std::size_t size) {
    if (size > most_ - bytes_.size())
      throw DataError(fmt::format(
          "{}: {} compressed bytes expand to more than {}; raise the limit with --max-unpacked if this is expected",
          name_, packed_, most_));
    bytes_.append(reinterpret_cast<const char*>(block.data()), size);
  }
  std::string take() { return std::move(bytes_); }

 private:
  std::string bytes_;
  std::size_t packed_, most_;
  const std::string& name_;
};

std::string inflate_all(std::string_view input, const std::string& name, Unpacked out) {
  z_stream stream{};
  if (inflateInit2(&stream, 16 + MAX_WBITS) != Z_OK)
    throw RuntimeFailure("zlib cannot be initialized: not enough memory");
  const std::unique_ptr<z_stream, int (*)(z_stream*)> guard(&stream, inflateEnd);
  std::vector<Bytef> block(kInflatedBlock);
  std::size_t read = 0;
  for (;;) {
    const std::size_t piece = std::min(input.size() - read, std::size_t{1} << 30);
    stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(input.data() + read));
    stream.avail_in = static_cast<uInt>(piece);
    stream.next_out = block.data();
    stream.avail_out = static_cast<uInt>(kInflatedBlock);
    const int status = inflate(&stream, Z_NO_FLUSH);
    read += piece - stream.avail_in;
    out.append(block, kInflatedBlock - stream.avail_out);
    if (status == Z_STREAM_END) {
      // Another member may follow; zeros may pad the last block of a tape archive.
      if (input.find_first_not_of('\0', read) == std::string_view::npos) return out.take();
      if (!input.substr(read).starts_with(kGzipMagic))
        fail_damaged(name, "the compressed data is followed by other bytes");
      inflateReset(&stream);
    } else if (status == Z_BUF_ERROR || (status == Z_OK && read == input.size() && stream.avail_out > 0)) {
      fail_cut_short(name);
    } else if (status != Z_OK) {
      fail_damaged(name, stream.msg != nullptr ? stream.msg : "rejected by zlib");
    }
  }
}

std::string unxz_all(std::string_view input, const std::string& name, Unpacked out) {
  constexpr std::uint64_t kMemoryLimit = std::uint64_t{1} << 30;
  lzma_stream stream = LZMA_STREAM_INIT;
  if (lzma_stream_decoder(&stream, kMemoryLimit, LZMA_CONCATENATED) != LZMA_OK) {
    throw RuntimeFailure("liblzma cannot be initialized: not enough memory");
  }
  const std::unique_ptr<lzma_stream, void (*)(lzma_stream*)> guard(&stream, lzma_end);
  std::vector<std::uint8_t> block(kInflatedBlock);
  stream.next_in = reinterpret_cast<const std::uint8_t*>(input.data());
  stream.avail_in = input.size();
  for (;;) {
    stream.next_out = block.data();
    stream.avail_out = kInflatedBlock;
    const lzma_ret status = lzma_code(&stream, LZMA_FINISH);
    out.append(block, kInflatedBlock - stream.avail_out);
    if (status == LZMA_STREAM_END) return out.take();
    if (status == LZMA_BUF_ERROR) fail_cut_short(name);
    if (status == LZMA_MEMLIMIT_ERROR)
      throw DataError(
          fmt::format("{}: its dictionary takes more than 1 GiB of memory, the maximum allowed; compress it again with "
                      "xz -9 or less",
                      name));
    if (status == LZMA_MEM_ERROR) throw RuntimeFailure(fmt::format("{}: not enough memory to decompress it", name));
    if (status != LZMA_OK) fail_damaged(name, "rejected by liblzma");
  }
}

std::string unzstd_all(std::string_view input, const std::string& name, Unpacked out) {
  const std::unique_ptr<ZSTD_DCtx, std::size_t (*)(ZSTD_DCtx*)> context(ZSTD_createDCtx(), ZSTD_freeDCtx);
  if (!context) throw RuntimeFailure("libzstd cannot be initialized: not enough memory");
  constexpr int kMostWindowBits = 27;
  ZSTD_DCtx_setParameter(context.get(), ZSTD_d_windowLogMax, kMostWindowBits);
  std::vector<char> block(kInflatedBlock);
  ZSTD_inBuffer source{input.data(), input.size(), 0};
  for (;;) {
    ZSTD_outBuffer target{block.data(), block.size(), 0};
    const std::size_t status = ZSTD_decompressStream(context.get(), &target, &source);
    if (ZSTD_getErrorCode(status) == ZSTD_error_frameParameter_windowTooLarge)
      throw DataError(
          fmt::format("{}: it was compressed with a window of more than {} MiB, the largest supported; compress it "
                      "again with zstd --long={} or less",
                      name, std::size_t{1} << (kMostWindowBits - 20), kMostWindowBits));
    if (ZSTD_isError(status)) fail_damaged(name, ZSTD_getErrorName(status));
    out.append(block, target.pos);
    const bool drained = source.pos == source.size && target.pos < target.size;
    if (status == 0 && source.pos == source.size) return out.take();
    if (status != 0 && drained) fail_cut_short(name);
  }
}

}  // namespace

Compression compression_of(std::string_view filename) {
  if (filename.ends_with(".gz")) return Compression::gzip;
  if (filename.ends_with(".xz")) return Compression::xz;
  if (filename.ends_with(".zst")) return Compression::zstd;
  return Compression::none;
}

std::string decompress(Compression compression, std::string_view compressed, const std::string& name,
                       std::size_t most) {
  const auto require = [&](std::string_view magic, std::string_view format) {
    if (compressed.starts_with(magic)) return;
    if (!compressed.empty() && magic.starts_with(compressed)) fail_cut_short(name);
    throw DataError(fmt::format("{}: the file name says {}, but the contents have a different format; rename the file",
                                name, format));
  };
  Unpacked out(compressed.size(), most, name);
  switch (compression) {
    case Compression::none: break;
    case Compression::gzip: require(kGzipMagic, "gzip"); return inflate_all(compressed, name, std::move(out));
    case Compression::xz: require(kXzMagic, "xz"); return unxz_all(compressed, name, std::move(out));
    case Compression::zstd: require(kZstdMagic, "zstd"); return unzstd_all(compressed, name, std::move(out));
  }
  return std::string(compressed);
}

}  // namespace unfold
