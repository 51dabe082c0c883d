#pragma once
/// Profile of a training step by stage, compared with the attainable time on this machine: the time that products,
/// functions, memory traffic and barriers of the same shapes take when measured separately, added up without overlap.

#include <string>
#include <vector>

#include "app/bench/measurements.h"

namespace unfold {

struct ProfileLine {
  std::string stage = {};
  double operations = 0;          ///< floating-point operations of products; for functions, the number of elements
  double bytes = 0;               ///< bytes read and written, counted once per use
  double seconds = 0;             ///< measured time per step
  double attainable_seconds = 0;  ///< 0: the stage is pure overhead, without a lower bound
};

struct Profile {
  std::vector<ProfileLine> lines;  ///< stages in the order of a step; their seconds add up to the step time
  double seconds_per_step = 0, attainable_seconds = 0;
};

/// Measures steps for about `seconds` after the automatic choice of loop divisions, and then the rates for about as
/// long. Both are means over the fastest tenth of the samples, which makes results robust against other load.
Profile measure_profile(const TrainingShape& shape, Team& team, double seconds);

}  // namespace unfold
