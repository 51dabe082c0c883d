/// Piano rolls as text, MIDI files and images, read back by an independent parser.

#include "app/sample/piano_roll.h"

#include <gtest/gtest.h>

#include <map>

#include "data/readers/example_reader.h"
#include "unfold/base/error.h"

namespace unfold {
namespace {

const Roll kRoll = {{60, 64}, {60}, {}, {21, 108}, {21}};

/// Reads a MIDI file of format 0: the notes that sound during each step of `ticks`.
class MidiReader {
 public:
  explicit MidiReader(const std::string& bytes) : bytes_(bytes) {
    EXPECT_EQ(text(4), "MThd");
    EXPECT_EQ(number(4), 6U);
    EXPECT_EQ(number(2), 0U);
    EXPECT_EQ(number(2), 1U);
    ticks_ = number(2);
    EXPECT_EQ(text(4), "MTrk");
    const std::size_t length = number(4);
    EXPECT_EQ(length, bytes.size() - at_);
  }
  Roll read(unsigned& microseconds) {
    Roll roll;
    std::map<int, bool> sounding;
    for (;;) {
      for (unsigned passed = variable(); passed > 0; passed -= ticks_) {
        EXPECT_EQ(passed % ticks_, 0U);
        std::vector<int>& step = roll.emplace_back();
        for (const auto& [note, on] : sounding)
          if (on) step.push_back(note);
      }
      const unsigned status = number(1);
      if (status == 0xFF) {
        const unsigned kind = number(1), size = number(1);
        if (kind == 0x2F) break;
        EXPECT_EQ(kind, 0x51U);
        microseconds = number(static_cast<int>(size));
        continue;
      }
      EXPECT_TRUE(status == 0x90 || status == 0x80) << status;
      const int note = static_cast<int>(number(1));
      number(1);
      EXPECT_NE(sounding[note], status == 0x90) << "a note begins that sounds, or ends that does not";
      sounding[note] = status == 0x90;
    }
    EXPECT_EQ(at_, bytes_.size());
    for (const auto& [note, on] : sounding) EXPECT_FALSE(on) << "note " << note << " never ends";
    return roll;
  }

 private:
  std::string text(std::size_t size) {
    at_ += size;
    return bytes_.substr(at_ - size, size);
  }
  unsigned number(int size) {
    unsigned x = 0;
    for (const char c : text(static_cast<std::size_t>(size))) x = x << 8U | static_cast<unsigned char>(c);
    return x;
  }
  unsigned variable() {
    unsigned x = 0, byte = 0;
    do {
      byte = number(1);
      x = x << 7U | (byte & 0x7FU);
    } while ((byte & 0x80U) != 0);
    return x;
  }

  const std::string& bytes_;
  std::size_t at_ = 0;
  unsigned ticks_ = 0;
};

TEST(Roll, midi_file_round_trips) {
  unsigned microseconds = 0;
  EXPECT_EQ(MidiReader(roll_midi(kRoll, 250)).read(microseconds), kRoll);
  EXPECT_EQ(microseconds, 250'000U);
  Roll silent(200);  // a time that takes more than two bytes
  silent.push_back({33});
  EXPECT_EQ(MidiReader(roll_midi(silent, 16'000)).read(microseconds), silent);
  EXPECT_EQ(MidiReader(roll_midi({}, 1)).read(microseconds), Roll{});
  EXPECT_THROW(roll_midi(kRoll, 0), UsageError);
  EXPECT_THROW(roll_midi(kRoll, 16'001), UsageError);
}

TEST(Roll, text_form_is_one_readable_line) {
  EXPECT_EQ(roll_text(kRoll), "60,64 60 - 21,108 21");
  EXPECT_EQ(read_examples(Input::from_bytes("roll", roll_text(kRoll) + "\n"), {.format = "rolls"}).positions(), 5);
}

TEST(Roll, picture_has_one_bar_per_held_note) {
  const std::string svg = roll_picture(kRoll);
  std::size_t bars = 0;
  for (std::size_t place = svg.find("#1f4e79"); place != std::string::npos; place = svg.find("#1f4e79", place + 1))
    ++bars;
  EXPECT_EQ(bars, 4U);
  EXPECT_TRUE(svg.ends_with("</svg>\n"));
}

}  // namespace
}  // namespace unfold
