#include "data/files/zip_members.h"

#include <fmt/format.h>
#include <zlib.h>

#include <algorithm>

#include "unfold/base/error.h"

namespace unfold {
namespace {

constexpr std::string_view kZipMember = "PK\x03\x04", kZipEntry = "PK\x01\x02", kZipEnd = "PK\x05\x06";
constexpr std::size_t kMemberBytes = 30, kEntryBytes = 46, kEndBytes = 22, kMostComment = 0xFFFF;
constexpr std::uint64_t kIn64Bits = 0xFFFFFFFF;  ///< marks a size that does not fit in 32 bits
constexpr std::size_t kMostDeflated = 1032;      ///< maximum compression ratio of deflate
constexpr std::size_t kUnpackedAnyway = std::size_t{256} << 20, kUnpackedTimes = 100;

[[noreturn]] void refuse_zip(const std::string& source, const std::string& what) {
  throw DataError(fmt::format("{}: {}; create the archive again (numpy.savez)", source, what));
}

/// Finds the end record, which locates the directory.
std::string_view zip_end(const std::string& source, std::string_view archive) {
  const std::size_t from = archive.size() - std::min(archive.size(), kEndBytes + kMostComment);
  const std::size_t found = archive.rfind(kZipEnd);
  if (found == std::string_view::npos || found < from || archive.size() - found < kEndBytes) {
    refuse_zip(source, "the archive has no directory at its end; it is truncated");
  }
  return archive.substr(found);
}

/// Returns the offset of the bytes of a member: after its local header, whose length is not recorded in the directory.
std::size_t member_begin(const std::string& source, std::string_view archive, std::uint64_t offset) {
  if (offset > archive.size() || archive.size() - offset < kMemberBytes ||
      !archive.substr(offset).starts_with(kZipMember)) {
    refuse_zip(source, "the directory lists a member that does not exist");
  }
  return offset + kMemberBytes + little_endian(archive, offset + 26, 2) + little_endian(archive, offset + 28, 2);
}

ZipMember zip_member(const std::string& source, std::string_view archive, std::string_view entry) {
  ZipMember member;
  member.source = source;
  const std::uint64_t flags = little_endian(entry, 8, 2), method = little_endian(entry, 10, 2);
  member.checksum = static_cast<std::uint32_t>(little_endian(entry, 16, 4));
  member.packed = little_endian(entry, 20, 4);
  member.size = little_endian(entry, 24, 4);
  member.name = entry.substr(kEntryBytes, little_endian(entry, 28, 2));
  member.deflated = method == 8;
  if ((flags & 1) != 0) refuse_zip(source, member.name + " is encrypted");
  if (method != 0 && method != 8)
    refuse_zip(source, fmt::format("{} is compressed with method {}, which is not supported", member.name, method));
  if (member.packed == kIn64Bits || member.size == kIn64Bits)
    refuse_zip(source, member.name + " is 4 GB or larger, which is not supported");
  member.begin = member_begin(source, archive, little_endian(entry, 42, 4));
  if (member.begin > archive.size() || archive.size() - member.begin < member.packed) {
    refuse_zip(source, member.name + " is truncated");
  }
  const bool possible =
      member.deflated ? member.size <= kMostDeflated * (member.packed + 1) : member.size == member.packed;
  if (!possible) refuse_zip(source, member.name + " does not have the size given in the directory");
  return member;
}

std::string inflate_raw(std::string_view packed, std::size_t size) {
  std::string out(size, '\0');
  z_stream stream{};
  if (inflateInit2(&stream, -MAX_WBITS) != Z_OK) throw RuntimeFailure("zlib cannot be initialized");
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(packed.data()));
  stream.avail_in = static_cast<uInt>(packed.size());
  stream.next_out = reinterpret_cast<Bytef*>(out.data());
  stream.avail_out = static_cast<uInt>(out.size());
  const int status = inflate(&stream, Z_FINISH);
  const bool whole = status == Z_STREAM_END && stream.avail_out == 0;
  inflateEnd(&stream);
  return whole ? out : std::string();
}

}  // namespace

std::uint64_t little_endian(std::string_view bytes, std::size_t offset, std::size_t size) {
  std::uint64_t value = 0;
  for (std::size_t i = size; i-- > 0;) value = (value << 8) | static_cast<std::uint8_t>(bytes[offset + i]);
  return value;
}

bool is_zip(std::string_view bytes) { return bytes.starts_with(kZipMember); }

std::string ZipMember::unpack(std::string_view archive) const {
  const std::string_view bytes = archive.substr(begin, packed);
  std::string out = deflated ? inflate_raw(bytes, size) : std::string(bytes);
  const auto sum = crc32_z(0, reinterpret_cast<const Bytef*>(out.data()), out.size());
  if (out.size() != size || sum != checksum) refuse_zip(source, name + " is damaged");
  return out;
}

std::vector<ZipMember> zip_members(const std::string& source, std::string_view archive) {
  const std::string_view end = zip_end(source, archive);
  const std::uint64_t count = little_endian(end, 10, 2), offset = little_endian(end, 16, 4);
  if (offset > archive.size()) refuse_zip(source, "the directory is missing");
  std::string_view directory = archive.substr(offset);
  std::vector<ZipMember> members;
  std::size_t unpacked = 0;
  for (std::uint64_t i = 0; i < count; ++i) {
    if (directory.size() < kEntryBytes || !directory.starts_with(kZipEntry))
      refuse_zip(source, "the directory is damaged");
    const std::size_t length = kEntryBytes + little_endian(directory, 28, 2) + little_endian(directory, 30, 2) +
                               little_endian(directory, 32, 2);
    if (length > directory.size()) refuse_zip(source, "the directory is damaged");
    members.push_back(zip_member(source, archive, directory));
    unpacked += members.back().size;
    if (unpacked > kUnpackedAnyway + kUnpackedTimes * archive.size()) {
      refuse_zip(source, "it would expand to more than 256 MiB plus 100 times its size");
    }
    directory.remove_prefix(length);
  }
  return members;
}

}  // namespace unfold
