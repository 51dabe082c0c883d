/// Runs all commands on tiny data with images and texts as grids.

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <functional>
#include <map>
#include <nlohmann/json.hpp>

#include "app/fields/evaluation/field_evaluation.h"
#include "app/fields/evaluation/field_metrics.h"
#include "app/fields/field_model.h"
#include "app/predict/predict.h"
#include "app/train/train.h"
#include "tests/app/small_runs.h"
#include "tests/app/texts.h"
#include "tests/base/scratch.h"
#include "unfold/model/network/network_model.h"

namespace unfold {
namespace {

using testing_support::contains;
using testing_support::predicted;
using testing_support::ScratchFolder;
using testing_support::train_small;

/// Grids of dots with one letter, which is the label of every position; the numbers of rows and columns vary.
std::string lettered(Index count, std::uint64_t seed) {
  Random random(seed, "lettered grids");
  std::string text;
  for (Index g = 0; g < count; ++g) {
    const auto height = 1 + random.below(5), width = 2 + random.below(4), place = random.below(height * width);
    const char letter = static_cast<char>('a' + random.below(3));
    for (std::uint64_t i = 0; i < height; ++i) {
      for (std::uint64_t j = 0; j < width; ++j) text += i * width + j == place ? letter : '.';
      text += "\t" + std::string(width, letter) + "\n";
    }
    text += "\n";
  }
  return text;
}

class GridsTest : public ::testing::Test {
 protected:
  std::string trained(const std::string& out, const std::string& data, const std::string& format,
                      const std::string& model, Index steps, const std::function<void(TrainRequest&)>& more = {}) {
    return train_small(folder_.path(out), data, model, "adam:rate=0.02,clip=1", steps, [&](TrainRequest& request) {
      request.settings.format = format;
      request.given.insert("format");
      if (more) more(request);
    });
  }
  static std::map<std::string, double> measured(const std::string& model, const std::string& data) {
    const FieldFigures figures = evaluate_on_fields({.model = model, .data = {data}, .threads = 1});
    EXPECT_EQ(figures.heads.size(), 1U);
    return {figures.heads[0].measures.begin(), figures.heads[0].measures.end()};
  }
  /// Images with one bright pixel, in a folder named after the side of the pixel.
  std::string sides(const std::string& name, std::uint64_t seed) const {
    Random random(seed, "sides");
    for (const char* side : {"left", "right"}) {
      std::filesystem::create_directories(folder_.path(name + "/" + side));
      for (int k = 0; k < 40; ++k) {
        const auto place = random.below(4) * 6 + random.below(3) + (side[0] == 'r' ? 3 : 0);
        std::string image = "P2 6 4 9\n";
        for (std::uint64_t p = 0; p < 24; ++p) image += p == place ? "9 " : "1 ";
        folder_.write(fmt::format("{}/{}/{}.pgm", name, side, k), image);
      }
    }
    return folder_.path(name);
  }
  std::string refused(const std::string& model, const std::string& format, const std::string& data,
                      const std::function<void(TrainRequest&)>& more = {}) {
    try {
      trained("refused", data, format, model, 2, [&](TrainRequest& request) {
        request.overwrite = true;
        if (more) more(request);
      });
    } catch (const DataError& error) {
      return std::string("data: ") + error.what();
    } catch (const UsageError& error) {
      return std::string("usage: ") + error.what();
    }
    return {};
  }

  ScratchFolder folder_;
};

TEST_F(GridsTest, every_position_learns_distant_inputs) {
  const std::string train = folder_.write("train.grids", lettered(300, 1)),
                    test = folder_.write("test.grids", lettered(60, 2));
  for (const std::string model : {"grid-rnn:12", "grid-lstm:8", "grid-lstm:6,layers=2,dropout=0.1"})
    EXPECT_GT(measured(trained(model, train, "grids", model, 300), test).at("accuracy"), 0.95) << model;
  // A single direction does not see positions to the right or below.
  EXPECT_LT(measured(trained("one", train, "grids", "grid-lstm:8,directions=1", 300), test).at("accuracy"), 0.85);
}

TEST_F(GridsTest, image_labels_are_learned_from_blocks_and_written_one_row_per_image) {
  const std::string train = sides("train", 1), test = sides("test", 2);
  for (const std::string model : {"grid-lstm:6", "grid-lstm:6,patch=2", "grid-lstm:4,layers=2,patch=2+2,pool=mean"}) {
    const std::string run = trained(model, train, "images", model, 200);
    EXPECT_GT(measured(run, test).at("accuracy"), 0.95) << model;
    const std::string rows = predicted({.model = run, .data = {test}});
    EXPECT_TRUE(rows.starts_with("label\tlabel.best\tlabel.probability\n")) << rows.substr(0, 60);
    EXPECT_EQ(std::count(rows.begin(), rows.end(), '\n'), 81);
  }
}

TEST_F(GridsTest, shifted_images_are_new_examples_determined_by_the_seed) {
  const std::string data = sides("train", 1);
  const auto moved = [&](const std::string& out, Index shift) {
    const std::string run = trained(out, data, "images", "grid-rnn:3,patch=2", 5, [&](TrainRequest& request) {
      request.settings.shift = shift;
      request.given.insert("shift");
    });
    return evaluate_on_fields({.model = run, .data = {data}, .threads = 1}).heads[0].nats;
  };
  EXPECT_EQ(moved("a", 1), moved("b", 1));
  EXPECT_NE(moved("a2", 1), moved("c", 0));
}

TEST_F(GridsTest, autoregressive_grids_predict_from_the_past_and_sum_to_one) {
  std::string list;
  for (int bits = 0; bits < 64; ++bits) {
    std::string image = "P2 3 2 1\n";
    for (int p = 0; p < 6; ++p) image += (bits >> p & 1) != 0 ? "1 " : "0 ";
    folder_.write(fmt::format("{}.pgm", bits), image);
    list += fmt::format("{}.pgm\n", bits);
  }
  const std::string data = folder_.write("list.tsv", list);
  for (const std::string model : {"grid-lstm:4", "grid-rnn:3,layers=2", "grid-lstm:3,directions=1"}) {
    const std::string run = trained(model, data, "images", model, 5, [](TrainRequest& request) {
      request.settings.predict = "pixels";
      request.given.insert("predict");
    });
    with_network_model(run, [&]<class T>(const NetworkModel<T>& network) {
      const Examples examples = read_for(network, {data});
      const auto specification = std::make_shared<const DataSpecification>(network.data());
      const ExampleSet set(examples, specification, std::vector<std::string>{"pixels"});
      Team team(1);
      const std::vector<HeadScores> scores = score_heads(network, set, team);
      double all = 0;
      for (Index e = 0; e < set.count(); ++e) {
        double nats = 0;
        for (Index p = 0; p < set.length(e); ++p) nats += scores[0].nats[at(set.begin(e) + p)];
        all += std::exp(-nats);
      }
      EXPECT_NEAR(all, 1, 1e-5) << model;
      return 0;
    });
  }
}

TEST_F(GridsTest, incompatible_options_are_rejected_with_a_remedy) {
  const std::string grids = folder_.write("some.grids", lettered(20, 3)), images = sides("some", 3);
  EXPECT_TRUE(
      contains(refused("lstm:4", "grids", grids), "the data consists of grids; use one of grid-rnn:4, grid-lstm:4"));
  EXPECT_TRUE(contains(refused("tree-lstm:4", "images", images), "reads trees, but the data consists of grids"));
  const std::string lines = folder_.write("some.txt", "a\tgood film\nb\tbad film\na\tgood\nb\tbad\n");
  EXPECT_TRUE(contains(refused("grid-lstm:4", "labelled", lines), "or use images (--format images)"));
  EXPECT_TRUE(contains(refused("grid-lstm:4,patch=2", "grids", grids), "leave out patch="));
  const auto with = [](const char* name, auto set) {
    return [=](TrainRequest& request) {
      set(request.settings);
      request.given.insert(name);
    };
  };
  EXPECT_TRUE(contains(refused("grid-lstm:4", "grids", grids, with("window", [](TrainSettings& s) { s.window = 4; })),
                       "leave out --window"));
  EXPECT_TRUE(contains(refused("grid-lstm:4", "grids", grids, with("ahead", [](TrainSettings& s) { s.ahead = 1; })),
                       "leave out --ahead"));
  EXPECT_TRUE(contains(refused("lstm:4", "labelled", lines, with("shift", [](TrainSettings& s) { s.shift = 1; })),
                       "requires grids, such as images"));
  const auto itself = with("predict", [](TrainSettings& s) { s.read = s.predict = "text"; });
  EXPECT_TRUE(contains(refused("grid-lstm:4,direct=1", "grids", grids, itself),
                       "patch= and direct= are not supported if a predicted field is also an input"));
}

}  // namespace
}  // namespace unfold
