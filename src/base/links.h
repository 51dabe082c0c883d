#pragma once
/// Symbolic links to files that need not exist.

#include <string>

namespace unfold {

/// Where a chain of symbolic links ends, whether a file is there or not; the path itself where it is not a link. Sets
/// `error` to ELOOP, and returns the path itself, where the chain does not end.
std::string resolve_links(const std::string& path, int& error);

}  // namespace unfold
