/// Objectives of whole sequences, compared with independent searches over all sequences of a tiny alphabet, whose
/// log-probabilities come from one network pass each; gradients are compared with finite differences.

#include "model/decoding/sequence_search_training.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <map>

#include "model/decoding/edit_distance.h"
#include "model/decoding/objective.h"
#include "tests/base/scratch.h"
#include "tests/model/network/pair_models.h"

namespace unfold {
namespace {

using Kind = SequenceObjective::Kind;
using testing::HasSubstr;
using testing_support::letters;
using testing_support::message_of;
using testing_support::PairModel;

constexpr std::size_t kLongest = 5;  // of sequences, including their end
constexpr char kStopped = '.';       // the end of a sequence as text

/// An example for brute-force search: sequences are texts of a and b with a final dot.
class SlowExample {
 public:
  SlowExample(PairModel& model, Index example) : model_(model) {
    static const std::pair<const char*, const char*> kPairs[] = {
        {"xy", "ab"}, {"wxyzw", "b"}, {"z", ""}, {"yyx", "aab"}};
    source_ = kPairs[example].first;
    truth = std::string(kPairs[example].second) + kStopped;
  }
  std::string truth;

  /// Returns log p of a text as the prefix of a sequence.
  double log_p(const std::string& text) {
    const auto known = known_.find(text);
    return known != known_.end() ? known->second : known_[text] = computed(text);
  }
  static bool complete(const std::string& text) {
    return text.size() == kLongest || (!text.empty() && text.back() == kStopped);
  }
  std::vector<std::string> all() const {
    std::vector<std::string> result, growing = {""};
    while (!growing.empty()) {
      const std::string text = growing.back();
      growing.pop_back();
      for (const char c : {'a', 'b', kStopped}) (complete(text + c) ? result : growing).push_back(text + c);
    }
    return result;
  }
  static double edits(const std::string& a, const std::string& b) {
    return static_cast<double>(
        edit_distance(std::vector<Symbol>(a.begin(), a.end()), std::vector<Symbol>(b.begin(), b.end())));
  }
  /// Returns the best `width` texts with one more symbol, or complete shorter ones, that equal or extend one of `from`;
  /// best first.
  std::vector<std::string> longer(const std::vector<std::string>& from) {
    std::multimap<double, std::string> found;
    for (const std::string& text : from)
      for (const char c : {'a', 'b', kStopped}) {
        const std::string next = complete(text) ? text : text + c;
        found.emplace(-log_p(next), next);
        if (complete(text)) break;
      }
    std::vector<std::string> result;
    for (const auto& [nats, text] : found) result.push_back(text);
    return result;
  }
  bool begins_truth(const std::string& text) const { return truth.starts_with(text); }

 private:
  double computed(const std::string& text) {
    const std::string symbols = text.substr(0, text.find(kStopped));
    const ExampleSet set(letters({{source_, symbols}}, model_.stops), model_.data, {});
    const Batch batch = model_.batch(set);
    Unfolding<double> unfolding(model_.body.plan(), model_.team);
    unfolding.set_parameters(model_.body.parameters());
    unfolding.lay(batch.structure);
    upload_inputs(batch, 0, batch.structure.positions(), model_.body.network(), unfolding);
    unfolding.forward();
    double sum = 0;
    for (const Head<double>& head : model_.body.network().heads) {
      const Matrix<const double> logits = unfolding.value(head.signal);
      for (Index t = 0; t < static_cast<Index>(text.size()); ++t) {
        const Symbol wanted = set.column(head.field).symbols[static_cast<std::size_t>(t)];
        if (wanted == kNoSymbol) continue;
        double total = 0;
        for (Index x = 0; x < logits.cols; ++x) total += std::exp(logits(t, x));
        sum += logits(t, wanted) - std::log(total);
      }
    }
    return sum;
  }

  PairModel& model_;
  std::string source_;
  std::map<std::string, double> known_;
};

std::vector<std::string> first_of(std::vector<std::string> texts, Index count) {
  texts.resize(std::min(texts.size(), static_cast<std::size_t>(count)));
  return texts;
}

double slow_perceptron(SlowExample& e, Index beam) {
  std::vector<std::string> kept = {""};
  for (;;) {
    const std::vector<std::string> all = e.longer(kept);
    kept = first_of(all, beam);
    std::string mine;
    for (const std::string& text : all)
      if (e.begins_truth(text)) mine = text;
    const bool lost = std::ranges::none_of(kept, [&](const std::string& text) { return e.begins_truth(text); });
    if (lost || (mine == e.truth && SlowExample::complete(all.front()))) return e.log_p(all.front()) - e.log_p(mine);
  }
}

double slow_bso(SlowExample& e, Index beam) {
  double sum = 0;
  std::vector<std::string> kept = {""};
  for (std::size_t t = 1; t <= e.truth.size(); ++t) {
    const std::string mine = e.truth.substr(0, t);
    std::vector<std::string> all = e.longer(kept), others = all;
    std::erase(others, mine);
    const std::size_t rank = t == e.truth.size() ? 0 : static_cast<std::size_t>(beam) - 1;
    const double violation = rank < others.size() ? 1 - e.log_p(mine) + e.log_p(others[rank]) : 0;
    sum += std::max(0.0, violation);
    kept = violation > 0 ? std::vector<std::string>{mine} : first_of(all, beam);
  }
  return sum;
}

/// Returns the final texts of a beam.
std::vector<std::string> found_by_beam(SlowExample& e, Index beam) {
  std::vector<std::string> kept = {""};
  while (!std::ranges::all_of(kept, SlowExample::complete)) kept = first_of(e.longer(kept), beam);
  return kept;
}

double slow_margin(SlowExample& e, const std::vector<std::string>& found, double cost) {
  double most = 0;
  for (const std::string& y : found)
    most = std::max(most, e.log_p(y) + cost * SlowExample::edits(y, e.truth) - e.log_p(e.truth));
  return most;
}

double slow_risk(SlowExample& e, std::vector<std::string> found) {
  if (std::ranges::find(found, e.truth) == found.end()) found.push_back(e.truth);
  double z = 0, sum = 0;
  for (const std::string& y : found) {
    z += std::exp(e.log_p(y));
    sum += std::exp(e.log_p(y)) * SlowExample::edits(y, e.truth);
  }
  return sum / z;
}

double slow_value(PairModel& model, const SequenceObjective& o) {
  double sum = 0;
  for (Index i = 0; i < model.set.count(); ++i) {
    SlowExample e(model, i);
    if (o.kind == Kind::perceptron) sum += slow_perceptron(e, o.beam);
    if (o.kind == Kind::beam_search) sum += slow_bso(e, o.beam);
    if (o.kind == Kind::margin) sum += slow_margin(e, found_by_beam(e, o.beam), o.cost);
    if (o.kind == Kind::risk) sum += slow_risk(e, found_by_beam(e, o.beam));
  }
  return sum;
}

struct Paid {
  double value;
  std::vector<double> gradient;
};

Paid paid(const PairModel& model, const SequenceObjective& o, Team& team, double scale = 1) {
  const auto chooser = sequence_chooser(model.body.network(), *model.data, model.ends(), o, kLongest, 1, team);
  SequenceObjectivePass<double> pass(model.body.network(), *chooser, team);
  Paid result{.value = 0, .gradient = std::vector<double>(static_cast<std::size_t>(model.body.parameters().size()))};
  const Batch batch = model.batch(model.set);
  result.value = pass.gradient(batch, model.body.parameters(), 3, std::nullopt, scale, result.gradient, false);
  EXPECT_EQ(result.value, pass.value(batch, model.body.parameters(), 3));
  return result;
}

const std::vector<SequenceObjective> kPaidFor = {
    {.kind = Kind::perceptron, .beam = 1},           {.kind = Kind::perceptron, .beam = 3},
    {.kind = Kind::perceptron, .beam = 99},          {.kind = Kind::margin, .beam = 2, .cost = 1},
    {.kind = Kind::margin, .beam = 99, .cost = 2.5}, {.kind = Kind::risk, .beam = 3},
    {.kind = Kind::beam_search, .beam = 1},          {.kind = Kind::beam_search, .beam = 3},
    {.kind = Kind::beam_search, .beam = 99}};

const char* const kSpecs[] = {"bilstm:2,condition=start", "gru:3,attention=additive,condition=start", "lstm:2"};

TEST(SequenceChooser, objective_equals_a_slow_search) {
  for (const char* spec : kSpecs)
    for (const bool stops : {false, true})
      for (const SequenceObjective& o : kPaidFor) {
        PairModel model(spec, stops);
        EXPECT_NEAR(paid(model, o, model.team).value, slow_value(model, o), 1e-9)
            << spec << " " << static_cast<int>(o.kind) << " " << o.beam;
      }
}

TEST(SequenceChooser, gradient_equals_that_of_a_slow_search) {
  for (const bool stops : {false, true})
    for (const SequenceObjective& o : kPaidFor) {
      PairModel model("gru:2,attention=additive,condition=start", stops);
      const std::vector<double> found = paid(model, o, model.team).gradient;
      constexpr double kStep = 1e-5;
      std::size_t some = 0;
      for (std::size_t i = 0; i < found.size(); i += 7) {
        double& p = model.body.parameters().flat()[i];
        const double before = p;
        p = before + kStep;
        const double up = slow_value(model, o);
        p = before - kStep;
        const double down = slow_value(model, o);
        p = before;
        EXPECT_NEAR(found[i], (up - down) / (2 * kStep), 1e-6) << static_cast<int>(o.kind) << " " << o.beam << " " << i;
        some += std::abs(found[i]) > 1e-3 ? 1 : 0;
      }
      EXPECT_GT(some, 3U) << static_cast<int>(o.kind) << " " << o.beam;
    }
}

/// The sum over all sequences: no renormalization is needed, since their probabilities sum to 1.
TEST(SequenceChooser, risk_over_all_sequences_is_the_expected_number_of_edits) {
  for (const char* spec : kSpecs) {
    PairModel model(spec);
    const SequenceObjective o{.kind = Kind::risk, .beam = 999};
    const auto expected = [&] {
      double sum = 0;
      for (Index i = 0; i < model.set.count(); ++i) {
        SlowExample e(model, i);
        for (const std::string& y : e.all()) sum += std::exp(e.log_p(y)) * SlowExample::edits(y, e.truth);
      }
      return sum;
    };
    const Paid found = paid(model, o, model.team);
    EXPECT_NEAR(found.value, expected(), 1e-9);
    constexpr double kStep = 1e-5;
    for (std::size_t i = 0; i < found.gradient.size(); i += 11) {
      double& p = model.body.parameters().flat()[i];
      const double before = p;
      p = before + kStep;
      const double up = expected();
      p = before - kStep;
      const double down = expected();
      p = before;
      EXPECT_NEAR(found.gradient[i], (up - down) / (2 * kStep), 1e-7) << spec << " " << i;
    }
  }
}

TEST(SequenceChooser, samples_change_each_step_and_converge_to_the_risk) {
  PairModel model("gru:3,attention=additive,condition=start");
  const SequenceObjective all{.kind = Kind::risk, .beam = 999}, many{.kind = Kind::risk, .samples = 3000},
      few{.kind = Kind::risk, .samples = 2};
  const Paid wanted = paid(model, all, model.team), found = paid(model, many, model.team);
  EXPECT_NEAR(found.value, wanted.value, 1e-2);  // nearly every sequence of 5 symbols is drawn
  for (std::size_t i = 0; i < wanted.gradient.size(); ++i) EXPECT_NEAR(found.gradient[i], wanted.gradient[i], 2e-2);
  const auto chooser = sequence_chooser(model.body.network(), *model.data, model.ends(), few, kLongest, 1, model.team);
  SequenceObjectivePass<double> pass(model.body.network(), *chooser, model.team);
  const Batch batch = model.batch(model.set);
  const double at_once = pass.value(batch, model.body.parameters(), 1);
  EXPECT_EQ(pass.value(batch, model.body.parameters(), 1), at_once);
  EXPECT_NE(pass.value(batch, model.body.parameters(), 2), at_once);
}

std::vector<SequenceObjective> with_samples() {
  std::vector<SequenceObjective> all = kPaidFor;
  all.push_back({.kind = Kind::risk, .samples = 3});
  return all;
}

TEST(SequenceChooser, chooser_bits_do_not_depend_on_threads) {
  for (const char* spec : kSpecs)
    for (const SequenceObjective& o : with_samples()) {
      const PairModel model(spec);
      Team one(1), three(3);
      const Paid alone = paid(model, o, one), together = paid(model, o, three);
      EXPECT_EQ(alone.value, together.value);
      EXPECT_EQ(alone.gradient, together.gradient);
    }
}

/// The sequences chosen for an example with their weights, as rows of the created batch.
using Choice = std::vector<std::pair<std::vector<Symbol>, std::vector<double>>>;
Choice choice_of(const WeightedSequences& chosen) {
  Choice result;
  if (chosen.weights.empty()) return result;
  const Structure& s = chosen.batch.structure;
  const auto& targets = std::get<SymbolRows>(chosen.batch.field("target")).symbols;
  for (Index c = 0; c < s.sequences(); ++c) {
    result.emplace_back();
    for (Index t = 0; t < s.size(c); ++t) {
      result.back().first.push_back(targets[static_cast<std::size_t>(s.row(c, t))]);
      result.back().second.push_back(chosen.weights[static_cast<std::size_t>(s.row(c, t))]);
    }
  }
  return result;
}

TEST(SequenceChooser, chosen_sequences_are_the_same_alone_and_in_a_batch) {
  for (const char* spec : kSpecs)
    for (const SequenceObjective& o : with_samples()) {
      PairModel model(spec);
      const auto chooser =
          sequence_chooser(model.body.network(), *model.data, model.ends(), o, kLongest, 1, model.team);
      WeightedSequences together, alone;
      chooser->choose(model.batch(model.set), model.body.parameters(), 5, together);
      Choice one_by_one;
      double sum = 0;
      for (Index e = 0; e < model.set.count(); ++e) {
        const Index only[] = {e};
        const ExampleSet set = model.set.subset(only);
        Batch batch = model.batch(set);
        batch.passages = {e};
        chooser->choose(batch, model.body.parameters(), 5, alone);
        sum += alone.value;
        std::ranges::move(choice_of(alone), std::back_inserter(one_by_one));
      }
      EXPECT_EQ(choice_of(together), one_by_one) << spec;
      EXPECT_EQ(together.value, sum);
    }
}

TEST(SequenceChooser, best_ranked_target_has_zero_loss) {
  PairModel model("gru:3,attention=additive,condition=start");
  const Index only[] = {2};  // whose target is empty
  const Batch batch = model.batch(model.set.subset(only));
  const std::span<double> p = model.body.parameters().flat();
  std::ranges::fill(p, 0);
  const Symbol end = model.data->field("target").alphabet->find("</s>");
  model.body.parameters().at("output/bias")(0, end) = 30;
  for (const SequenceObjective& o : kPaidFor) {
    if (o.kind == Kind::margin) continue;  // the cost of long sequences exceeds their log p
    const auto chooser = sequence_chooser(model.body.network(), *model.data, model.ends(), o, kLongest, 1, model.team);
    SequenceObjectivePass<double> pass(model.body.network(), *chooser, model.team);
    std::vector<double> gradient(p.size(), 7);
    EXPECT_NEAR(pass.gradient(batch, model.body.parameters(), 1, std::nullopt, 1, gradient, false), 0, 1e-9);
    for (const double g : gradient) EXPECT_NEAR(g, 0, 1e-9);
  }
}

TEST(SequenceChooser, unknown_symbols_and_diverged_values_are_skipped) {
  PairModel model("lstm:2");
  const SequenceObjective o{.kind = Kind::perceptron, .beam = 2};
  const auto chooser = sequence_chooser(model.body.network(), *model.data, model.ends(), o, kLongest, 1, model.team);
  Batch batch = model.batch(model.set);
  WeightedSequences chosen;
  chooser->choose(batch, model.body.parameters(), 0, chosen);
  const double all = chosen.value;
  const Index only[] = {3};
  chooser->choose(model.batch(model.set.subset(only)), model.body.parameters(), 0, chosen);
  const double last = chosen.value;
  batch.symbol_field("target").symbols[static_cast<std::size_t>(batch.structure.row(3, 0))] = kNoSymbol;
  chooser->choose(batch, model.body.parameters(), 0, chosen);
  EXPECT_NEAR(chosen.value, all - last, 1e-12);
  model.body.parameters().flat()[0] = std::nan("");
  for (double& p : model.body.parameters().flat()) p = std::nan("");
  chooser->choose(model.batch(model.set), model.body.parameters(), 0, chosen);
  EXPECT_TRUE(std::isnan(chosen.value));
}

TEST(SequenceObjective, sequence_objective_specs_are_parsed_or_rejected) {
  EXPECT_EQ(sequence_objective("perceptron").beam, 8);
  EXPECT_EQ(sequence_objective("perceptron:3").beam, 3);
  EXPECT_EQ(sequence_objective("margin:cost=2,beam=4").cost, 2);
  EXPECT_EQ(sequence_objective("margin:cost=2,beam=4").beam, 4);
  EXPECT_EQ(sequence_objective("risk:samples=5").samples, 5);
  EXPECT_EQ(sequence_objective("bso:beam=2").kind, Kind::beam_search);
  EXPECT_THAT(message_of<UsageError>([] { sequence_objective("risk:beam=5,samples=5"); }),
              HasSubstr("beam or samples"));
  EXPECT_THROW(sequence_objective("likelihood"), UsageError);
}

}  // namespace
}  // namespace unfold
