#pragma once
/// Internal: the option of losses whose numbers are not all alike (densities/columns.h).

#include <string>

#include "unfold/base/options.h"

namespace unfold {

template <class Visitor>
void describe_columns(Visitor& v, std::string& columns) {
  v.add({.name = "columns",
         .target = &columns,
         .help = "what the numbers are, found by itself: b*3+c4+n, three bits, one of four classes, a number; empty: "
                 "all are alike"});
}

}  // namespace unfold
