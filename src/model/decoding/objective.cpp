#include "model/decoding/objective.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "loss/crf/label_sequences.h"
#include "model/decoding/chain_objective.h"
#include "unfold/loss/rows.h"

namespace unfold {
namespace {

/// Number of chains whose counts are summed in order as one block; results therefore do not depend on the team.
constexpr Index kChainsTogether = 16;

constexpr Index kBeamOfSequences = 8;
constexpr const char* kBeamHelp =
    "beam width for a perceptron with early update; 0: exact for crf labels, 8 for sequences";

struct PerceptronOptions {
  Index beam = 0;
};

template <class Visitor>
void describe(Visitor& v, PerceptronOptions& o) {
  v("beam", o.beam, kBeamHelp, range(0, 10'000));
}

struct MarginOptions {
  double cost = 1;
  Index beam = 0;
};

template <class Visitor>
void describe(Visitor& v, MarginOptions& o) {
  v("cost", o.cost, "cost of each wrong label, or of each edit of a sequence", above(0));
  v("beam", o.beam, kBeamHelp, range(0, 10'000));
}

struct RiskOptions {
  Index beam = 0, samples = 0;
};

template <class Visitor>
void describe(Visitor& v, RiskOptions& o) {
  v("beam", o.beam, kBeamHelp, range(0, 10'000));
  v("samples", o.samples, "for sequences, number of samples drawn instead of a search; 0: search", range(0, 10'000));
}

struct BeamObjectiveOptions {
  Index beam = kBeamOfSequences;
};

template <class Visitor>
void describe(Visitor& v, BeamObjectiveOptions& o) {
  v("beam", o.beam, "beam width", range(1, 10'000));
}

constexpr const char* kLikelihood = "likelihood";

struct ChosenObjective {
  const ObjectiveEntry& entry;
  AnyOptions options;
};

ChosenObjective choose_objective(std::string_view text) {
  const Spec spec = parse_spec(text);
  const ObjectiveEntry& entry = objectives().get(spec.name);
  ChosenObjective chosen{entry, entry.options};
  parse_options(spec, chosen.options, entry.main);
  return chosen;
}

ChainObjective objective_of(const ChosenObjective& chosen) {
  using Kind = ChainObjective::Kind;
  if (chosen.entry.name == "perceptron") {
    const Index beam = chosen.options.as<PerceptronOptions>().beam;
    return {.kind = beam > 0 ? Kind::early_update : Kind::perceptron, .beam = beam};
  }
  const auto exact = [&](Index given) {
    if (given > 0)
      throw UsageError(fmt::format(
          "--objective {} for crf labels is computed exactly over all sequences; leave out beam= and samples=",
          chosen.entry.name));
  };
  if (chosen.entry.name == "margin") {
    const auto& o = chosen.options.as<MarginOptions>();
    exact(o.beam);
    return {.kind = Kind::margin, .cost = o.cost};
  }
  if (chosen.entry.name == "risk") {
    const auto& o = chosen.options.as<RiskOptions>();
    exact(o.beam + o.samples);
    return {.kind = Kind::risk};
  }
  return {.kind = Kind::beam_search, .beam = chosen.options.as<BeamObjectiveOptions>().beam};
}

/// Wraps a loss over the labels of whole chains and replaces its value and gradient with those of an objective.
template <class T>
class SearchingLoss final : public LabelSequences<T> {
 public:
  SearchingLoss(std::shared_ptr<const Loss<T>> loss, const ChainObjective& objective)
      : loss_(std::move(loss)),
        labels_(loss_->template need<LabelSequences<T>>("--objective")),
        objective_(objective),
        name_(fmt::format("{} with an objective other than likelihood", loss_->name())) {}

  std::string_view name() const override { return name_; }
  Index target_size(Index signal_size) const override { return loss_->target_size(signal_size); }
  std::span<const int> parameter_indices() const override { return loss_->parameter_indices(); }

  void negative_log_likelihood(const Observed<T>& o, Team& team, T* nats) const override {
    each_block(o, team, [&](Index first, Index last, const ChainScores& scores) {
      ChainCountsOf counts(scores.labels);
      for (Index s = first; s < last; ++s) judge(o, s, scores, nats, counts);
    });
  }

  void gradient(const Observed<T>& o, T scale, Team& team, T* nats, Matrix<T> adjoint,
                std::span<T> own_gradient) const override {
    const Index n = o.signal.cols, blocks = (o.structure.sequences() + kChainsTogether - 1) / kChainsTogether;
    std::vector<ChainCountsOf> counts(at(blocks), ChainCountsOf(n));
    each_block(o, team, [&](Index first, Index last, const ChainScores& scores) {
      ChainCountsOf& sums = counts[at(first / kChainsTogether)];
      for (Index s = first; s < last; ++s) {
        judge(o, s, scores, nats, sums);
        for (Index t = 0; t < o.structure.size(s); ++t)
          for (Index j = 0; j < n; ++j)
            adjoint(o.structure.row(s, t), j) =
                static_cast<T>(static_cast<double>(scale) * sums.positions[at(t * n + j)]);
      }
    });
    for (const ChainCountsOf& each : counts)
      labels_.add_transition_counts(each.neighbors, static_cast<double>(scale), own_gradient);
  }

  void best(const LabelQuery<T>& q, Team& team, Symbol* labels) const override { labels_.best(q, team, labels); }
  void log_posteriors(const LabelQuery<T>& q, Team& team, Matrix<T> log_p) const override {
    labels_.log_posteriors(q, team, log_p);
  }
  std::vector<ScoredLabeling> n_best(const LabelQuery<T>& q, Index chain, Index count) const override {
    return labels_.n_best(q, chain, count);
  }
  std::vector<ScoredLabeling> samples(const LabelQuery<T>& q, Index chain, Index count,
                                      std::uint64_t seed) const override {
    return labels_.samples(q, chain, count, seed);
  }
  ChainScores neighbors(std::span<const T> parameters, Index labels) const override {
    return labels_.neighbors(parameters, labels);
  }
  void add_transition_counts(const ChainScores& counts, double scale, std::span<T> own_gradient) const override {
    labels_.add_transition_counts(counts, scale, own_gradient);
  }

 private:
  /// Calls use(first chain, last, scores) for all blocks, divided over the team.
  template <class Use>
  void each_block(const Observed<T>& o, Team& team, const Use& use) const {
    if (o.structure.kind() != Structure::Kind::chains)
      throw UsageError("jointly predicted labels require sequences, not grids or trees");
    const ChainScores scores = labels_.neighbors(o.parameters, o.signal.cols);
    const Index chains = o.structure.sequences(), blocks = (chains + kChainsTogether - 1) / kChainsTogether;
    team.run([&](Member& me) {
      const Range mine = me.share(blocks, 1);
      for (Index b = mine.begin; b < mine.end; ++b)
        use(b * kChainsTogether, std::min(chains, (b + 1) * kChainsTogether), scores);
    });
  }

  /// Sets the counts of positions and adds the counts of neighbors; the value is stored at the last known label.
  void judge(const Observed<T>& o, Index s, const ChainScores& scores, T* nats, ChainCountsOf& counts) const {
    const Index length = o.structure.size(s), n = o.signal.cols;
    std::vector<double> emissions(at(length * n));
    std::vector<Symbol> labels(at(length));
    Index last = -1;
    for (Index t = 0; t < length; ++t) {
      const Index row = o.structure.row(s, t);
      std::copy_n(o.signal.row(row), n, emissions.begin() + t * n);
      labels[at(t)] = target_symbol(name(), o.signal, o.targets, row);
      nats[row] = 0;
      if (labels[at(t)] != kNoSymbol) last = row;
    }
    counts.positions.assign(at(length * n), 0.0);
    if (last < 0) return;
    const double value = objective_.judge(scores, {emissions.data(), length, n, n}, labels, counts);
    if (value == std::numeric_limits<double>::infinity())
      throw DataError(
          "the true labels violate the labeling scheme (crf:labels=...); correct them, or leave out labels=");
    nats[last] = static_cast<T>(value);
  }

  std::shared_ptr<const Loss<T>> loss_;
  const LabelSequences<T>& labels_;
  ChainObjective objective_;
  std::string name_;
};

}  // namespace

const Registry<ObjectiveEntry>& objectives() {
  static const Registry<ObjectiveEntry> list(
      "objective",
      {{{kLikelihood, "negative log likelihood of the true output", NoOptions()}, ""},
       {{"perceptron", "the best score minus the score of the true output", PerceptronOptions()}, "beam"},
       {{"margin", "like perceptron, but with the cost of each wrong label, or edit, added to the score: max-margin",
         MarginOptions()},
        "cost"},
       {{"risk", "expected number of wrong labels, or edits", RiskOptions()}, "beam"},
       {{"bso", "beam-search optimization: the true prefix must stay in the beam by a margin", BeamObjectiveOptions()},
        "beam"}});
  return list;
}

bool is_likelihood(std::string_view objective) { return choose_objective(objective).entry.name == kLikelihood; }

std::string canonical_objective(std::string_view spec) {
  const ChosenObjective chosen = choose_objective(spec);
  Spec canonical;
  canonical.name = chosen.entry.name;
  canonical.values = non_default_values(help_of(chosen.options), help_of(chosen.entry.options));
  return to_string(canonical);
}

SequenceObjective sequence_objective(std::string_view objective) {
  using Kind = SequenceObjective::Kind;
  const ChosenObjective chosen = choose_objective(objective);
  const auto beam = [](Index given) { return given > 0 ? given : kBeamOfSequences; };
  if (chosen.entry.name == "perceptron")
    return {.kind = Kind::perceptron, .beam = beam(chosen.options.as<PerceptronOptions>().beam)};
  if (chosen.entry.name == "margin") {
    const auto& o = chosen.options.as<MarginOptions>();
    return {.kind = Kind::margin, .beam = beam(o.beam), .cost = o.cost};
  }
  if (chosen.entry.name == "risk") {
    const auto& o = chosen.options.as<RiskOptions>();
    if (o.beam > 0 && o.samples > 0)
      throw UsageError("--objective risk requires a beam or samples: set beam= or samples=");
    return {.kind = Kind::risk, .beam = beam(o.beam), .samples = o.samples};
  }
  if (chosen.entry.name == "bso")
    return {.kind = Kind::beam_search, .beam = chosen.options.as<BeamObjectiveOptions>().beam};
  throw UsageError(fmt::format("--objective {} does not involve a search", objective));
}

template <class T>
std::shared_ptr<const Loss<T>> searching_loss(std::shared_ptr<const Loss<T>> loss, std::string_view objective) {
  const ChosenObjective chosen = choose_objective(objective);
  if (chosen.entry.name == kLikelihood) return loss;
  return std::make_shared<SearchingLoss<T>>(std::move(loss), objective_of(chosen));
}

template <class T>
Network<T> searching_network(const Network<T>& network, std::string_view objective) {
  Network<T> result = network;
  bool any = is_likelihood(objective);
  for (Head<T>& head : result.heads) {
    if (head.loss->template as<LabelSequences<T>>() == nullptr) continue;
    head.loss = searching_loss<T>(head.loss, objective);
    any = true;
  }
  if (!any)
    throw UsageError(
        fmt::format("--objective {} requires jointly predicted labels, or sequences whose end is predicted; use "
                    "--predict F=crf for the field F, or train on pairs or with --ends",
                    objective));
  return result;
}

template std::shared_ptr<const Loss<float>> searching_loss(std::shared_ptr<const Loss<float>>, std::string_view);
template std::shared_ptr<const Loss<double>> searching_loss(std::shared_ptr<const Loss<double>>, std::string_view);
template Network<float> searching_network(const Network<float>&, std::string_view);
template Network<double> searching_network(const Network<double>&, std::string_view);

}  // namespace unfold
