#pragma once
/// Reads the members of a zip archive to the extent that .npz files require it: stored or deflated, below 4 GB. Source:
/// PKWARE's APPNOTE.TXT 6.3, sections 4.3 and 4.4.

#include <string>
#include <string_view>
#include <vector>

#include "unfold/base/types.h"

namespace unfold {

/// Reads `size` bytes (at most 8) at `offset` as a little-endian number. REQUIRES that they exist.
std::uint64_t little_endian(std::string_view bytes, std::size_t offset, std::size_t size);

bool is_zip(std::string_view bytes);  ///< checks the first bytes

struct ZipMember {
  std::string source;  ///< name of the archive, used in messages
  std::string name;
  bool deflated = false;
  std::size_t begin = 0, packed = 0, size = 0;  ///< offset in the archive, and compressed and uncompressed size
  std::uint32_t checksum = 0;                   ///< CRC-32

  /// Throws DataError if the member is damaged.
  std::string unpack(std::string_view archive) const;
};

/// Throws DataError beginning with `source` if the directory is damaged, if a member is encrypted, too large, or
/// compressed with a different method, or if all members together would unpack to more than 256 MiB plus 100 times the
/// archive.
std::vector<ZipMember> zip_members(const std::string& source, std::string_view archive);

}  // namespace unfold
