#include <fmt/format.h>

#include "app/reproduce/reproduction.h"
#include "data/tasks/grid_tasks.h"
#include "unfold/base/formats/file.h"

namespace unfold {
namespace {

/// Writes generated grids for training, validation and testing, with different seeds.
void make_rooms(const std::string&, const std::string& stem) {
  const auto write = [&](const char* part, std::uint64_t seed, Index count) {
    write_file_atomically(fmt::format("{}.{}.grids", stem, part), generate_grids("texture", seed, count).text);
  };
  write("train", 1, 2000);
  write("valid", 2, 100);
  write("test", 3, 200);
}

Reproduction digits() {
  const Variant column{"MNIST",
                       "{data}/mnist/train-images-idx3-ubyte.gz --format images --split 95/5/0 --test "
                       "{data}/mnist/t10k-images-idx3-ubyte.gz"};
  return {.name = "grids",
          .title = "Digits as grids",
          .source = "MNIST, 60,000 images of 28 x 28 pixels; one in twenty is used for validation",
          .measure = "/test/heads/label/error_rate",
          .measure_text = "error rate on the test set, %",
          .percent = true,
          .success = 0.01,
          .curve = "nats_per_symbol",
          .curve_text = "validation, nats per image",
          .rows = {{"the default, shifted by up to one pixel", "--shift 1"}, {"the default", ""}},
          .small = {.columns = {column}, .seeds = 1, .budget = "--epochs 1"},
          .full = {.columns = {column}, .seeds = 5, .budget = ""},
          .data = "mnist"};
}

Reproduction textures() {
  const Variant column{
      .label = "texture",
      .arguments = "{made}.train.grids --format grids --valid {made}.valid.grids --test {made}.test.grids",
      .prepare = make_rooms};
  return {.name = "grids",
          .title = "Rooms labeled by a distant mark",
          .source = "unfold generate texture, grids of 24 x 24 positions",
          .measure = "/test/heads/label/accuracy",
          .measure_text = "accuracy on the test set, %",
          .percent = true,
          .success = 0.99,
          .more_is_better = true,
          .curve = "nats_per_symbol",
          .curve_text = "validation, nats per position",
          .rows = {{"the default, from four corners", ""}, {"from one corner", "--model grid-lstm:16,directions=1"}},
          .small = {.columns = {column}, .seeds = 1, .budget = "--epochs 1"},
          .full = {.columns = {column}, .seeds = 5, .budget = ""}};
}

}  // namespace

std::vector<Reproduction> grid_reproductions() { return {digits(), textures()}; }

}  // namespace unfold
