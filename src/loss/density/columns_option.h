#pragma once
/// Internal: options shared by distributions of vectors: the kinds of the columns (loss/density/columns.h) and the
/// background of mixtures (loss/density/component_distribution.h).

#include <string>

#include "base/options/options.h"

namespace unfold {

template <class Visitor>
void describe_columns(Visitor& v, std::string& columns) {
  v.add({.name = "columns",
         .target = &columns,
         .help = "what the numbers are, found by itself: b*3+c4+n, three bits, one of four classes, a number; empty: "
                 "all are alike"});
}

template <class Visitor>
void describe_background(Visitor& v, double& share) {
  constexpr double kMost = 0.5;
  v("background", share,
    "share of each mixture that is a wide Laplace: what a number that is unforeseen costs is bounded", range(0, kMost));
}

}  // namespace unfold
