/// Latent trees: probabilities of merges, their expected loss and its gradient, compared with enumerating all trees.

#include "unfold/train/objective/latent_trees.h"

#include <gtest/gtest.h>

#include <cmath>
#include <numeric>

#include "unfold/base/error.h"
#include "unfold/gradcheck/derivative_check.h"
#include "unfold/graph/cells/cells.h"
#include "unfold/numerics/random.h"
#include "unfold/numerics/vector.h"

namespace unfold {
namespace {

constexpr Index kFoundWords = 5, kFoundLabels = 3, kFoundUnits = 3, kMergeHalf = 2;

/// Enumerates all ways to merge the `open` nodes; `next` is the next node number.
void add_merges(std::vector<Index> open, Index next, const Tree& tree, std::vector<Tree>& all) {
  if (open.size() == 1) return all.push_back(tree);
  for (std::size_t k = 0; k + 1 < open.size(); ++k) {
    Tree more = tree;
    more.children[at(next)] = {open[k], open[k + 1]};
    std::vector<Index> left = open;
    left[k] = next;
    left.erase(left.begin() + static_cast<Index>(k) + 1);
    add_merges(left, next + 1, more, all);
  }
}

std::vector<Tree> all_merges(Index words) {
  std::vector<Index> open(at(words));
  std::iota(open.begin(), open.end(), Index{0});
  std::vector<Tree> all;
  add_merges(open, words, Tree{std::vector<std::vector<Index>>(at(2 * words - 1))}, all);
  return all;
}

/// A network over trees that reads words and labels roots; `trained`: with a head for its merges.
template <class T>
struct FindingNet {
  explicit FindingNet(bool trained, bool lstm = false, std::uint64_t seed = 7) {
    const Signal word = circuit.symbols("word", kFoundWords);
    const Signal h = lstm ? tree_lstm(circuit, word, kFoundUnits, {}) : recursive(circuit, word, kFoundUnits, {});
    const Signal label = circuit.affine("label", kFoundLabels, {{"V", h}});
    circuit.output(label);
    network.inputs.push_back({"word", word});
    network.heads.push_back({"label", label, softmax_loss<T>(), 1});
    network.merges = circuit.affine("merges", 2 * kMergeHalf, {{"M", h}});
    if (trained) {
      circuit.output(network.merges);
      network.heads.push_back({kMergeField, network.merges, merge_loss<T>(), 1});
    }
    network.plan = std::make_shared<const Plan>(circuit);
    network.validate();
    parameters = Parameters<T>(circuit);
    Random random(seed, "finding net");
    for (T& p : parameters.flat()) p = static_cast<T>(random.uniform(-1.2, 1.2));
  }

  Circuit circuit;
  Network<T> network;
  Parameters<T> parameters;
};

/// Returns labeled sentences of these lengths, over trees that are not used.
Batch labeled_sentences(const std::vector<Index>& lengths, std::uint64_t seed) {
  std::vector<Tree> trees;
  trees.reserve(lengths.size());
  for (const Index n : lengths) trees.push_back(all_merges(n).front());
  Batch batch;
  batch.structure = Structure::trees(trees);
  SymbolRows& words = batch.symbol_field("word");
  SymbolRows& labels = batch.symbol_field("label");
  words.clear(batch.structure.positions());
  labels.clear(batch.structure.positions());
  for (Index s = 0; s < batch.structure.sequences(); ++s) {
    Random random(seed, stream_of("sentences") + at(lengths[at(s)]));
    for (Index p = 0; p < lengths[at(s)]; ++p)
      words.symbols[at(batch.structure.row(s, p))] = static_cast<Symbol>(random.below(kFoundWords));
    labels.symbols[at(batch.structure.row(s, batch.structure.size(s) - 1))] =
        static_cast<Symbol>(random.below(kFoundLabels));
    batch.passages.push_back(lengths[at(s)]);  // so that the draws for a sentence are the same in every batch
    batch.places.push_back(0);
  }
  batch.reset_all_chains();
  batch.predicted = batch.structure.sequences();
  return batch;
}

void weigh(Batch& batch, float weight) {
  ValueRows weights;
  weights.clear(batch.structure.positions(), 1);
  for (Index s = 0; s < batch.structure.sequences(); ++s)
    for (Index p = (batch.structure.size(s) + 1) / 2; p < batch.structure.size(s); ++p)
      weights.set(batch.structure.row(s, p), 0, weight);
  batch.fields[kMergeField] = std::move(weights);
}

/// The loss of one tree, and -log p of its merges.
struct TreeCost {
  double loss = 0, merges = 0;
};

TreeCost cost_of(const FindingNet<double>& net, const Batch& batch, const Tree& tree, Team& team) {
  Batch with = with_trees(batch, std::span(&tree, 1));
  weigh(with, 1);
  BatchPass<double> pass(net.network, team);
  pass.set_parameters(net.parameters);
  State<double> state(*net.network.plan, 1);
  enter_batch(with, *net.network.plan, state);
  pass.forward(with, state);
  TreeCost cost;
  std::vector<double> nats(at(with.structure.positions()));
  for (std::size_t h = 0; h < 2; ++h) {
    const Head<double>& head = net.network.heads[h];
    head.loss->negative_log_likelihood(pass.observed(with, head), team, nats.data());
    (h == 0 ? cost.loss : cost.merges) = std::accumulate(nats.begin(), nats.end(), 0.0);
  }
  return cost;
}

double expected_loss(const FindingNet<double>& net, const Batch& batch, Team& team) {
  double total = 0;
  for (const Tree& tree : all_merges((batch.structure.size(0) + 1) / 2)) {
    const TreeCost cost = cost_of(net, batch, tree, team);
    total += std::exp(-cost.merges) * cost.loss;
  }
  return total;
}

TEST(Merges, merge_probabilities_sum_to_one_over_all_trees) {
  Team team(1);
  const FindingNet<double> net(true);
  for (const Index words : {1, 2, 3, 4, 5}) {
    const Batch batch = labeled_sentences({words}, 1);
    const std::vector<Tree> all = all_merges(words);
    double total = 0, least = 1;
    for (const Tree& tree : all) {
      const double p = std::exp(-cost_of(net, batch, tree, team).merges);
      total += p;
      least = std::min(least, p);
    }
    EXPECT_NEAR(total, 1, 1e-12) << words;
    if (words > 2) {
      EXPECT_LT(least, 0.9 / static_cast<double>(all.size())) << "all are alike: nothing was tested";
    }
  }
}

TEST(Merges, merges_have_correct_derivatives) {
  for (std::uint64_t seed = 1; seed <= 3; ++seed) {
    Circuit c;
    const Signal h = recursive(c, c.symbols("x", kFoundWords), kFoundUnits, {});
    c.output(c.affine("merges", 2 * kMergeHalf, {{"M", h}}));
    const std::vector<Tree> four = all_merges(4), six = all_merges(6), one = all_merges(1);
    const Tree trees[] = {four[seed], six[10 * seed], one[0], six[7 * seed + 3]};
    const CheckReport report = check_derivatives(c, *merge_loss<double>(), Structure::trees(trees), {.seed = seed});
    EXPECT_TRUE(report.passed()) << report.text();
  }
}

TEST(Merges, merges_of_non_neighbors_are_rejected) {
  Team team(1);
  const Tree trees[] = {{{{}, {}, {}, {0, 2}, {1, 3}}}};
  const Structure structure = Structure::trees(trees);
  const std::vector<double> signal(at(5 * 2 * kMergeHalf), 0.5), weights(5, 1.0);
  std::vector<double> nats(5);
  const Observed<double> seen{.structure = structure,
                              .signal = {signal.data(), 5, 2 * kMergeHalf, 2 * kMergeHalf},
                              .targets = {nullptr, {weights.data(), 5, 1, 1}, nullptr},
                              .parameters = {}};
  EXPECT_THROW(merge_loss<double>()->negative_log_likelihood(seen, team, nats.data()), UsageError);
}

TEST(LatentTreeParser, cell_that_sums_children_is_rejected) {
  Team team(1);
  Circuit circuit;
  const Signal word = circuit.symbols("word", kFoundWords);
  const Signal h = child_sum_lstm(circuit, word, kFoundUnits, {});
  Network<float> network = Network<float>::of(nullptr, {"word", word}, {"label", h, gaussian_loss<float>(), 1});
  circuit.output(h);
  network.merges = circuit.affine("merges", 2 * kMergeHalf, {{"M", h}});
  network.plan = std::make_shared<const Plan>(circuit);
  EXPECT_THROW(LatentTreeParser<float>(network, team), UsageError);
}

/// Selects each pair in turn.
Index turn(Index tree, std::size_t pairs) { return (7 * tree + 3) % static_cast<Index>(pairs); }

TEST(LatentTreeParser, finder_reports_the_probabilities_used_by_the_loss) {
  Team team(1);
  for (const bool lstm : {false, true}) {
    const FindingNet<double> net(true, lstm);
    const Batch batch = labeled_sentences({5}, 2);
    LatentTreeParser<double> finder(net.network, team);
    finder.set_parameters(net.parameters);
    std::vector<double> log_p(3);
    const std::vector<Tree> trees = finder.find(batch, 3, [&](Index t, std::span<const double> of) {
      const Index k = turn(t, of.size());
      log_p[at(t)] += of[at(k)];
      return k;
    });
    ASSERT_EQ(trees.size(), 3U);
    for (std::size_t t = 0; t < 3; ++t) EXPECT_NEAR(cost_of(net, batch, trees[t], team).merges, -log_p[t], 1e-12);
  }
}

TEST(LatentTreeParser, tree_finder_bits_do_not_depend_on_batch_or_threads) {
  const FindingNet<float> net(false, true);
  const std::vector<Index> lengths = {6, 1, 9, 2, 4};
  const auto found = [&](const Batch& batch, int threads) {
    Team team(threads);
    LatentTreeParser<float> finder(net.network, team);
    finder.set_parameters(net.parameters);
    std::vector<std::vector<float>> all(at(batch.structure.sequences()));
    finder.find(batch, 1, [&](Index t, std::span<const float> log_p) {
      all[at(t)].insert(all[at(t)].end(), log_p.begin(), log_p.end());
      return batch.passages[at(t)] % static_cast<Index>(log_p.size());
    });
    return all;
  };
  const auto together = found(labeled_sentences(lengths, 3), 1);
  EXPECT_EQ(found(labeled_sentences(lengths, 3), 2), together);
  EXPECT_EQ(found(labeled_sentences(lengths, 3), 3), together);
  for (std::size_t s = 0; s < lengths.size(); ++s)
    EXPECT_EQ(found(labeled_sentences({lengths[s]}, 3), 1).front(), together[s]) << lengths[s];
}

TEST(LatentTreeParser, most_probable_pair_is_merged_and_fields_are_kept) {
  Team team(1);
  const FindingNet<double> net(true);
  const Batch given = labeled_sentences({4, 6}, 4);
  Batch batch = given;
  LatentTreeParser<double> finder(net.network, team);
  finder.set_parameters(net.parameters);
  finder.find_best(batch);
  const auto& before = std::get<SymbolRows>(given.field("word"));
  const auto& after = std::get<SymbolRows>(batch.field("word"));
  for (Index s = 0; s < 2; ++s)
    for (Index p = 0; p < given.structure.size(s); ++p) {
      EXPECT_EQ(before.symbols[at(given.structure.row(s, p))], after.symbols[at(batch.structure.row(s, p))]);
      EXPECT_EQ(is_present(batch.field("label"), batch.structure.row(s, p)), p + 1 == given.structure.size(s));
    }
  // The first merge of four words is the best of three.
  const Batch four = labeled_sentences({4}, 4);
  double best = 0;
  std::vector<Index> pair;
  for (Index first = 0; first < 3; ++first) {
    double p = 0;
    for (const Tree& tree : all_merges(4))
      if (tree.children[4] == std::vector<Index>{first, first + 1})
        p += std::exp(-cost_of(net, four, tree, team).merges);
    if (p > best) best = p, pair = {first, first + 1};
  }
  const std::span<const Index> children = batch.structure.child_rows(batch.structure.row(0, 4));
  EXPECT_EQ(std::vector<Index>(children.begin(), children.end()),
            (std::vector<Index>{batch.structure.row(0, pair[0]), batch.structure.row(0, pair[1])}));
}

/// Returns d expected loss / d parameters, tree by tree.
std::vector<double> exact_gradient(const FindingNet<double>& net, const Batch& batch, Team& team) {
  const std::size_t n = net.parameters.flat().size();
  std::vector<double> total(n), one(n);
  const double baseline = expected_loss(net, batch, team);
  for (const Tree& tree : all_merges((batch.structure.size(0) + 1) / 2)) {
    const TreeCost cost = cost_of(net, batch, tree, team);
    Batch with = with_trees(batch, std::span(&tree, 1));
    weigh(with, static_cast<float>(baseline - cost.loss));
    BatchPass<double> pass(net.network, team);
    pass.set_parameters(net.parameters);
    State<double> state(*net.network.plan, 1);
    enter_batch(with, *net.network.plan, state);
    pass.gradient(with, state, std::exp(-cost.merges), one);
    for (std::size_t i = 0; i < n; ++i) total[i] += one[i];
  }
  return total;
}

TEST(DrawnTrees, mean_gradient_of_sampled_trees_is_that_of_the_expected_loss) {
  Team team(1);
  FindingNet<double> net(true);
  const FindingNet<double> kept(false);
  const Batch batch = labeled_sentences({4}, 5);
  const std::vector<double> exact = exact_gradient(net, batch, team);
  const std::size_t n = exact.size();

  constexpr double kStep = 1e-5;
  double largest = 0;
  for (std::size_t i = 0; i < n; ++i) {
    double& p = net.parameters.flat()[i];
    const double there = p;
    p = there + kStep;
    const double up = expected_loss(net, batch, team);
    p = there - kStep;
    const double down = expected_loss(net, batch, team);
    p = there;
    EXPECT_NEAR(exact[i], (up - down) / (2 * kStep), 1e-6) << i;  // weights are floats
    largest = std::max(largest, std::fabs(exact[i]));
  }
  EXPECT_GT(largest, 0.05);

  constexpr int kDraws = 6000;
  const auto chooser = tree_chooser(kept.network, 3, team);
  SequenceObjectivePass<double> pass(net.network, *chooser, team);
  std::vector<double> sum(n), squares(n), one(n);
  double loss = 0;
  for (int draw = 0; draw < kDraws; ++draw) {
    loss += pass.gradient(batch, net.parameters, static_cast<std::uint64_t>(draw), std::nullopt, 1, one, false);
    for (std::size_t i = 0; i < n; ++i) sum[i] += one[i], squares[i] += one[i] * one[i];
  }
  EXPECT_NEAR(loss / kDraws, expected_loss(net, batch, team), 0.02);
  for (std::size_t i = 0; i < n; ++i) {
    const double mean = sum[i] / kDraws, error = std::sqrt(std::max(0.0, squares[i] / kDraws - mean * mean) / kDraws);
    EXPECT_NEAR(mean, exact[i], 5 * error + 1e-9) << i;
  }
}

TEST(DrawnTrees, sampled_trees_depend_only_on_sentence_parameters_seed_and_step) {
  const FindingNet<double> kept(false);
  const FindingNet<double> net(true);
  const auto gradient = [&](const std::vector<Index>& lengths, int threads, std::uint64_t draw) {
    Team team(threads);
    const auto chooser = tree_chooser(kept.network, 1, team);
    SequenceObjectivePass<double> pass(net.network, *chooser, team);
    std::vector<double> result(net.parameters.flat().size());
    result.push_back(
        pass.gradient(labeled_sentences(lengths, 6), net.parameters, draw, std::nullopt, 1, std::span(result), false));
    return result;
  };
  const std::vector<double> both = gradient({5, 7}, 1, 4), first = gradient({5}, 1, 4), second = gradient({7}, 1, 4);
  EXPECT_EQ(gradient({5, 7}, 1, 4), both);
  EXPECT_EQ(gradient({5, 7}, 2, 4), both);
  EXPECT_NE(gradient({5, 7}, 1, 5), both);
  for (std::size_t i = 0; i < both.size(); ++i) EXPECT_NEAR(first[i] + second[i], both[i], 1e-12);
}

TEST(DrawnTrees, evaluation_uses_the_best_tree) {
  Team team(1);
  const FindingNet<double> kept(false);
  const FindingNet<double> net(true);
  const Batch batch = labeled_sentences({5}, 8);
  const auto chooser = tree_chooser(kept.network, 1, team);
  SequenceObjectivePass<double> pass(net.network, *chooser, team);
  Batch best = batch;
  LatentTreeParser<double> finder(kept.network, team);
  finder.set_parameters(kept.parameters);
  finder.find_best(best);
  Tree tree{std::vector<std::vector<Index>>(9)};
  for (Index p = 5; p < 9; ++p)
    for (const Index child : best.structure.child_rows(best.structure.row(0, p)))
      tree.children[at(p)].push_back(best.structure.order().items[at(child)]);
  EXPECT_DOUBLE_EQ(pass.value(batch, net.parameters, 9), cost_of(net, batch, tree, team).loss);
}

}  // namespace
}  // namespace unfold
