#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <memory>

#include "unfold/losses/label_sequences.h"
#include "unfold/losses/registry.h"
#include "unfold/losses/rows.h"
#include "unfold/losses/segment_crf.h"
#include "unfold/losses/step_crf.h"
#include "unfold/markov/chain_block.h"
#include "unfold/markov/label_scheme.h"
#include "unfold/numerics/functions.h"

namespace unfold {
namespace {

constexpr double kNothing = -std::numeric_limits<double>::infinity();
/// Chains that one member works on side by side: their numbers stay in the cache.
constexpr Index kChains = 16;

/// A linear-chain conditional random field (Lafferty, McCallum & Pereira 2001): the score of labels y is
///
///   start[y_1] + sum_t o_t[y_t] + sum_{t>1} transitions[y_{t-1}][y_t] + stop[y_T],   p(y) = exp(score(y)) / Z.
///
/// Chains of ordinary scores whose labels are all known go through chain_block.h, all others through chain.h.
enum class CrfSteps { fixed, read };
struct CrfOptions {
  LabelScheme labels = LabelScheme::any;
  CrfSteps steps = CrfSteps::fixed;  ///< read: step_crf.cpp
  Index segments = 0;                ///< above 0: segment_crf.cpp
};
template <class Visitor>
void describe(Visitor& v, CrfOptions& o) {
  v("labels", o.labels, "labels that may follow each other",
    {{LabelScheme::any, "any"}, {LabelScheme::iob2, "iob2"}, {LabelScheme::iobes, "iobes"}});
  v("steps", o.steps, "whether what is read scores steps from label to label, too",
    {{CrfSteps::fixed, "fixed"}, {CrfSteps::read, "read"}});
  v("segments", o.segments, "positions of a segment at most: semi-Markov; 0: labels follow each other one by one",
    range(0, 1000));
}

/// Expected minus observed counts of neighbours, or what a curvature makes of them.
struct NeighbourCounts {
  std::vector<double> pairs, first, last;

  explicit NeighbourCounts(Index n = 0) : pairs(at(n * n)), first(at(n)), last(at(n)) {}
  ChainCounts with(Matrix<double> positions) { return {positions, pairs.data(), first.data(), last.data()}; }
};

/// What a member of a team needs for one chain by logarithms.
struct ChainWork {
  std::vector<double> emissions, alpha, beta, counts, more;
  ChainScratch scratch;
  Index rows = 0, cols = 0;

  void make_room(Index length, Index labels) {
    rows = length, cols = labels;
    for (auto* each : {&emissions, &alpha, &beta, &counts, &more}) each->resize(at(length * labels));
  }
  Matrix<double> matrix(std::vector<double>& of) const { return {of.data(), rows, cols, cols}; }
  Emissions e() { return matrix(emissions); }
};

template <class T>
class CrfLoss final : public LossCurvature<T>, public LabelSequences<T>, public NamedLabels<T> {
 public:
  explicit CrfLoss(LabelScheme scheme) : scheme_(scheme) {}

  std::string_view name() const override { return "crf"; }

  void name_labels(const std::vector<std::string>& names) override {
    ChainScores probe = zeros(static_cast<Index>(names.size()));
    forbid(scheme_, names, probe);  // throws now, not in training
    names_ = names;
  }

  void declare(Circuit& circuit, Signal signal) override {
    const std::string& owner = circuit.nodes()[at(signal.id)].name;
    const Index n = signal.size();
    if (scheme_ != LabelScheme::any && static_cast<Index>(names_.size()) != n)
      throw UsageError("crf: a scheme of labels needs their names");
    circuit_ = &circuit;
    own_ = {circuit.parameter(owner + "/transitions", n, n, Init::zero()),
            circuit.parameter(owner + "/start", 1, n, Init::zero()),
            circuit.parameter(owner + "/stop", 1, n, Init::zero())};
  }
  std::span<const int> own_parameters() const override { return own_; }

  void negative_log_likelihood(const Observed<T>& o, Team& team, T* nats) const override {
    each_block(o, team, [&](Member&, BlockWork& work, Index) { judge(o, work, nats, T{0}, nullptr, nullptr); });
  }

  void gradient(const Observed<T>& o, T scale, Team& team, T* nats, Matrix<T> adjoint,
                std::span<T> own_gradient) const override {
    std::vector<NeighbourCounts> counts(at(blocks(o.structure)), NeighbourCounts(o.signal.cols));
    each_block(o, team, [&](Member&, BlockWork& work, Index block) {
      judge(o, work, nats, scale, &adjoint, &counts[at(block)]);
    });
    add_own(counts, scale, own_gradient);
  }

  /// The covariance of the indicators of labels and neighbours, which is the Hessian where all labels are known. For a
  /// chain of which some are known it is that of log Z alone, which is no less; for one without labels 0.
  void curvature(const Observed<T>& o, T scale, Team& team, Matrix<const T> tangent, std::span<const T> direction,
                 Matrix<T> result, std::span<T> own_result) const override {
    const ChainScores along = scores_in(direction, o.signal.cols, false);
    std::vector<NeighbourCounts> counts(at(blocks(o.structure)), NeighbourCounts(o.signal.cols));
    each_block(o, team, [&](Member&, BlockWork& work, Index block) {
      for (Index k = 0; k < work.count; ++k) {
        const Index s = o.structure.sequence_at(work.first + k);
        if (!begin_chain(o, s, work, result)) continue;
        ChainWork& chain = work.chain;
        std::vector<double>& move = chain.more;
        gather(o.structure, s, tangent, chain.matrix(move));
        const double log_z = both_ways(work.scores, chain);
        chain_covariance(work.scores, chain.e(), chain.matrix(chain.alpha), chain.matrix(chain.beta), log_z,
                         chain.matrix(move), along, counts[at(block)].with(chain.matrix(chain.counts)), chain.scratch);
        scatter(o.structure, s, chain.matrix(chain.counts), scale, result);
      }
    });
    add_own(counts, scale, own_result);
  }

  /// A draw of labels minus its mean has that covariance.
  void curvature_sample(const Observed<T>& o, T scale, Team& team, std::uint64_t seed, std::uint64_t stream,
                        Matrix<T> result, std::span<T> own_result) const override {
    std::vector<NeighbourCounts> counts(at(blocks(o.structure)), NeighbourCounts(o.signal.cols));
    each_block(o, team, [&](Member&, BlockWork& work, Index block) {
      std::vector<Symbol> drawn;
      for (Index k = 0; k < work.count; ++k) {
        const Index s = o.structure.sequence_at(work.first + k);
        if (!begin_chain(o, s, work, result)) continue;
        ChainWork& chain = work.chain;
        const double log_z = both_ways(work.scores, chain);
        NeighbourCounts& sums = counts[at(block)];
        const Matrix<double> p = chain.matrix(chain.counts);
        chain_marginals(work.scores, chain.e(), chain.matrix(chain.alpha), chain.matrix(chain.beta), log_z, 1,
                        sums.with(p), chain.scratch);
        Random random(seed, mixed(stream, static_cast<std::uint64_t>(s)));
        drawn.resize(at(chain.rows));
        chain_sample(work.scores, chain.matrix(chain.alpha), random, drawn.data(), chain.scratch);
        take_away(drawn.data(), p, sums);
        scatter(o.structure, s, p, scale, result);
      }
    });
    add_own(counts, scale, own_result);
  }

  void best(const LabelQuestion<T>& q, Team& team, Symbol* labels) const override {
    each_block(q, team, [&](Member&, BlockWork& work, Index) {
      std::vector<Symbol> found;
      for (Index k = 0; k < work.count; ++k) {
        const Index s = q.structure.sequence_at(work.first + k);
        begin_question(q, s, work.chain);
        found.resize(at(work.chain.rows));
        if (!(chain_best(work.scores, work.chain.e(), found.data()) > kNothing)) refuse_impossible(s);
        for (Index t = 0; t < work.chain.rows; ++t) labels[q.structure.row(s, t)] = found[at(t)];
      }
    });
  }

  void log_posteriors(const LabelQuestion<T>& q, Team& team, Matrix<T> log_p) const override {
    each_block(q, team, [&](Member&, BlockWork& work, Index) {
      for (Index k = 0; k < work.count; ++k) {
        const Index s = q.structure.sequence_at(work.first + k);
        ChainWork& chain = work.chain;
        begin_question(q, s, chain);
        const double log_z = both_ways(work.scores, chain);
        if (!(log_z > kNothing)) refuse_impossible(s);
        for (Index t = 0; t < chain.rows; ++t) {
          double* sums = chain.counts.data() + t * chain.cols;
          for (Index j = 0; j < chain.cols; ++j)
            sums[j] = chain.alpha[at(t * chain.cols + j)] + chain.beta[at(t * chain.cols + j)];
          const double total = log_sum_exp(sums, chain.cols);
          for (Index j = 0; j < chain.cols; ++j) log_p(q.structure.row(s, t), j) = static_cast<T>(sums[j] - total);
        }
      }
    });
  }

  std::vector<LabelledChain> n_best(const LabelQuestion<T>& q, Index chain, Index count) const override {
    const ChainScores scores = scores_in(q.parameters, q.signal.cols, true);
    ChainWork work;
    const double log_z = ask(q, chain, scores, work);
    std::vector<LabelledChain> found = chain_n_best(scores, work.e(), count);
    for (LabelledChain& each : found) each.log_probability -= log_z;
    return found;
  }

  std::vector<LabelledChain> samples(const LabelQuestion<T>& q, Index chain, Index count,
                                     std::uint64_t seed) const override {
    const ChainScores scores = scores_in(q.parameters, q.signal.cols, true);
    ChainWork work;
    const double log_z = ask(q, chain, scores, work);
    Random random(seed, mixed(stream_of("labels"), static_cast<std::uint64_t>(chain)));
    std::vector<LabelledChain> drawn(at(count));
    for (LabelledChain& each : drawn) {
      each.labels.resize(at(work.rows));
      chain_sample(scores, work.matrix(work.alpha), random, each.labels.data(), work.scratch);
      each.log_probability = chain_score(scores, work.e(), each.labels.data()) - log_z;
    }
    return drawn;
  }

  ChainScores neighbours(std::span<const T> parameters, Index labels) const override {
    return scores_in(parameters, labels, true);
  }
  void add_neighbours(const ChainScores& counts, double scale, std::span<T> own_gradient) const override {
    const auto add = [&](int parameter, const std::vector<double>& from) {
      const auto offset = at(circuit_->parameters()[at(parameter)].offset);
      for (std::size_t i = 0; i < from.size(); ++i) own_gradient[offset + i] += static_cast<T>(scale * from[i]);
    };
    add(own_[0], counts.transitions);
    add(own_[1], counts.start);
    add(own_[2], counts.stop);
  }

 private:
  /// What one member works with, block after block.
  struct BlockWork {
    const ChainScores& scores;
    const ScaledNeighbours& neighbours;
    Index first = 0, count = 0;  // places of the block
    ChainBlock block = {};
    ChainWork chain = {};
    std::vector<double> surprise = {};  // by row of the block
    std::vector<char> counted = {};     // by chain: what the block says of it holds
  };

  static Index blocks(const Structure& s) { return (s.sequences() + kChains - 1) / kChains; }

  /// Calls use(member, work, number of the block) for all blocks, divided over the team.
  template <class Question, class Use>
  void each_block(const Question& q, Team& team, const Use& use) const {
    require_chains(q.structure, "crf");
    const ChainScores scores = scores_in(q.parameters, q.signal.cols, true);
    const ScaledNeighbours neighbours(scores);
    team.run([&](Member& me) {
      BlockWork work{.scores = scores, .neighbours = neighbours};
      const Range mine = me.share(blocks(q.structure), 1);
      for (Index block = mine.begin; block < mine.end; ++block) {
        work.first = block * kChains;
        work.count = std::min(kChains, q.structure.sequences() - work.first);
        use(me, work, block);
      }
    });
  }

  static ChainScores zeros(Index n) {
    return {.labels = n,
            .transitions = std::vector<double>(at(n * n)),
            .start = std::vector<double>(at(n)),
            .stop = std::vector<double>(at(n))};
  }

  /// Own parameters in a vector of all.
  ChainScores scores_in(std::span<const T> all, Index n, bool with_scheme) const {
    ChainScores scores = zeros(n);
    const auto take = [&](int parameter, std::vector<double>& out) {
      const auto from = all.begin() + circuit_->parameters()[at(parameter)].offset;
      std::copy(from, from + static_cast<Index>(out.size()), out.begin());
    };
    take(own_[0], scores.transitions);
    take(own_[1], scores.start);
    take(own_[2], scores.stop);
    if (with_scheme) forbid(scheme_, names_, scores);
    return scores;
  }

  /// Adds counts, block by block in order, at the own parameters. What is forbidden has no count.
  void add_own(const std::vector<NeighbourCounts>& counts, T scale, std::span<T> out) const {
    const auto add = [&](int parameter, std::vector<double> NeighbourCounts::*member) {
      const auto offset = circuit_->parameters()[at(parameter)].offset;
      for (std::size_t i = 0; i < (counts.front().*member).size(); ++i) {
        double sum = 0;
        for (const NeighbourCounts& each : counts) sum += (each.*member)[i];
        out[at(offset) + i] += static_cast<T>(static_cast<double>(scale) * sum);
      }
    };
    add(own_[0], &NeighbourCounts::pairs);
    add(own_[1], &NeighbourCounts::first);
    add(own_[2], &NeighbourCounts::last);
  }

  /// Nats and, with an adjoint, expected minus observed counts of the block's chains.
  void judge(const Observed<T>& o, BlockWork& work, T* nats, T scale, Matrix<T>* adjoint,
             NeighbourCounts* counts) const {
    judge_scaled(o, work, nats, scale, adjoint, counts);
    for (Index k = 0; k < work.count; ++k)
      if (work.counted[at(k)] == 0)
        judge_exactly(o, o.structure.sequence_at(work.first + k), work, nats, scale, adjoint, counts);
  }

  /// Those of ordinary scores whose labels are all known; `counted` says which.
  void judge_scaled(const Observed<T>& o, BlockWork& work, T* nats, T scale, Matrix<T>* adjoint,
                    NeighbourCounts* counts) const {
    const Index n = o.signal.cols;
    work.counted.assign(at(work.count), 0);
    if (!work.neighbours.suits()) return;
    ChainBlock& block = work.block;
    block.lay(o.structure, work.first, work.count, n);
    block.load(o.signal);
    block.run(work.neighbours);
    work.surprise.resize(at(block.rows()));
    for (Index k = 0; k < work.count; ++k) work.counted[at(k)] = block.suits(k) && find_shares(o, k, work) ? 1 : 0;
    vector_log(work.surprise.data(), work.surprise.data(), block.rows());
    const auto factor = static_cast<double>(scale);
    if (adjoint != nullptr) block.put_expected(factor, *adjoint);
    for (Index k = 0; k < work.count; ++k)
      for (Index t = 0; t < block.length(k) && work.counted[at(k)] != 0; ++t) {
        nats[block.outer(k, t)] = static_cast<T>(std::max(0.0, -work.surprise[at(block.inner(k, t))]));
        if (adjoint == nullptr) continue;
        count_position(o, k, t, work, *counts);
        const Symbol label = o.targets.symbols[block.outer(k, t)];
        (*adjoint)(block.outer(k, t), label) = static_cast<T>(factor * (expected(block, block.inner(k, t), label) - 1));
      }
    if (counts == nullptr) return;
    std::vector<double>& pairs = work.chain.counts;
    pairs.assign(at(n * n), 0.0);
    block.add_pairs(work.counted, pairs.data());
    for (Index i = 0; i < n; ++i)
      for (Index j = 0; j < n; ++j) counts->pairs[at(i * n + j)] += pairs[at(i * n + j)] * work.neighbours.weight(i, j);
  }

  /// surprise = p(label | label before, signal) at all positions of a chain; false where a label is missing or such a
  /// share is not above 0.
  bool find_shares(const Observed<T>& o, Index k, BlockWork& work) const {
    const ChainBlock& block = work.block;
    bool holds = true;
    Symbol before = kNoSymbol;
    for (Index t = 0; t < block.length(k); ++t) {
      const Symbol label = target_symbol(name(), o.signal, o.targets, block.outer(k, t));
      const Index row = block.inner(k, t);
      double& share = work.surprise[at(row)];
      share = 1;
      if (label == kNoSymbol) return false;
      if (t == 0)
        share = block.ahead(row)[label] * block.behind(row)[label];
      else
        share = work.neighbours.weight(before, label) * block.entering(row)[label] /
                block.behind(block.inner(k, t - 1))[before];
      holds = holds && share > 0 && std::isfinite(share);
      before = label;
    }
    return holds;
  }

  static double expected(const ChainBlock& block, Index row, Index label) {
    return block.ahead(row)[label] * block.behind(row)[label];
  }

  void count_position(const Observed<T>& o, Index k, Index t, const BlockWork& work, NeighbourCounts& counts) const {
    const ChainBlock& block = work.block;
    const Index n = o.signal.cols, row = block.inner(k, t);
    const Symbol label = o.targets.symbols[block.outer(k, t)];
    const auto add = [&](std::vector<double>& to) {
      for (Index j = 0; j < n; ++j) to[at(j)] += expected(block, row, j);
      to[at(label)] -= 1;
    };
    if (t == 0) add(counts.first);
    if (t + 1 == block.length(k)) add(counts.last);
    if (t > 0) counts.pairs[at(o.targets.symbols[block.outer(k, t - 1)] * n + label)] -= 1;
  }

  /// Any chain: minus log of the sum over all labels that agree with the known ones, over Z.
  void judge_exactly(const Observed<T>& o, Index s, BlockWork& work, T* nats, T scale, Matrix<T>* adjoint,
                     NeighbourCounts* counts) const {
    for (Index t = 0; t < o.structure.size(s); ++t) nats[o.structure.row(s, t)] = 0;
    Matrix<T> none;
    if (!begin_chain(o, s, work, adjoint != nullptr ? *adjoint : none)) return;
    ChainWork& chain = work.chain;
    const Matrix<double> alpha = chain.matrix(chain.alpha), beta = chain.matrix(chain.beta);
    const double log_z = both_ways(work.scores, chain);
    const Matrix<double> all = chain.matrix(chain.counts), known = chain.matrix(chain.more);
    if (counts != nullptr)
      chain_marginals(work.scores, chain.e(), alpha, beta, log_z, 1, counts->with(all), chain.scratch);
    for (Index t = 0; t < chain.rows; ++t)
      if (const Symbol label = o.targets.symbols[o.structure.row(s, t)]; label != kNoSymbol)
        for (Index j = 0; j < chain.cols; ++j)
          if (j != label) chain.emissions[at(t * chain.cols + j)] = kNothing;
    const double log_known = chain_forward(work.scores, chain.e(), alpha, chain.scratch);
    if (log_known == kNothing && scheme_ != LabelScheme::any) refuse_labels(o, s);
    share_out(o, s, chain, log_z, nats);
    if (counts == nullptr) return;
    chain_backward(work.scores, chain.e(), beta, chain.scratch);
    chain_marginals(work.scores, chain.e(), alpha, beta, log_known, -1, counts->with(known), chain.scratch);
    for (std::size_t i = 0; i < chain.counts.size(); ++i) chain.counts[i] -= chain.more[i];
    scatter(o.structure, s, all, scale, *adjoint);
  }

  /// nats of a position: how far it lowers the log of the probability of the known labels so far. REQUIRES alpha of the
  /// known ones, beta of all.
  void share_out(const Observed<T>& o, Index s, ChainWork& chain, double log_z, T* nats) const {
    std::vector<double>& sums = chain.more;
    double so_far = 0;
    for (Index t = 0; t < chain.rows; ++t) {
      const Index row = o.structure.row(s, t);
      if (o.targets.symbols[row] == kNoSymbol) continue;
      for (Index j = 0; j < chain.cols; ++j)
        sums[at(j)] = chain.alpha[at(t * chain.cols + j)] + chain.beta[at(t * chain.cols + j)];
      const double now = log_sum_exp(sums.data(), chain.cols) - log_z;
      const double fall = so_far - now;
      nats[row] = static_cast<T>(fall < 0 ? 0 : fall);  // by rounding; what is no number stays so
      so_far = now;
    }
  }

  /// Takes the emissions of a chain; false where it has no label at all, and its rows of the result are then 0.
  bool begin_chain(const Observed<T>& o, Index s, BlockWork& work, Matrix<T> result) const {
    work.chain.make_room(o.structure.size(s), o.signal.cols);
    gather(o.structure, s, o.signal, work.chain.matrix(work.chain.emissions));
    bool any = false;
    for (Index t = 0; t < work.chain.rows; ++t) {
      const Index row = o.structure.row(s, t);
      any = target_symbol(name(), o.signal, o.targets, row) != kNoSymbol || any;
    }
    for (Index t = 0; t < work.chain.rows && !any && result.data != nullptr; ++t)
      set_row(result.row(o.structure.row(s, t)), result.cols, T{0});
    return any;
  }

  void begin_question(const LabelQuestion<T>& q, Index s, ChainWork& chain) const {
    chain.make_room(q.structure.size(s), q.signal.cols);
    gather(q.structure, s, q.signal, chain.matrix(chain.emissions));
    for (Index t = 0; t < chain.rows && q.allowed.data != nullptr; ++t)
      for (Index j = 0; j < chain.cols; ++j)
        if (q.allowed(q.structure.row(s, t), j) == 0) chain.emissions[at(t * chain.cols + j)] = kNothing;
  }

  /// Forward over the chain that a question names: log Z.
  double ask(const LabelQuestion<T>& q, Index s, const ChainScores& scores, ChainWork& work) const {
    begin_question(q, s, work);
    const double log_z = chain_forward(scores, work.e(), work.matrix(work.alpha), work.scratch);
    if (!(log_z > kNothing)) refuse_impossible(s);
    return log_z;
  }

  static double both_ways(const ChainScores& scores, ChainWork& chain) {
    const double log_z = chain_forward(scores, chain.e(), chain.matrix(chain.alpha), chain.scratch);
    chain_backward(scores, chain.e(), chain.matrix(chain.beta), chain.scratch);
    return log_z;
  }

  static void gather(const Structure& structure, Index s, Matrix<const T> rows, Matrix<double> out) {
    for (Index t = 0; t < out.rows; ++t) std::copy_n(rows.row(structure.row(s, t)), out.cols, out.row(t));
  }
  static void scatter(const Structure& structure, Index s, Matrix<const double> from, T scale, Matrix<T> out) {
    for (Index t = 0; t < from.rows; ++t)
      for (Index j = 0; j < from.cols; ++j)
        out(structure.row(s, t), j) = static_cast<T>(static_cast<double>(scale) * from(t, j));
  }
  static void take_away(const Symbol* labels, Matrix<double> positions, NeighbourCounts& counts) {
    for (Index t = 0; t < positions.rows; ++t) {
      positions(t, labels[t]) -= 1;
      if (t > 0) counts.pairs[at(labels[t - 1] * positions.cols + labels[t])] -= 1;
    }
    counts.first[at(labels[0])] -= 1;
    counts.last[at(labels[positions.rows - 1])] -= 1;
  }

  static std::uint64_t mixed(std::uint64_t stream, std::uint64_t chain) {
    const auto words = philox(stream, chain, 0);
    return static_cast<std::uint64_t>(words[1]) << 32 | words[0];
  }

  std::string name_of(Symbol label) const {
    return at(label) < names_.size() ? names_[at(label)] : std::to_string(label);
  }

  [[noreturn]] void refuse_impossible(Index s) const {
    throw DataError(
        fmt::format("crf: nothing that is allowed fits example {} of a batch: its constraints exclude each "
                    "other, or its scores are not finite",
                    s + 1));
  }
  [[noreturn]] void refuse_labels(const Observed<T>& o, Index s) const {
    std::string found;
    for (Index t = 0; t < o.structure.size(s); ++t)
      if (const Symbol label = o.targets.symbols[o.structure.row(s, t)]; label != kNoSymbol)
        found += (found.empty() ? "" : " ") + name_of(label);
    throw DataError(fmt::format("crf: the labels \"{}\" do not keep to the scheme; mend them, or leave labels={} out",
                                found, scheme_ == LabelScheme::iob2 ? "iob2" : "iobes"));
  }

  LabelScheme scheme_;
  std::vector<std::string> names_;
  const Circuit* circuit_ = nullptr;
  std::array<int, 3> own_ = {-1, -1, -1};
};

template <class T>
std::unique_ptr<Loss<T>> make_crf(const AnyOptions& options) {
  const auto& o = options.as<CrfOptions>();
  if (o.steps == CrfSteps::read && o.segments > 0)
    throw UsageError("crf: segments follow each other by fixed scores; leave steps=read or segments= out");
  if (o.segments > 0) return segment_crf_loss<T>(o.labels, o.segments);
  if (o.steps == CrfSteps::read) return step_crf_loss<T>(o.labels);
  return std::make_unique<CrfLoss<T>>(o.labels);
}

}  // namespace

LossEntry crf_entry() {
  return {.name = "crf",
          .help = "symbols of a whole sequence together: a linear-chain conditional random field",
          .of_symbols = true,
          .make_float = make_crf<float>,
          .make_double = make_crf<double>,
          .options = CrfOptions(),
          .size_of_signal = [](Index labels, const AnyOptions& options) {
            return options.as<CrfOptions>().steps == CrfSteps::read ? labels + labels * labels : labels;
          }};
}

}  // namespace unfold
