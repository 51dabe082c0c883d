#pragma once
/// Sections of a report about the activations of layers and gates at the positions of a text. Internal to app/report/.

#include <string>
#include <vector>

#include "app/explain/input_gradients.h"
#include "app/report/page.h"

namespace unfold {

/// The text shown below the units, position by position.
struct ShownPlaces {
  std::vector<std::string> texts = {};  ///< "\n" ends a line
  std::vector<Index> rows = {};         ///< for each text, the row of the pass that has just read it; -1: none
  bool words = false;                   ///< separate the strings by spaces
};

/// Builds sections from the pass last run by `gradients`. Keeps references to all arguments.
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
  std::vector<Index> rows_;  // the rows that are not -1
};

/// Adds a chart of the gradient norms of the state by lag. `over` describes the positions averaged over. `estimated`:
/// the norms were estimated with fewer seeds than the state has components.
void add_lags(PageSection& section, const std::string& unit, const std::vector<ChartSeries>& norms,
              const std::string& over, bool estimated);

double rounded(double x, double unit);

}  // namespace unfold
