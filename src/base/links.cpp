#include "base/links.h"

#include <cerrno>
#include <filesystem>
#include <system_error>

namespace unfold {

std::string resolve_links(const std::string& path, int& error) {
  constexpr int kMostLinks = 40;  // the limit of the kernel
  std::filesystem::path place = path;
  for (int links = 0; links < kMostLinks; ++links) {
    std::error_code not_a_link;
    const std::filesystem::path next = std::filesystem::read_symlink(place, not_a_link);
    if (not_a_link) return place.string();
    place = place.parent_path() / next;  // an absolute path replaces the folder
  }
  error = ELOOP;
  return path;
}

}  // namespace unfold
