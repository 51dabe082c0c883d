#pragma once
/// The account of a training step, stage by stage, beside what this machine attains: the rates that its products,
/// functions, memory and barriers reach by themselves at the shapes in question, added up without overlap.

#include <string>
#include <vector>

#include "unfold/studies/measurements.h"

namespace unfold {

struct ProfileLine {
  std::string stage = {};
  double operations = 0;          ///< floating-point operations of products; elements of functions elsewhere
  double bytes = 0;               ///< read and written, counted once for each use
  double seconds = 0;             ///< of one step
  double attainable_seconds = 0;  ///< 0: there is no floor, the stage should not take time at all
};

struct Profile {
  std::vector<ProfileLine> lines;  ///< in the order of a step; their seconds add up to the step
  double seconds_per_step = 0, attainable_seconds = 0;
};

/// Steps that last about `seconds` together, once loops have chosen how members divide them, and about as long again
/// for the rates. Both are means over the fastest tenth: beside other programs as on a quiet machine.
Profile measure_profile(const TrainingShape& shape, Team& team, double seconds);

}  // namespace unfold
