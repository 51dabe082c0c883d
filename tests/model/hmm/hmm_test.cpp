#include "model/hmm/hmm.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "tests/model/fitted.h"
#include "unfold/base/error.h"
#include "unfold/graph/cells/cells.h"
#include "unfold/graph/engine/stepper.h"
#include "unfold/numerics/random.h"

namespace unfold {
namespace {

using test::fitted;

/// The results of all passes, computed by enumerating all paths.
struct Enumeration {
  double probability = 0, best = -1;
  std::vector<Index> best_path;
  std::vector<double> posteriors;

  Enumeration(const HmmParameters& hmm, const std::vector<Symbol>& x) : posteriors(x.size() * size(hmm.states)) {
    std::vector<Index> path(x.size());
    walk(hmm, x, path, 0, 1);
    for (double& p : posteriors) p /= probability;
  }

 private:
  static std::size_t size(Index n) { return static_cast<std::size_t>(n); }
  void walk(const HmmParameters& hmm, const std::vector<Symbol>& x, std::vector<Index>& path, std::size_t t, double p) {
    if (t == x.size()) {
      probability += p;
      if (p > best) {
        best = p;
        best_path = path;
      }
      for (std::size_t i = 0; i < x.size(); ++i) posteriors[i * size(hmm.states) + size(path[i])] += p;
      return;
    }
    for (Index s = 0; s < hmm.states; ++s) {
      path[t] = s;
      const double step = t == 0 ? hmm.initial[size(s)] : hmm.transitions[size(path[t - 1] * hmm.states + s)];
      walk(hmm, x, path, t + 1, p * step * hmm.emissions[size(s * hmm.alphabet + x[t])]);
    }
  }
};

std::vector<Symbol> random_symbols(std::size_t length, Index alphabet, std::uint64_t seed) {
  Random random(seed, "hmm test");
  std::vector<Symbol> x(length);
  for (Symbol& s : x) s = static_cast<Symbol>(random.below(static_cast<std::uint64_t>(alphabet)));
  return x;
}

TEST(Hmm, likelihood_path_and_posteriors_equal_enumeration) {
  for (std::uint64_t seed = 1; seed <= 10; ++seed) {
    const HmmParameters hmm = HmmParameters::random(3, 4, seed, 0);
    const auto x = random_symbols(7, 4, seed);
    const Enumeration all(hmm, x);
    EXPECT_NEAR(log_likelihood(hmm, x), std::log(all.probability), 1e-12);
    EXPECT_EQ(most_probable_states(hmm, x), all.best_path);
    const auto posteriors = state_posteriors(hmm, x);
    for (std::size_t i = 0; i < posteriors.size(); ++i) EXPECT_NEAR(posteriors[i], all.posteriors[i], 1e-12);
  }
}

TEST(Hmm, long_sequences_do_not_underflow_across_blocks) {
  const HmmParameters hmm = HmmParameters::random(4, 5, 3, 0);
  const auto x = random_symbols(5000, 5, 4);  // several blocks
  const double total = log_likelihood(hmm, x);
  EXPECT_TRUE(std::isfinite(total));
  EXPECT_LT(total, -5000);
  const auto posteriors = state_posteriors(hmm, x);
  for (std::size_t t = 0; t < x.size(); ++t) {
    double sum = 0;
    for (std::size_t j = 0; j < 4; ++j) sum += posteriors[t * 4 + j];
    ASSERT_NEAR(sum, 1, 1e-9) << t;
  }
}

/// One expectation-maximization step from the sums over all paths.
HmmParameters enumerated_step(const HmmParameters& hmm, const std::vector<std::vector<Symbol>>& texts) {
  const auto n = static_cast<std::size_t>(hmm.states), v = static_cast<std::size_t>(hmm.alphabet);
  HmmParameters next(hmm.states, hmm.alphabet);
  std::vector<double> starts(n), steps(n * n), symbols(n * v);
  for (const auto& x : texts) {
    const Enumeration all(hmm, x);
    for (std::size_t t = 0; t < x.size(); ++t)
      for (std::size_t i = 0; i < n; ++i) {
        if (t == 0) starts[i] += all.posteriors[i];
        symbols[i * v + static_cast<std::size_t>(x[t])] += all.posteriors[t * n + i];
        // p(s_t = i, s_{t+1} = j | x): restricts step t of the chain to i -> j.
        for (std::size_t j = 0; j < n && t + 1 < x.size(); ++j) {
          double joint = 0;
          std::vector<std::size_t> path(x.size());
          std::function<void(std::size_t, double)> walk = [&](std::size_t k, double p) {
            if (k == x.size()) {
              joint += p;
              return;
            }
            for (std::size_t s = 0; s < n; ++s) {
              if ((k == t && s != i) || (k == t + 1 && s != j)) continue;
              path[k] = s;
              walk(k + 1, p * (k == 0 ? hmm.initial[s] : hmm.transitions[path[k - 1] * n + s]) *
                              hmm.emissions[s * v + static_cast<std::size_t>(x[k])]);
            }
          };
          walk(0, 1);
          steps[i * n + j] += joint / all.probability;
        }
      }
  }
  const auto scale = [](const std::vector<double>& from, std::size_t columns, std::vector<double>& to) {
    for (std::size_t begin = 0; begin < from.size(); begin += columns) {
      double total = 0;
      for (std::size_t i = begin; i < begin + columns; ++i) total += from[i];
      for (std::size_t i = begin; i < begin + columns; ++i) to[i] = from[i] / total;
    }
  };
  scale(starts, n, next.initial);
  scale(steps, n, next.transitions);
  scale(symbols, v, next.emissions);
  return next;
}

Corpus corpus_of(const std::vector<std::string>& texts, const Alphabet& alphabet) {
  std::vector<Input> inputs;
  for (std::size_t i = 0; i < texts.size(); ++i) inputs.push_back(Input::from_bytes(std::to_string(i), texts[i]));
  return Corpus::load(std::move(inputs), alphabet);
}

TEST(Hmm, one_iteration_over_several_sequences_equals_enumeration) {
  const Alphabet alphabet = Alphabet::chars_of("abc");
  const std::vector<std::string> texts = {"abcab", "a", "ccb"};
  const Corpus corpus = corpus_of(texts, alphabet);
  const HmmParameters before = HmmParameters::random(2, 3, 7, 0);
  std::vector<std::vector<Symbol>> symbols;
  for (const std::string& text : texts) symbols.push_back(alphabet.encode(text));
  const HmmParameters expected = enumerated_step(before, symbols);
  for (const int threads : {1, 2}) {
    Team team(threads);
    HmmParameters hmm = before;
    const double objective = reestimate(hmm, corpus, whole_corpus(corpus, "all"), 0, team);
    double likelihood = 0;
    for (const auto& x : symbols) likelihood += log_likelihood(before, x);
    EXPECT_NEAR(objective, likelihood, 1e-12);
    for (std::size_t i = 0; i < 2; ++i) EXPECT_NEAR(hmm.initial[i], expected.initial[i], 1e-12);
    for (std::size_t i = 0; i < 4; ++i) EXPECT_NEAR(hmm.transitions[i], expected.transitions[i], 1e-12);
    for (std::size_t i = 0; i < 6; ++i) EXPECT_NEAR(hmm.emissions[i], expected.emissions[i], 1e-12);
  }
}

TEST(Hmm, likelihood_never_decreases) {
  const std::vector<std::string> texts = {"abacabadabacabae", "ddddaaabbb", "abcabcabcabd", "e"};
  const Corpus corpus = corpus_of(texts, Alphabet::chars_of("abcde"));
  const Split part = whole_corpus(corpus, "all");
  Team team(1);
  for (const double add : {0.0, 0.3})
    for (Index number = 0; number < 10; ++number) {
      HmmParameters hmm = HmmParameters::random(4, 5, 2, number);
      double before = -std::numeric_limits<double>::infinity();
      for (int i = 0; i < 60; ++i) {
        const double now = reestimate(hmm, corpus, part, add, team);
        ASSERT_GE(now, before - 1e-9) << "start " << number << " iteration " << i << " add " << add;
        before = now;
      }
    }
}

void expect_numbers(const HmmParameters& hmm, const std::string& what) {
  for (const auto* values : {&hmm.initial, &hmm.transitions, &hmm.emissions})
    for (const double x : *values) ASSERT_TRUE(x >= 0 && x <= 1 + 1e-12) << what;
}

TEST(Hmm, random_initializations_stay_finite_in_degenerate_cases) {
  const Corpus corpus = corpus_of({"ababab", "bbbb", "aaab"}, Alphabet::chars_of("abz"));  // z never occurs
  const Split part = whole_corpus(corpus, "all");
  Team team(1);
  for (Index number = 0; number < 50; ++number) {
    const Index states = number % 3 == 0 ? 1 : number % 3 == 1 ? 3 : 12;  // with twelve, most are empty
    HmmParameters hmm = HmmParameters::random(states, 3, 11, number);
    if (number % 2 == 0)  // state 0 cannot emit b; a model with one state then makes b impossible
      hmm.emissions[0] = 1, hmm.emissions[1] = hmm.emissions[2] = 0;
    if (states > 1 && number % 5 == 0) {  // the last state is never entered: it is empty from the start
      hmm.initial.back() = 0;
      for (Index i = 0; i < states; ++i) hmm.transitions[static_cast<std::size_t>(i * states + states - 1)] = 0;
    }
    for (int i = 0; i < 30; ++i) {
      const double now = reestimate(hmm, corpus, part, 0, team);
      ASSERT_FALSE(std::isnan(now)) << number;
      expect_numbers(hmm, "start " + std::to_string(number));
    }
    ASSERT_FALSE(std::isnan(log_likelihood(hmm, std::vector<Symbol>{0, 2, 1, 2, 2, 0})));
    for (const double p : state_posteriors(hmm, std::vector<Symbol>{0, 2, 1, 2, 2, 0})) ASSERT_FALSE(std::isnan(p));
    EXPECT_EQ(most_probable_states(hmm, std::vector<Symbol>{0, 2, 1, 2, 2, 0}).size(), 6u);
  }
}

TEST(Hmm, one_state_model_equals_symbol_frequencies) {
  const auto hmm = fitted("hmm:1,add=0", "aaabbc");
  const auto frequency = fitted("frequency:add=1e-9", "aaabbc");
  for (Symbol x = 0; x < 3; ++x)
    EXPECT_NEAR(hmm->predictor()->log_probability(x), frequency->predictor()->log_probability(x), 1e-6);
}

TEST(Hmm, predictor_equals_the_likelihood) {
  const auto model = fitted("hmm:3", "the cat sat on the mat, the hat");
  const auto& hmm = dynamic_cast<HmmModel&>(*model).parameters();
  const auto x = model->alphabet().encode("that cat sat");
  const auto predictor = model->predictor();
  double total = 0;
  for (const Symbol s : x) {
    total += static_cast<double>(predictor->log_probability(s));
    predictor->observe(s);
  }
  EXPECT_NEAR(total, log_likelihood(hmm, x), 1e-4);
}

TEST(Hmm, three_state_machine_is_learned_to_its_entropy) {
  HmmParameters truth(3, 4);
  truth.transitions = {0.9, 0.1, 0, 0, 0.8, 0.2, 0.3, 0, 0.7};
  truth.emissions = {0.7, 0.3, 0, 0, 0, 0.1, 0.9, 0, 0.25, 0, 0.05, 0.7};
  Random random(1, "machine");
  const auto draw = [&](std::span<const double> p) {
    double u = random.uniform();
    std::size_t i = 0;
    while (i + 1 < p.size() && (u -= p[i]) >= 0) ++i;
    return i;
  };
  std::string text;
  for (std::size_t t = 0, state = 0; t < 100000; ++t) {
    text += "abcd"[draw(std::span(truth.emissions).subspan(state * 4, 4))];
    state = draw(std::span(truth.transitions).subspan(state * 3, 3));
  }
  const auto model = fitted("hmm:3,restarts=2,iterations=60", text);
  const auto x = model->alphabet().encode(text);
  const double entropy = -log_likelihood(truth, x) / 1e5;
  const double reached = -log_likelihood(dynamic_cast<HmmModel&>(*model).parameters(), x) / 1e5;
  EXPECT_LT(reached, 1.01 * entropy);
  EXPECT_GT(reached, 0.99 * entropy);
}

/// A text of a machine with hidden states.
struct HiddenText {
  HmmParameters truth;
  std::string text;

  HiddenText(Index states, Index alphabet, std::vector<double> transitions, std::vector<double> emissions, Index length)
      : truth(states, alphabet) {
    truth.transitions = std::move(transitions);
    truth.emissions = std::move(emissions);
    Random random(2, "hidden text");
    const auto draw = [&](std::span<const double> p) {
      double u = random.uniform();
      std::size_t i = 0;
      while (i + 1 < p.size() && (u -= p[i]) >= 0) ++i;
      return static_cast<Index>(i);
    };
    for (Index t = 0, state = 0; t < length; ++t) {
      text += static_cast<char>('a' + draw(std::span(truth.emissions).subspan(at(state * alphabet), at(alphabet))));
      state = draw(std::span(truth.transitions).subspan(at(state * states), at(states)));
    }
  }
};

/// A loaded die, a biased coin and regimes of several symbols: with a nearly uniform initialization, training stays on
/// a plateau.
TEST(Hmm, DefaultFitReachesTheTrueModelWithEverySeed) {
  const double sixth = 1.0 / 6;
  const HiddenText die(2, 6, {0.95, 0.05, 0.1, 0.9},
                       {sixth, sixth, sixth, sixth, sixth, sixth, 0.1, 0.1, 0.1, 0.1, 0.1, 0.5}, 5000);
  const HiddenText coin(2, 2, {0.98, 0.02, 0.05, 0.95}, {0.5, 0.5, 0.85, 0.15}, 5000);
  const HiddenText three(3, 4, {0.97, 0.02, 0.01, 0.01, 0.97, 0.02, 0.02, 0.01, 0.97},
                         {0.4, 0.4, 0.1, 0.1, 0.1, 0.1, 0.4, 0.4, 0.25, 0.25, 0.25, 0.25}, 5000);
  for (const HiddenText* each : {&die, &coin, &three})
    for (std::uint64_t seed = 1; seed <= 3; ++seed) {
      const Corpus corpus = Corpus::from_text(each->text, Alphabet::chars_of(each->text));
      HmmModel model(fmt::format("hmm:{}", each->truth.states), corpus.alphabet());
      Team team(1);
      model.fit({.corpus = corpus, .training = whole_corpus(corpus, "all")}, {.seed = seed}, team);
      const std::vector<Symbol> x = corpus.alphabet().encode(each->text);
      const double length = static_cast<double>(x.size());
      EXPECT_GT(log_likelihood(model.parameters(), x) / length, log_likelihood(each->truth, x) / length - 0.001)
          << each->truth.states << " states, seed " << seed;
    }
}

/// A linear gated network and its predictions of symbols.
struct LinearNetwork {
  explicit LinearNetwork(Index states, Index alphabet) {
    x = circuit.symbols("symbols", alphabet);
    logits = probabilities_to_logits(circuit.affine("output", alphabet, {{"V", linear_gnn(circuit, x, states)}}));
    circuit.output(logits);
    parameters = Parameters<double>(circuit);
  }

  /// Returns log p(next | previous symbols) of each symbol in order.
  std::vector<double> log_probabilities(const std::vector<Symbol>& text) const {
    Team team(1);
    Stepper<double> stepper(std::make_shared<const Plan>(circuit), parameters, team);
    std::vector<double> result;
    Symbol last = kNoSymbol;
    for (const Symbol next : text) {
      stepper.symbols(x)[0] = last;
      stepper.step();
      const double* o = stepper.value(logits).row(0);
      double total = 0;
      for (Index k = 0; k < logits.size(); ++k) total += std::exp(o[k]);
      result.push_back(o[next] - std::log(total));
      last = next;
    }
    return result;
  }
  double log_probability(const std::vector<Symbol>& text) const {
    double all = 0;
    for (const double p : log_probabilities(text)) all += p;
    return all;
  }
  Matrix<double> block(std::string_view end) {
    for (const ParameterInfo& p : circuit.parameters())
      if (p.name.ends_with(end)) return parameters.at(p.name);
    throw UsageError("no such block");
  }

  Circuit circuit;
  Signal x, logits;
  Parameters<double> parameters;
};

void expect_same(const HmmParameters& a, const HmmParameters& b, double bound) {
  const auto compare = [&](const std::vector<double>& x, const std::vector<double>& y) {
    ASSERT_EQ(x.size(), y.size());
    for (std::size_t i = 0; i < x.size(); ++i) EXPECT_NEAR(x[i], y[i], bound);
  };
  compare(a.initial, b.initial);
  compare(a.transitions, b.transitions);
  compare(a.emissions, b.emissions);
}

TEST(Hmm, hmm_converts_to_a_linear_gated_network_and_back) {
  const HmmParameters hmm = HmmParameters::random(3, 5, 9, 0);
  LinearNetwork network(3, 5);
  set_hmm(hmm, network.parameters);
  const std::vector<Symbol> text = random_symbols(5000, 5, 2);  // e^-8000: carried values must not underflow
  const double expected = log_likelihood(hmm, text);
  EXPECT_NEAR(network.log_probability(text), expected, 1e-10 * std::abs(expected));
  const std::vector<double> each = network.log_probabilities({text.begin(), text.begin() + 12});
  for (std::size_t t = 1; t <= each.size(); ++t) {
    const std::vector<Symbol> read(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(t));
    EXPECT_NEAR(each[t - 1], log_likelihood(hmm, read) - log_likelihood(hmm, {read.data(), t - 1}), 1e-12);
  }
  expect_same(hmm_of(network.parameters), hmm, 1e-14);
}

/// Scaling a unit's activation by d and its weights by 1/d gives the same state. Scaling all weights after some symbol,
/// or the output, by a constant also gives the same model.
TEST(Hmm, hmm_is_recovered_from_a_network_with_scaled_units) {
  const HmmParameters hmm = HmmParameters::random(3, 4, 5, 0);
  LinearNetwork network(3, 4);
  set_hmm(hmm, network.parameters);
  const std::vector<Symbol> text = random_symbols(300, 4, 3);
  const double before = network.log_probability(text);
  const double d[] = {0.2, 1.7, 5};
  double total = 0;
  for (int j = 0; j < 3; ++j) total += hmm.initial[at(j)] * d[j];
  for (Index j = 0; j < 3; ++j) {
    network.block("/start")(0, j) = hmm.initial[at(j)] * d[j] / total - 1.0 / 3;
    for (Index x = 0; x < 4; ++x) {
      network.block("output/V")(j, x) *= 3 / d[j];
      for (Index i = 0; i < 3; ++i) network.block("/tau")(x, i * 3 + j) *= (2.0 + static_cast<double>(x)) * d[i] / d[j];
    }
  }
  EXPECT_NEAR(network.log_probability(text), before, 1e-10 * std::abs(before));
  expect_same(hmm_of(network.parameters), hmm, 1e-12);
  for (Index x = 0; x < 4; ++x) {  // a contribution shared by all units may move to the bias
    network.block("output/bias")(0, x) = 0.01;
    for (Index j = 0; j < 3; ++j) network.block("output/V")(j, x) -= 0.01;
  }
  EXPECT_NEAR(network.log_probability(text), before, 1e-10 * std::abs(before));
  expect_same(hmm_of(network.parameters), hmm, 1e-12);
}

std::string why_not(const Parameters<double>& network) {
  try {
    hmm_of(network);
  } catch (const ModelError& error) {
    return error.what();
  }
  return "it is one";
}

TEST(Hmm, non_hmm_network_is_rejected_with_the_reason) {
  const HmmParameters hmm = HmmParameters::random(3, 4, 5, 0);
  LinearNetwork network(3, 4);
  set_hmm(hmm, network.parameters);
  EXPECT_EQ(why_not(network.parameters), "it is one");
  const auto with = [&](const char* block, Index row, Index column, double value) {
    set_hmm(hmm, network.parameters);
    network.block(block)(row, column) = value;
    return why_not(network.parameters);
  };
  EXPECT_NE(with("/tau", 2, 5, 0.7).find("after symbol"), std::string::npos);
  EXPECT_NE(with("/tau", 2, 5, -0.1).find("from unit 3 to unit 2 after symbol 2 is -0.1, below 0"), std::string::npos);
  EXPECT_NE(with("output/V", 1, 0, -0.2).find("unit 2 to the output is -0.2"), std::string::npos);
  EXPECT_NE(with("/start", 0, 1, -0.6).find("before the first symbol"), std::string::npos);
  HmmParameters silent = hmm;
  silent.emissions[5] = 0;
  EXPECT_THROW(set_hmm(silent, network.parameters), UsageError);
  LinearNetwork other(2, 4);
  EXPECT_THROW(set_hmm(hmm, other.parameters), UsageError);
}

}  // namespace
}  // namespace unfold
