#include "unfold/train/objective/latent_trees.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <utility>

#include "unfold/base/error.h"
#include "unfold/numerics/random.h"

namespace unfold {
namespace {

constexpr Index kDraws = 2;  ///< number of trees sampled per sentence in a step

template <class T>
void clear(const Matrix<T>& m) {
  for (Index r = 0; r < m.rows; ++r) std::fill_n(m.row(r), m.cols, T{0});
}

/// Copies the rows of one batch to their positions in another.
template <class Rows, class Copy>
void move_rows(const Batch& from, const Batch& to, Rows& rows, const Copy& copy) {
  const Structure &before = from.structure, &after = to.structure;
  for (Index t = 0; t < after.sequences(); ++t)
    for (Index p = 0; p < after.size(t); ++p) copy(before.row(t % before.sequences(), p), rows, after.row(t, p));
}

Field moved(const Batch& from, const Batch& to, const SymbolRows& field) {
  SymbolRows result;
  result.clear(to.structure.positions());
  move_rows(from, to, result,
            [&](Index row, SymbolRows& rows, Index other) { rows.symbols[at(other)] = field.symbols[at(row)]; });
  return result;
}

Field moved(const Batch& from, const Batch& to, const ValueRows& field) {
  ValueRows result;
  result.clear(to.structure.positions(), field.cols());
  move_rows(from, to, result, [&](Index row, ValueRows& rows, Index other) {
    if (!field.present(row)) return;
    const Matrix<const float> values = field.template values<float>(row, 1);
    for (Index i = 0; i < field.cols(); ++i) rows.set(other, i, values(0, i));
  });
  return result;
}

}  // namespace

Batch with_trees(const Batch& batch, std::span<const Tree> trees) {
  const auto count = static_cast<Index>(trees.size()), sentences = batch.structure.sequences();
  Batch result;
  result.structure = Structure::trees(trees);
  for (const auto& [name, field] : batch.fields)
    result.fields[name] = std::visit([&](const auto& rows) { return moved(batch, result, rows); }, field);
  for (Index t = 0; t < count; ++t) {
    result.passages.push_back(batch.passages.empty() ? t % sentences : batch.passages[at(t % sentences)]);
    result.places.push_back(batch.places.empty() ? 0 : batch.places[at(t % sentences)]);
  }
  result.reset_all_chains();
  result.whole = true;
  result.predicted = batch.predicted * (count / sentences);
  result.symbols = result.structure.positions();
  return result;
}

/// A partially built tree of a sentence.
template <class T>
struct LatentTreeParser<T>::Growing {
  Index number;
  MergeScores<T> scores;
  std::vector<Index> rows = {};  ///< row in kept_ of each node
  Tree tree = {};
};

template <class T>
LatentTreeParser<T>::LatentTreeParser(const Network<T>& network, Team& team)
    : open_(open_tree_circuit(network)),
      step_(open_network(network, *open_)),
      unfolding_(step_.plan, team),
      parameters_(open_->circuit),
      merge_width_(step_.merges.size()) {
  width_ = merge_width_;
  for (const ChildLink& link : open_->children) width_ += link.after.size();
}

template <class T>
void LatentTreeParser<T>::set_parameters(const Parameters<T>& parameters) {
  std::ranges::copy(parameters.flat(), parameters_.flat().begin());
  unfolding_.set_parameters(parameters_);
}

/// In any tree, the rows of the first step are the words.
template <class T>
void LatentTreeParser<T>::read_words(const Batch& batch) {
  const Index words = batch.structure.order().step(0).size();
  unfolding_.lay(Structure::chains(words, 1));
  upload_inputs(batch, 0, words, step_, unfolding_);
  for (const ChildLink& link : open_->children)
    if (step_.plan->live(link.before.id)) clear(unfolding_.input(link.before));
  unfolding_.forward();
  rows_ = 0;
  keep_rows(words);
}

/// Computes new nodes, which read only their children, one row per node.
template <class T>
void LatentTreeParser<T>::give_children(const std::vector<Growing*>& growing, const std::vector<Index>& pairs) {
  unfolding_.lay(Structure::chains(static_cast<Index>(growing.size()), 1));
  for (const NetworkInput& input : step_.inputs) {
    if (!step_.plan->live(input.signal.id)) continue;
    if (open_->circuit.is_symbols(input.signal))
      std::ranges::fill(unfolding_.symbols(input.signal), kNoSymbol);
    else
      clear(unfolding_.input(input.signal));
  }
  Index offset = 0;
  for (const ChildLink& link : open_->children) {
    const Index size = link.after.size();
    const Matrix<T> below = step_.plan->live(link.before.id) ? unfolding_.input(link.before) : Matrix<T>{};
    clear(below);
    for (std::size_t g = 0; g < at(below.rows); ++g) {
      T* const to = below.row(static_cast<Index>(g));
      for (Index k = 0; k < 2; ++k) {
        const Index node = growing[g]->scores.open()[at(pairs[g] + k)];
        const T* const from = kept(growing[g]->rows[at(node)]) + offset;
        if (link.delay.along == Delay::Along::each_child && k < link.delay.steps)
          std::copy_n(from, size, to + k * size);
        else if (link.delay == Delay::child(k))
          std::copy_n(from, size, to);
      }
    }
    offset += size;
  }
}

template <class T>
void LatentTreeParser<T>::keep_rows(Index rows) {
  Index offset = 0;
  const auto keep = [&](Signal signal) {
    const Matrix<const T> values = unfolding_.value(signal);
    for (Index r = 0; r < rows; ++r)
      std::copy_n(values.row(r), signal.size(), kept_.data() + (rows_ + r) * width_ + offset);
    offset += signal.size();
  };
  for (const ChildLink& link : open_->children) keep(link.after);
  keep(step_.merges);
  rows_ += rows;
}

template <class T>
std::vector<Tree> LatentTreeParser<T>::find(const Batch& batch, Index copies, const Choice& choose) {
  const Structure& structure = batch.structure;
  const Index sentences = structure.sequences(), words = structure.order().step(0).size();
  // Allocated in advance so that pointers to rows stay valid.
  kept_.resize(at((words + copies * (structure.positions() - words)) * width_));
  read_words(batch);
  std::vector<Growing> all;
  all.reserve(at(copies * sentences));
  std::vector<const T*> signals;
  std::vector<Growing*> growing;
  for (Index t = 0; t < copies * sentences; ++t) {
    const Index s = t % sentences, own = (structure.size(s) + 1) / 2;
    Growing& one = all.emplace_back(Growing{.number = t, .scores = MergeScores<T>(merge_width_ / 2)});
    signals.clear();
    for (Index v = 0; v < own; ++v) {
      one.rows.push_back(structure.row(s, v));
      signals.push_back(merges(one.rows.back()));
    }
    one.scores.start(signals);
    one.tree.children.resize(at(structure.size(s)));
  }
  std::vector<Index> pairs;
  for (;;) {
    growing.clear();
    pairs.clear();
    for (Growing& one : all) {
      if (one.scores.open().size() < 2) continue;
      growing.push_back(&one);
      pairs.push_back(choose(one.number, one.scores.log_probabilities()));
    }
    if (growing.empty()) break;
    give_children(growing, pairs);
    unfolding_.forward();
    const Index first = rows_;
    keep_rows(static_cast<Index>(growing.size()));
    for (std::size_t g = 0; g < growing.size(); ++g) {
      Growing& one = *growing[g];
      const std::span<const Index> open = one.scores.open();
      const Index row = first + static_cast<Index>(g), k = pairs[g];
      one.tree.children[one.rows.size()] = {open[at(k)], open[at(k + 1)]};
      one.rows.push_back(row);
      one.scores.merge(k, merges(row));
    }
  }
  std::vector<Tree> trees;
  trees.reserve(all.size());
  for (Growing& one : all) trees.push_back(std::move(one.tree));
  return trees;
}

template <class T>
void LatentTreeParser<T>::find_best(Batch& batch) {
  const auto best = [](Index, std::span<const T> log_p) { return std::ranges::max_element(log_p) - log_p.begin(); };
  batch = with_trees(batch, find(batch, 1, best));
}

template <class T>
std::vector<Index> found_parents(const Network<T>& network, const Parameters<T>& parameters, BatchReader& reader,
                                 Team& team) {
  LatentTreeParser<T> finder(network, team);
  finder.set_parameters(parameters);
  std::vector<Index> result;
  for (Batch batch; reader.next(batch);) {
    finder.find_best(batch);
    const Structure& structure = batch.structure;
    for (Index s = 0; s < structure.sequences(); ++s) {
      const std::size_t first = result.size();
      result.resize(first + at(structure.size(s)), -1);
      for (Index p = 0; p < structure.size(s); ++p)
        for (const Index child : structure.child_rows(structure.row(s, p)))
          result[first + at(structure.order().items[at(child)] - structure.item(s, 0))] = p;
    }
  }
  return result;
}

namespace {

template <class T>
class TreeChooser final : public BatchChooser<T> {
 public:
  TreeChooser(const Network<T>& network, std::uint64_t seed, Team& team)
      : network_(network), seed_(seed), finder_(network, team), pass_(network, team), state_(*network.plan, 1) {}

  std::string_view name() const override { return "--trees found"; }
  bool weighs_whole_sequences() const override { return true; }

  void choose(const Batch& batch, const Parameters<T>& parameters, std::uint64_t draw,
              WeightedSequences& out) override {
    set_parameters(parameters);
    std::vector<Random> draws = draws_of(batch, draw);
    const auto trees = finder_.find(
        batch, kDraws, [&](Index t, std::span<const T> log_p) { return sample_symbol<T>(log_p, draws[at(t)]); });
    out.batch = with_trees(batch, trees);
    const std::vector<double> losses = losses_of(out.batch);
    out.value = std::accumulate(losses.begin(), losses.end(), 0.0) / static_cast<double>(kDraws);
    out.weights.assign(at(out.batch.structure.positions()), 1 / static_cast<double>(kDraws));
    weigh_merges(losses, batch.structure.sequences(), out.batch);
  }

  double value(const Batch& batch, const Parameters<T>& parameters, std::uint64_t /*draw*/,
               WeightedSequences& scratch) override {
    set_parameters(parameters);
    scratch.batch = batch;
    finder_.find_best(scratch.batch);
    const std::vector<double> losses = losses_of(scratch.batch);
    return std::accumulate(losses.begin(), losses.end(), 0.0);
  }

 private:
  void set_parameters(const Parameters<T>& parameters) {
    finder_.set_parameters(parameters);
    pass_.set_parameters(parameters);
  }

  std::vector<Random> draws_of(const Batch& batch, std::uint64_t draw) const {
    const Index sentences = batch.structure.sequences();
    std::vector<Random> result;
    result.reserve(at(kDraws * sentences));
    for (Index t = 0; t < kDraws * sentences; ++t) {
      const Index passage = batch.passages.empty() ? t % sentences : batch.passages[at(t % sentences)];
      result.emplace_back(seed_, stream_of(fmt::format("trees/{}/{}/{}", draw, passage, t / sentences)));
    }
    return result;
  }

  /// Returns the nats of each tree.
  std::vector<double> losses_of(const Batch& batch) {
    enter_batch(batch, *network_.plan, state_);
    pass_.forward(batch, state_);
    const std::span<const T> nats = pass_.nats();
    std::vector<double> losses(at(batch.structure.sequences()));
    for (std::size_t t = 0; t < losses.size(); ++t)
      for (Index p = 0; p < batch.structure.size(static_cast<Index>(t)); ++p)
        losses[t] += static_cast<double>(nats[at(batch.structure.row(static_cast<Index>(t), p))]);
    return losses;
  }

  /// Sets the weights to the difference between the mean loss of the other trees of the sentence and the loss of the
  /// tree.
  static void weigh_merges(const std::vector<double>& losses, Index sentences, Batch& batch) {
    const Structure& structure = batch.structure;
    ValueRows weights;
    weights.clear(structure.positions(), 1);
    for (Index t = 0; t < structure.sequences(); ++t) {
      double all = 0;
      for (Index c = 0; c < kDraws; ++c) all += losses[at(c * sentences + t % sentences)];
      const double own = losses[at(t)], others = (all - own) / static_cast<double>(kDraws - 1);
      for (Index p = (structure.size(t) + 1) / 2; p < structure.size(t); ++p)
        weights.set(structure.row(t, p), 0, static_cast<float>(others - own));
    }
    batch.fields[kMergeField] = std::move(weights);
  }

  const Network<T>& network_;
  std::uint64_t seed_;
  LatentTreeParser<T> finder_;
  BatchPass<T> pass_;
  State<T> state_;
};

}  // namespace

template <class T>
std::unique_ptr<BatchChooser<T>> tree_chooser(const Network<T>& network, std::uint64_t seed, Team& team) {
  return std::make_unique<TreeChooser<T>>(network, seed, team);
}

template class LatentTreeParser<float>;
template class LatentTreeParser<double>;
template std::vector<Index> found_parents(const Network<float>&, const Parameters<float>&, BatchReader&, Team&);
template std::vector<Index> found_parents(const Network<double>&, const Parameters<double>&, BatchReader&, Team&);
template std::unique_ptr<BatchChooser<float>> tree_chooser(const Network<float>&, std::uint64_t, Team&);
template std::unique_ptr<BatchChooser<double>> tree_chooser(const Network<double>&, std::uint64_t, Team&);

}  // namespace unfold
