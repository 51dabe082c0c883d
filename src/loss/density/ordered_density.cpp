#include "loss/density/ordered_density.h"

#include <algorithm>
#include <utility>

#include "loss/density/vector_density.h"
#include "loss/independent_rows.h"
#include "loss/weighted_loss.h"
#include "unfold/loss/rows.h"

namespace unfold {
namespace {

/// Number of stored values that are processed together; they stay in the second- or third-level cache.
constexpr Index kKeptAtOnce = Index{1} << 20;

template <class T>
class OrderedDensity final : public IndependentRows<T>,
                             public WeightedLoss<T>,
                             public LossCurvature<T>,
                             public VectorDensity<T> {
 public:
  OrderedDensity(std::string name, std::unique_ptr<AutoregressiveNet<T>> net, ColumnDistributions<T> laws)
      : name_(std::move(name)), net_(std::move(net)), laws_(std::move(laws)) {}

  std::string_view name() const override { return name_; }

  Index target_size(Index signal_size) const override {
    return laws_.numbers_of(signal_size, net_->beside_biases(), name_);
  }

  void declare(Circuit& circuit, Signal signal) override {
    const std::string& owner = circuit.nodes()[at(signal.id)].name;
    circuit_ = &circuit;
    shape_ = laws_.shape(target_size(signal.size()));
    for (const NetBlock& block : net_->blocks(shape_))
      own_.push_back(
          circuit.parameter(owner + "/" + name_ + "/" + std::string(block.name), block.rows, block.cols, block.init));
  }
  std::span<const int> parameter_indices() const override { return own_; }

  void negative_log_likelihood(const Observed<T>& o, Team& team, T* nats) const override {
    require_values<T>(*this, o.signal, o.targets);
    const NetWeights<T> w = weights(o.parameters);
    team.run([&](Member& me) {
      const Range mine = me.share(o.signal.rows, kRowGrain);
      for (Index r = mine.begin; r < mine.end; ++r) {
        nats[r] = 0;
        if (!is_predicted(o.targets, r)) continue;
        const T* x = numbers_in(o, r);
        const Index kept = net_->kept(w, x);
        T* memory = row_scratch<T, kMemory>(kept + w.all_outputs());
        net_->value(w, o.signal.row(r), x, memory, memory + kept);
        nats[r] = laws_.nats(shape_, memory + kept, x, name_);
      }
    });
  }

  void weighted_gradient(const Observed<T>& o, RowWeights<T> row_weights, T scale, Team& team, T* nats,
                         Matrix<T> adjoint, std::span<T> own_gradient) const override {
    require_shape<T>(name_, "the adjoint", adjoint, o.signal);
    std::fill_n(nats, o.signal.rows, T{0});
    back(o, team, scale, adjoint, own_gradient, [&](Index r, const NetPass<T>& pass) {
      nats[r] = laws_.slopes(shape_, pass.outputs, pass.x, name_, pass.slopes);
      if (row_weights.rows.empty()) return;
      for (Index j = 0; j < shape_.all_outputs(); ++j) pass.slopes[j] *= row_weights.rows[at(r)];
    });
  }

  void curvature(const Observed<T>& o, T scale, Team& team, Matrix<const T> tangent, std::span<const T> direction,
                 Matrix<T> result, std::span<T> own_result) const override {
    require_shape<T>(name_, "the tangent", tangent, o.signal);
    require_shape<T>(name_, "the result", result, o.signal);
    const NetWeights<T> w = weights(o.parameters), along = weights(direction);
    back(o, team, scale, result, own_result, [&](Index r, const NetPass<T>& pass) {
      net_->tangent(w, along, tangent.row(r), pass.x, pass.kept, pass.slopes);
      laws_.curvature(shape_, pass.outputs, pass.x, pass.slopes, pass.slopes);
    });
  }

  void curvature_sample(const Observed<T>& o, T scale, Team& team, std::uint64_t seed, std::uint64_t stream,
                        Matrix<T> result, std::span<T> own_result) const override {
    require_shape<T>(name_, "the result", result, o.signal);
    const Index size = shape_.all_outputs();
    back(o, team, scale, result, own_result, [&](Index r, const NetPass<T>& pass) {
      fill_signs(seed, stream, r, Matrix<T>{pass.slopes, 1, size, size});
      laws_.curvature_root(shape_, pass.outputs, pass.x, pass.slopes, pass.slopes);
    });
  }

  bool any_order() const override { return false; }

  double mean(const DensityQuery<T>& q, std::span<const char> known, std::span<const T> values,
              Index d) const override {
    return laws_.of(d).mean(outputs_of(q, known, values, d));
  }
  std::vector<double> probabilities(const DensityQuery<T>& q, std::span<const char> known, std::span<const T> values,
                                    Index d) const override {
    return laws_.of(d).probabilities(outputs_of(q, known, values, d));
  }

  double sample(const DensityQuery<T>& q, Random& random, std::span<const char> known,
                std::span<T> values) const override {
    const NetWeights<T> w = asked(q, known, values.size());
    double log_weight = 0;
    for (Index d = known_at_front(known); d < w.numbers(); ++d) {
      T* o = row_scratch<T, kMemory>(shape_.outputs(d));
      net_->outputs_of(w, q.signal.data(), values.data(), d, o);
      if (known[at(d)] != 0)
        log_weight -= static_cast<double>(laws_.of(d).nats(o, &values[at(d)], 1, name_));
      else
        values[at(d)] = laws_.of(d).sample(o, random);
    }
    return log_weight;
  }

 private:
  static constexpr int kMemory = 10, kChunk = 13;  // `user` of row_scratch

  /// A chunk of rows that are processed together: the rows with a target, contiguous in memory.
  struct Chunk {
    std::vector<Index> rows = {}, begins = {};
    std::vector<NetPass<T>> passes = {};
    Index size = 0;
  };

  NetWeights<T> weights(std::span<const T> all) const {
    NetWeights<T> w{.shape = &shape_};
    require_order(circuit_ != nullptr, name_, "declare the loss in the circuit of its signal first");
    for (const int own : own_) {
      const ParameterInfo& block = circuit_->parameters()[at(own)];
      require_range("loss: parameter", block.offset, block.size(), static_cast<Index>(all.size()));
      w.blocks.push_back(all.data() + block.offset);
    }
    return w;
  }
  NetWeights<T> asked(const DensityQuery<T>& q, std::span<const char> known, std::size_t values) const {
    const Index numbers = target_size(static_cast<Index>(q.signal.size()));
    require_same(name_, "values", static_cast<Index>(values), numbers);
    require_same(name_, "flags", static_cast<Index>(known.size()), numbers);
    return weights(q.parameters);
  }

  /// Returns the outputs for number d given the numbers before it, which are known. Valid until the next call.
  const T* outputs_of(const DensityQuery<T>& q, std::span<const char> known, std::span<const T> values, Index d) const {
    const NetWeights<T> w = asked(q, known, values.size());
    if (known_at_front(known) != d || !is_prefix(known))
      throw UsageError(name_ + " can compute the mean of number " + std::to_string(d + 1) +
                       " only if exactly the numbers before it are known");
    T* o = row_scratch<T, kMemory>(shape_.outputs(d));
    net_->outputs_of(w, q.signal.data(), values.data(), d, o);
    return o;
  }

  /// Throws DataError if a class column holds a value that is not a class.
  const T* numbers_in(const Observed<T>& o, Index row) const {
    const T* x = o.targets.values.row(row);
    shape_.require_classes(x, name_);
    return x;
  }

  std::vector<Chunk> chunks(const Observed<T>& o, const NetWeights<T>& w) const {
    std::vector<Chunk> all(1);
    for (Index r = 0; r < o.signal.rows; ++r) {
      if (!is_predicted(o.targets, r)) continue;
      if (all.back().size > kKeptAtOnce) all.emplace_back();
      all.back().rows.push_back(r);
      all.back().begins.push_back(all.back().size);
      all.back().size += net_->kept(w, numbers_in(o, r)) + 2 * w.all_outputs();
    }
    return all;
  }

  /// For every row, computes the value, the result of `slopes` times `scale`, and the backward pass, chunk by chunk
  /// from the last row to the first.
  template <class Slopes>
  void back(const Observed<T>& o, Team& team, T scale, Matrix<T> adjoint, std::span<T> own,
            const Slopes& slopes) const {
    require_values<T>(*this, o.signal, o.targets);
    const NetWeights<T> w = weights(o.parameters);
    std::vector<T*> out;
    for (const int i : own_) {
      const ParameterInfo& block = circuit_->parameters()[at(i)];
      require_range("loss: gradient of parameter", block.offset, block.size(), static_cast<Index>(own.size()));
      out.push_back(own.data() + block.offset);
    }
    for (Index r = 0; r < o.signal.rows; ++r)
      if (!is_predicted(o.targets, r)) set_row(adjoint.row(r), adjoint.cols, T{0});
    std::vector<Chunk> all = chunks(o, w);
    T* memory = row_scratch<T, kChunk>(std::ranges::max(all, {}, &Chunk::size).size);
    for (Chunk& chunk : all) lay(chunk, o, w, adjoint, memory);
    team.run([&](Member& me) {
      for (std::size_t c = all.size(); c-- > 0;) {
        const Range mine = me.share(static_cast<Index>(all[c].rows.size()), kRowGrain);
        if (!mine.empty()) judge(all[c], mine, w, scale, slopes);
        me.sync();
        net_->back(w, all[c].passes, me, out);
        me.sync();
      }
    });
  }

  void lay(Chunk& chunk, const Observed<T>& o, const NetWeights<T>& w, Matrix<T> adjoint, T* memory) const {
    const Index size = w.all_outputs();
    chunk.passes.reserve(chunk.rows.size());
    for (std::size_t i = 0; i < chunk.rows.size(); ++i) {
      const Index r = chunk.rows[i];
      T* here = memory + chunk.begins[i];
      chunk.passes.push_back(
          {o.signal.row(r), o.targets.values.row(r), here + 2 * size, here, here + size, adjoint.row(r)});
    }
  }

  /// Computes the gradients of rows `mine` of a chunk.
  template <class Slopes>
  void judge(const Chunk& chunk, Range mine, const NetWeights<T>& w, T scale, const Slopes& slopes) const {
    net_->values(w, std::span(chunk.passes).subspan(at(mine.begin), at(mine.size())));
    for (Index i = mine.begin; i < mine.end; ++i) {
      const NetPass<T>& pass = chunk.passes[at(i)];
      slopes(chunk.rows[at(i)], pass);
      for (Index j = 0; j < w.all_outputs(); ++j) pass.slopes[j] *= scale;
    }
  }

  std::string name_;
  std::unique_ptr<AutoregressiveNet<T>> net_;
  ColumnDistributions<T> laws_;
  VectorShape shape_;
  const Circuit* circuit_ = nullptr;
  std::vector<int> own_;
};

}  // namespace

template <class T>
std::unique_ptr<Loss<T>> ordered_density(std::string name, std::unique_ptr<AutoregressiveNet<T>> net,
                                         ColumnDistributions<T> laws) {
  return std::make_unique<OrderedDensity<T>>(std::move(name), std::move(net), std::move(laws));
}

template std::unique_ptr<Loss<float>> ordered_density(std::string, std::unique_ptr<AutoregressiveNet<float>>,
                                                      ColumnDistributions<float>);
template std::unique_ptr<Loss<double>> ordered_density(std::string, std::unique_ptr<AutoregressiveNet<double>>,
                                                       ColumnDistributions<double>);

}  // namespace unfold
