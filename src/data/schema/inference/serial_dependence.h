#pragma once
/// Tests whether the entries of a column depend on the preceding entries, using the first rows of a table.
///
/// An entry is compared with the preceding entry and with the entries 2, 4, 8 and 16 rows before it. In rows without an
/// order, such as survey answers, the preceding entry is the nearer one (for texts: the equal one) in half of the
/// comparisons. In a series, it is the nearer one more often or, if the series is periodic, much less often. Unlike a
/// correlation, the share of comparisons changes little if the rows are sorted by a class: only comparisons across the
/// few borders between classes are affected, and they are subtracted.

#include <array>
#include <cstdint>
#include <limits>
#include <vector>

#include "unfold/base/types.h"

namespace unfold {

class SerialDependence {
 public:
  static constexpr Index kMostRows = 10'000;  ///< further rows need not be added

  /// `hash`: the hash of the entry; 0 if the entry is missing. `number`: its value, or NaN.
  void add(std::uint64_t hash, double number);

  /// How entries are compared.
  struct Options {
    bool numbers = true;     ///< by their values, otherwise by their equality
    Index borders = 0;       ///< of the classes by which the rows are sorted
    bool trend = false;      ///< the rows are sorted by a number: only neighbors and their neighbors are compared
    bool strictly = false;   ///< whether one of 100 columns without an order may seem dependent, not one of 30
    bool residuals = false;  ///< of a regression: one of 400 may seem dependent
  };
  /// Returns whether entries depend on earlier ones; false if there are too few to decide.
  bool depends(const Options& options) const;
  /// Returns whether numbers ascend or descend, or whether equal entries are neighbors.
  bool sorted(bool numbers) const { return numbers ? ascends_ || descends_ : one_run_each_; }
  /// Returns the number of rows whose entry differs from the entry before it.
  Index changes() const { return changes_; }

 private:
  static constexpr std::array<std::size_t, 4> kLags = {2, 4, 8, 16};
  static constexpr std::size_t kKept = 16;
  struct Entry {
    std::uint64_t hash = 0;
    double number = std::numeric_limits<double>::quiet_NaN();
  };
  struct Comparisons {
    Index count = 0;
    double nearer = 0;  ///< number of times that the preceding entry was nearer; ties count one half
  };

  const Entry& earlier(std::size_t lag) const { return last_[(static_cast<std::size_t>(rows_) - lag) % kKept]; }
  void compare(const Entry& entry);
  void add_run(std::uint64_t hash);

  std::array<Entry, kKept> last_;  ///< the preceding rows; row r is at r % kKept
  Index rows_ = 0, changes_ = 0;
  std::array<Comparisons, kLags.size()> values_, equalities_;  ///< comparisons, by lag
  bool ascends_ = true, descends_ = true, one_run_each_ = true;
  std::vector<std::uint64_t> runs_;  ///< distinct entries, as long as each forms one run
};

}  // namespace unfold
