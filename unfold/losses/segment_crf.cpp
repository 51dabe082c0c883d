#include "unfold/losses/segment_crf.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <limits>
#include <numeric>

#include "unfold/losses/label_sequences.h"
#include "unfold/losses/rows.h"
#include "unfold/markov/segments.h"
#include "unfold/numerics/functions.h"

namespace unfold {
namespace {

constexpr double kExcluded = -std::numeric_limits<double>::infinity();
/// Chains whose counts are added up together.
constexpr Index kSegmentChains = 16;

/// A conditional random field over segments (semi-Markov, Sarawagi & Cohen 2004; markov/segments.h): the signal scores
/// labels, and the loss owns scores of types that follow each other, begin and end, and of lengths. Labels that are
/// missing are summed over. Nats of a chain stand at its last known label.
template <class T>
class SegmentCrf final : public LabelSequences<T>, public NamedLabels<T> {
 public:
  SegmentCrf(LabelScheme scheme, Index longest) : scheme_(scheme), longest_(longest) {}

  std::string_view name() const override { return "crf"; }
  void name_labels(const std::vector<std::string>& names) override {
    types_ = segment_types(scheme_, names, longest_);
    names_ = names;
  }

  void declare(Circuit& circuit, Signal signal) override {
    const std::string& owner = circuit.nodes()[at(signal.id)].name;
    if (names_.empty() && scheme_ == LabelScheme::any) name_labels(std::vector<std::string>(at(signal.size())));
    if (static_cast<Index>(names_.size()) != signal.size())
      throw UsageError("crf: a scheme of labels needs their names");
    const auto n = static_cast<Index>(types_.size());
    circuit_ = &circuit;
    own_ = {circuit.parameter(owner + "/transitions", n, n, Init::zero()),
            circuit.parameter(owner + "/start", 1, n, Init::zero()),
            circuit.parameter(owner + "/stop", 1, n, Init::zero()),
            circuit.parameter(owner + "/lengths", n, longest_, Init::zero())};
  }
  std::span<const int> own_parameters() const override { return own_; }

  void negative_log_likelihood(const Observed<T>& o, Team& team, T* nats) const override {
    judge_all(
        o, team, nats, [](Index, Index, SegmentWork&) {}, [](Index, Index, SegmentWork&) {});
  }

  void gradient(const Observed<T>& o, T scale, Team& team, T* nats, Matrix<T> adjoint,
                std::span<T> own_gradient) const override {
    std::vector<SegmentScores> counts(at(blocks(o.structure)), SegmentScores::zeros(types_, longest_));
    judge_all(
        o, team, nats,
        [&](Index block, Index, SegmentWork& work) {
          work.chain.backward();
          work.chain.add_counts(1, work.matrix(work.counts), counts[at(block)]);
        },
        [&](Index block, Index s, SegmentWork& work) {
          if (work.judged) {
            work.chain.backward();
            work.chain.add_counts(-1, work.matrix(work.counts), counts[at(block)]);
          }
          for (Index t = 0; t < work.rows; ++t)
            for (Index j = 0; j < work.cols; ++j)
              adjoint(o.structure.row(s, t), j) =
                  static_cast<T>(static_cast<double>(scale) * work.counts[at(t * work.cols + j)]);
        });
    for (const SegmentScores& each : counts)
      for (std::size_t k = 0; k < own_.size(); ++k) {
        const std::vector<double>& from = each.*kParts[k];
        const auto offset = at(circuit_->parameters()[at(own_[k])].offset);
        for (std::size_t i = 0; i < from.size(); ++i)
          own_gradient[offset + i] += static_cast<T>(static_cast<double>(scale) * from[i]);
      }
  }

  void best(const LabelQuestion<T>& q, Team& team, Symbol* labels) const override {
    each_question(q, team, [&](Index s, SegmentWork& work, const SegmentScores& scores) {
      work.labels.resize(at(work.rows));
      if (!(work.chain.best(scores, work.matrix(work.emissions), work.labels.data()) > kExcluded)) refuse(s);
      for (Index t = 0; t < work.rows; ++t) labels[q.structure.row(s, t)] = work.labels[at(t)];
    });
  }

  void log_posteriors(const LabelQuestion<T>& q, Team& team, Matrix<T> log_p) const override {
    each_question(q, team, [&](Index s, SegmentWork& work, const SegmentScores& scores) {
      if (!(work.chain.forward(scores, work.matrix(work.emissions)) > kExcluded)) refuse(s);
      work.chain.backward();
      SegmentScores unused = SegmentScores::zeros(types_, longest_);
      work.chain.add_counts(1, work.matrix(work.counts), unused);
      for (Index t = 0; t < work.rows; ++t) {
        double* p = work.counts.data() + t * work.cols;
        const double total = std::accumulate(p, p + work.cols, 0.0);
        for (Index j = 0; j < work.cols; ++j) p[j] /= total;
        vector_log(p, p, work.cols);
        for (Index j = 0; j < work.cols; ++j) log_p(q.structure.row(s, t), j) = static_cast<T>(p[j]);
      }
    });
  }

  std::vector<LabelledChain> n_best(const LabelQuestion<T>& q, Index chain, Index count) const override {
    SegmentWork work;
    const SegmentScores scores = scores_in(q.parameters);
    const double log_z = ask(q, chain, scores, work);
    std::vector<LabelledChain> found = segment_n_best(scores, work.matrix(work.emissions), count);
    for (LabelledChain& each : found) each.log_probability -= log_z;
    return found;
  }

  std::vector<LabelledChain> samples(const LabelQuestion<T>& q, Index chain, Index count,
                                     std::uint64_t seed) const override {
    SegmentWork work;
    const SegmentScores scores = scores_in(q.parameters);
    const double log_z = ask(q, chain, scores, work);
    Random random(seed, stream_of("labels") + static_cast<std::uint64_t>(chain));
    std::vector<LabelledChain> drawn(at(count));
    for (LabelledChain& each : drawn) {
      each.labels.resize(at(work.rows));
      work.chain.draw(random, each.labels.data());
      each.log_probability = segment_score(scores, work.matrix(work.emissions), each.labels.data()) - log_z;
    }
    return drawn;
  }

  ChainScores neighbours(std::span<const T>, Index) const override { refuse_neighbours(); }
  void add_neighbours(const ChainScores&, double, std::span<T>) const override { refuse_neighbours(); }

 private:
  static constexpr std::array kParts = {&SegmentScores::transitions, &SegmentScores::start, &SegmentScores::stop,
                                        &SegmentScores::lengths};

  struct SegmentWork {
    std::vector<double> emissions, counts;
    std::vector<Symbol> labels;
    SegmentChain chain;
    Index rows = 0, cols = 0, last = -1;  ///< last: position of the last known label
    bool judged = false;                  ///< the known labels have a probability

    Matrix<double> matrix(std::vector<double>& of) const { return {of.data(), rows, cols, cols}; }
  };

  static Index blocks(const Structure& s) { return (s.sequences() + kSegmentChains - 1) / kSegmentChains; }

  SegmentScores scores_in(std::span<const T> all) const {
    SegmentScores scores = SegmentScores::zeros(types_, longest_);
    for (std::size_t k = 0; k < own_.size(); ++k) {
      std::vector<double>& part = scores.*kParts[k];
      const auto from = all.begin() + circuit_->parameters()[at(own_[k])].offset;
      std::copy(from, from + static_cast<Index>(part.size()), part.begin());
    }
    return scores;
  }

  void take_emissions(const Structure& structure, Index s, Matrix<const T> signal, SegmentWork& work) const {
    work.rows = structure.size(s);
    work.cols = signal.cols;
    work.emissions.resize(at(work.rows * work.cols));
    work.counts.assign(work.emissions.size(), 0.0);
    for (Index t = 0; t < work.rows; ++t)
      std::copy_n(signal.row(structure.row(s, t)), work.cols, work.emissions.data() + t * work.cols);
  }

  /// Nats of all chains; of_all(block, chain, work) after the recursion over all labels of a chain of which one is
  /// known, of_known(...) of every chain, after that over those that agree with its known ones.
  template <class OfAll, class OfKnown>
  void judge_all(const Observed<T>& o, Team& team, T* nats, const OfAll& of_all, const OfKnown& of_known) const {
    require_chains(o.structure, "crf");
    const SegmentScores scores = scores_in(o.parameters);
    std::vector<char> impossible(at(o.structure.sequences()));
    team.run([&](Member& me) {
      SegmentWork work;
      const Range mine = me.share(blocks(o.structure), 1);
      for (Index b = mine.begin; b < mine.end; ++b)
        for (Index s = b * kSegmentChains; s < std::min(o.structure.sequences(), (b + 1) * kSegmentChains); ++s) {
          take_emissions(o.structure, s, o.signal, work);
          take_labels(o, s, nats, work);
          if (work.judged) {
            const double log_z = work.chain.forward(scores, work.matrix(work.emissions));
            of_all(b, s, work);
            know(work);
            const double log_known = work.chain.forward(scores, work.matrix(work.emissions));
            impossible[at(s)] = log_known == kExcluded ? 1 : 0;
            work.judged = log_known > kExcluded;
            nats[o.structure.row(s, work.last)] = static_cast<T>(log_known > log_z ? 0 : log_z - log_known);
          }
          of_known(b, s, work);
        }
    });
    for (Index s = 0; s < o.structure.sequences(); ++s)
      if (impossible[at(s)] != 0)
        throw DataError(
            fmt::format("crf: the labels of example {} of a batch break the scheme of labels, or have a "
                        "segment of more than {} positions; raise segments=",
                        s + 1, longest_));
  }

  void take_labels(const Observed<T>& o, Index s, T* nats, SegmentWork& work) const {
    work.last = -1;
    work.labels.resize(at(work.rows));
    for (Index t = 0; t < work.rows; ++t) {
      const Index row = o.structure.row(s, t);
      nats[row] = 0;
      work.labels[at(t)] = target_symbol(name(), o.signal, o.targets, row);
      if (work.labels[at(t)] != kNoSymbol) work.last = t;
    }
    work.judged = work.last >= 0;
  }
  /// Leaves the known labels alone.
  static void know(SegmentWork& work) {
    for (Index t = 0; t < work.rows; ++t)
      for (Index j = 0; j < work.cols && work.labels[at(t)] != kNoSymbol; ++j)
        if (j != work.labels[at(t)]) work.emissions[at(t * work.cols + j)] = kExcluded;
  }

  void take_question(const LabelQuestion<T>& q, Index s, SegmentWork& work) const {
    take_emissions(q.structure, s, q.signal, work);
    for (Index t = 0; t < work.rows && q.allowed.data != nullptr; ++t)
      for (Index j = 0; j < work.cols; ++j)
        if (q.allowed(q.structure.row(s, t), j) == 0) work.emissions[at(t * work.cols + j)] = kExcluded;
  }
  double ask(const LabelQuestion<T>& q, Index s, const SegmentScores& scores, SegmentWork& work) const {
    require_chains(q.structure, "crf");
    take_question(q, s, work);
    const double log_z = work.chain.forward(scores, work.matrix(work.emissions));
    if (!(log_z > kExcluded)) refuse(s);
    return log_z;
  }
  template <class Use>
  void each_question(const LabelQuestion<T>& q, Team& team, const Use& use) const {
    require_chains(q.structure, "crf");
    const SegmentScores scores = scores_in(q.parameters);
    team.run([&](Member& me) {
      SegmentWork work;
      const Range mine = me.share(q.structure.sequences(), 1);
      for (Index s = mine.begin; s < mine.end; ++s) {
        take_question(q, s, work);
        use(s, work, scores);
      }
    });
  }
  [[noreturn]] static void refuse(Index s) {
    throw DataError(fmt::format("crf: nothing that is allowed fits example {} of a batch", s + 1));
  }
  [[noreturn]] static void refuse_neighbours() {
    throw UsageError(
        "crf:segments=L scores whole segments: --constraint, --objective but for likelihood and export are for fields "
        "without segments");
  }

  LabelScheme scheme_;
  Index longest_;
  std::vector<std::string> names_;
  std::vector<SegmentType> types_;
  const Circuit* circuit_ = nullptr;
  std::vector<int> own_;
};

}  // namespace

template <class T>
std::unique_ptr<Loss<T>> segment_crf_loss(LabelScheme scheme, Index longest) {
  return std::make_unique<SegmentCrf<T>>(scheme, longest);
}
template std::unique_ptr<Loss<float>> segment_crf_loss<float>(LabelScheme, Index);
template std::unique_ptr<Loss<double>> segment_crf_loss<double>(LabelScheme, Index);

}  // namespace unfold
