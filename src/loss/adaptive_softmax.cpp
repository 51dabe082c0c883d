/// Adaptive softmax (symbol_clusters.h): p(w) = p(head = w) for a frequent symbol, and p(head = c) p(w | c) for a
/// symbol of cluster c. The signal consists of the logits of the frequent symbols and of the clusters, followed by the
/// projections of every cluster:
///
///   signal = [frequent | clusters | z_1 | z_2 | ...],   p(w | c) = softmax(z_c W_c + b_c)_w
///
/// The loss owns W_c and b_c. A row computes the softmax of a cluster only if its target belongs to this cluster. The
/// nats are exact: the probabilities of all symbols add up to 1.
///
/// The curvature is the Hessian with respect to all logits of the observed path, which does not depend on the target
/// within a cluster; with respect to the projections and W_c, it is the Gauss-Newton matrix. There is no LossFisher:
/// the Fisher matrix at z_c is an average over targets in all clusters, so it takes the logits of all symbols and the
/// parameters of the loss, which that capability does not read.

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "loss/cluster_logits.h"
#include "loss/independent_rows.h"
#include "loss/symbol_clusters.h"
#include "loss/symbol_probabilities.h"
#include "loss/weighted_loss.h"
#include "numerics/functions.h"
#include "unfold/graph/circuit/circuit.h"
#include "unfold/loss/registry.h"
#include "unfold/loss/rows.h"

namespace unfold {
namespace {

constexpr const char* kAdaptiveSoftmax = "adaptive-softmax";
constexpr Index kHeadGrain = 8;  // minimum number of rows per thread

Index heads_of(Index symbols, const std::vector<SymbolCluster>& clusters) {
  return clusters.empty() ? symbols : clusters.front().begin + static_cast<Index>(clusters.size());
}

template <class T>
class AdaptiveSoftmaxLoss final : public IndependentRows<T>,
                                  public WeightedLoss<T>,
                                  public LossCurvature<T>,
                                  public SymbolProbabilities<T>,
                                  public SymbolCount<T> {
 public:
  explicit AdaptiveSoftmaxLoss(const ClusterOptions& options) : options_(options) {}

  std::string_view name() const override { return kAdaptiveSoftmax; }

  void set_symbols(Index symbols) override {
    symbols_ = symbols;
    clusters_ = symbol_clusters(symbols, options_);
    begins_.clear();
    Index begin = heads_of(symbols, clusters_);
    for (const SymbolCluster& cluster : clusters_) {
      begins_.push_back(begin);
      begin += cluster.size;
    }
  }

  Index target_size(Index signal_size) const override { return symbols_ > 0 ? symbols_ : signal_size; }

  void declare(Circuit& circuit, Signal signal) override {
    require_order(symbols_ > 0, kAdaptiveSoftmax, "set the number of symbols first");
    circuit_ = &circuit;
    const std::string owner = circuit.nodes()[at(signal.id)].name;
    for (std::size_t c = 0; c < clusters_.size(); ++c) {
      const std::string tail = owner + "/tail" + std::to_string(c + 1);
      own_.push_back(circuit.parameter(tail + "/W", clusters_[c].size, clusters_[c].symbols(), Init::normal()));
      own_.push_back(circuit.parameter(tail + "/b", 1, clusters_[c].symbols(), Init::zero()));
    }
  }
  std::span<const int> parameter_indices() const override { return own_; }

  void negative_log_likelihood(const Observed<T>& o, Team& team, T* nats) const override {
    Rows rows(*this, o, {});
    team.run([&](Member& me) {
      if (const Range mine = me.share(o.signal.rows, kHeadGrain); !mine.empty())
        row_loss().row_losses(head_of(o.signal, mine), rows.heads_of(mine), nats + mine.begin);
      rows.normalize(me);
      rows.add_nats(me, nats);
    });
  }

  void weighted_gradient(const Observed<T>& o, RowWeights<T> weights, T scale, Team& team, T* nats, Matrix<T> adjoint,
                         std::span<T> own_gradient) const override {
    require_shape<T>(name(), "the adjoint", adjoint, o.signal);
    Rows rows(*this, o, {.derivatives = true, .scale = scale, .weights = weights});
    team.run([&](Member& me) {
      rows.normalize(me);
      if (const Range mine = me.share(o.signal.rows, kHeadGrain); !mine.empty())
        row_loss().row_gradients(head_of(o.signal, mine), rows.heads_of(mine), scale, nats + mine.begin,
                                 head_of(adjoint, mine));
      rows.weigh(me, adjoint);
      rows.add_nats(me, nats);
      rows.differentiate(me, {}, own_gradient, adjoint);
    });
  }

  void curvature(const Observed<T>& o, T scale, Team& team, Matrix<const T> tangent, std::span<const T> direction,
                 Matrix<T> result, std::span<T> own_result) const override {
    require_shape<T>(name(), "the tangent", tangent, o.signal);
    require_shape<T>(name(), "the result", result, o.signal);
    Rows rows(*this, o, {.derivatives = true, .probe = true, .scale = scale});
    std::vector<LogitProbe<T>> probes = rows.tangents(tangent, direction);
    team.run([&](Member& me) {
      rows.normalize(me);
      rows.average(me, probes);
      if (const Range mine = me.share(o.signal.rows, kHeadGrain); !mine.empty())
        row_curvature().row_curvatures(head_of(o.signal, mine), rows.heads_of(mine), scale, head_of(tangent, mine),
                                       head_of(result, mine));
      rows.differentiate(me, probes, own_result, result);
    });
  }

  void curvature_sample(const Observed<T>& o, T scale, Team& team, std::uint64_t seed, std::uint64_t stream,
                        Matrix<T> result, std::span<T> own_result) const override {
    require_shape<T>(name(), "the result", result, o.signal);
    Rows rows(*this, o, {.derivatives = true, .probe = true, .scale = scale});
    std::vector<LogitProbe<T>> probes;
    for (std::size_t c = 0; c < clusters_.size(); ++c)
      probes.push_back({.seed = seed, .stream = stream ^ stream_of("tail" + std::to_string(c + 1)), .root = true});
    team.run([&](Member& me) {
      rows.normalize(me);
      rows.average(me, probes);
      if (const Range mine = me.share(o.signal.rows, kHeadGrain); !mine.empty()) {
        const Matrix<T> noise = head_of(result, mine);
        fill_signs(seed, stream, mine.begin, noise);
        row_curvature().row_curvature_roots(head_of(o.signal, mine), rows.heads_of(mine), scale, noise, noise);
      }
      rows.differentiate(me, probes, own_result, result);
    });
  }

  void log_probabilities(std::span<const T> signal, std::span<const T> parameters, std::span<T> log_p) const override {
    require_same(name(), "symbols", static_cast<Index>(log_p.size()), target_size(static_cast<Index>(signal.size())));
    const Index heads = heads_of(symbols_, clusters_), frequent = heads - static_cast<Index>(clusters_.size());
    const T normalizer = log_sum_exp(signal.data(), heads);
    for (Index w = 0; w < frequent; ++w) log_p[at(w)] = signal[at(w)] - normalizer;
    for (std::size_t c = 0; c < clusters_.size(); ++c) {
      const ClusterLogits<T> tail(weights<const T>(parameters, c));
      T* t = &log_p[at(clusters_[c].begin)];
      tail.logits(&signal[at(begins_[c])], t);
      const T of_cluster = signal[at(frequent) + c] - normalizer, within = tail.normalizer(t);
      for (Index w = 0; w < tail.symbols(); ++w) t[w] = of_cluster + (t[w] - within);
    }
  }

  T log_probability(std::span<const T> signal, std::span<const T> parameters, Symbol symbol) const override {
    const Index heads = heads_of(symbols_, clusters_);
    const T normalizer = log_sum_exp(signal.data(), heads);
    const Index c = cluster_of(symbol);
    if (c < 0) return signal[at(symbol)] - normalizer;
    const ClusterLogits<T> tail(weights<const T>(parameters, at(c)));
    std::vector<T> t(at(tail.symbols()));
    tail.logits(&signal[at(begins_[at(c)])], t.data());
    const T of_cluster = signal[at(clusters_.front().begin + c)] - normalizer;
    return of_cluster + (t[at(symbol - clusters_[at(c)].begin)] - tail.normalizer(t.data()));
  }

 private:
  struct Purpose {
    bool derivatives = false, probe = false;
    T scale = 1;
    RowWeights<T> weights = {};
  };

  /// The rows of a signal: the target of each row in the head, and the rows of each cluster.
  class Rows {
   public:
    Rows(const AdaptiveSoftmaxLoss& loss, const Observed<T>& o, const Purpose& purpose)
        : loss_(loss), weights_(purpose.weights.rows) {
      require_same(loss.name(), "components", o.signal.cols, loss.signal_size());
      for (std::size_t c = 0; c < loss.clusters_.size(); ++c)
        tails_.emplace_back(loss.template weights<const T>(o.parameters, c));
      scales_.resize(tails_.size());
      for (Index r = 0; r < o.signal.rows; ++r) add(o, r, purpose);
      for (ClusterLogits<T>& tail : tails_) tail.allocate(purpose.derivatives, purpose.probe);
    }

    Targets<T> heads_of(Range rows) const {
      return {.symbols = classes_.data() + rows.begin, .values = {}, .predicted = nullptr};
    }
    std::vector<LogitProbe<T>> tangents(Matrix<const T> tangent, std::span<const T> direction) {
      std::vector<LogitProbe<T>> probes;
      tangents_.resize(tails_.size());
      for (std::size_t c = 0; c < tails_.size(); ++c) {
        const Index size = tails_[c].size(), begin = loss_.begins_[c];
        for (Index i = 0; i < tails_[c].rows(); ++i) {
          const T* from = tangent.row(tails_[c].row(i)) + begin;
          tangents_[c].insert(tangents_[c].end(), from, from + size);
        }
        probes.push_back({.tangent = {tangents_[c].data(), tails_[c].rows(), size, size},
                          .direction = loss_.template weights<const T>(direction, c)});
      }
      return probes;
    }

    void normalize(Member& me) {
      for (ClusterLogits<T>& tail : tails_) tail.normalize(me);
      me.sync();
    }
    void average(Member& me, const std::vector<LogitProbe<T>>& probes) {
      for (std::size_t c = 0; c < tails_.size(); ++c) tails_[c].average(me, probes[c]);
      me.sync();
    }
    /// Adds the nats within clusters, after the nats of the heads.
    void add_nats(Member& me, T* nats) const {
      me.sync();
      for (const ClusterLogits<T>& tail : tails_) {
        const Range mine = me.share(tail.rows());
        for (Index i = mine.begin; i < mine.end; ++i) nats[tail.row(i)] += tail.nats(i);
      }
    }
    /// Multiplies the adjoints of the heads by the weights of their rows.
    void weigh(Member& me, Matrix<T> adjoint) const {
      if (weights_.empty()) return;
      const Range mine = me.share(adjoint.rows, kHeadGrain);
      const Index heads = unfold::heads_of(loss_.symbols_, loss_.clusters_);
      for (Index r = mine.begin; r < mine.end; ++r)
        for (Index x = 0; x < heads; ++x) adjoint(r, x) *= weights_[at(r)];
    }
    /// Adds to the gradient of the own parameters and sets the adjoints of the projections.
    void differentiate(Member& me, const std::vector<LogitProbe<T>>& probes, std::span<T> own, Matrix<T> adjoint) {
      for (std::size_t c = 0; c < tails_.size(); ++c)
        tails_[c].differentiate(me, scales_[c], probes.empty() ? nullptr : &probes[c],
                                loss_.template weights<T>(own, c));
      me.sync();
      const Range mine = me.share(adjoint.rows, kHeadGrain);
      const Index heads = unfold::heads_of(loss_.symbols_, loss_.clusters_);
      for (Index r = mine.begin; r < mine.end; ++r) set_row(adjoint.row(r) + heads, adjoint.cols - heads, T{0});
      me.sync();
      for (std::size_t c = 0; c < tails_.size(); ++c) {
        const Range own_rows = me.share(tails_[c].rows());
        for (Index i = own_rows.begin; i < own_rows.end; ++i)
          tails_[c].adjoint(i, adjoint.row(tails_[c].row(i)) + loss_.begins_[c]);
      }
    }

   private:
    void add(const Observed<T>& o, Index r, const Purpose& purpose) {
      if (o.targets.symbols == nullptr) refuse_no_symbols(loss_.name());
      const Symbol target = o.targets.symbols[r];
      if (target != kNoSymbol && (target < 0 || target >= loss_.symbols_))
        throw_invalid_symbol(loss_.name(), target, r, loss_.symbols_);
      const Index c = target == kNoSymbol ? -1 : loss_.cluster_of(target);
      classes_.push_back(c < 0 ? target : static_cast<Symbol>(loss_.clusters_.front().begin + c));
      if (c < 0) return;
      tails_[at(c)].add(o.signal.row(r) + loss_.begins_[at(c)], r, target - loss_.clusters_[at(c)].begin);
      scales_[at(c)].push_back(weights_.empty() ? purpose.scale : purpose.scale * weights_[at(r)]);
    }

    const AdaptiveSoftmaxLoss& loss_;
    std::span<const T> weights_;
    std::vector<Symbol> classes_;
    std::vector<ClusterLogits<T>> tails_;
    std::vector<std::vector<T>> scales_, tangents_;
  };

  const RowLoss<T>& row_loss() const { return head_->template need<RowLoss<T>>(name()); }
  const RowCurvature<T>& row_curvature() const { return head_->template need<RowCurvature<T>>(name()); }

  Index signal_size() const { return begins_.empty() ? symbols_ : begins_.back() + clusters_.back().size; }
  /// Returns the cluster of a symbol, or -1 if it is frequent.
  Index cluster_of(Symbol symbol) const {
    Index c = static_cast<Index>(clusters_.size()) - 1;
    while (c >= 0 && symbol < clusters_[at(c)].begin) --c;
    return c;
  }
  /// Returns the columns of the head in some rows.
  template <class U>
  Matrix<U> head_of(Matrix<U> signal, Range rows) const {
    return signal.rows_from(rows.begin, rows.size()).cols_from(0, heads_of(symbols_, clusters_));
  }
  template <class U>
  ClusterWeights<U> weights(std::span<U> all, std::size_t c) const {
    require_order(circuit_ != nullptr, kAdaptiveSoftmax, "declare it in the circuit of its signal first");
    const ParameterInfo& w = circuit_->parameters()[at(own_[2 * c])];
    const ParameterInfo& b = circuit_->parameters()[at(own_[2 * c + 1])];
    require_range("loss: parameter", w.offset, w.size(), static_cast<Index>(all.size()));
    require_range("loss: parameter", b.offset, b.size(), static_cast<Index>(all.size()));
    return {{all.data() + w.offset, w.rows, w.cols, w.cols}, all.data() + b.offset};
  }

  ClusterOptions options_;
  Index symbols_ = 0;
  std::vector<SymbolCluster> clusters_;
  std::vector<Index> begins_;  // first column of the projections of each cluster
  const Circuit* circuit_ = nullptr;
  std::vector<int> own_;  // W and b of each cluster
  std::unique_ptr<Loss<T>> head_ = softmax_loss<T>();
};

Index adaptive_signal_size(Index symbols, const AnyOptions& options) {
  const std::vector<SymbolCluster> clusters = symbol_clusters(symbols, options.as<ClusterOptions>());
  Index size = heads_of(symbols, clusters);
  for (const SymbolCluster& cluster : clusters) size += cluster.size;
  return size;
}

template <class T>
std::unique_ptr<Loss<T>> adaptive_softmax(const AnyOptions& options) {
  return std::make_unique<AdaptiveSoftmaxLoss<T>>(options.as<ClusterOptions>());
}

}  // namespace

LossEntry adaptive_softmax_entry() {
  return {.name = kAdaptiveSoftmax,
          .help =
              "symbols of a large alphabet, in the order of their frequencies: softmax over frequent symbols and "
              "clusters of others",
          .of_symbols = true,
          .make_float = adaptive_softmax<float>,
          .make_double = adaptive_softmax<double>,
          .options = ClusterOptions(),
          .main_option = "frequent",
          .size_of_signal = adaptive_signal_size};
}

}  // namespace unfold
