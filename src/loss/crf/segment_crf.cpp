#include "loss/crf/segment_crf.h"

#include "loss/crf/label_random_field.h"
#include "loss/crf/segments.h"

namespace unfold {
namespace {

struct SegmentFieldChain : FieldChain {
  using Scores = SegmentScores;
  const SegmentScores* scores = nullptr;
  SegmentChain chain;
  std::vector<double> counts;

  template <class T>
  void take(const SegmentScores& given, const Structure& structure, Index s, Matrix<const T> signal) {
    scores = &given;
    gather(structure, s, signal, signal.cols, emissions);
    counts.assign(emissions.size(), 0.0);
  }
  double forward() { return log_sum = chain.forward(*scores, e()); }
  void backward() { chain.backward(); }
  /// Adds `factor` times the expected counts. Call after forward and backward.
  void count(double factor, SegmentScores& of_segments) { chain.add_counts(factor, matrix(counts), of_segments); }
  /// Before the last known label, known labels do not determine where segments end.
  double surprise(Index t, double log_z) const {
    const bool last =
        std::all_of(labels.begin() + t + 1, labels.end(), [](Symbol label) { return label == kNoSymbol; });
    return last ? log_z - log_sum : 0;
  }
  Matrix<double> label_shares() {
    SegmentScores unused = SegmentScores::zeros(scores->types, scores->longest);
    count(1, unused);
    for (double *p = counts.data(), *end = p + counts.size(); p < end; p += cols) {
      double total = 0;
      for (Index j = 0; j < cols; ++j) total += p[j];
      for (Index j = 0; j < cols; ++j) p[j] /= total;
    }
    vector_log(counts.data(), counts.data(), rows * cols);
    return matrix(counts);
  }
  double best(Symbol* found) { return chain.best(*scores, e(), found); }
  std::vector<ScoredLabeling> n_best(Index count) const { return segment_n_best(*scores, e(), count); }
  void draw(Random& random, Symbol* drawn) { chain.draw(random, drawn); }
  double score(const Symbol* given) const { return segment_score(*scores, e(), given); }
  static std::uint64_t stream(Index s) { return stream_of("labels") + static_cast<std::uint64_t>(s); }
};

/// A semi-Markov conditional random field (Sarawagi & Cohen 2004; loss/crf/segments.h): the signal scores labels, and
/// the loss owns scores for transitions between segment types, start, stop and segment lengths. Missing labels are
/// summed over. The nats of a chain are stored at its last known label.
template <class T>
class SegmentCrf final : public LabelRandomField<T, SegmentFieldChain> {
 public:
  SegmentCrf(LabelScheme scheme, Index longest) : LabelRandomField<T, SegmentFieldChain>(scheme), longest_(longest) {}

  void name_labels(const std::vector<std::string>& names) override {
    types_ = segment_types(this->scheme_, names, longest_);
    this->names_ = names;
  }
  void declare(Circuit& circuit, Signal signal) override {
    if (this->scheme_ == LabelScheme::any) name_labels(std::vector<std::string>(at(signal.size())));
    const auto n = static_cast<Index>(types_.size());
    this->declare_scores(circuit, signal, signal.size(), n);
    this->own_.declare(circuit, signal, {{"lengths", n, longest_}});
  }

  void negative_log_likelihood(const Observed<T>& o, Team& team, T* nats) const override {
    this->compute_all_nats(
        o, team, nats, [](Index, SegmentFieldChain&) {}, [](Index, SegmentFieldChain&, bool) {});
  }

  void weighted_gradient(const Observed<T>& o, RowWeights<T> weights, T scale, Team& team, T* nats, Matrix<T> adjoint,
                         std::span<T> own_gradient) const override {
    require_shape<T>(this->name(), "the adjoint", adjoint, o.signal);
    std::vector<SegmentScores> counts(at(this->blocks(o.structure)), SegmentScores::zeros(types_, longest_));
    const auto count = [&](Index s, SegmentFieldChain& chain, double sign) {
      chain.backward();
      chain.count(sign * weights.of_chain(o.structure, s), counts[at(s / this->kTogether)]);
    };
    this->compute_all_nats(
        o, team, nats, [&](Index s, SegmentFieldChain& chain) { count(s, chain, 1); },
        [&](Index s, SegmentFieldChain& chain, bool judged) {
          if (judged) count(s, chain, -1);
          this->scatter(o.structure, s, chain.matrix(chain.counts), static_cast<double>(scale), adjoint);
        });
    for (const SegmentScores& each : counts) {
      LabelRandomField<T, SegmentFieldChain>::add_transition_counts(each, static_cast<double>(scale), own_gradient);
      this->own_.add(each.lengths, static_cast<double>(scale), 3, own_gradient);
    }
  }

  ChainScores neighbors(std::span<const T>, Index) const override { refuse_neighbors(); }
  void add_transition_counts(const ChainScores&, double, std::span<T>) const override { refuse_neighbors(); }

 private:
  SegmentScores scores_in(std::span<const T> all) const override {
    return {this->numbers_in(all), types_, longest_, this->own_.numbers(all, 3)};
  }
  std::string broken_rule() const override {
    return fmt::format(", or a segment has more than {} positions; correct the labels or increase segments=", longest_);
  }
  [[noreturn]] static void refuse_neighbors() {
    throw UsageError(
        "crf:segments=L does not support --constraint, export, or an --objective other than likelihood; leave out "
        "segments "
        "or these options");
  }

  Index longest_;
  std::vector<SegmentType> types_;
};

}  // namespace

template <class T>
std::unique_ptr<Loss<T>> segment_crf_loss(LabelScheme scheme, Index longest) {
  return std::make_unique<SegmentCrf<T>>(scheme, longest);
}

template std::unique_ptr<Loss<float>> segment_crf_loss<float>(LabelScheme, Index);
template std::unique_ptr<Loss<double>> segment_crf_loss<double>(LabelScheme, Index);

}  // namespace unfold
