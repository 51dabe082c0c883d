#pragma once
/// Whether processes are about to do the same: each says what it has, and what differs from the first is refused.

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "unfold/processes/processes.h"

namespace unfold {

/// Something that must be the same in all processes: "version", "0.1.0".
struct Claim {
  std::string what, value;
};

/// By all processes. Throws UsageError in all of them, naming a process, what it claims otherwise than the first, and
/// both values.
void require_agreement(Processes& processes, const std::vector<Claim>& claims);

/// 128 bits of BLAKE2b, in hexadecimal.
std::string fingerprint(std::span<const std::byte> bytes);
/// 64 of these bits.
std::uint64_t short_fingerprint(std::span<const std::byte> bytes);
/// Of a file's bytes, or of all files below a folder with their names; "none" where there is neither. RuntimeFailure:
/// it cannot be read.
std::string fingerprint_of_file(const std::string& path);
/// Of a file's size and of 16 MiB of it, in 256 pieces from its beginning to its end; of all of a smaller file.
std::string fingerprint_of_parts(const std::string& path);

}  // namespace unfold
