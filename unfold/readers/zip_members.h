#pragma once
/// The members of a zip archive, as far as .npz files need them: stored or deflated, below 4 GB. Source: PKWARE's
/// APPNOTE.TXT 6.3, sections 4.3 and 4.4.

#include <string>
#include <string_view>
#include <vector>

#include "unfold/base/types.h"

namespace unfold {

/// `size` bytes, at most 8, from `offset` on as a number. They must be there.
std::uint64_t little_endian(std::string_view bytes, std::size_t offset, std::size_t size);

bool is_zip(std::string_view bytes);  ///< by its first bytes

struct ZipMember {
  std::string source;  ///< the archive, for messages
  std::string name;
  bool deflated = false;
  std::size_t begin = 0, packed = 0, size = 0;  ///< where its bytes lie in the archive, and how many it unpacks to
  std::uint32_t checksum = 0;                   ///< CRC-32

  /// Throws DataError when it is damaged.
  std::string unpack(std::string_view archive) const;
};

/// Throws DataError beginning with `source` when the directory is damaged, when a member is encrypted, compressed
/// otherwise or too large, and when all together would unpack to more than 256 MiB and 100 times the archive.
std::vector<ZipMember> zip_members(const std::string& source, std::string_view archive);

}  // namespace unfold
