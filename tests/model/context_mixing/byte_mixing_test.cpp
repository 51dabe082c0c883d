#include <gtest/gtest.h>

#include <vector>

#include "model/context_mixing/byte_mixing.h"
#include "model/context_mixing/row_table.h"
#include "numerics/random.h"

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

double bits(const Bytes& bytes, const ByteMixingOptions& options) {
  constexpr double kNatsPerBit = 0.6931471805599453;
  ByteMixing model(256, options);
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
  EXPECT_LT(bits(bytes, {.memory = kMemory, .row = 300}), 0.92 * bits(bytes, {.memory = kMemory}));
}

TEST(RowTable, table_finds_entries_and_evicts_the_least_used) {
  RowTable table(4 * 68);  // one bucket
  constexpr std::uint64_t kStep = std::uint64_t{1} << 45;
  for (std::uint64_t key = 1; key <= 4; ++key) {
    const std::uint32_t row = table.create(key * kStep);
    table.row(row).past[0] = static_cast<std::uint8_t>(key);
    for (std::uint64_t use = 0; use < 2 + key % 4; ++use) table.used(row);  // the fourth: least used
  }
  for (std::uint64_t key = 1; key <= 4; ++key) EXPECT_EQ(table.row(table.find(key * kStep)).past[0], key);
  EXPECT_EQ(table.find(5 * kStep), RowTable::kNone);
  const RowTable copy(table);
  EXPECT_EQ(table.row(table.create(5 * kStep)).past[0], 1) << "a new row is cleared";
  EXPECT_EQ(table.find(4 * kStep), RowTable::kNone);
  EXPECT_NE(table.find(3 * kStep), RowTable::kNone);
  EXPECT_NE(copy.find(4 * kStep), RowTable::kNone);
}

}  // namespace
}  // namespace unfold::test
