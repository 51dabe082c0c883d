#include "model/decoding/edit_distance.h"

#include <algorithm>
#include <numeric>
#include <vector>

namespace unfold {

Index edit_distance(std::span<const Symbol> from, std::span<const Symbol> to) {
  std::vector<Index> above(to.size() + 1), here(to.size() + 1);
  std::iota(above.begin(), above.end(), Index{0});
  for (std::size_t i = 0; i < from.size(); ++i) {
    here[0] = static_cast<Index>(i) + 1;
    for (std::size_t j = 0; j < to.size(); ++j)
      here[j + 1] = std::min({above[j + 1] + 1, here[j] + 1, above[j] + (from[i] == to[j] ? 0 : 1)});
    std::swap(above, here);
  }
  return above.back();
}

}  // namespace unfold
