#pragma once
/// Internal: sections of a report about what the layers and gates of a network are at the places of a text.

#include <string>
#include <vector>

#include "unfold/look/gradients.h"
#include "unfold/look/page.h"

namespace unfold {

/// The text below the units, place by place.
struct ShownPlaces {
  std::vector<std::string> texts = {};  ///< "\n" ends a line
  std::vector<Index> rows = {};         ///< of the pass, where that text has just been read; -1: none
  bool words = false;                   ///< blanks stand between them
};

/// What a pass has left in `gradients`. All of it is referred to.
template <class T>
class Activity {
 public:
  Activity(const Watched<T>& watched, const Gradients<T>& gradients, const ShownPlaces& places);
  PageSection neurons() const;
  PageSection gates() const;

 private:
  struct Unit {
    std::size_t layer;
    Index unit;
    double variance;
  };
  Index unit_count() const;
  std::vector<Unit> liveliest() const;
  PageJson unit_json(const Unit& unit) const;
  Curve saturation(const Gate& gate) const;

  const Watched<T>& watched_;
  const Gradients<T>& gradients_;
  const ShownPlaces& places_;
  std::vector<Index> rows_;  // those that are there
};

/// Adds the norms of the state's gradient by lag, `over` so many places; `estimated`: by fewer seeds than it has
/// numbers.
void add_lags(PageSection& section, const std::string& unit, const std::vector<ChartSeries>& norms,
              const std::string& over, bool estimated);

double rounded(double x, double unit);

}  // namespace unfold
