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
      : options_(options), clip_(clip), inner_(std::move(inner)), root_(parameters), turned_(parameters) {}

  void attach(Objective<T>& objective) override {
    limits_.resize(objective.parameters().info().size());
    const Circuit& circuit = *objective.path_reading().circuit;
    pass_ = std::make_unique<PathPass<T>>(circuit, objective.team());
    for (const Node& node : circuit.nodes()) {
      if (node.kind != Node::Kind::affine) continue;
      Layer layer{.units = node.size};
      for (const Node::AffineTerm& term : node.terms)
        if (!term.sparse()) layer.blocks.push_back(static_cast<std::size_t>(term.parameter));
      if (node.bias >= 0) layer.blocks.push_back(static_cast<std::size_t>(node.bias));
      layers_.push_back(std::move(layer));
    }
    inner_->attach(objective);
  }

  void prepare(Objective<T>& objective) override {
    if (age_ == 0) refresh(objective);
    age_ = age_ + 1 < static_cast<double>(options_.refresh) ? age_ + 1 : 0;
    inner_->prepare(objective);
    if (!chunks_.empty()) return;
    const auto& blocks = objective.parameters().info();
    for (std::size_t b = 0; b < blocks.size(); ++b)
      for (Index from = 0; from < blocks[b].size(); from += kSumChunk)
        chunks_.push_back({blocks[b].offset + from, std::min(kSumChunk, blocks[b].size() - from), b});
  }

  void move(Team& team, std::span<T> p, std::span<const T> g, double scale, double rate) override {
    team.run([&](Member& me) {
      const Range mine = me.share(static_cast<Index>(chunks_.size()));
      for (Index c = mine.begin; c < mine.end; ++c) {
        const Chunk& chunk = chunks_[static_cast<std::size_t>(c)];
        const T factor = static_cast<T>(scale);
        const T most = clip_ > 0 ? static_cast<T>(clip_) * limits_[chunk.block] : std::numeric_limits<T>::infinity();
        for (Index i = chunk.begin; i < chunk.begin + chunk.size; ++i)
          turned_[i] = root_[i] * std::clamp(factor * g[static_cast<std::size_t>(i)] * root_[i], -most, most);
      }
    });
    inner_->move(team, p, turned_.span(), 1, rate);
  }

  void visit_state(StateVisitor<T>& visitor) override {
    visitor("path_root", root_.span());
    visitor("path_limits", limits_);
    visitor("path_age", age_);
    inner_->visit_state(visitor);
  }

 private:
  /// An affine map: its dense parameters, a column for each unit.
  struct Layer {
    Index units;
    std::vector<std::size_t> blocks = {};
  };
  struct Chunk {
    Index begin, size;
    std::size_t block;
  };

  /// root = gamma / sqrt(kappa) at the present parameters; 0 where no path leads.
  void refresh(Objective<T>& objective) {
    const PathReading reading = objective.path_reading();
    const bool every =
        options_.outputs == PathOutputs::task ? reading.every_step : options_.outputs == PathOutputs::every;
    kappa_.resize(static_cast<std::size_t>(root_.size()));
    const PathSums sums = pass_->run(objective.parameters(),
                                     {.length = options_.length > 0 ? options_.length : reading.length,
                                      .every_step = every,
                                      .with_second = options_.kappa == PathKappa::both,
                                      .output = reading.output},
                                     kappa_);
    const double inverse_norm = std::ldexp(1 / sums.norm.mantissa, sums.exponent - sums.norm.exponent);
    for (double& k : kappa_) k *= inverse_norm;
    const auto share = [&](std::size_t i) {
      const auto p = static_cast<double>(objective.parameters().flat()[i]);
      return p * p * kappa_[i];
    };
    for (std::size_t b = 0; b < limits_.size(); ++b) {
      const ParameterInfo& block = objective.parameters().info()[b];
      double passes = 0;  // how often a path goes through the block, on average
      for (Index i = 0; i < block.size(); ++i) passes += share(static_cast<std::size_t>(block.offset + i));
      limits_[b] = narrow(1 / std::sqrt(std::max(1.0, passes)));
    }
    for (const Layer& layer : layers_) raise(layer, objective, share);
    for (std::size_t i = 0; i < kappa_.size(); ++i)
      root_[static_cast<Index>(i)] = kappa_[i] > 0 ? narrow(1 / std::sqrt(kappa_[i])) : T{0};
  }

  /// Units that few paths pass count as if the share of paths were `least` of the mean of their layer.
  template <class Share>
  void raise(const Layer& layer, Objective<T>& objective, Share&& share) {
    shares_.assign(static_cast<std::size_t>(layer.units), 0.0);
    const auto each = [&](auto&& visit) {
      for (const std::size_t b : layer.blocks) {
        const ParameterInfo& block = objective.path_reading().circuit->parameters()[b];
        for (Index row = 0; row < block.rows; ++row)
          for (Index unit = 0; unit < layer.units; ++unit)
            visit(static_cast<std::size_t>(block.offset + row * layer.units + unit), static_cast<std::size_t>(unit));
      }
    };
    each([&](std::size_t i, std::size_t unit) { shares_[unit] += share(i); });
    double mean = 0;
    for (const double s : shares_) mean += s / static_cast<double>(layer.units);
    for (double& s : shares_) s = s > 0 ? std::max(1.0, options_.least * mean / s) : 1;
    each([&](std::size_t i, std::size_t unit) { kappa_[i] *= shares_[unit]; });
  }

  static T narrow(double x) { return static_cast<T>(std::min(x, static_cast<double>(std::numeric_limits<T>::max()))); }

  PathMetricOptions options_;
  double clip_;
  std::unique_ptr<Direction<T>> inner_;
  std::unique_ptr<PathPass<T>> pass_;
  Buffer<T> root_;         // gamma / sqrt(kappa)
  std::vector<T> limits_;  // of each component in the metric, times clip
  double age_ = 0;         // steps since the last refresh
  std::vector<Layer> layers_;
  std::vector<Chunk> chunks_;
  std::vector<double> kappa_, shares_;  // scratch: kappa / gamma^2; the share of paths that pass each unit
  Buffer<T> turned_;                    // scratch: what the inner direction gets
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
