#include <fmt/format.h>
#include <sys/stat.h>

#include <limits>
#include <numeric>

#include "data/files/idx.h"
#include "unfold/base/error.h"
#include "unfold/data/tasks/tasks.h"

namespace unfold {
namespace {

constexpr Index kHeldOut = 5000, kClasses = 10;

/// Finds the file with this name, with or without .gz.
std::string find(const std::string& folder, const std::string& name) {
  struct stat status {};
  for (const char* ending : {"", ".gz"}) {
    std::string path = folder + "/" + name + ending;
    if (::stat(path.c_str(), &status) == 0) return path;
  }
  throw DataError(
      fmt::format("{} contains neither {} nor {}.gz; specify the folder of the four MNIST files", folder, name, name));
}

struct Digits {
  Digits(const std::string& folder, const std::string& name)
      : images(Idx::open(find(folder, name + "-images-idx3-ubyte"))),
        labels(Idx::open(find(folder, name + "-labels-idx1-ubyte"))) {
    if (images.shape().size() != 3 || labels.shape().size() != 1 || images.shape()[0] != labels.shape()[0])
      throw DataError(
          fmt::format("{}: the {} images and labels differ in number, or in the number of dimensions", folder, name));
    for (const std::uint8_t label : labels.bytes())
      if (label >= kClasses) throw DataError(fmt::format("{}: label {} is not a digit", labels.name(), label));
  }
  Index count() const { return labels.shape()[0]; }
  Index rows() const { return images.shape()[1]; }
  Index columns() const { return images.shape()[2]; }
  Index pixels() const { return rows() * columns(); }
  Idx images, labels;
};

class Mnist final : public Task {
 public:
  Mnist(const std::string& folder, const MnistOptions& options)
      : train_(folder, "train"), test_(folder, "t10k"), shift_(options.shift) {
    if (train_.pixels() != test_.pixels())
      throw DataError(fmt::format("{}: training images have {} pixels, but test images have {}", folder,
                                  train_.pixels(), test_.pixels()));
    if (train_.count() <= kHeldOut)
      throw DataError(
          fmt::format("{}: there are {} training images, but more than {} are needed; the last {} are held "
                      "out for validation",
                      folder, train_.count(), kHeldOut, kHeldOut));
    if (shift_ < 0 || shift_ >= std::min(train_.rows(), train_.columns()))
      throw UsageError(fmt::format("shift {}: must be 0 or more, and less than the {} x {} pixels of the images",
                                   shift_, train_.rows(), train_.columns()));
    order_.resize(static_cast<std::size_t>(train_.pixels()));
    std::iota(order_.begin(), order_.end(), Index{0});
    if (!options.permuted) return;
    Random random(1, "task/mnist/permutation");
    for (std::size_t i = order_.size(); i > 1; --i) std::swap(order_[i - 1], order_[random.below(i)]);
  }
  std::string_view name() const override { return "mnist"; }
  TaskShape shape() const override { return {.inputs = 1, .outputs = kClasses, .predicts_symbols = true}; }
  Index length() const override { return train_.pixels(); }
  bool predicts_once() const override { return true; }
  Index examples(TaskSplit part) const override {
    return part == TaskSplit::test         ? test_.count()
           : part == TaskSplit::validation ? kHeldOut
                                           : train_.count() - kHeldOut;
  }
  void example(TaskSplit part, std::uint64_t, Index number, Example& out) const override {
    show(part == TaskSplit::test ? test_ : train_,
         part == TaskSplit::validation ? train_.count() - kHeldOut + number : number, {}, out);
  }
  void in_pass(Index pass, std::uint64_t seed, Index number, Example& out) const override {
    if (shift_ == 0) return example(TaskSplit::training, seed, number, out);
    Random random(seed, stream_of("task/mnist/shift") + static_cast<std::uint64_t>(pass * train_.count() + number));
    const auto draw = [&] {
      return static_cast<Index>(random.below(static_cast<std::uint64_t>(2 * shift_ + 1))) - shift_;
    };
    const Index down = draw();
    show(train_, number, {.down = down, .right = draw()}, out);
  }

 private:
  struct Move {
    Index down = 0, right = 0;
  };

  void show(const Digits& digits, Index image, const Move& move, Example& out) const {
    const std::uint8_t* pixels = digits.images.bytes().data() + image * length();
    const Index rows = digits.rows(), columns = digits.columns();
    out.length = length();
    out.symbols.clear();
    out.values.resize(order_.size());
    for (std::size_t i = 0; i < order_.size(); ++i) {
      const Index row = order_[i] / columns - move.down, column = order_[i] % columns - move.right;
      const bool inside = row >= 0 && row < rows && column >= 0 && column < columns;
      out.values[i] = inside ? static_cast<float>(pixels[row * columns + column]) / 255.0F : 0.0F;
    }
    out.target_symbols.assign(order_.size(), kNoSymbol);
    out.target_symbols.back() = static_cast<Symbol>(digits.labels.bytes()[static_cast<std::size_t>(image)]);
    out.target_values.clear();
  }

  Digits train_, test_;
  std::vector<Index> order_;
  Index shift_;
};

}  // namespace

std::unique_ptr<Task> sequential_mnist(const std::string& folder, const MnistOptions& options) {
  return std::make_unique<Mnist>(folder, options);
}

}  // namespace unfold
