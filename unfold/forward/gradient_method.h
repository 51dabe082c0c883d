#pragma once
/// How the gradient of a recurrent network is found, by name:
///
///   bptt         looking back: the backward pass through a window (engine/unfolding.h)
///   rtrl         without looking back, exactly: what every state owes to every parameter is carried along.
///                Williams & Zipser 1989, equations (8) and (10); Robinson & Fallside 1987
///   snap:N       the same, of parameters that reach a state within N steps alone. Menick et al. 2021, section 3
///   uoro         an unbiased estimate of rank one. Tallec & Ollivier 2017, algorithm 1
///   nobacktrack  another one, that draws a sign for each state. Ollivier, Tallec & Charpiat 2015, section 3

#include <string>
#include <string_view>

#include "unfold/base/types.h"

namespace unfold {

struct GradientMethod {
  enum class Kind { bptt, rtrl, snap, uoro, nobacktrack };
  Kind kind = Kind::bptt;
  Index steps = 1;  ///< of snap

  /// "bptt", "rtrl", "snap:2", "uoro", "nobacktrack"; "snap" is "snap:1". Throws UsageError suggesting the nearest
  /// name.
  static GradientMethod parse(std::string_view text);
  std::string text() const;
  bool looks_back() const { return kind == Kind::bptt; }
  bool operator==(const GradientMethod&) const = default;
};

}  // namespace unfold
