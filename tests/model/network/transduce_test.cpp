/// Networks of sources and targets: their derivatives, the probabilities of the targets that they find.

#include "model/network/transduce.h"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <optional>
#include <set>

#include "data/examples/transformations/sequence_ends.h"
#include "model/decoding/edit_distance.h"
#include "tests/model/network/pair_models.h"
#include "unfold/gradcheck/derivative_check.h"

namespace unfold {
namespace {

using testing_support::kEnd;
using testing_support::letters;

struct PairTransducer : testing_support::PairModel {
  using PairModel::PairModel;
  Transducer<double> transducer() { return {body.network(), body.parameters(), *data, ends(), team}; }
};

const char* const kSpecs[] = {"rnn:3", "bilstm:2,condition=start", "gru:2,attention=additive,condition=start",
                              "bigru:2,layers=2,embedding=3,attention=multiplicative", "lstm:2,condition=steps"};

TEST(EncoderDecoder, encoder_decoder_has_correct_derivatives) {
  for (const char* spec : kSpecs) {
    PairTransducer model(spec);
    const CheckReport report = check_derivatives(model.body.network(), model.batch(model.set).structure);
    EXPECT_TRUE(report.passed()) << spec << "\n" << report.text();
  }
}

TEST(EncoderDecoder, encoder_decoder_supports_every_vector_cell) {
  std::set<std::string> refused;
  for (const CellEntry& cell : cells()) {
    if (!cell.reads_sequences()) continue;
    ModelSpec spec = parse_model_spec(cell.name + ":4");
    spec.attention = Attend::additive;
    spec = with_max_units(spec, 2);
    try {
      PairTransducer model(to_string(spec));
      const CheckReport report = check_derivatives(model.body.network(), model.batch(model.set).structure);
      EXPECT_TRUE(report.passed()) << cell.name << "\n" << report.text();
    } catch (const UsageError& error) {
      refused.insert(cell.name);
    }
  }
  EXPECT_EQ(refused, (std::set<std::string>{"linear-gnn", "urnn"}));  // it gives more numbers than it has units
}

TEST(EncoderDecoder, attention_without_a_source_is_rejected) {
  PairTransducer model("rnn:2");
  EXPECT_THROW(NetworkBody<double>(parse_model_spec("rnn:2,attention=additive"), *model.data,
                                   {.reads = {"previous target"}, .heads = {{"target"}}}),
               UsageError);
  EXPECT_THROW(
      NetworkBody<double>(parse_model_spec("rnn:2"), *model.data, {.reads = {"source"}, .heads = {{"target"}}}),
      UsageError);
}

/// If the beam is as wide as the number of sequences, all sequences up to a length are found, ended or not.
void expect_sum_of_one(const char* spec, bool stops) {
  PairTransducer model(spec, stops);
  constexpr Index kLongest = 4, kAll = 81;  // 3^4
  const auto found = model.transducer().best(model.batch(model.set), {.beam = kAll, .best = kAll, .longest = kLongest});
  for (const std::vector<Transduced>& targets : found) {
    double total = 0;
    std::set<std::pair<std::vector<Symbol>, bool>> distinct;
    for (const Transduced& target : targets) {
      total += std::exp(target.log_probability);
      distinct.emplace(target.symbols, target.ended);
    }
    EXPECT_NEAR(total, 1, 1e-12) << spec;
    EXPECT_EQ(targets.size(), 1 + 2 + 4 + 8 + 16) << spec;  // ended with 0 to 3 symbols, or 4 without an end
    EXPECT_EQ(distinct.size(), targets.size());
  }
}

TEST(Transducer, all_targets_up_to_a_length_sum_to_one) {
  for (const char* spec : kSpecs) {
    expect_sum_of_one(spec, false);
    expect_sum_of_one(spec, true);
  }
}

/// The sum of ln p of a target in the unfolding that reads all of it at once.
double forced_log_probability(PairTransducer& model, const std::string& source, const std::vector<Symbol>& symbols) {
  std::string target;
  for (const Symbol x : symbols) target += model.data->field("target").alphabet->text(x);
  const ExampleSet set(letters({{source, target}}, model.stops), model.data, {});
  const Batch batch = model.batch(set);
  Unfolding<double> unfolding(model.body.plan(), model.team);
  unfolding.set_parameters(model.body.parameters());
  unfolding.lay(batch.structure);
  upload_inputs(batch, 0, batch.structure.positions(), model.body.network(), unfolding);
  unfolding.forward();
  double sum = 0;
  for (const Head<double>& head : model.body.network().heads) {
    const Matrix<const double> logits = unfolding.value(head.signal);
    for (Index t = 0; t < logits.rows; ++t) {
      const Symbol wanted = set.column(head.field).symbols[static_cast<std::size_t>(t)];
      if (wanted == kNoSymbol) continue;
      double total = 0;
      for (Index x = 0; x < logits.cols; ++x) total += std::exp(logits(t, x));
      sum += logits(t, wanted) - std::log(total);
    }
  }
  return sum;
}

TEST(Transducer, found_targets_have_the_probability_of_the_whole_network) {
  for (const char* spec : kSpecs)
    for (const bool stops : {false, true}) {
      PairTransducer model(spec, stops);
      const auto found = model.transducer().best(model.batch(model.set), {.beam = 5, .best = 5});
      ASSERT_EQ(found.size(), 4U);
      for (const Transduced& target : found[1]) {
        if (!target.ended) continue;
        EXPECT_NEAR(target.log_probability, forced_log_probability(model, "wxyzw", target.symbols), 1e-10) << spec;
      }
    }
}

bool same_targets(const std::vector<Transduced>& a, const std::vector<Transduced>& b) {
  return std::ranges::equal(a, b, [](const Transduced& x, const Transduced& y) {
    return x.symbols == y.symbols && x.ended == y.ended && x.log_probability == y.log_probability &&
           x.weights == y.weights;
  });
}

TEST(Transducer, found_targets_are_identical_alone_and_in_a_batch) {
  for (const char* spec : kSpecs) {
    PairTransducer model(spec);
    const bool weights = model.transducer().attends();
    const TransduceOptions options{.beam = 3, .best = 3, .weights = weights};
    const auto all = model.transducer().best(model.batch(model.set), options);
    const auto drawn = model.transducer().samples(model.batch(model.set), 4, 7, {});
    for (Index e = 0; e < model.set.count(); ++e) {
      const Index one[] = {e};
      Batch batch = model.batch(model.set.subset(one));
      batch.passages = {e};
      const auto alone = model.transducer().best(batch, options);
      EXPECT_TRUE(same_targets(alone[0], all[static_cast<std::size_t>(e)])) << spec << " " << e;
      EXPECT_EQ(model.transducer().samples(batch, 4, 7, {})[0].size(), 4U);
      EXPECT_TRUE(same_targets(model.transducer().samples(batch, 4, 7, {})[0], drawn[static_cast<std::size_t>(e)]));
    }
  }
}

TEST(Transducer, exhaustive_beam_finds_the_best_score) {
  PairTransducer model("gru:3,attention=additive");
  const auto found = model.transducer().best(model.batch(model.set), {.beam = 81, .best = 81, .longest = 4});
  for (const auto& targets : found)
    for (std::size_t k = 1; k < targets.size(); ++k) EXPECT_GE(targets[k - 1].score(), targets[k].score());
}

TEST(Transducer, attention_weights_are_a_distribution_over_the_source) {
  PairTransducer model("bilstm:3,attention=additive");
  const auto found = model.transducer().best(model.batch(model.set), {.weights = true});
  const std::size_t sources[] = {2, 5, 1, 3};
  for (std::size_t c = 0; c < found.size(); ++c) {
    const Transduced& target = found[c].front();
    EXPECT_EQ(target.weights.size(), target.symbols.size() + (target.ended ? 1 : 0));
    for (const std::vector<double>& row : target.weights) {
      ASSERT_EQ(row.size(), sources[c]);
      double sum = 0;
      for (const double w : row) sum += w;
      EXPECT_NEAR(sum, 1, 1e-12);
    }
  }
  EXPECT_THROW(PairTransducer("rnn:2").transducer().best(model.batch(model.set), {.weights = true}), UsageError);
}

TEST(Transducer, targets_are_sampled_with_their_probabilities) {
  PairTransducer model("rnn:3");
  constexpr Index kDraws = 4000;
  const auto drawn = model.transducer().samples(model.batch(model.set), kDraws, 1, {.longest = 3});
  const auto all = model.transducer().best(model.batch(model.set), {.beam = 27, .best = 27, .longest = 3});
  for (std::size_t c = 0; c < drawn.size(); ++c)
    for (const Transduced& target : all[c]) {
      const auto seen = std::ranges::count_if(
          drawn[c], [&](const Transduced& d) { return d.symbols == target.symbols && d.ended == target.ended; });
      const double p = std::exp(target.log_probability), error = std::sqrt(p * (1 - p) / kDraws);
      EXPECT_NEAR(static_cast<double>(seen) / kDraws, p, 5 * error + 1e-9);
    }
}

/// Sequences over a and b, conditioned on a class or unconditional, with the given kind of end.
struct Whole {
  Whole(const std::string& spec, SequenceEnd end, bool given, const char* lengths = "")
      : examples(sequences()), predicts{"text"} {
    add_sequence_ends({.end = end, .field = "text", .given = {"kind"}}, examples);
    if (end == SequenceEnd::stop) predicts.emplace_back("text.stop");
    layout.reads = {"previous text"};
    if (given) layout.reads.emplace_back("kind");
    if (end == SequenceEnd::left) layout.reads.emplace_back("text.left");
    for (const std::string& field : predicts) layout.heads.push_back({.field = field});
    FieldChoice choice{.reads = {"text"}, .predicts = predicts};
    if (given) choice.reads.emplace_back("kind");
    if (end == SequenceEnd::left) choice.reads.emplace_back("text.left");
    data = std::make_shared<const DataSpecification>(specify(examples, choice, "labelled"));
    set.emplace(examples, data, std::vector<std::string>());
    body.emplace(parse_model_spec(spec), *data, layout);
    body->parameters().initialize(3);
    Random noise(1, "noise");
    for (double& p : body->parameters().flat()) p += 0.4 * noise.normal();
    if (end == SequenceEnd::left) length_model = LengthModel::fit(lengths, std::vector<Index>{1, 2, 2, 4});
  }
  static Examples sequences() {
    Examples examples{.source = "sequences"};
    ExampleColumn text{.name = "text"}, kind{.name = "kind", .once = true};
    for (const auto& [label, symbols] :
         std::vector<std::pair<std::string, std::string>>{{"x", "ab"}, {"y", "b"}, {"x", "aa"}, {"y", "abba"}}) {
      for (const char c : symbols) text.texts.emplace_back(1, c);
      kind.texts.push_back(label);
      examples.ends.push_back(text.entries());
    }
    examples.columns = {text, kind};
    return examples;
  }
  Batch batch() const {
    Batch result;
    example_reader(*set, {.reads = layout.reads, .predicts = predicts, .batch = 9})->next(result);
    return result;
  }
  Transducer<double> transducer() {
    const TargetEnds ends{.symbol = kEnd,
                          .stop_field = kStopSuffix,
                          .stop_at = kStop,
                          .left_field = kStepsLeftSuffix,
                          .steps_left = steps_left};
    return {body->network(), body->parameters(), *data, ends, team, length_model ? &*length_model : nullptr};
  }
  /// Returns ln p of a chain of the batch, including its length, computed by the unfolding that reads all of it.
  double forced(Index example) {
    const Index one[] = {example};
    const ExampleSet alone = set->subset(one);
    Batch read;
    example_reader(alone, {.reads = layout.reads, .predicts = predicts, .batch = 1})->next(read);
    Unfolding<double> unfolding(body->plan(), team);
    unfolding.set_parameters(body->parameters());
    unfolding.lay(read.structure);
    upload_inputs(read, 0, read.structure.positions(), body->network(), unfolding);
    unfolding.forward();
    double sum = length_model ? length_model->log_probability(alone.length(0)) : 0;
    for (const Head<double>& head : body->network().heads) {
      const Matrix<const double> logits = unfolding.value(head.signal);
      for (Index t = 0; t < logits.rows; ++t) {
        const Symbol wanted = alone.column(head.field).symbols[static_cast<std::size_t>(t)];
        if (wanted == kNoSymbol) continue;
        double total = 0;
        for (Index x = 0; x < logits.cols; ++x) total += std::exp(logits(t, x));
        sum += logits(t, wanted) - std::log(total);
      }
    }
    return sum;
  }

  Examples examples;
  std::vector<std::string> predicts;
  NetworkLayout layout;
  std::shared_ptr<const DataSpecification> data;
  std::optional<ExampleSet> set;
  std::optional<NetworkBody<double>> body;
  std::optional<LengthModel> length_model;
  Team team{1};
};

const char* const kWholeSpecs[] = {"rnn:3,condition=start", "gru:2,condition=steps,embedding=2", "lstm:2",
                                   "mingru:3,layers=2"};

TEST(SequenceEndOptions, conditions_have_correct_derivatives_in_every_mode) {
  for (const char* spec : kWholeSpecs)
    for (const SequenceEnd end : {SequenceEnd::symbol, SequenceEnd::stop, SequenceEnd::left}) {
      const Whole model(spec, end, true, "poisson");
      const CheckReport report = check_derivatives(model.body->network(), model.batch().structure);
      EXPECT_TRUE(report.passed()) << spec << "\n" << report.text();
    }
}

TEST(SequenceEndOptions, all_sequences_up_to_a_length_sum_to_one) {
  constexpr Index kLongest = 4, kAll = 81;
  for (const char* spec : kWholeSpecs)
    for (const bool given : {false, true})
      for (const SequenceEnd end : {SequenceEnd::symbol, SequenceEnd::stop}) {
        Whole model(spec, end, given);
        for (const auto& found :
             model.transducer().best(model.batch(), {.beam = kAll, .best = kAll, .longest = kLongest})) {
          double total = 0;
          for (const Transduced& sequence : found) total += std::exp(sequence.log_probability);
          EXPECT_NEAR(total, 1, 1e-12) << spec;
          EXPECT_EQ(found.size(), 1 + 2 + 4 + 8 + 16) << spec;
        }
      }
}

/// For all sequences up to a length: p(T) p(x | T) sums over x to p(T), and over T to the probability of these lengths.
TEST(SequenceEndOptions, sequences_of_each_length_sum_to_its_probability) {
  constexpr Index kLongest = 6;
  for (const std::string& lengths : LengthModel::kinds())
    for (const bool given : {false, true}) {
      Whole model("gru:3", SequenceEnd::left, given, lengths.c_str());
      double total = 0, wanted = 0;
      for (Index length = 1; length <= kLongest; ++length) {
        double of_length = 0;
        for (Index code = 0; code < (Index{1} << length); ++code) {
          Examples one{.source = "one"};
          ExampleColumn text{.name = "text"}, kind{.name = "kind", .once = true, .texts = {"y"}};
          for (Index t = 0; t < length; ++t) text.texts.emplace_back((code >> t) % 2 == 0 ? "a" : "b");
          one.ends = {length};
          one.columns = {text, kind};
          add_sequence_ends({.end = SequenceEnd::left, .field = "text", .given = {"kind"}}, one);
          model.set.emplace(one, model.data, std::vector<std::string>());
          of_length += std::exp(model.forced(0));
        }
        EXPECT_NEAR(of_length, std::exp(model.length_model->log_probability(length)), 1e-12) << lengths;
        total += of_length;
        wanted += std::exp(model.length_model->log_probability(length));
      }
      EXPECT_NEAR(total, wanted, 1e-12) << lengths;
      EXPECT_LT(total, 1) << lengths;
    }
}

TEST(SequenceEndOptions, samples_have_the_probability_of_the_whole_network) {
  for (const bool given : {false, true})
    for (const SequenceEnd end : {SequenceEnd::symbol, SequenceEnd::stop, SequenceEnd::left}) {
      Whole model("lstm:3", end, given, "negative-binomial");
      const auto drawn = model.transducer().samples(model.batch(), 3, 5, {});
      ASSERT_EQ(drawn.size(), 4U);
      const std::string kinds = "xyxy";
      for (std::size_t c = 0; c < drawn.size(); ++c)
        for (const Transduced& sample : drawn[c]) {
          if (!sample.ended || sample.symbols.empty()) continue;
          Examples one{.source = "one"};
          ExampleColumn text{.name = "text"}, kind{.name = "kind", .once = true, .texts = {std::string(1, kinds[c])}};
          for (const Symbol x : sample.symbols) text.texts.emplace_back(model.data->field("text").alphabet->text(x));
          one.ends = {text.entries()};
          one.columns = {text, kind};
          add_sequence_ends({.end = end, .field = "text", .given = {"kind"}}, one);
          Whole other("lstm:3", end, given, "negative-binomial");
          other.set.emplace(one, other.data, std::vector<std::string>());
          EXPECT_NEAR(sample.log_probability, other.forced(0), 1e-9);
        }
    }
}

TEST(SequenceEndOptions, zero_temperature_sampling_is_greedy_search) {
  Whole model("gru:3", SequenceEnd::symbol, true);
  const auto greedy = model.transducer().best(model.batch(), {.longest = 9});
  const auto drawn = model.transducer().samples(model.batch(), 1, 5, {.longest = 9, .filters = {.temperature = 0}});
  for (std::size_t c = 0; c < greedy.size(); ++c) {
    EXPECT_EQ(drawn[c][0].symbols, greedy[c][0].symbols);
    EXPECT_NEAR(drawn[c][0].log_probability, greedy[c][0].log_probability, 1e-12);
  }
}

TEST(SequenceEndOptions, invalid_conditions_are_rejected) {
  EXPECT_THROW(Whole("bilstm:2", SequenceEnd::symbol, true), UsageError);
  EXPECT_THROW(Whole("lstm:2,attention=additive", SequenceEnd::symbol, true), UsageError);
}

Index slow_distance(std::span<const Symbol> from, std::span<const Symbol> to) {
  if (from.empty() || to.empty()) return static_cast<Index>(from.size() + to.size());
  const Index same = from[0] == to[0] ? 0 : 1;
  return std::min({slow_distance(from.subspan(1), to.subspan(1)) + same, slow_distance(from.subspan(1), to) + 1,
                   slow_distance(from, to.subspan(1)) + 1});
}

TEST(EditDistance, edit_distance_is_the_smallest_number_of_edits) {
  Random random(5, "edits");
  for (int trial = 0; trial < 200; ++trial) {
    std::vector<Symbol> a(random.below(6)), b(random.below(6));
    for (Symbol& x : a) x = static_cast<Symbol>(random.below(3));
    for (Symbol& x : b) x = static_cast<Symbol>(random.below(3));
    EXPECT_EQ(edit_distance(a, b), slow_distance(a, b));
  }
}

}  // namespace
}  // namespace unfold
