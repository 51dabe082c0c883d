#pragma once
/// A curve of one line of text, in eight heights: "█▆▅▄▃▃▂▂▁▁". However many values are added, little is kept.

#include <cstddef>
#include <string>
#include <vector>

namespace unfold {

class SmallCurve {
 public:
  /// Values that are not finite are left out.
  void add(double value);
  /// Up to `cells` letters, of the means of stretches of equally many values; the lowest and the highest mean give the
  /// range. Fewer where there are fewer values; empty where there are none.
  std::string text(std::size_t cells) const;

 private:
  std::vector<double> means_;  // of `each_` values
  std::size_t each_ = 1;
  double open_sum_ = 0;  // of values that do not make a mean yet
  std::size_t open_count_ = 0;
};

}  // namespace unfold
