#include "app/sample/piano_roll.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "app/fields/field_model.h"
#include "loss/density/sample_numbers.h"
#include "numerics/functions.h"
#include "unfold/graph/engine/stepper.h"

namespace unfold {
namespace {

constexpr const char* kNotes = "notes";
constexpr Index kCount = 88;

template <class T>
bool predicts_rolls(const NetworkModel<T>& model) {
  return model.data().source == "rolls" && model.layout().heads.size() == 1 &&
         model.layout().heads.front().field == kNotes && model.data().field(kNotes).size == kCount;
}

/// Generates one piece, step by step.
template <class T>
class RollSampler {
 public:
  explicit RollSampler(const NetworkModel<T>& model)
      : model_(model), head_(model.network().heads.front()), stepper_(model.plan(), model.parameters(), team_) {
    for (const NetworkInput& input : model.network().inputs) {
      const FieldRead read = parse_read(input.field);
      if (read.field != kNotes || read.back < 1)
        throw UsageError(fmt::format(
            "this model reads {}; sampling piano rolls requires a model that reads only the preceding notes",
            input.field));
      reads_.emplace_back(read.back, input.signal);
    }
  }

  Roll run(Index length, const Roll& voices, Random& random) {
    Roll roll(at(length));
    for (Index t = 0; t < length; ++t) {
      for (const auto& [back, signal] : reads_) give(t - back, stepper_.input(signal).row(0));
      stepper_.step();
      frames_.push_back(voices.empty() ? draw(random) : add_voice(voices[at(t)], random));
      for (Index i = 0; i < kCount; ++i)
        if (frames_.back()[at(i)] > T{0.5}) roll[at(t)].push_back(kLowestNote + static_cast<int>(i));
    }
    return roll;
  }

 private:
  void give(Index step, T* to) const {
    if (step < 0)
      std::fill_n(to, kCount, T{0});
    else
      std::copy_n(frames_[at(step)].begin(), kCount, to);
  }
  std::vector<T> draw(Random& random) {
    std::vector<T> frame(at(kCount));
    const Matrix<const T> signal = stepper_.value(head_.signal);
    const std::span<const T> row(signal.row(0), at(signal.cols));
    draw_numbers<T>(*head_.loss, {row, model_.parameters().flat()}, "sample", random, frame);
    return frame;
  }

  /// Draws a frame that adds at most one note to the sounding notes, by scoring every such frame.
  std::vector<T> add_voice(const std::vector<int>& sounding, Random& random) {
    std::vector<T> frame(at(kCount)), candidates, nats;
    for (const int note : sounding) frame[at(note - kLowestNote)] = T{1};
    std::vector<Index> added = {-1};
    for (Index i = 0; i < kCount; ++i)
      if (frame[at(i)] == 0) added.push_back(i);
    const Matrix<const T> said = stepper_.value(head_.signal);
    std::vector<T> signal;
    for (const Index i : added) {
      candidates.insert(candidates.end(), frame.begin(), frame.end());
      if (i >= 0) *(candidates.end() - kCount + i) = T{1};
      signal.insert(signal.end(), said.row(0), said.row(0) + said.cols);
    }
    const auto rows = static_cast<Index>(added.size());
    nats.resize(at(rows));
    head_.loss->negative_log_likelihood({.structure = Structure::chains(rows, 1),
                                         .signal = {signal.data(), rows, said.cols, said.cols},
                                         .targets = {nullptr, {candidates.data(), rows, kCount, kCount}, nullptr},
                                         .parameters = model_.parameters().flat()},
                                        team_, nats.data());
    std::vector<double> log_p;
    log_p.reserve(nats.size());
    for (const T x : nats) log_p.push_back(-static_cast<double>(x));
    log_softmax(log_p.data(), log_p.data(), rows);
    const auto* chosen = candidates.data() + at(sample_symbol<double>(log_p, random) * kCount);
    return {chosen, chosen + kCount};
  }

  const NetworkModel<T>& model_;
  const Head<T>& head_;
  Team team_{1};
  Stepper<T> stepper_;
  std::vector<std::pair<Index, Signal>> reads_;
  std::vector<std::vector<T>> frames_;
};

/// Appends a number to a MIDI file, most significant byte first.
void put(std::string& out, std::uint32_t x, int bytes) {
  for (int shift = 8 * (bytes - 1); shift >= 0; shift -= 8) out += static_cast<char>((x >> shift) & 0xFFU);
}

/// Appends a variable-length quantity: seven bits per byte, with the high bit set in all but the last.
void put_variable(std::string& out, std::uint32_t x) {
  std::string bytes(1, static_cast<char>(x & 0x7FU));
  while ((x >>= 7U) != 0) bytes.insert(bytes.begin(), static_cast<char>(0x80U | (x & 0x7FU)));
  out += bytes;
}

/// A MIDI track: note-off and note-on events, each preceded by its delta time.
class MidiTrack {
 public:
  explicit MidiTrack(std::uint32_t step) : step_(step) {}
  void pass_step() { waiting_ += step_; }
  void event(unsigned status, int note, int velocity) {
    put_variable(bytes_, std::exchange(waiting_, 0));
    bytes_ += static_cast<char>(status);
    bytes_ += static_cast<char>(note);
    bytes_ += static_cast<char>(velocity);
  }
  /// `microseconds` per quarter note.
  void tempo(std::uint32_t microseconds) {
    bytes_ += std::string("\x00\xFF\x51\x03", 4);
    put(bytes_, microseconds, 3);
  }
  std::string finished() {
    put_variable(bytes_, std::exchange(waiting_, 0));
    return bytes_ + std::string("\xFF\x2F\x00", 3);
  }

 private:
  std::uint32_t step_, waiting_ = 0;
  std::string bytes_;
};

bool sounds(const Roll& roll, std::size_t step, int note) {
  return step < roll.size() && std::ranges::find(roll[step], note) != roll[step].end();
}

}  // namespace

bool holds_roll_model(const std::string& model) {
  const std::unique_ptr<Model> loaded = load_model_file(model_file(model));
  if (const auto* single = loaded->as<NetworkModel<float>>()) return predicts_rolls(*single);
  if (const auto* exact = loaded->as<NetworkModel<double>>()) return predicts_rolls(*exact);
  return false;
}

Roll sample_roll(const RollRequest& request) {
  return with_network_model(request.model, [&]<class T>(const NetworkModel<T>& model) {
    if (!predicts_rolls(model)) throw UsageError(fmt::format("{} does not predict piano rolls", request.model));
    Random random(request.seed, fmt::format("roll/{}", request.number));
    const Index length = request.voices.empty() ? request.length : static_cast<Index>(request.voices.size());
    return RollSampler<T>(model).run(length, request.voices, random);
  });
}

std::string roll_text(const Roll& roll) {
  std::string text;
  for (const std::vector<int>& step : roll) {
    if (!text.empty()) text += ' ';
    text += step.empty() ? "-" : fmt::format("{}", fmt::join(step, ","));
  }
  return text;
}

Roll read_roll(const std::string& path) {
  const Examples examples = read_examples(Input::open(path), {.format = "rolls"});
  const ExampleColumn& notes = examples.column(kNotes);
  Roll roll(at(examples.length(0)));
  for (std::size_t t = 0; t < roll.size(); ++t)
    for (Index i = 0; i < kCount; ++i)
      if (notes.numbers[t * at(kCount) + at(i)] != 0) roll[t].push_back(kLowestNote + static_cast<int>(i));
  return roll;
}

std::string roll_midi(const Roll& roll, Index milliseconds) {
  constexpr std::uint32_t kTicks = 96;  // ticks per step, which is one quarter note
  constexpr unsigned kOn = 0x90, kOff = 0x80;
  constexpr int kVelocity = 80, kRelease = 64;
  constexpr Index kLongest = 16'000;  // milliseconds; the tempo field has 24 bits
  if (milliseconds < 1 || milliseconds > kLongest)
    throw UsageError(fmt::format("a step of {} milliseconds: must be 1 to {} for MIDI files", milliseconds, kLongest));
  MidiTrack track(kTicks);
  track.tempo(static_cast<std::uint32_t>(milliseconds) * 1000);
  for (std::size_t t = 0; t <= roll.size(); ++t) {
    if (t > 0) {
      for (const int note : roll[t - 1])
        if (!sounds(roll, t, note)) track.event(kOff, note, kRelease);
    }
    if (t == roll.size()) break;
    for (const int note : roll[t])
      if (t == 0 || !sounds(roll, t - 1, note)) track.event(kOn, note, kVelocity);
    track.pass_step();
  }
  const std::string events = track.finished();
  std::string file = "MThd";
  put(file, 6, 4);
  put(file, 0, 2);  // format 0
  put(file, 1, 2);  // number of tracks
  put(file, kTicks, 2);
  file += "MTrk";
  put(file, static_cast<std::uint32_t>(events.size()), 4);
  return file + events;
}

std::string roll_picture(const Roll& roll) {
  constexpr int kStep = 6, kNote = 4, kOctave = 12, kLeft = 52, kTop = 10, kBelow = 44, kTicks = 16, kSmallest = 200;
  const int steps = static_cast<int>(roll.size()), high = static_cast<int>(kCount) * kNote, bottom = kTop + high,
            right = kLeft + std::max(1, steps) * kStep, width = std::max(right + 24, kSmallest),
            height = bottom + kBelow;
  std::string svg = fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{0}\" height=\"{1}\" viewBox=\"0 0 {0} {1}\" "
      "font-family=\"sans-serif\" font-size=\"12\">\n"
      "<style>.roll-ink{{fill:#1b1f24}}@media (prefers-color-scheme:dark){{.roll-paper{{fill:#0d1117}}"
      ".roll-ink{{fill:#e6edf3}}.roll-octave{{stroke:#30363d}}.roll-note{{fill:#79b8ff}}}}</style>\n"
      "<rect width=\"{0}\" height=\"{1}\" fill=\"#ffffff\" class=\"roll-paper\"/>\n",
      width, height);
  const auto top = [&](int note) { return bottom - (note - kLowestNote + 1) * kNote; };
  const auto text = [&](int x, int y, const char* anchor, const std::string& words, const std::string& more = "") {
    svg += fmt::format("<text x=\"{}\" y=\"{}\" text-anchor=\"{}\" class=\"roll-ink\"{}>{}</text>\n", x, y, anchor,
                       more, words);
  };
  for (int c = kLowestNote + 3; c < kLowestNote + static_cast<int>(kCount); c += kOctave) {
    svg += fmt::format("<line x1=\"{}\" x2=\"{}\" y1=\"{}\" y2=\"{}\" stroke=\"#dddddd\" class=\"roll-octave\"/>\n",
                       kLeft, right, top(c) + kNote, top(c) + kNote);
    text(kLeft - 6, top(c) + kNote + 4, "end", fmt::format("C{}", c / kOctave - 1));  // MIDI note 60 is C4
  }
  for (int t = 0; t <= steps; t += kTicks) text(kLeft + t * kStep, bottom + 16, "middle", fmt::format("{}", t));
  text((kLeft + std::max(right, kSmallest - 24)) / 2, height - 10, "middle", "time step");
  text(14, (kTop + bottom) / 2, "middle", "note", fmt::format(" transform=\"rotate(-90 14 {})\"", (kTop + bottom) / 2));
  for (std::size_t t = 0; t < roll.size(); ++t)
    for (const int note : roll[t]) {
      if (t > 0 && sounds(roll, t - 1, note)) continue;
      std::size_t end = t;
      while (sounds(roll, end, note)) ++end;
      svg +=
          fmt::format("<rect x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\" fill=\"#1f4e79\" class=\"roll-note\"/>\n",
                      kLeft + static_cast<int>(t) * kStep, top(note), static_cast<int>(end - t) * kStep - 1, kNote - 1);
    }
  return svg + "</svg>\n";
}

}  // namespace unfold
