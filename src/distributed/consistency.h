#pragma once
/// Consistency check across processes: each process reports its settings, and a difference from the first process is an
/// error.

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "unfold/distributed/processes.h"

namespace unfold {

/// A setting that must be the same in all processes: "version", "1.0.0".
struct Claim {
  std::string what, value;
};

/// Collective. If a claim differs from the claim of the first process, throws a UsageError in all processes that names
/// the process, the claim and both values.
void require_same_settings(Processes& processes, const std::vector<Claim>& claims);

/// Returns the 128-bit BLAKE2b hash in hexadecimal.
std::string fingerprint(std::span<const std::byte> bytes);
/// Returns 64 bits of the same hash.
std::uint64_t short_fingerprint(std::span<const std::byte> bytes);
/// Returns the fingerprint of a file's contents, or of all files below a directory with their names; "none" if neither
/// exists. Throws RuntimeFailure if a file cannot be read.
std::string fingerprint_of_file(const std::string& path);
/// Returns the fingerprint of a file's size and of 16 MiB of its contents, in 256 pieces spread over the file. Smaller
/// files are hashed completely.
std::string fingerprint_of_parts(const std::string& path);

}  // namespace unfold
