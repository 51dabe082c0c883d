#pragma once
/// Symbolic links, whose target may be missing.

#include <string>

namespace unfold {

/// Returns the end of a chain of symbolic links, even if no file exists there; the path itself if it is not a link. If
/// the links form a cycle, sets `error` to ELOOP and returns the path itself.
std::string resolve_links(const std::string& path, int& error);

}  // namespace unfold
