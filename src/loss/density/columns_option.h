#pragma once
/// Internal: options shared by distributions of vectors, for the kinds of the columns (loss/density/columns.h) and the
/// background of mixtures (loss/density/component_distribution.h).

#include <string>

#include "unfold/base/options/options.h"

namespace unfold {

template <class Visitor>
void describe_columns(Visitor& v, std::string& columns) {
  v.add({.name = "columns",
         .target = &columns,
         .help = "kinds of the columns, detected automatically: b*3+c4+n is three bits, one of four classes and a "
                 "number; empty: all columns have the same kind"});
}

template <class Visitor>
void describe_background(Visitor& v, double& share) {
  constexpr double kMost = 0.5;
  v("background", share, "share of a wide Laplace distribution in each mixture, which bounds the loss of outliers",
    range(0, kMost));
}

}  // namespace unfold
