/// The format `rolls` (piano rolls): one piece per line, with steps separated by blanks. A step lists the sounding MIDI
/// notes in ascending order, separated by commas, or is "-" for silence.

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "data/readers/reader_text.h"

namespace unfold {
namespace {

constexpr int kLowestNote = 21, kHighestNote = 108;  ///< range of a piano
constexpr Index kPianoNotes = kHighestNote - kLowestNote + 1;
constexpr std::string_view kSilence = "-";

/// Calls use(note) for each note; returns false if the step is malformed.
template <class Use>
bool read_step(std::string_view step, Use&& use) {
  if (step == kSilence) return true;
  const char* at_text = step.data();
  const char* const end = at_text + step.size();
  for (int last = kLowestNote - 1;;) {
    int note = 0;
    const auto [stopped, error] = std::from_chars(at_text, end, note);
    if (error != std::errc() || note <= last || note > kHighestNote) return false;
    use(note);
    last = note;
    if (stopped == end) return true;
    if (*stopped != ',') return false;
    at_text = stopped + 1;
  }
}

Examples read_rolls(const Input& input, const ReaderOptions&) {
  const ReaderText text(input);
  Examples examples = text.no_examples();
  ExampleColumn notes{.name = "notes", .width = kPianoNotes};
  std::vector<std::string_view> steps;
  for (ReaderLines lines(text.text()); lines.next();) {
    steps.clear();
    split_at_blanks(lines.line(), steps);
    if (steps.empty()) {
      throw_data_error(text.source(), lines.number(), "an empty line; write a silent piece with - for each step");
    }
    for (const std::string_view step : steps) {
      const std::size_t begin = notes.numbers.size();
      notes.numbers.resize(begin + at(kPianoNotes), 0);
      const auto sound = [&](int note) { notes.numbers[begin + static_cast<std::size_t>(note - kLowestNote)] = 1; };
      if (read_step(step, sound)) continue;
      throw_data_error(
          text.source(), lines.number(),
          fmt::format("\"{}\" is not a step: expected ascending notes from {} to {} separated by commas, or -", step,
                      kLowestNote, kHighestNote));
    }
    examples.ends.push_back(notes.entries());
    examples.lines.resize(at(notes.entries()), lines.number());
    examples.example_lines.push_back(lines.number());
  }
  examples.columns.push_back(std::move(notes));
  return examples;
}

std::string guess_rolls(const DataSample& sample) {
  std::vector<std::string_view> steps;
  bool sequence = false, chord = false;
  // A piece may be longer than the sample; the sample then contains no complete line.
  std::vector<std::string_view> lines = sample.lines;
  if (lines.empty()) lines.push_back(sample.bytes.substr(0, sample.bytes.rfind(' ')));
  for (const std::string_view line : lines) {
    steps.clear();
    split_at_blanks(line, steps);
    if (steps.empty()) return {};
    sequence |= steps.size() > 1;
    for (const std::string_view step : steps) {
      if (!read_step(step, [](int) {})) return {};
      chord |= step == kSilence || step.find(',') != std::string_view::npos;
    }
  }
  return sequence && chord ? "MIDI notes of sounding keys, one piece per line" : std::string();
}

}  // namespace

ReaderEntry rolls_reader() {
  return {
      .name = "rolls",
      .help =
          "piano rolls: one piece per line, steps separated by blanks, MIDI notes separated by commas, - for silence",
      .guess = guess_rolls,
      .read = read_rolls};
}

}  // namespace unfold
