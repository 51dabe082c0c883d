/// Scheduled sampling, compared with the expected inputs position by position.

#include "unfold/train/objective/scheduled_sampling.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/optim/small_network.h"
#include "unfold/base/error.h"
#include "unfold/graph/cells/cells.h"

namespace unfold {
namespace {

using Shape = TeacherForcing::Shape;

TEST(TeacherForcing, teacher_forcing_moves_from_the_first_share_to_the_second) {
  for (const Shape shape : {Shape::linear, Shape::exponential, Shape::inverse_sigmoid}) {
    const TeacherForcing forcing = TeacherForcing::parse("0.9..0.2", shape);
    EXPECT_NEAR(forcing.at(0), 0.9, 1e-12);
    EXPECT_NEAR(forcing.at(1), 0.2, 1e-12);
    for (int i = 0; i < 20; ++i) EXPECT_GT(forcing.at(i / 20.0), forcing.at((i + 1) / 20.0));
  }
  EXPECT_NEAR(TeacherForcing::parse("1..0.5", Shape::linear).at(0.5), 0.75, 1e-12);
  EXPECT_NEAR(TeacherForcing::parse("1..0.25", Shape::exponential).at(0.5), 0.5, 1e-12);
  EXPECT_NEAR(TeacherForcing::parse("1..0", Shape::inverse_sigmoid).at(0.5), 0.5, 1e-12);
  EXPECT_EQ(TeacherForcing::parse("0.3", Shape::linear).at(0.7), 0.3);
  EXPECT_TRUE(TeacherForcing::parse("1", Shape::linear).always());
  for (const char* wrong : {"", "2", "-1..0", "1..", "..1", "1..x", "nan", "1....5"})
    EXPECT_THROW(TeacherForcing::parse(wrong, Shape::linear), UsageError) << wrong;
  EXPECT_THROW(TeacherForcing::parse("1..0", Shape::exponential), UsageError);
}

/// A network that always outputs symbol 2, and a ragged batch of texts.
struct OneAnswer {
  OneAnswer()
      : corpus(numbered_corpus({9, 4, 30, 1})), small(corpus.alphabet().size(), 4, SmallNetwork<float>::Cell::rnn) {
    std::ranges::fill(small.parameters.flat(), 0.F);
    small.parameters.at("output/bias")(0, 2) = 100;
    std::vector<std::vector<Passage>> streams = exact_streams(whole_corpus(corpus, "all"), 2);
    StreamReader reader(corpus, 40);
    reader.start(std::move(streams));
    reader.next(batch);
  }
  /// Returns the number of positions that read a symbol different from the text, among positions that have a
  /// predecessor, and the number of the latter.
  std::pair<Index, Index> count(const Batch& mixed) const {
    Index changed = 0, all = 0;
    for (Index c = 0; c < batch.structure.sequences(); ++c)
      for (Index t = 0; t < batch.structure.size(c); ++t) {
        const auto row = static_cast<std::size_t>(batch.structure.row(c, t));
        const Symbol now = read_symbols(mixed)[row], was = read_symbols(batch)[row];
        if (t == 0) {
          EXPECT_EQ(now, was);
          continue;
        }
        ++all;
        if (now == was) continue;
        EXPECT_EQ(now, 2);
        ++changed;
      }
    EXPECT_EQ(predicted_symbols(mixed), predicted_symbols(batch));  // targets stay unchanged
    return {changed, all};
  }
  Corpus corpus;
  SmallNetwork<float> small;
  Batch batch;
  Team team{1};
};

TEST(ScheduledSampling, own_outputs_replace_true_symbols_at_the_given_rate) {
  OneAnswer same;
  ScheduledSampling<float> own(same.small.network, same.team, 5);
  State<float> state(*same.small.network.plan, 4);
  const auto mix = [&](double forcing, Index step) -> const Batch& {
    return own.mix(same.batch, state, same.small.parameters, forcing, step);
  };
  EXPECT_EQ(same.count(mix(1, 0)).first, 0);
  const auto [changed, all] = same.count(mix(0, 0));
  EXPECT_GE(changed, all - 1);  // one of them may have been symbol 2
  Index some = 0;
  for (Index step = 0; step < 50; ++step) some += same.count(mix(0.75, step)).first;
  EXPECT_NEAR(static_cast<double>(some) / static_cast<double>(50 * all), 0.25, 0.05);
  const std::vector<Symbol> once = read_symbols(mix(0.5, 7)), other = read_symbols(mix(0.5, 8));
  EXPECT_EQ(read_symbols(mix(0.5, 7)), once);
  EXPECT_NE(other, once);
}

TEST(ScheduledSampling, own_numeric_outputs_are_means) {
  Circuit circuit;
  const Signal x = circuit.input("x", 1), y = circuit.affine("output", 2, {{"V", rnn(circuit, x, 3)}});
  circuit.output(y);
  Parameters<double> parameters(circuit);
  parameters.at("output/bias")(0, 0) = 0.25;
  const Network<double> network = Network<double>::of(std::make_shared<const Plan>(circuit), {"previous(2) wind", x},
                                                      {"wind", y, normal_loss<double>()});
  Batch batch;
  batch.structure = Structure::chains(1, 5);
  batch.reset_all_chains();
  batch.value_field("wind").clear(5, 1);
  ValueRows& before = batch.value_field("previous(2) wind");
  before.clear(5, 1);
  for (Index t = 2; t < 5; ++t) before.set(t, 0, static_cast<float>(t));
  Team team(1);
  ScheduledSampling<double> own(network, team, 5);
  const Batch& mixed = own.mix(batch, State<double>(*network.plan, 1), parameters, 0, 0);
  const auto& read = std::get<ValueRows>(mixed.field("previous(2) wind"));
  for (Index t = 0; t < 5; ++t) EXPECT_EQ(read.values<double>(t, 1)(0, 0), t < 2 ? 0 : 0.25);
}

TEST(ScheduledSampling, scheduled_sampling_requires_a_network_that_reads_its_targets) {
  Circuit circuit;
  const Signal x = circuit.input("x", 1), y = circuit.affine("output", 1, {{"V", rnn(circuit, x, 3)}});
  circuit.output(y);
  const Network<double> network =
      Network<double>::of(std::make_shared<const Plan>(circuit), {"rain", x}, {"wind", y, gaussian_loss<double>()});
  Team team(1);
  try {
    ScheduledSampling<double> own(network, team, 5);
    FAIL();
  } catch (const UsageError& error) {
    EXPECT_THAT(error.what(), testing::HasSubstr("reads its predictions"));
  }
}

}  // namespace
}  // namespace unfold
