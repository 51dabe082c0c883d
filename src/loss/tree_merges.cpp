#include "unfold/loss/tree_merges.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "numerics/functions.h"
#include "unfold/loss/rows.h"
#include "unfold/numerics/vector.h"

namespace unfold {

template <class T>
void MergeScores<T>::start(std::span<const T* const> words) {
  signals_.assign(words.begin(), words.end());
  next_ = static_cast<Index>(words.size());
  open_.resize(words.size());
  for (Index v = 0; v < next_; ++v) open_[at(v)] = v;
  scores_.clear();
  for (Index k = 0; k + 1 < next_; ++k) scores_.push_back(score(k));
}

template <class T>
T MergeScores<T>::score(Index k) const {
  const auto n = static_cast<std::size_t>(half_);
  return static_cast<T>(dot<T>({left(k), n}, {right(k), n}) / std::sqrt(static_cast<double>(half_)));
}

template <class T>
std::span<const T> MergeScores<T>::log_probabilities() {
  log_p_.resize(scores_.size());
  log_softmax(scores_.data(), log_p_.data(), static_cast<Index>(scores_.size()));
  return log_p_;
}

template <class T>
void MergeScores<T>::merge(Index k, const T* signal) {
  open_.erase(open_.begin() + k + 1);
  signals_.erase(signals_.begin() + k + 1);
  scores_.erase(scores_.begin() + k);
  open_[at(k)] = next_++;
  signals_[at(k)] = signal;
  if (k > 0) scores_[at(k - 1)] = score(k - 1);
  if (at(k) < scores_.size()) scores_[at(k)] = score(k);
}

namespace {

template <class T>
class MergeLoss final : public Loss<T> {
 public:
  std::string_view name() const override { return "merges"; }
  void declare(Circuit& /*circuit*/, Signal signal) override { (void)half_of(signal.size()); }
  Index target_size(Index) const override { return 1; }

  void negative_log_likelihood(const Observed<T>& seen, Team& team, T* nats) const override {
    each_tree(seen, team, [&](OneTree& tree, Index s) { tree.read(seen, s, 0, nats, {}); });
  }
  void gradient(const Observed<T>& seen, T scale, Team& team, T* nats, Matrix<T> adjoint,
                std::span<T> /*own_gradient*/) const override {
    require_shape<T>(name(), "the adjoint", adjoint, seen.signal);
    each_tree(seen, team, [&](OneTree& tree, Index s) { tree.read(seen, s, scale, nats, adjoint); });
  }

 private:
  /// The data that a thread needs for one tree after another.
  class OneTree {
   public:
    explicit OneTree(Index half) : half_(half), scores_(half) {}

    /// With an adjoint, also sets the rows of the adjoint. They may alias the signal, which is therefore copied first.
    void read(const Observed<T>& seen, Index s, T scale, T* nats, Matrix<T> adjoint) {
      const Structure& structure = seen.structure;
      const Index nodes = structure.size(s), words = (nodes + 1) / 2;
      copy(seen, s);
      slopes_.assign(signals_.size(), T{0});
      rows_.clear();
      for (Index v = 0; v < words; ++v) {
        rows_.push_back(signal(v));
        nats[structure.row(s, v)] = 0;
      }
      scores_.start(rows_);
      for (Index v = words; v < nodes; ++v) {
        const Index row = structure.row(s, v), k = pair_of(structure, s, v);
        const T weight = is_predicted(seen.targets, row) ? seen.targets.values(row, 0) : T{0};
        const std::span<const T> log_p = scores_.log_probabilities();
        nats[row] = -weight * log_p[at(k)];
        if (adjoint.data != nullptr && weight != 0) add_slopes(k, scale * weight, log_p);
        scores_.merge(k, signal(v));
      }
      if (adjoint.data == nullptr) return;
      for (Index v = 0; v < nodes; ++v)
        std::copy_n(slopes_.data() + v * 2 * half_, 2 * half_, adjoint.row(structure.row(s, v)));
    }

   private:
    const T* signal(Index node) const { return signals_.data() + node * 2 * half_; }

    void copy(const Observed<T>& seen, Index s) {
      const Index nodes = seen.structure.size(s), width = 2 * half_;
      signals_.resize(at(nodes * width));
      for (Index v = 0; v < nodes; ++v)
        std::copy_n(seen.signal.row(seen.structure.row(s, v)), width, signals_.data() + v * width);
    }

    /// Returns the pair that was merged into a node.
    Index pair_of(const Structure& structure, Index s, Index node) const {
      const std::span<const Index> children = structure.child_rows(structure.row(s, node));
      const std::span<const Index> open = scores_.open();
      if (children.size() == 2)
        for (std::size_t k = 0; k + 1 < open.size(); ++k)
          if (structure.row(s, open[k]) == children[0] && structure.row(s, open[k + 1]) == children[1])
            return static_cast<Index>(k);
      throw UsageError(fmt::format("merges loss: node {} of tree {} does not merge two neighbors", node, s));
    }

    /// For weight * -log p_k, the derivative with respect to score j is weight * (p_j - [j = k]).
    void add_slopes(Index k, T weight, std::span<const T> log_p) {
      probabilities_.resize(log_p.size());
      vector_exp(log_p.data(), probabilities_.data(), static_cast<Index>(log_p.size()));
      const T each = weight / static_cast<T>(std::sqrt(static_cast<double>(half_)));
      const std::span<const Index> open = scores_.open();
      for (Index j = 0; j < static_cast<Index>(log_p.size()); ++j) {
        const T slope = each * (probabilities_[at(j)] - static_cast<T>(j == k));
        T* a = slopes_.data() + open[at(j)] * 2 * half_;
        T* b = slopes_.data() + open[at(j + 1)] * 2 * half_ + half_;
        for (Index i = 0; i < half_; ++i) {
          a[i] += slope * scores_.right(j)[i];
          b[i] += slope * scores_.left(j)[i];
        }
      }
    }

    Index half_;
    MergeScores<T> scores_;
    std::vector<T> signals_, slopes_, probabilities_;  // signals_ and slopes_: 2 half_ numbers per node
    std::vector<const T*> rows_;
  };

  Index half_of(Index size) const {
    if (size < 2 || size % 2 != 0)
      throw UsageError(fmt::format("{} loss: the signal size must be even, not {}", name(), size));
    return size / 2;
  }

  template <class Use>
  void each_tree(const Observed<T>& seen, Team& team, const Use& use) const {
    require_same_rows(name(), seen.signal.rows, seen.structure);
    require_values(*this, seen.signal, seen.targets);
    if (seen.structure.kind() != Structure::Kind::trees)
      throw UsageError("merges loss: the structure must consist of trees");
    team.run([&](Member& me) {
      OneTree tree(half_of(seen.signal.cols));
      const Range mine = me.share(seen.structure.sequences(), 1);
      for (Index s = mine.begin; s < mine.end; ++s) use(tree, s);
    });
  }
};

}  // namespace

template <class T>
std::unique_ptr<Loss<T>> merge_loss() {
  return std::make_unique<MergeLoss<T>>();
}

template class MergeScores<float>;
template class MergeScores<double>;
template std::unique_ptr<Loss<float>> merge_loss();
template std::unique_ptr<Loss<double>> merge_loss();

}  // namespace unfold
