#pragma once
/// Piano rolls as models of music give them: drawn step by step, written as text, as a MIDI file and as a picture.

#include <cstdint>
#include <string>
#include <vector>

#include "unfold/base/types.h"

namespace unfold {

/// The MIDI note that the first number of a step stands for: the lowest of a piano.
inline constexpr int kLowestNote = 21;

/// The MIDI notes that sound at each step, ascending.
using Roll = std::vector<std::vector<int>>;

/// Whether a run folder or model file predicts the notes of piano rolls from those before (--format rolls).
bool holds_roll_model(const std::string& model);

struct RollRequest {
  std::string model = {};
  Index length = 100;      ///< steps
  std::uint64_t seed = 1;  ///< of the draws
  Index number = 0;        ///< of the piece: others of one seed differ
  /// Voices that are given: they are kept, and a voice is added, at each step one more note or none. Empty: all notes
  /// are drawn.
  Roll voices = {};
};
/// From silence on; as long as the voices, where there are any. Of an added voice a step is drawn from the exact
/// distribution of the notes that may be added to what sounds, given all steps before; steps to come have no say in it.
/// Throws UsageError for a model that reads anything but the notes before, ModelError.
Roll sample_roll(const RollRequest& request);

/// A line of the format `rolls`.
std::string roll_text(const Roll& roll);

/// The first piece of a file of the format `rolls`. Throws DataError: file, line, what is wrong.
Roll read_roll(const std::string& path);

/// A Standard MIDI File of format 0, one track. A note that sounds at neighbouring steps is held.
/// `milliseconds`: of a step, 1 to 16,000 (UsageError).
std::string roll_midi(const Roll& roll, Index milliseconds);

/// SVG: time to the right, notes upwards.
std::string roll_picture(const Roll& roll);

}  // namespace unfold
