#include <algorithm>
#include <cmath>
#include <memory>

#include "loss/crf/chain_block.h"
#include "loss/crf/label_random_field.h"
#include "loss/crf/segment_crf.h"
#include "loss/crf/transition_crf.h"
#include "unfold/loss/registry.h"

namespace unfold {
namespace {

/// A linear-chain conditional random field (Lafferty, McCallum & Pereira 2001): the score of labels y is
///
///   start[y_1] + sum_t o_t[y_t] + sum_{t>1} transitions[y_{t-1}][y_t] + stop[y_T],   p(y) = exp(score(y)) / Z.
///
/// Chains with scores of ordinary size and all labels known use chain_block.h; all other chains use chain.h.
enum class CrfSteps { fixed, read };
struct CrfOptions {
  LabelScheme labels = LabelScheme::any;
  CrfSteps steps = CrfSteps::fixed;  ///< read: transition scores are read from the signal (transition_crf.cpp)
  Index segments = 0;                ///< > 0: segment_crf.cpp
};

template <class Visitor>
void describe(Visitor& v, CrfOptions& o) {
  v("labels", o.labels, "labeling scheme: which labels may follow each other",
    {{LabelScheme::any, "any"}, {LabelScheme::iob2, "iob2"}, {LabelScheme::iobes, "iobes"}});
  v("steps", o.steps, "whether transition scores also depend on the input",
    {{CrfSteps::fixed, "fixed"}, {CrfSteps::read, "read"}});
  v("segments", o.segments, "maximum segment length (semi-Markov CRF); 0: no segments", range(0, 1000));
}

/// Returns the transition counts, stored in the layout of the transition scores.
ChainCounts counts_into(ChainScores& neighbors, Matrix<double> positions) {
  return {positions, neighbors.transitions.data(), neighbors.start.data(), neighbors.stop.data()};
}

/// A chain in log space.
struct CrfChain : TwoSidedChain {
  using Scores = ChainScores;
  const ChainScores* scores = nullptr;
  std::vector<double> counts, more;
  ChainScratch scratch;

  template <class T>
  void take(const ChainScores& given, const Structure& structure, Index s, Matrix<const T> signal) {
    scores = &given;
    gather(structure, s, signal, given.labels, emissions);
    make_room();
    for (auto* each : {&counts, &more}) each->resize(emissions.size());
  }
  double forward() { return log_sum = chain_forward(*scores, e(), matrix(alpha), scratch); }
  void backward() { chain_backward(*scores, e(), matrix(beta), scratch); }
  /// Adds `factor` times the expected counts; the counts of positions are set. Call after forward and backward.
  void count(double factor, ChainScores& neighbors, std::vector<double>& positions) {
    chain_marginals(*scores, e(), matrix(alpha), matrix(beta), log_sum, factor,
                    counts_into(neighbors, matrix(positions)), scratch);
  }
  double best(Symbol* found) const { return chain_best(*scores, e(), found); }
  std::vector<ScoredLabeling> n_best(Index count) const { return chain_n_best(*scores, e(), count); }
  void draw(Random& random, Symbol* drawn) { chain_sample(*scores, matrix(alpha), random, drawn, scratch); }
  double score(const Symbol* given) const { return chain_score(*scores, e(), given); }
  static std::uint64_t stream(Index s) { return mixed(stream_of("labels"), s); }
  static std::uint64_t mixed(std::uint64_t stream, Index s) {
    const auto words = philox(stream, static_cast<std::uint64_t>(s), 0);
    return static_cast<std::uint64_t>(words[1]) << 32 | words[0];
  }
};

template <class T>
class CrfLoss final : public LabelRandomField<T, CrfChain>, public LossCurvature<T> {
 public:
  using LabelRandomField<T, CrfChain>::LabelRandomField;

  void declare(Circuit& circuit, Signal signal) override {
    this->declare_scores(circuit, signal, signal.size(), signal.size());
  }

  void negative_log_likelihood(const Observed<T>& o, Team& team, T* nats) const override {
    each_block(o, team, [&](BlockWork& work, Index) { judge_block(o, {}, work, nats, T{0}, nullptr, nullptr); });
  }

  void weighted_gradient(const Observed<T>& o, RowWeights<T> weights, T scale, Team& team, T* nats, Matrix<T> adjoint,
                         std::span<T> own_gradient) const override {
    require_shape<T>(this->name(), "the adjoint", adjoint, o.signal);
    std::vector<ChainScores> counts = no_counts(o);
    each_block(o, team, [&](BlockWork& work, Index block) {
      judge_block(o, weights, work, nats, scale, &adjoint, &counts[at(block)]);
    });
    this->add_own(counts, scale, own_gradient);
  }

  /// Uses the covariance of the indicators of labels and transitions. If all labels are known, this is the Hessian. If
  /// only some labels are known, it is the Hessian of log Z, which is an upper bound. Without labels it is 0.
  void curvature(const Observed<T>& o, T scale, Team& team, Matrix<const T> tangent, std::span<const T> direction,
                 Matrix<T> result, std::span<T> own_result) const override {
    require_shape<T>(this->name(), "the tangent", tangent, o.signal);
    require_shape<T>(this->name(), "the result", result, o.signal);
    const ChainScores along = this->numbers_in(direction);
    std::vector<ChainScores> counts = no_counts(o);
    each_labeled(o, team, result, [&](Index block, Index s, CrfChain& chain) {
      chain.gather(o.structure, s, tangent, chain.cols, chain.more);
      chain_covariance(*chain.scores, chain.e(), chain.matrix(chain.alpha), chain.matrix(chain.beta), chain.log_sum,
                       chain.matrix(chain.more), along, counts_into(counts[at(block)], chain.matrix(chain.counts)),
                       chain.scratch);
      this->scatter(o.structure, s, chain.matrix(chain.counts), scale, result);
    });
    this->add_own(counts, scale, own_result);
  }

  /// A sample of labels minus its mean has this covariance.
  void curvature_sample(const Observed<T>& o, T scale, Team& team, std::uint64_t seed, std::uint64_t stream,
                        Matrix<T> result, std::span<T> own_result) const override {
    require_shape<T>(this->name(), "the result", result, o.signal);
    std::vector<ChainScores> counts = no_counts(o);
    each_labeled(o, team, result, [&](Index block, Index s, CrfChain& chain) {
      chain.count(1, counts[at(block)], chain.counts);
      Random random(seed, CrfChain::mixed(stream, s));
      std::vector<Symbol> drawn(at(chain.rows));
      chain.draw(random, drawn.data());
      take_away(drawn.data(), chain.matrix(chain.counts), counts[at(block)]);
      this->scatter(o.structure, s, chain.matrix(chain.counts), scale, result);
    });
    this->add_own(counts, scale, own_result);
  }

 private:
  /// The data of one thread, reused for each block.
  struct BlockWork {
    const ChainScores& scores;
    const ScaledTransitions& neighbors;
    Index first = 0, count = 0;  // places of the chains in the block
    ChainBlock& block;
    CrfChain chain = {};
    std::vector<double> surprise = {};  // surprisals by row of the block
  };

  std::vector<ChainScores> no_counts(const Observed<T>& o) const {
    return std::vector<ChainScores>(at(this->blocks(o.structure)), ChainScores::zeros(this->n_));
  }

  /// Calls use(work, block number) for all blocks, divided among the team.
  template <class Use>
  void each_block(const Observed<T>& o, Team& team, const Use& use) const {
    require_chains(o.structure, o.signal.rows, "crf");
    const ChainScores scores = scores_in(o.parameters);
    const ScaledTransitions neighbors(scores);
    team.run([&](Member& me) {
      static thread_local ChainBlock memory;  // reallocating costs 4 % of a training step with batches of 32
      BlockWork work{.scores = scores, .neighbors = neighbors, .block = memory};
      const Range mine = me.share(this->blocks(o.structure), 1);
      for (Index block = mine.begin; block < mine.end; ++block) {
        work.first = block * this->kTogether;
        work.count = std::min(this->kTogether, o.structure.sequences() - work.first);
        use(work, block);
      }
    });
  }
  /// Calls use(block number, chain, work) after forward and backward over chains with a label; sets the rows of other
  /// chains to 0.
  template <class Use>
  void each_labeled(const Observed<T>& o, Team& team, Matrix<T> result, const Use& use) const {
    each_block(o, team, [&](BlockWork& work, Index block) {
      for (Index k = 0; k < work.count; ++k) {
        const Index s = o.structure.sequence_at(work.first + k);
        if (!this->begin(o, work.scores, s, work.chain)) {
          for (Index t = 0; t < work.chain.rows; ++t) set_row(result.row(o.structure.row(s, t)), result.cols, T{0});
          continue;
        }
        work.chain.forward();
        work.chain.backward();
        use(block, s, work.chain);
      }
    });
  }

  ChainScores scores_in(std::span<const T> all) const override {
    ChainScores scores = this->numbers_in(all);
    forbid(this->scheme_, this->names_, scores);
    return scores;
  }

  /// Computes the nats and, with an adjoint, expected minus observed counts of the block's chains, which are multiplied
  /// by the weights of the chains.
  void judge_block(const Observed<T>& o, RowWeights<T> weights, BlockWork& work, T* nats, T scale, Matrix<T>* adjoint,
                   ChainScores* counts) const {
    work.block.lay(o.structure, work.first, work.count, o.signal.cols);
    const std::string_view name = this->name();
    for (Index t = 0; t < work.block.length(0); ++t)
      for (Index k = 0; k < work.block.running(t); ++k)
        work.block.take_label(k, t, target_symbol(name, o.signal, o.targets, work.block.outer(k, t)));
    const bool together = work.neighbors.suits() && weights.rows.empty();
    if (together) judge_scaled(o, work, nats, scale, adjoint, counts);
    for (Index k = 0; k < work.count; ++k)
      if (!together || !work.block.suits(k))
        judge_exactly(o, weights, o.structure.sequence_at(work.first + k), work, nats, scale, adjoint, counts);
  }

  /// Like judge_block, for the chains that are suitable for ChainBlock, without weights.
  void judge_scaled(const Observed<T>& o, BlockWork& work, T* nats, T scale, Matrix<T>* adjoint,
                    ChainScores* counts) const {
    ChainBlock& block = work.block;
    block.run(work.neighbors, o.signal, static_cast<double>(scale), adjoint != nullptr ? *adjoint : Matrix<T>{});
    work.surprise.resize(at(block.rows()));
    vector_log(block.shares(), work.surprise.data(), block.rows());
    for (Index t = 0; t < block.length(0); ++t) {
      const double* surprise = work.surprise.data() + block.inner(0, t);
      T* const nats_here = nats + block.outer(0, t);  // includes unsuitable chains, whose nats judge_exactly overwrites
      for (Index k = 0; k < block.running(t); ++k) nats_here[k] = static_cast<T>(-surprise[k] > 0 ? -surprise[k] : 0);
      if (counts != nullptr && t > 0) take_steps_away(block, t, counts->transitions.data());
    }
    if (counts == nullptr) return;
    for (Index k = 0; k < block.chains(); ++k) {
      if (!block.suits(k)) continue;
      count_end(block, block.inner(k, 0), counts->start);
      count_end(block, block.inner(k, block.length(k) - 1), counts->stop);
    }
    block.add_pairs(work.neighbors, counts->transitions.data());
  }

  /// Subtracts the transitions of the observed labels into position t.
  static void take_steps_away(const ChainBlock& block, Index t, double* transitions) {
    const Index row = block.inner(0, t), before = block.inner(0, t - 1);
    for (Index k = 0; k < block.running(t); ++k)
      if (block.suits(k)) transitions[block.label(before + k) * block.labels() + block.label(row + k)] -= 1;
  }

  static void count_end(const ChainBlock& block, Index row, std::vector<double>& counts) {
    for (std::size_t j = 0; j < counts.size(); ++j) counts[j] += block.ahead(row)[j] * block.behind(row)[j];
    counts[at(block.label(row))] -= 1;
  }

  /// Like judge_block, for any chain.
  void judge_exactly(const Observed<T>& o, RowWeights<T> weights, Index s, BlockWork& work, T* nats, T scale,
                     Matrix<T>* adjoint, ChainScores* counts) const {
    const double weight = weights.of_chain(o.structure, s);
    const auto of_all = [&](Index, CrfChain& chain) {
      chain.backward();
      if (counts != nullptr) chain.count(weight, *counts, chain.counts);
    };
    const auto of_known = [&](Index, CrfChain& chain, bool judged) {
      if (counts == nullptr) return;
      if (judged) {
        chain.backward();
        chain.count(-weight, *counts, chain.more);
        for (std::size_t i = 0; i < chain.counts.size(); ++i) chain.counts[i] -= chain.more[i];
      } else {
        std::ranges::fill(chain.counts, 0.0);
      }
      this->scatter(o.structure, s, chain.matrix(chain.counts), weight * static_cast<double>(scale), *adjoint);
    };
    this->judge(o, work.scores, s, work.chain, nats, of_all, of_known);
  }

  static void take_away(const Symbol* labels, Matrix<double> positions, ChainScores& counts) {
    for (Index t = 0; t < positions.rows; ++t) {
      positions(t, labels[t]) -= 1;
      if (t > 0) counts.transitions[at(labels[t - 1] * positions.cols + labels[t])] -= 1;
    }
    counts.start[at(labels[0])] -= 1;
    counts.stop[at(labels[positions.rows - 1])] -= 1;
  }
};

template <class T>
std::unique_ptr<Loss<T>> make_crf(const AnyOptions& options) {
  const auto& o = options.as<CrfOptions>();
  if (o.steps == CrfSteps::read && o.segments > 0)
    throw UsageError("crf: segments require fixed transition scores; remove steps=read or segments=");
  if (o.segments > 0) return segment_crf_loss<T>(o.labels, o.segments);
  if (o.steps == CrfSteps::read) return step_crf_loss<T>(o.labels);
  return std::make_unique<CrfLoss<T>>(o.labels);
}

}  // namespace

LossEntry crf_entry() {
  return {.name = "crf",
          .help = "symbols of a whole sequence jointly: a linear-chain conditional random field",
          .of_symbols = true,
          .make_float = make_crf<float>,
          .make_double = make_crf<double>,
          .options = CrfOptions(),
          .size_of_signal = [](Index labels, const AnyOptions& options) {
            return options.as<CrfOptions>().steps == CrfSteps::read ? labels + labels * labels : labels;
          }};
}

}  // namespace unfold
