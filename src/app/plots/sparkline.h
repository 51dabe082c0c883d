#pragma once
/// A curve drawn in one line of text with eight block characters: "█▆▅▄▃▃▂▂▁▁". It uses constant memory, regardless of
/// the number of values.

#include <cstddef>
#include <string>
#include <vector>

namespace unfold {

class Sparkline {
 public:
  /// Values that are not finite are ignored.
  void add(double value);
  /// Returns up to `cells` characters, each the mean of equally many consecutive values, scaled to the range of the
  /// means. Shorter if there are fewer values, and empty if there are none.
  std::string text(std::size_t cells) const;

 private:
  std::vector<double> means_;  // means of `each_` values
  std::size_t each_ = 1;
  double open_sum_ = 0;  // sum of the values that are not yet part of a mean
  std::size_t open_count_ = 0;
};

}  // namespace unfold
