#include <fmt/format.h>
#include <sys/stat.h>

#include <limits>
#include <numeric>

#include "unfold/base/error.h"
#include "unfold/data/idx.h"
#include "unfold/tasks/tasks.h"

namespace unfold {
namespace {

constexpr Index kHeldOut = 5000, kClasses = 10;

/// The file of this name, packed or not.
std::string find(const std::string& folder, const std::string& name) {
  struct stat status {};
  for (const char* ending : {"", ".gz"}) {
    std::string path = folder + "/" + name + ending;
    if (::stat(path.c_str(), &status) == 0) return path;
  }
  throw DataError(
      fmt::format("{} holds neither {} nor {}.gz; give the folder of the four MNIST files", folder, name, name));
}

struct Digits {
  Digits(const std::string& folder, const std::string& name)
      : images(Idx::open(find(folder, name + "-images-idx3-ubyte"))),
        labels(Idx::open(find(folder, name + "-labels-idx1-ubyte"))) {
    if (images.shape().size() != 3 || labels.shape().size() != 1 || images.shape()[0] != labels.shape()[0])
      throw DataError(fmt::format("{}: {} images and labels do not belong together", folder, name));
    for (const std::uint8_t label : labels.bytes())
      if (label >= kClasses) throw DataError(fmt::format("{}: label {} is no digit", labels.name(), label));
  }
  Index count() const { return labels.shape()[0]; }
  Index pixels() const { return images.shape()[1] * images.shape()[2]; }
  Idx images, labels;
};

class Mnist final : public Task {
 public:
  Mnist(const std::string& folder, const MnistOptions& options) : train_(folder, "train"), test_(folder, "t10k") {
    if (train_.pixels() != test_.pixels() || train_.count() <= kHeldOut)
      throw DataError(fmt::format("{}: training and test images do not belong together", folder));
    order_.resize(static_cast<std::size_t>(train_.pixels()));
    std::iota(order_.begin(), order_.end(), Index{0});
    if (!options.permuted) return;
    Random random(1, "task/mnist/permutation");
    for (std::size_t i = order_.size(); i > 1; --i) std::swap(order_[i - 1], order_[random.below(i)]);
  }
  std::string_view name() const override { return "mnist"; }
  TaskShape shape() const override { return {.inputs = 1, .outputs = kClasses, .predicts_symbols = true}; }
  Index length() const override { return train_.pixels(); }
  Index examples(TaskSplit part) const override {
    return part == TaskSplit::test         ? test_.count()
           : part == TaskSplit::validation ? kHeldOut
                                           : train_.count() - kHeldOut;
  }
  void example(TaskSplit part, std::uint64_t, Index number, Example& out) const override {
    const Digits& digits = part == TaskSplit::test ? test_ : train_;
    const Index image = part == TaskSplit::validation ? train_.count() - kHeldOut + number : number;
    const std::uint8_t* pixels = digits.images.bytes().data() + image * length();
    out.length = length();
    out.symbols.clear();
    out.values.resize(order_.size());
    for (std::size_t i = 0; i < order_.size(); ++i) out.values[i] = static_cast<float>(pixels[order_[i]]) / 255.0F;
    out.target_symbols.assign(order_.size(), kNoSymbol);
    out.target_symbols.back() = static_cast<Symbol>(digits.labels.bytes()[static_cast<std::size_t>(image)]);
    out.target_values.clear();
  }

 private:
  Digits train_, test_;
  std::vector<Index> order_;
};

}  // namespace

std::unique_ptr<Task> sequential_mnist(const std::string& folder, const MnistOptions& options) {
  return std::make_unique<Mnist>(folder, options);
}

}  // namespace unfold
