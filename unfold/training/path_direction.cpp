#include <algorithm>
#include <cmath>
#include <limits>

#include "unfold/engine/path_pass.h"
#include "unfold/numerics/vector.h"
#include "unfold/training/direction.h"
#include "unfold/training/objective.h"

namespace unfold {
namespace {

template <class T>
class Path final : public Direction<T> {
 public:
  Path(Index parameters, const PathMetricOptions& options, double clip, std::unique_ptr<Direction<T>> inner)
      : options_(options), clip_(clip), inner_(std::move(inner)), inverse_(parameters), turned_(parameters) {}

  void attach(Objective<T>& objective) override {
    for (const ParameterInfo& block : objective.parameters().info()) {
      for (Index from = 0; from < block.size(); from += kSumChunk)
        chunks_.push_back({block.offset + from, std::min(kSumChunk, block.size() - from), blocks_, 0});
      ++blocks_;
    }
    limits_.resize(blocks_);
    pass_ = std::make_unique<PathPass<T>>(*objective.path_reading().circuit, objective.team());
    inner_->attach(objective);
  }

  void prepare(Objective<T>& objective) override {
    if (age_ == 0) refresh(objective);
    age_ = age_ + 1 < static_cast<double>(options_.refresh) ? age_ + 1 : 0;
    inner_->prepare(objective);
  }

  void move(Team& team, std::span<T> p, std::span<const T> g, double scale, double rate) override {
    turn(team, g, [&](std::size_t) { return scale; });
    std::vector<double> squares(blocks_, 0.0), factors(blocks_, scale);
    for (const Chunk& chunk : chunks_) squares[chunk.block] += chunk.sum;
    bool clipped = false;
    for (std::size_t b = 0; b < blocks_ && clip_ > 0; ++b) {
      const double length = rate * std::sqrt(scale * squares[b]), longest = clip_ * static_cast<double>(limits_[b]);
      if (!(length > longest)) continue;
      factors[b] *= longest / length;
      clipped = true;
    }
    if (clipped) turn(team, g, [&](std::size_t b) { return factors[b]; });
    inner_->move(team, p, turned_.span(), 1, rate);
  }

  void visit_state(StateVisitor<T>& visitor) override {
    visitor("path_inverse", inverse_.span());
    visitor("path_limits", limits_);
    visitor("path_age", age_);
    inner_->visit_state(visitor);
  }

 private:
  struct Chunk {
    Index begin, size;
    std::size_t block;
    double sum;
  };

  /// turned = factor of its block * g / kappa; and, for each chunk, the sum of turned * g.
  template <class Factor>
  void turn(Team& team, std::span<const T> g, Factor&& factor) {
    team.run([&](Member& me) {
      const Range mine = me.share(static_cast<Index>(chunks_.size()));
      for (Index c = mine.begin; c < mine.end; ++c) {
        Chunk& chunk = chunks_[static_cast<std::size_t>(c)];
        const T scale = static_cast<T>(factor(chunk.block));
        const Index end = chunk.begin + chunk.size;
        for (Index i = chunk.begin; i < end; ++i) turned_[i] = scale * g[static_cast<std::size_t>(i)] * inverse_[i];
        const auto begin = static_cast<std::size_t>(chunk.begin), size = static_cast<std::size_t>(chunk.size);
        chunk.sum = dot<T>(g.subspan(begin, size), turned_.span().subspan(begin, size));
      }
    });
  }

  /// inverse = 1 / kappa at the present parameters; 0 in a block that no path reaches.
  void refresh(Objective<T>& objective) {
    const PathReading reading = objective.path_reading();
    const bool every =
        options_.outputs == PathOutputs::task ? reading.every_step : options_.outputs == PathOutputs::every;
    kappa_.resize(static_cast<std::size_t>(inverse_.size()));
    const PathSums sums = pass_->run(objective.parameters(),
                                     {.length = reading.length,
                                      .every_step = every,
                                      .with_second = options_.kappa == PathKappa::both,
                                      .output = reading.output},
                                     kappa_);
    const double norm = sums.norm.value();
    for (std::size_t b = 0; b < blocks_; ++b) {
      const ParameterInfo& block = objective.parameters().info()[b];
      const auto begin = static_cast<std::size_t>(block.offset), end = begin + static_cast<std::size_t>(block.size());
      double largest = 0, passes = 0;  // passes: how often a path goes through the block, on average
      for (std::size_t i = begin; i < end; ++i) {
        const auto p = static_cast<double>(objective.parameters().flat()[i]);
        largest = std::max(largest, kappa_[i]);
        passes += std::ldexp(p * p * kappa_[i] / sums.norm.mantissa, sums.exponent - sums.norm.exponent);
      }
      const double least = std::max(options_.least * largest, std::numeric_limits<double>::min());
      for (std::size_t i = begin; i < end; ++i)
        inverse_[static_cast<Index>(i)] =
            largest > 0 ? narrow(std::ldexp(1 / std::max(kappa_[i], least), -sums.exponent)) : T{0};
      limits_[b] = narrow(std::sqrt(norm / std::max(1.0, passes)));
    }
  }
  static T narrow(double x) { return static_cast<T>(std::min(x, static_cast<double>(std::numeric_limits<T>::max()))); }

  PathMetricOptions options_;
  double clip_;
  std::unique_ptr<Direction<T>> inner_;
  std::unique_ptr<PathPass<T>> pass_;
  Buffer<T> inverse_;          // 1 / kappa
  std::vector<T> limits_;      // of the step of each block in the metric, times clip
  double age_ = 0;             // steps since the last refresh
  std::vector<double> kappa_;  // scratch
  Buffer<T> turned_;           // gradient / kappa, scratch
  std::vector<Chunk> chunks_;
  std::size_t blocks_ = 0;
};

}  // namespace

template <class T>
std::unique_ptr<Direction<T>> path_direction(Index parameters, const PathMetricOptions& options, double clip,
                                             std::unique_ptr<Direction<T>> inner) {
  return std::make_unique<Path<T>>(parameters, options, clip, std::move(inner));
}

template std::unique_ptr<Direction<float>> path_direction(Index, const PathMetricOptions&, double,
                                                          std::unique_ptr<Direction<float>>);
template std::unique_ptr<Direction<double>> path_direction(Index, const PathMetricOptions&, double,
                                                           std::unique_ptr<Direction<double>>);

}  // namespace unfold
