#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <memory>
#include <numeric>

#include "loss/crf/label_sequences.h"
#include "loss/crf/label_states.h"
#include "loss/crf/sequence_label.h"
#include "loss/own_parameters.h"
#include "loss/weighted_loss.h"
#include "numerics/functions.h"
#include "unfold/loss/registry.h"
#include "unfold/loss/rows.h"

namespace unfold {
namespace {

constexpr double kNoPath = -std::numeric_limits<double>::infinity();
/// Number of chains whose counts are summed as one block, which makes the order of sums independent of the number of
/// threads.
constexpr Index kChainsOfBlock = 16;

enum class HybridTraining { joint, frames };

/// A hybrid hidden Markov model: the emission scores come from a network (label_states.h).
///
///   joint:   -log p(labels) = log sum over all paths of exp(score) - log of the same over the paths of these labels
///            (Bengio, De Mori, Flammia & Kompe 1992); the priors stay fixed
///   frames:  for an even path s (even_path): sum_t -log softmax(o_t)[s_t] - log q(s_t) - log a(s_{t-1}, s_t), which
///            trains the network for each position separately and sets transition probabilities and priors to relative
///            frequencies (Bourlard & Morgan 1994)
///
/// `smoothing` times the second objective is added to the first. The network then keeps learning from every frame even
/// after it classifies all training sequences correctly (Su, Li, Yu & Seide 2013).
///
/// Decoding uses the paths above in both cases. For `joint`, the nats of a row are -log p of its label given the known
/// labels before it. For `frames`, they are the terms of the row. With one label per sequence, all nats are stored at
/// the row with the label.
struct HybridOptions {
  Index states = 1;
  StateOrder order = StateOrder::any;
  HybridTraining training = HybridTraining::joint;
  double smoothing = 0;

  /// Returns whether -log p(labels) is part of the loss, and the weight of the sum over an even path.
  bool is_joint() const { return training == HybridTraining::joint; }
  double share_of_frames() const { return is_joint() ? smoothing : 1; }
};

template <class Visitor>
void describe(Visitor& v, HybridOptions& o) {
  v("states", o.states, "hidden states of each label", range(1, 64));
  v("order", o.order, "which state of a label may follow which",
    {{StateOrder::any, "any"}, {StateOrder::forward, "forward"}});
  v("training", o.training, "train the whole sequence (joint) or each position on an evenly divided path (frames)",
    {{HybridTraining::joint, "joint"}, {HybridTraining::frames, "frames"}});
  v("smoothing", o.smoothing, "weight of the frame-wise loss that is added to the joint loss", range(0, 100));
}

/// The data that a thread needs for one chain.
struct HybridWork {
  std::vector<double> e, known, alpha, alpha_known, beta, counts, counts_known;
  std::vector<Symbol> labels;  ///< labels by position; kNoSymbol if unknown
  ChainScratch scratch;
  Index rows = 0, cols = 0;

  void make_room(Index length, Index states) {
    rows = length, cols = states;
    for (auto* each : {&e, &known, &alpha, &alpha_known, &beta, &counts, &counts_known})
      each->resize(at(length * states));
  }
  Matrix<double> matrix(std::vector<double>& of) const { return {of.data(), rows, cols, cols}; }
};

/// Gradients with respect to the log-probabilities, for a block of chains.
struct StateSlopes {
  std::vector<double> transitions, start, prior, last;

  explicit StateSlopes(Index n) : transitions(at(n * n)), start(at(n)), prior(at(n)), last(at(n)) {}
  ChainCounts with(Matrix<double> positions) { return {positions, transitions.data(), start.data(), last.data()}; }
};

template <class T>
class HybridLoss final : public LabelSequences<T>, public SequenceLabel<T>, public WeightedLoss<T> {
 public:
  explicit HybridLoss(const HybridOptions& options) : options_(options) {
    states_.each = options.states;
    states_.order = options.order;
  }

  std::string_view name() const override { return "hybrid"; }
  void one_label() override { states_.one_label = true; }
  Index target_size(Index signal_size) const override {
    if (signal_size < states_.each || signal_size % states_.each != 0)
      throw UsageError(fmt::format("hybrid loss: the signal has {} numbers, but must have {} for each label",
                                   signal_size, states_.each));
    return signal_size / states_.each;
  }

  void declare(Circuit& circuit, Signal signal) override {
    const Index n = signal.size();
    states_.labels = target_size(n);
    own_.declare(circuit, signal, {{"transitions", n, n}, {"start", 1, n}, {"prior", 1, n}});
  }
  std::span<const int> parameter_indices() const override { return own_.ids(); }

  void negative_log_likelihood(const Observed<T>& o, Team& team, T* nats) const override {
    const StateLogProbabilities shares = shares_in(o.parameters);
    compute_all_nats(o, team, shares, nats, [](Index, Index, HybridWork&, bool) {});
  }

  void weighted_gradient(const Observed<T>& o, RowWeights<T> weights, T scale, Team& team, T* nats, Matrix<T> adjoint,
                         std::span<T> own_gradient) const override {
    require_shape<T>(name(), "the adjoint", adjoint, o.signal);
    const StateLogProbabilities shares = shares_in(o.parameters);
    const ChainScores scores = shares.scores(states_);
    std::vector<StateSlopes> slopes(at(blocks(o.structure)), StateSlopes(states_.count()));
    compute_all_nats(o, team, shares, nats, [&](Index block, Index s, HybridWork& work, bool judged) {
      const Matrix<double> out = work.matrix(work.counts);
      const double weight = weights.of_chain(o.structure, s);
      if (judged && options_.is_joint())
        joint_slopes(scores, weight, work, slopes[at(block)]);
      else
        std::ranges::fill(work.counts, 0.0);
      if (judged && options_.share_of_frames() > 0) add_frame_slopes(weight, work, slopes[at(block)]);
      for (Index t = 0; t < work.rows; ++t)
        for (Index j = 0; j < work.cols; ++j)
          adjoint(o.structure.row(s, t), j) = static_cast<T>(weight * static_cast<double>(scale) * out(t, j));
    });
    for (std::size_t b = 1; b < slopes.size(); ++b) add(slopes[b], slopes[0]);
    put_own(shares, slopes[0], static_cast<double>(scale), own_gradient);
  }

  void best(const LabelQuery<T>& q, Team& team, Symbol* labels) const override {
    each_question(q, team, [&](const ChainScores& scores, Index s, HybridWork& work) {
      std::vector<Symbol> path(at(work.rows));
      if (states_.one_label) {
        std::fill(path.begin(), path.end(), static_cast<Symbol>(whole_label_order(scores, s, work).front().first));
      } else {
        if (!(chain_best(scores, work.matrix(work.e), path.data()) > kNoPath)) refuse(s);
        for (Symbol& state : path) state = states_.label(state);
      }
      for (Index t = 0; t < work.rows; ++t) labels[q.structure.row(s, t)] = path[at(t)];
    });
  }

  void log_posteriors(const LabelQuery<T>& q, Team& team, Matrix<T> log_p) const override {
    each_question(q, team, [&](const ChainScores& scores, Index s, HybridWork& work) {
      const double log_z = both_ways(scores, work);
      if (!(log_z > kNoPath)) refuse(s);
      std::vector<double> shares(at(states_.labels));
      for (Index t = 0; t < work.rows; ++t) {
        label_sums(work, t, shares);
        const double total = log_sum_exp(shares.data(), states_.labels);
        for (Index l = 0; l < states_.labels; ++l)
          log_p(q.structure.row(s, t), l) = static_cast<T>(shares[at(l)] - total);
      }
    });
  }

  std::vector<ScoredLabeling> n_best(const LabelQuery<T>& q, Index chain, Index count) const override {
    HybridWork work;
    const ChainScores scores = ask(q, chain, work);
    std::vector<ScoredLabeling> found;
    if (states_.one_label) {
      for (const auto& [label, log_p] : whole_label_order(scores, chain, work))
        if (static_cast<Index>(found.size()) < count && log_p > kNoPath)
          found.push_back({std::vector<Symbol>(at(work.rows), static_cast<Symbol>(label)), log_p});
      return found;
    }
    if (states_.each > 1) throw UsageError("hybrid: the N best labels are available only for states=1");
    const double log_z = both_ways(scores, work);
    if (!(log_z > kNoPath)) refuse(chain);
    found = chain_n_best(scores, work.matrix(work.e), count);
    for (ScoredLabeling& each : found) each.log_probability -= log_z;
    return found;
  }

  std::vector<ScoredLabeling> samples(const LabelQuery<T>& q, Index chain, Index count,
                                      std::uint64_t seed) const override {
    HybridWork work;
    const ChainScores scores = ask(q, chain, work);
    const double log_z = both_ways(scores, work);
    if (!(log_z > kNoPath)) refuse(chain);
    Random random(seed, stream_of("labels") + static_cast<std::uint64_t>(chain));
    std::vector<ScoredLabeling> drawn(at(count));
    for (ScoredLabeling& each : drawn) {
      each.labels.resize(at(work.rows));
      chain_sample(scores, work.matrix(work.alpha), random, each.labels.data(), work.scratch);
      for (Symbol& state : each.labels) state = states_.label(state);
      work.labels = each.labels;
      each.log_probability = known_forward(scores, work) - log_z;
    }
    return drawn;
  }

  ChainScores neighbors(std::span<const T> parameters, Index) const override {
    require_plain();
    return shares_in(parameters).scores(states_);
  }
  void add_transition_counts(const ChainScores&, double, std::span<T>) const override {
    throw UsageError(
        "--objective: hybrid supports only likelihood, because its transition scores are probabilities; use crf for "
        "other objectives");
  }

 private:
  static Index blocks(const Structure& s) {
    return std::max<Index>(1, (s.sequences() + kChainsOfBlock - 1) / kChainsOfBlock);
  }

  StateLogProbabilities shares_in(std::span<const T> all) const {
    return {states_, {own_.numbers(all, 0), own_.numbers(all, 1), own_.numbers(all, 2)}};
  }

  /// Computes the nats of all chains, with the labels and the signal of each in `work`. Calls use(block, chain, work,
  /// judged); for chains without labels, `judged` is false and the nats are 0.
  template <class Use>
  void compute_all_nats(const Observed<T>& o, Team& team, const StateLogProbabilities& shares, T* nats,
                        const Use& use) const {
    require_chains(o.structure, o.signal.rows, "hybrid");
    const ChainScores scores = shares.scores(states_);
    team.run([&](Member& me) {
      HybridWork work;
      const Range mine = me.share(blocks(o.structure), 1);
      for (Index block = mine.begin; block < mine.end; ++block)
        for (Index s = block * kChainsOfBlock; s < std::min(o.structure.sequences(), (block + 1) * kChainsOfBlock);
             ++s) {
          const bool any = take(o, s, nats, work);
          if (any && options_.is_joint()) judge_joint(o, s, scores, work, nats);
          if (any && options_.share_of_frames() > 0) add_frames(o, s, shares, work, nats);
          use(block, s, work, any);
        }
    });
  }

  /// Loads a chain and sets its nats to 0; returns whether it has a label.
  bool take(const Observed<T>& o, Index s, T* nats, HybridWork& work) const {
    work.make_room(o.structure.size(s), o.signal.cols);
    work.labels.assign(at(work.rows), kNoSymbol);
    bool any = false;
    for (Index t = 0; t < work.rows; ++t) {
      const Index row = o.structure.row(s, t);
      nats[row] = 0;
      std::copy_n(o.signal.row(row), work.cols, work.e.data() + t * work.cols);
      const Symbol label = o.targets.symbols[row];
      if (label != kNoSymbol && (label < 0 || label >= states_.labels))
        throw UsageError(
            fmt::format("hybrid loss: target symbol {} is not one of the {} labels", label, states_.labels));
      work.labels[at(t)] = label;
      any = any || label != kNoSymbol;
    }
    return any;
  }

  void judge_joint(const Observed<T>& o, Index s, const ChainScores& scores, HybridWork& work, T* nats) const {
    const double log_z = both_ways(scores, work);
    known_forward(scores, work);
    std::vector<double> sums(at(work.cols));
    double before = 0;
    for (Index t = 0; t < work.rows; ++t) {
      if (work.labels[at(t)] == kNoSymbol) continue;
      for (Index j = 0; j < work.cols; ++j)
        sums[at(j)] = work.alpha_known[at(t * work.cols + j)] + work.beta[at(t * work.cols + j)];
      const double nats_so_far = log_z - log_sum_exp(sums.data(), work.cols);
      nats[o.structure.row(s, t)] = static_cast<T>(nats_so_far < before ? 0 : nats_so_far - before);
      before = nats_so_far;
    }
  }

  /// Computes the expected counts of all paths minus the expected counts of the paths with the known labels. `slopes`
  /// receive them multiplied by the weight of the chain.
  void joint_slopes(const ChainScores& scores, double weight, HybridWork& work, StateSlopes& slopes) const {
    const Matrix<double> free = work.matrix(work.counts), known = work.matrix(work.counts_known);
    const double log_z = chain_forward(scores, work.matrix(work.e), work.matrix(work.alpha), work.scratch);
    chain_marginals(scores, work.matrix(work.e), work.matrix(work.alpha), work.matrix(work.beta), log_z, weight,
                    slopes.with(free), work.scratch);
    const double log_known = known_forward(scores, work);
    chain_backward(scores, work.matrix(work.known), work.matrix(work.beta), work.scratch);
    chain_marginals(scores, work.matrix(work.known), work.matrix(work.alpha_known), work.matrix(work.beta), log_known,
                    -weight, slopes.with(known), work.scratch);
    for (std::size_t i = 0; i < work.counts.size(); ++i) work.counts[i] -= work.counts_known[i];
  }

  /// Returns the states of the known labels; with one label per sequence, at all positions.
  std::vector<Symbol> path_of(const HybridWork& work) const {
    if (!states_.one_label) return even_path(states_, work.labels);
    const auto label = std::ranges::find_if(work.labels, [](Symbol x) { return x != kNoSymbol; });
    return even_path(states_, std::vector<Symbol>(work.labels.size(), *label));
  }

  void add_frames(const Observed<T>& o, Index s, const StateLogProbabilities& shares, HybridWork& work, T* nats) const {
    const std::vector<Symbol> path = path_of(work);
    double whole = 0;
    Index last = 0;
    for (Index t = 0; t < work.rows; ++t) {
      const Symbol state = path[at(t)];
      if (work.labels[at(t)] != kNoSymbol) last = t;
      if (state == kNoSymbol) continue;
      const double* row = work.e.data() + t * work.cols;
      double surprise = log_sum_exp(row, work.cols) - row[state] - shares.prior[at(state)];
      if (t == 0)
        surprise -= shares.start[at(state)];
      else if (path[at(t - 1)] != kNoSymbol)
        surprise -= shares.transitions[at(path[at(t - 1)] * work.cols + state)];
      whole += surprise;
      if (!states_.one_label) add_to(nats[o.structure.row(s, t)], surprise);
    }
    if (states_.one_label) add_to(nats[o.structure.row(s, last)], whole);
  }

  void add_to(T& nats, double of_frames) const {
    nats = static_cast<T>(static_cast<double>(nats) + options_.share_of_frames() * of_frames);
  }

  void add_frame_slopes(double weight, HybridWork& work, StateSlopes& slopes) const {
    const std::vector<Symbol> path = path_of(work);
    const double share = options_.share_of_frames(), own_share = weight * share;
    std::vector<double> p(at(work.cols));
    for (Index t = 0; t < work.rows; ++t) {
      const Symbol state = path[at(t)];
      if (state == kNoSymbol) continue;
      softmax(work.e.data() + t * work.cols, p.data(), work.cols);
      p[at(state)] -= 1;
      for (Index j = 0; j < work.cols; ++j) work.counts[at(t * work.cols + j)] += share * p[at(j)];
      slopes.prior[at(state)] -= own_share;
      if (t == 0)
        slopes.start[at(state)] -= own_share;
      else if (path[at(t - 1)] != kNoSymbol)
        slopes.transitions[at(path[at(t - 1)] * work.cols + state)] -= own_share;
    }
  }

  static void add(const StateSlopes& from, StateSlopes& to) {
    for (std::size_t i = 0; i < from.transitions.size(); ++i) to.transitions[i] += from.transitions[i];
    for (std::size_t i = 0; i < from.start.size(); ++i) to.start[i] += from.start[i];
    for (std::size_t i = 0; i < from.prior.size(); ++i) to.prior[i] += from.prior[i];
  }

  void put_own(const StateLogProbabilities& shares, StateSlopes& slopes, double scale, std::span<T> out) const {
    const auto put = [&](std::size_t table, const std::vector<double>& log_shares, Index rows,
                         std::vector<double>& from) {
      through_shares(log_shares, rows, from);
      own_.add(from, scale, table, out);
    };
    put(0, shares.transitions, states_.count(), slopes.transitions);
    put(1, shares.start, 1, slopes.start);
    put(2, shares.prior, 1, slopes.prior);
  }

  static double both_ways(const ChainScores& scores, HybridWork& work) {
    const double log_z = chain_forward(scores, work.matrix(work.e), work.matrix(work.alpha), work.scratch);
    chain_backward(scores, work.matrix(work.e), work.matrix(work.beta), work.scratch);
    return log_z;
  }

  /// Runs forward over the paths with the known labels only.
  double known_forward(const ChainScores& scores, HybridWork& work) const {
    work.known = work.e;
    for (Index t = 0; t < work.rows; ++t)
      for (Index j = 0; j < work.cols && work.labels[at(t)] != kNoSymbol; ++j)
        if (states_.label(j) != work.labels[at(t)]) work.known[at(t * work.cols + j)] = kNoPath;
    return chain_forward(scores, work.matrix(work.known), work.matrix(work.alpha_known), work.scratch);
  }

  /// Sums over all paths by their label at t. REQUIRES alpha and beta.
  void label_sums(const HybridWork& work, Index t, std::vector<double>& sums) const {
    std::vector<double> states(at(states_.each));
    for (Index l = 0; l < states_.labels; ++l) {
      for (Index k = 0; k < states_.each; ++k) {
        const std::size_t place = at(t * work.cols + l * states_.each + k);
        states[at(k)] = work.alpha[place] + work.beta[place];
      }
      sums[at(l)] = log_sum_exp(states.data(), states_.each);
    }
  }

  /// Returns the labels of a whole sequence with their log-probabilities, best first.
  std::vector<std::pair<Index, double>> whole_label_order(const ChainScores& scores, Index s, HybridWork& work) const {
    const double log_z = both_ways(scores, work);
    if (!(log_z > kNoPath)) refuse(s);
    std::vector<double> sums(at(states_.labels));
    label_sums(work, work.rows - 1, sums);
    std::vector<std::pair<Index, double>> order;
    for (Index l = 0; l < states_.labels; ++l) order.emplace_back(l, sums[at(l)] - log_z);
    std::ranges::stable_sort(order, std::ranges::greater(), &std::pair<Index, double>::second);
    return order;
  }

  void lay_out(const LabelQuery<T>& q, Index s, HybridWork& work) const {
    work.make_room(q.structure.size(s), q.signal.cols);
    for (Index t = 0; t < work.rows; ++t) {
      const Index row = q.structure.row(s, t);
      double* e = work.e.data() + t * work.cols;
      std::copy_n(q.signal.row(row), work.cols, e);
      for (Index j = 0; j < work.cols && q.allowed.data != nullptr; ++j)
        if (q.allowed(row, states_.label(j)) == 0) e[j] = kNoPath;
    }
  }
  ChainScores ask(const LabelQuery<T>& q, Index s, HybridWork& work) const {
    require_chains(q.structure, q.signal.rows, "hybrid");
    lay_out(q, s, work);
    return shares_in(q.parameters).scores(states_);
  }
  template <class Use>
  void each_question(const LabelQuery<T>& q, Team& team, const Use& use) const {
    require_chains(q.structure, q.signal.rows, "hybrid");
    const ChainScores scores = shares_in(q.parameters).scores(states_);
    team.run([&](Member& me) {
      HybridWork work;
      const Range mine = me.share(q.structure.sequences(), 1);
      for (Index s = mine.begin; s < mine.end; ++s) {
        lay_out(q, s, work);
        use(scores, s, work);
      }
    });
  }

  void require_plain() const {
    if (states_.each > 1 || states_.one_label)
      throw UsageError(
          "hybrid: --constraint, --best and --objective require states=1 and a label at every position; use hybrid:1 "
          "or crf");
  }
  [[noreturn]] static void refuse(Index s) {
    throw DataError(
        fmt::format("hybrid: no permitted path for example {} of a batch: its constraints are contradictory or its "
                    "scores are not finite",
                    s + 1));
  }

  HybridOptions options_;
  LabelStates states_;
  OwnParameters own_;
};

}  // namespace

LossEntry hybrid_entry() {
  return {.name = "hybrid",
          .help =
              "labels of a whole sequence, or one label per sequence: hidden Markov model with emission scores from a "
              "network",
          .of_symbols = true,
          .make_float = [](const AnyOptions& options) -> std::unique_ptr<Loss<float>> {
            return std::make_unique<HybridLoss<float>>(options.as<HybridOptions>());
          },
          .make_double = [](const AnyOptions& options) -> std::unique_ptr<Loss<double>> {
            return std::make_unique<HybridLoss<double>>(options.as<HybridOptions>());
          },
          .options = HybridOptions(),
          .main_option = "states",
          .size_of_signal = [](Index field_size,
                               const AnyOptions& options) { return field_size * options.as<HybridOptions>().states; }};
}

}  // namespace unfold
