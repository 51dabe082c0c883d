/// Samples of grids, compared with the probabilities of all grids of a size.

#include "app/sample/sample_grids.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fmt/format.h>

#include <cmath>
#include <map>

#include "app/fields/evaluation/field_evaluation.h"
#include "tests/app/small_runs.h"
#include "tests/base/scratch.h"
#include "unfold/base/error.h"

namespace unfold {
namespace {

using testing::HasSubstr;
using testing_support::message_of;
using testing_support::ScratchFolder;
using testing_support::train_small;

class SampleGrids : public testing::Test {
 protected:
  /// Images of 2 x 2 bits with an even number of ones, or with gray values.
  std::string images(bool gray) const {
    std::string list;
    for (int k = 0; k < 24; ++k) {
      std::string image = gray ? "P2 2 2 9\n" : "P2 2 2 1\n";
      for (int p = 0; p < 4; ++p) image += fmt::format("{} ", gray ? (3 * k + 5 * p) % 10 : k >> p & 1);
      folder_.write(fmt::format("{}{}.pgm", gray ? "gray" : "bits", k), image);
      list += fmt::format("{}{}.pgm\n", gray ? "gray" : "bits", k);
    }
    return folder_.write(gray ? "gray.tsv" : "bits.tsv", list);
  }
  std::string run(const std::string& name, const std::string& data, const std::string& format,
                  const std::string& predict, const std::string& model = "grid-lstm:4") const {
    return train_small(folder_.path(name), data, model, "adam:rate=0.02", 30, [&](TrainRequest& request) {
      request.settings.format = format;
      request.settings.predict = predict;
      if (predict == "text") request.settings.read = "text";
      request.given.insert({"format", "predict", "read"});
    });
  }
  double nats_of(const std::string& model, const std::string& file) const {
    return evaluate_on_fields({.model = model, .data = {file}, .threads = 1}).heads.front().nats;
  }

  ScratchFolder folder_;
};

/// A chi-squared test with a fixed seed, and the probability of each sample.
TEST_F(SampleGrids, bits_have_the_probabilities_of_the_model) {
  const std::string model = run("bits", images(false), "images", "pixels");
  constexpr Index kSamples = 2000;
  std::map<int, int> counts;
  std::map<int, double> nats;
  for (const SampledGrid& grid :
       sample_grids({.model = model, .height = 2, .width = 2, .count = kSamples, .threads = 1})) {
    int code = 0;
    for (std::size_t p = 0; p < 4; ++p) code += grid.values[p] > 0.5 ? 1 << p : 0;
    ++counts[code];
    nats[code] = grid.nats;
  }
  double chi = 0;
  for (int code = 0; code < 16; ++code) {
    std::string image = "P2 2 2 1\n";
    for (int p = 0; p < 4; ++p) image += (code >> p & 1) != 0 ? "1 " : "0 ";
    const std::string file = folder_.write("one.pgm", image);
    const double of_image = nats_of(model, file), expected = kSamples * std::exp(-of_image);
    if (nats.contains(code)) {
      EXPECT_NEAR(nats[code], of_image, 1e-4);
    }
    chi += (counts[code] - expected) * (counts[code] - expected) / expected;
  }
  EXPECT_LT(chi, 37.7);  // 15 degrees of freedom, probability 0.001
}

TEST_F(SampleGrids, symbols_and_other_sizes_are_drawn_and_scored) {
  std::string text;
  for (int k = 0; k < 20; ++k) text += k % 2 == 0 ? "ab\txx\nba\txx\n\n" : "aa\tyy\nbb\tyy\n\n";
  const std::string model = run("text", folder_.write("some.grids", text), "grids", "text", "grid-rnn:3,directions=1");
  for (const SampledGrid& grid : sample_grids({.model = model, .height = 3, .width = 4, .count = 3, .threads = 1})) {
    ASSERT_EQ(grid.texts.size(), 12U);
    std::string rows;
    for (std::size_t p = 0; p < 12; ++p) rows += grid.texts[p] + (p % 4 == 3 ? "\txxxx\n" : "");
    EXPECT_NEAR(grid.nats, nats_of(model, folder_.write("drawn.grids", rows + "\n")), 1e-4);
  }
}

TEST_F(SampleGrids, a_grid_depends_on_its_index_and_the_seed_only) {
  const std::string model = run("gray", images(true), "images", "pixels=normal");
  const auto drawn = [&](Index count, std::uint64_t seed, Index threads) {
    return sample_grids({.model = model, .height = 3, .width = 2, .count = count, .seed = seed, .threads = threads});
  };
  EXPECT_EQ(drawn(3, 1, 1).front().values, drawn(1, 1, 2).front().values);
  EXPECT_NE(drawn(1, 1, 1).front().values, drawn(1, 2, 1).front().values);
  EXPECT_EQ(drawn(2, 1, 1).back().values.size(), 6U);
}

TEST_F(SampleGrids, other_models_and_sizes_are_rejected) {
  const std::string model = run("bits", images(false), "images", "pixels");
  EXPECT_TRUE(generates_grids(model));
  EXPECT_THAT(message_of<UsageError>([&] { sample_grids({.model = model, .height = 0, .width = 2}); }),
              HasSubstr("height"));
  std::string text;
  for (int k = 0; k < 20; ++k) text += k % 2 == 0 ? "ab\txx\nba\txx\n\n" : "aa\tyy\nbb\tyy\n\n";
  const std::string labels = run("labels", folder_.write("some.grids", text), "grids", "label");
  EXPECT_FALSE(generates_grids(labels));
  EXPECT_THAT(message_of<UsageError>([&] { sample_grids({.model = labels, .height = 2, .width = 2}); }),
              HasSubstr("--predict pixels"));
}

}  // namespace
}  // namespace unfold
