/// The interface between the engine and the fields read and predicted: networks with fields and heads other than
/// language models, each built by hand in a few lines, with all derivative checks and every kind of optimizer, or an
/// error that names the unsupported feature.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "train/objective/batch_objective.h"
#include "unfold/gradcheck/derivative_check.h"
#include "unfold/graph/cells/cells.h"
#include "unfold/loss/registry.h"
#include "unfold/optim/optimizer.h"

namespace unfold {
namespace {

using testing::HasSubstr;

constexpr Index kWords = 6, kTags = 3, kClasses = 2;

/// One repeated batch of three sentences. The tag of a word depends on the next word, the class of a sentence on its
/// first word.
class Sentences final : public BatchSource {
 public:
  Sentences() {
    batch_.structure = Structure::chains(std::vector<Index>{5, 3, 6});
    batch_.reset_all_chains();
    const Index rows = batch_.structure.positions();
    SymbolRows &words = batch_.symbol_field("word"), &tags = batch_.symbol_field("tag"),
               &classes = batch_.symbol_field("class");
    ValueRows& mood = batch_.value_field("mood");
    for (SymbolRows* field : {&words, &tags, &classes}) field->clear(rows);
    mood.clear(rows, kClasses);
    for (Index s = 0; s < 3; ++s) {
      const auto row = [&](Index p) { return at(batch_.structure.row(s, p)); };
      const Index last = batch_.structure.size(s) - 1;
      for (Index p = 0; p <= last; ++p) words.symbols[row(p)] = static_cast<Symbol>((3 * s + p * p) % kWords);
      for (Index p = 0; p <= last; ++p)
        tags.symbols[row(p)] = p == 1 ? kNoSymbol : words.symbols[row(std::min(p + 1, last))] % kTags;
      classes.symbols[row(last)] = words.symbols[row(0)] % kClasses;
      for (Index i = 0; i < kClasses; ++i) mood.set(batch_.structure.row(s, last), i, static_cast<float>((s + i) % 2));
    }
    batch_.predicted = batch_.symbols = rows;
  }
  const Batch& batch() const override { return batch_; }
  void advance() override { ++position_; }
  void seek(Index, Index position) override { position_ = position; }
  Index epoch() const override { return 0; }
  Index position() const override { return position_; }
  double epochs_done() const override { return 0; }
  Index streams() const override { return batch_.structure.sequences(); }
  bool shortened() const override { return false; }

 private:
  Batch batch_;
  Index position_ = 0;
};

struct Losses {
  double first, last;
};

/// Returns the loss before and after some steps.
Losses train(const Network<double>& network, const std::string& optimizer, int steps) {
  Sentences sentences;
  Team team(2);
  Parameters<double> parameters(network.circuit());
  parameters.initialize(3);
  const auto made = make_optimizer<double>(optimizer, parameters.size());
  BatchObjective<double> objective(network, parameters, sentences,
                                   {.optimizer = made->spec(), .batches = made->batches()}, team,
                                   [](double, const std::function<double()>&) { return true; });
  made->attach(objective);
  Losses losses{};
  for (int step = 0; step < steps; ++step) {
    objective.gather(step);
    const StepReport report = made->step(objective, {.step = step}, 1);
    EXPECT_TRUE(report.finite);
    if (step == 0) losses.first = report.loss;
    losses.last = report.loss;
    objective.leave();
    sentences.advance();
  }
  return losses;
}

void expect_learnt(const Network<double>& network, const std::vector<std::string>& optimizers) {
  for (const std::string& optimizer : optimizers) {
    const Losses losses = train(network, optimizer, 30);
    EXPECT_LT(losses.last, 0.5 * losses.first) << optimizer;
  }
}

std::string refusal(const Network<double>& network, const std::string& optimizer) {
  try {
    train(network, optimizer, 1);
  } catch (const UsageError& error) {
    return error.what();
  }
  return "no refusal";
}

void expect_right_derivatives(const Network<double>& network) {
  const CheckReport report = check_derivatives(network, Structure::chains(std::vector<Index>{4, 1, 3}));
  EXPECT_TRUE(report.passed()) << report.text();
}

/// Both directions over the words.
struct BothDirections {
  explicit BothDirections(Circuit& c) : words(c.symbols("word", kWords)) {
    ahead = rnn(c, words, 5);
    const auto scope = c.scope("back");
    const auto reversed = c.reversed();
    back = rnn(c, words, 5);
  }
  Signal words, ahead, back;
};

TEST(Seam, bidirectional_tagger_trains) {
  Circuit c;
  const BothDirections net(c);
  const Signal tags = c.affine("tags", kTags, {{"V", net.ahead}, {"W", net.back}});
  c.output(tags);
  const auto network =
      Network<double>::of(std::make_shared<const Plan>(c), {"word", net.words}, {"tag", tags, softmax_loss<double>()});
  expect_right_derivatives(network);
  expect_learnt(network, {"adam:rate=0.05", "hf:windows=1", "natural:windows=1", "ruop", "rbpm"});
}

TEST(Seam, classifier_with_one_output_at_the_end_trains) {
  Circuit c;
  const BothDirections net(c);
  const Signal first = c.link(5, Delay::first());  // the final state of the backward direction, at every position
  c.feed(first, net.back);
  const Signal logits = c.affine("class", kClasses, {{"V", net.ahead}, {"W", first}});
  c.output(logits);
  const auto network = Network<double>::of(std::make_shared<const Plan>(c), {"word", net.words},
                                           {"class", logits, softmax_loss<double>()});
  expect_right_derivatives(network);
  expect_learnt(network, {"adam:rate=0.05", "hf:windows=1", "natural:windows=1", "ruop", "rbpm"});
}

TEST(Seam, network_with_two_heads_trains) {
  Circuit c;
  const BothDirections net(c);
  const Signal tags = c.affine("tags", kTags, {{"V", net.ahead}, {"W", net.back}});
  const Signal mood = c.affine("mood", kClasses, {{"V", net.ahead}});
  c.output(tags);
  c.output(mood);
  Network<double> network =
      Network<double>::of(std::make_shared<const Plan>(c), {"word", net.words}, {"tag", tags, softmax_loss<double>()});
  network.heads.push_back({"mood", mood, gaussian_loss<double>(), 0.5});
  network.validate();
  expect_right_derivatives(network);
  expect_learnt(network, {"adam:rate=0.05", "hf:windows=1", "natural:windows=1", "ruop", "rbpm"});
  network.heads[1].signal = tags;
  EXPECT_THROW(network.validate(), UsageError);
}

TEST(Seam, tagger_of_whole_sequences_trains) {
  Circuit c;
  const BothDirections net(c);
  const Signal tags = c.affine("tags", kTags, {{"V", net.ahead}, {"W", net.back}});
  c.output(tags);
  const std::shared_ptr<Loss<double>> loss = choose_loss("crf").make<double>();
  loss->declare(c, tags);
  const auto network = Network<double>::of(std::make_shared<const Plan>(c), {"word", net.words}, {"tag", tags, loss});
  expect_right_derivatives(network);
  expect_learnt(network, {"sgd:rate=0.5", "adam:rate=0.05", "hf:windows=1", "natural:windows=1", "ruop", "rbpm"});
}

/// 1/2 |mean over a sequence of o_t + b - y|^2 with a trained offset b: it depends on whole sequences and has its own
/// parameters.
class MeanLoss : public virtual Loss<double> {
 public:
  std::string_view name() const override { return "mean"; }
  void declare(Circuit& circuit, Signal signal) override {
    own_[0] = circuit.parameter("offset", 1, signal.size(), Init::zero());
    offset_ = [&circuit, own = own_[0]] { return circuit.parameters()[at(own)].offset; };
  }
  std::span<const int> parameter_indices() const override { return own_; }
  void negative_log_likelihood(const Observed<double>& o, Team&, double* nats) const override {
    std::fill_n(nats, o.signal.rows, 0.0);
    each_mean(o, [&](Index, Index last, Index i, double mean) {
      const double away = mean + o.parameters[at(offset_() + i)] - o.targets.values(last, i);
      nats[last] += 0.5 * away * away;
    });
  }
  void gradient(const Observed<double>& o, double scale, Team& team, double* nats, Matrix<double> adjoint,
                std::span<double> own) const override {
    negative_log_likelihood(o, team, nats);
    std::vector<double> away(at(o.structure.sequences() * o.signal.cols));
    each_mean(o, [&](Index s, Index last, Index i, double mean) {
      away[at(s * o.signal.cols + i)] = mean + o.parameters[at(offset_() + i)] - o.targets.values(last, i);
    });
    spread(o, scale, away, adjoint, own);
  }

 protected:
  Index offset() const { return offset_(); }
  /// Calls use(sequence, row of its last position, component, mean of a matrix by rows) for sequences with a target.
  template <class Use>
  static void each_mean_of(const Observed<double>& o, Matrix<const double> rows, Use&& use) {
    for (Index s = 0; s < o.structure.sequences(); ++s) {
      const Index length = o.structure.size(s), last = o.structure.row(s, length - 1);
      if (o.targets.predicted != nullptr && o.targets.predicted[last] == 0) continue;
      for (Index i = 0; i < rows.cols; ++i) {
        double sum = 0;
        for (Index p = 0; p < length; ++p) sum += rows(o.structure.row(s, p), i);
        use(s, last, i, sum / static_cast<double>(length));
      }
    }
  }
  template <class Use>
  static void each_mean(const Observed<double>& o, Use&& use) {
    each_mean_of(o, o.signal, use);
  }
  /// Propagates the gradient of each sequence to its rows and to the offset.
  void spread(const Observed<double>& o, double scale, std::span<const double> of_sequence, Matrix<double> adjoint,
              std::span<double> own) const {
    for (Index s = 0; s < o.structure.sequences(); ++s)
      for (Index i = 0; i < adjoint.cols; ++i) {
        const double seed = scale * of_sequence[at(s * adjoint.cols + i)];
        own[at(offset_() + i)] += seed;
        for (Index p = 0; p < o.structure.size(s); ++p)
          adjoint(o.structure.row(s, p), i) = seed / static_cast<double>(o.structure.size(s));
      }
  }

 private:
  std::array<int, 1> own_ = {-1};
  std::function<Index()> offset_;  // known once every parameter is declared
};

/// The same loss with its curvature.
class CurvedMeanLoss final : public MeanLoss, public LossCurvature<double> {
 public:
  void curvature(const Observed<double>& o, double scale, Team&, Matrix<const double> tangent,
                 std::span<const double> direction, Matrix<double> result, std::span<double> own) const override {
    std::vector<double> moved(at(o.structure.sequences() * tangent.cols));
    each_mean_of(o, tangent, [&](Index s, Index, Index i, double mean) {
      moved[at(s * tangent.cols + i)] = mean + direction[at(offset() + i)];
    });
    spread(o, scale, moved, result, own);
  }
  void curvature_sample(const Observed<double>& o, double scale, Team&, std::uint64_t seed, std::uint64_t stream,
                        Matrix<double> result, std::span<double> own) const override {
    std::vector<double> noise(at(o.structure.sequences() * result.cols));
    fill_signs(seed, stream, 0, Matrix<double>{noise.data(), o.structure.sequences(), result.cols, result.cols});
    spread(o, scale, noise, result, own);
  }
};

TEST(Seam, sequence_loss_with_parameters_trains) {
  for (const bool curved : {false, true}) {
    Circuit c;
    const BothDirections net(c);
    const Signal mood = c.affine("mood", kClasses, {{"V", net.ahead}});
    c.output(mood);
    const std::shared_ptr<MeanLoss> loss = curved ? std::make_shared<CurvedMeanLoss>() : std::make_shared<MeanLoss>();
    loss->declare(c, mood);
    const auto network =
        Network<double>::of(std::make_shared<const Plan>(c), {"word", net.words}, {"mood", mood, loss});
    expect_right_derivatives(network);
    expect_learnt(network, {"adam:rate=0.05", "ruop"});
    if (curved) {
      expect_learnt(network, {"hf:windows=1", "rbpm", "ruop:draws=1"});
      continue;
    }
    EXPECT_THAT(refusal(network, "hf"), HasSubstr("requires a curvature, which the loss mean does not support"));
    EXPECT_THAT(refusal(network, "rbpm"), HasSubstr("the loss mean has no curvature"));
    EXPECT_THAT(refusal(network, "ruop:draws=1"), HasSubstr("the loss mean does not have; leave draws out"));
  }
}

TEST(Seam, sequence_loss_rejects_segments_and_pieces) {
  Circuit c;
  const Signal x = c.symbols("word", kWords), mood = c.affine("mood", kClasses, {{"V", rnn(c, x, 4)}});
  c.output(mood);
  const auto loss = std::make_shared<MeanLoss>();
  loss->declare(c, mood);
  const auto network = Network<double>::of(std::make_shared<const Plan>(c), {"word", x}, {"mood", mood, loss});
  Team team(1);
  EXPECT_THROW(BatchPass<double>(network, team, 1 << 20), UsageError);
  Batch segments = Sentences().batch();
  segments.whole = false;
  Parameters<double> parameters(c);
  BatchPass<double> pass(network, team);
  pass.set_parameters(parameters);
  State<double> state(*network.plan, 3);
  EXPECT_THROW(pass.forward(segments, state), UsageError);
}

}  // namespace
}  // namespace unfold
