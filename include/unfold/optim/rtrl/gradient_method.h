#pragma once
/// The method for computing the gradient of a recurrent network, selected by name:
///
///   bptt         backpropagation through time: the backward pass through a window (graph/engine/unfolding.h)
///   rtrl         real-time recurrent learning: the exact sensitivity of every state to every parameter is carried
///                forward. Williams & Zipser 1989, equations (8) and (10); Robinson & Fallside 1987
///   snap:N       as rtrl, but only for parameters that reach a state within N steps. Menick et al. 2021, section 3
///   uoro         an unbiased rank-one estimate. Tallec & Ollivier 2017, algorithm 1
///   nobacktrack  a rank-one estimate with a random sign for each state. Ollivier, Tallec & Charpiat 2015, section 3

#include <string>
#include <string_view>

#include "unfold/base/types.h"

namespace unfold {

struct GradientMethod {
  enum class Kind { bptt, rtrl, snap, uoro, nobacktrack };
  Kind kind = Kind::bptt;
  Index steps = 1;  ///< number of steps of snap

  /// Parses "bptt", "rtrl", "snap:2", "uoro" or "nobacktrack"; "snap" means "snap:1". Throws a UsageError that suggests
  /// the nearest name.
  static GradientMethod parse(std::string_view text);
  std::string text() const;
  bool looks_back() const { return kind == Kind::bptt; }
  bool operator==(const GradientMethod&) const = default;
};

}  // namespace unfold
