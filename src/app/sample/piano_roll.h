#pragma once
/// Piano rolls sampled from music models, with conversion to text, MIDI files and SVG images.

#include <cstdint>
#include <string>
#include <vector>

#include "unfold/base/types.h"

namespace unfold {

/// The MIDI note of the first number of a step, which is the lowest note of a piano.
inline constexpr int kLowestNote = 21;

/// The sounding MIDI notes of each step, in ascending order.
using Roll = std::vector<std::vector<int>>;

/// Returns whether a run folder or model file predicts the notes of piano rolls from preceding steps (--format rolls).
bool holds_roll_model(const std::string& model);

struct RollRequest {
  std::string model = {};
  Index length = 100;      ///< steps
  std::uint64_t seed = 1;  ///< seed of the random draws
  Index number = 0;        ///< number of the piece; pieces with the same seed and different numbers differ
  /// Fixed voices. They are kept, and one voice is added with at most one more note at each step. Empty: all notes are
  /// drawn.
  Roll voices = {};
};
/// Samples a piece that starts from silence and is as long as the given voices, if any. Each step of an added voice is
/// drawn from the exact distribution over the notes that can be added to the sounding ones, conditioned on all
/// preceding steps; later steps of the voices are not taken into account. Throws UsageError for a model with inputs
/// other than preceding notes, and ModelError.
Roll sample_roll(const RollRequest& request);

/// Returns the piece as one line in the format `rolls`.
std::string roll_text(const Roll& roll);

/// Reads the first piece of a file in the format `rolls`. Throws DataError with file, line and cause.
Roll read_roll(const std::string& path);

/// Returns a Standard MIDI File of format 0 with one track. A note that sounds in consecutive steps is held.
/// `milliseconds` is the duration of a step, 1 to 16,000 (otherwise UsageError).
std::string roll_midi(const Roll& roll, Index milliseconds);

/// Returns an SVG image with time to the right and pitch upward.
std::string roll_picture(const Roll& roll);

}  // namespace unfold
