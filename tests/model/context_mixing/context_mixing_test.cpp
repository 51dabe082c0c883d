#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "model/context_mixing/context_mixing.h"
#include "model/context_mixing/record_length.h"
#include "numerics/simd.h"
#include "unfold/numerics/random.h"

namespace unfold::test {
namespace {

using Bytes = std::vector<std::uint8_t>;

/// Returns records of `row` bytes, half of which repeat those of the previous record.
Bytes records(std::size_t row, std::size_t count) {
  Random random(3, "records");
  Bytes bytes;
  for (std::size_t i = 0; i < row * count; ++i)
    bytes.push_back(i >= row && i % 2 == 0 ? bytes[i - row] : static_cast<std::uint8_t>(random.below(256)));
  return bytes;
}

TEST(Rows, record_length_is_detected) {
  for (const std::size_t row : {4, 13, 216, 700}) EXPECT_EQ(find_row(records(row, 30)), static_cast<Index>(row));
  EXPECT_EQ(find_row(records(5, 20000)), 5) << "more of them than a byte counts";
}

TEST(Rows, random_data_have_no_records) {
  EXPECT_EQ(find_row({}), 0);
  EXPECT_EQ(find_row(Bytes(5000, 0)), 0);
  Random random(4, "noise");
  Bytes noise(20000);
  for (std::uint8_t& byte : noise) byte = static_cast<std::uint8_t>(random.below(256));
  EXPECT_EQ(find_row(noise), 0);
}

double bits(const Bytes& bytes, const ContextMixingOptions& options) {
  constexpr double kNatsPerBit = 0.6931471805599453;
  ContextMixing model(256, options);
  double nats = 0;
  for (const std::uint8_t byte : bytes) {
    nats -= static_cast<double>(model.log_probability(byte));
    model.observe(byte);
  }
  return nats / kNatsPerBit;
}

TEST(Rows, record_detection_reduces_the_size) {
  const Bytes bytes = records(300, 60);  // 4 bits per byte if everything is known
  constexpr Index kMemory = 1 << 20;
  const auto size = [&](MixingContexts contexts, Index row) {
    return bits(bytes, {.contexts = contexts, .memory = kMemory, .row = row});
  };
  EXPECT_LT(size(MixingContexts::few, 300), 0.6 * size(MixingContexts::few, 0));
  // All contexts find most of the repetitions without the row.
  EXPECT_LT(size(MixingContexts::full, 300), 0.99 * size(MixingContexts::full, 0));
}

TEST(ContextMixing, probabilities_are_identical_for_every_instruction_set) {
  const Bytes bytes = records(37, 60);
  const std::vector<std::string> levels = simd_available();
  for (const MixingContexts contexts :
       {MixingContexts::few, MixingContexts::text, MixingContexts::binary, MixingContexts::full})
    for (const Index row : {0, 37}) {
      std::vector<double> sizes;
      for (const std::string& level : levels) {
        simd_limit(level);
        sizes.push_back(bits(bytes, {.contexts = contexts, .memory = 1 << 20, .row = row}));
      }
      for (const double size : sizes) EXPECT_EQ(size, sizes.front()) << static_cast<int>(contexts) << " " << row;
    }
  simd_limit(levels.front());
}

}  // namespace
}  // namespace unfold::test
