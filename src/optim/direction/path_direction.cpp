#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "optim/direction/path_sums.h"
#include "unfold/base/checks.h"
#include "unfold/numerics/vector.h"
#include "unfold/optim/direction/direction.h"
#include "unfold/optim/direction/objective.h"

namespace unfold {
namespace {

template <class T>
class Path final : public Direction<T> {
 public:
  Path(Index parameters, const PathMetricOptions& options, double clip, std::unique_ptr<Direction<T>> inner)
      : options_(options), clip_(clip), inner_(std::move(inner)), root_(parameters), turned_(parameters) {}

  void attach(Objective<T>& objective) override {
    const PathReading reading = objective.path_reading();
    const Circuit& circuit = *reading.circuit;
    ties_.assign(reading.ties.begin(), reading.ties.end());
    pass_ = std::make_unique<PathPass<T>>(circuit, objective.team());
    for (const ParameterInfo& block : objective.parameters().info()) {
      for (Index from = 0; from < block.size(); from += kSumChunk)
        chunks_.push_back({block.offset + from, std::min(kSumChunk, block.size() - from), blocks_.size()});
      blocks_.push_back({block.offset, block.cols, block.rows});
    }
    for (const Node& node : circuit.nodes()) {
      if (node.kind() != Node::Kind::affine) continue;
      for (const Node::AffineTerm& term : node.terms())
        if (term.dense()) enter_units(circuit.parameters()[at(term.parameter)]);
      if (node.affine().bias >= 0) enter_units(circuit.parameters()[at(node.affine().bias)]);
      shares_.emplace_back(at(node.size));
    }
    squares_.resize(chunks_.size());
    factors_.resize(blocks_.size());
    inner_->attach(objective);
  }

  void prepare(Objective<T>& objective) override {
    if (age_ == 0) refresh(objective);
    age_ = age_ + 1 < static_cast<double>(options_.refresh) ? age_ + 1 : 0;
    inner_->prepare(objective);
  }

  void move(Team& team, std::span<T> p, std::span<const T> g, double scale, double rate) override {
    require_order(pass_ != nullptr, "path direction: move", "call attach first");
    require_length("path direction: the gradient", g.size(), root_.size());
    for_chunks(team, [&](Index c, const Chunk& chunk, std::span<T> turned) {
      for (Index i = 0; i < chunk.size; ++i)
        turned[at(i)] = static_cast<T>(scale) * g[at(chunk.begin + i)] * root_[chunk.begin + i];
      squares_[at(c)] = sum_of_squares(std::span<const T>(turned));
    });
    bound_lengths();
    for_chunks(team, [&](Index, const Chunk& chunk, std::span<T> turned) {
      for (Index i = 0; i < chunk.size; ++i) turned[at(i)] *= factors_[chunk.block] * root_[chunk.begin + i];
    });
    inner_->move(team, p, turned_.span(), 1, rate);
  }

  void visit_state(StateVisitor<T>& visitor) override {
    visitor("path_root", root_.span());
    visitor("path_age", age_);
    inner_->visit_state(visitor);
  }

 private:
  struct Block {
    Index begin, cols, rows;
    std::size_t layer = kNoLayer;  ///< layer of the units to which its columns lead: an affine map with dense terms
  };
  static constexpr std::size_t kNoLayer = std::numeric_limits<std::size_t>::max();
  struct Chunk {
    Index begin, size;
    std::size_t block;
  };

  template <class Work>
  void for_chunks(Team& team, const Work& work) {
    team.run([&](Member& me) {
      const Range mine = me.share(static_cast<Index>(chunks_.size()));
      for (Index c = mine.begin; c < mine.end; ++c)
        work(c, chunks_[at(c)], turned_.span().subspan(at(chunks_[at(c)].begin), at(chunks_[at(c)].size)));
    });
  }

  /// Computes the factors that scale the length of each block (the root of its sum of squares in the metric) down to
  /// `clip`.
  void bound_lengths() {
    std::vector<double>& squares = columns_;
    squares.assign(blocks_.size(), 0.0);
    for (std::size_t c = 0; c < chunks_.size(); ++c) squares[chunks_[c].block] += squares_[c];
    for (std::size_t b = 0; b < blocks_.size(); ++b) {
      const double length = std::sqrt(squares[b]);
      factors_[b] = clip_ > 0 && length > clip_ ? narrow(clip_ / length) : T{1};
    }
    for (const WeightTie& tie : ties_) factors_[at(tie.transposed)] = factors_[at(tie.parameter)];  // equal bits
  }

  /// Sets root = gamma / sqrt(kappa) at the current parameters; 0 where there is no path.
  void refresh(Objective<T>& objective) {
    const PathReading reading = objective.path_reading();
    kappa_.resize(at(root_.size()));
    const PathSums sums = path_sums(*pass_, objective, reading, options_, kappa_);
    count_paths(objective.parameters().flat(), std::ldexp(1 / sums.norm.mantissa, sums.exponent - sums.norm.exponent));
    for (std::vector<double>& units : shares_) {  // converts shares into factors on kappa
      const double mean = std::accumulate(units.begin(), units.end(), 0.0) / static_cast<double>(units.size());
      for (double& u : units) u = u > 0 ? std::max(1.0, options_.least * mean / u) : 1;
    }
    for (const Block& block : blocks_)
      for (Index row = 0; row < block.rows; ++row) {
        const double* k = kappa_.data() + block.begin + row * block.cols;
        T* root = root_.data() + block.begin + row * block.cols;
        const double* raised = block.layer == kNoLayer ? nullptr : shares_[block.layer].data();
        for (Index i = 0; i < block.cols; ++i)
          root[i] = k[i] > 0 ? narrow(1 / std::sqrt(raised != nullptr ? k[i] * raised[i] : k[i])) : T{0};
      }
    for (const WeightTie& tie : ties_) {
      const Matrix<T> own = objective.parameters().view(root_.data(), tie.parameter);
      const Matrix<T> other = objective.parameters().view(root_.data(), tie.transposed);
      for (Index r = 0; r < own.rows; ++r)
        for (Index c = 0; c < own.cols; ++c) own(r, c) = other(c, r) = std::min(own(r, c), other(c, r));
    }
  }

  /// Multiplies kappa by `scale`, then sums p^2 kappa, the share of the paths through each weight, for each unit.
  void count_paths(std::span<const T> p, double scale) {
    for (std::vector<double>& units : shares_) std::fill(units.begin(), units.end(), 0.0);
    for (const Block& block : blocks_) {
      columns_.assign(at(block.cols), 0.0);
      for (Index row = 0; row < block.rows; ++row) {
        double* k = kappa_.data() + block.begin + row * block.cols;
        const T* w = p.data() + block.begin + row * block.cols;
        for (Index i = 0; i < block.cols; ++i) {
          k[i] *= scale;
          columns_[at(i)] += static_cast<double>(w[i]) * static_cast<double>(w[i]) * k[i];
        }
      }
      if (block.layer != kNoLayer)
        for (std::size_t i = 0; i < columns_.size(); ++i) shares_[block.layer][i] += columns_[i];
    }
  }

  /// Assigns the columns of the parameter to the units of the layer that is added next.
  void enter_units(const ParameterInfo& parameter) {
    for (Block& block : blocks_)
      if (block.begin == parameter.offset) block.layer = shares_.size();
  }

  static T narrow(double x) { return static_cast<T>(std::min(x, static_cast<double>(std::numeric_limits<T>::max()))); }

  PathMetricOptions options_;
  double clip_;
  std::unique_ptr<Direction<T>> inner_;
  std::unique_ptr<PathPass<T>> pass_;
  Buffer<T> root_;             // gamma / sqrt(kappa)
  double age_ = 0;             // steps since the last refresh
  std::vector<Block> blocks_;  // blocks in the order of the parameters
  std::vector<Chunk> chunks_;
  std::vector<WeightTie> ties_;
  std::vector<std::vector<double>> shares_;  // scratch: share of the paths through each unit of each layer
  std::vector<double> kappa_, columns_;      // scratch: kappa / gamma^2; the shares of one block
  std::vector<double> squares_;              // scratch: squares of the gradient in the metric, by chunk
  std::vector<T> factors_;                   // scratch: one factor per block
  Buffer<T> turned_;                         // scratch: input of the inner direction
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
