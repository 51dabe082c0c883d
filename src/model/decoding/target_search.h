#pragma once
/// Internal: search-based training for one sequence whose next symbol depends on all previous symbols (objective.h).
///
/// The search is given log p of the next symbols and selects the prefixes to keep. When it is done, it returns the
/// selected sequences and, for each of their positions, the weight of -log p in the loss. The gradient is thus the
/// gradient of a weighted sum of log probabilities, for any model that computes them:
///
///   TargetSearch search(objective, truth, end, longest, random);
///   while (!search.done()) search.step(log p of each of search.open());
///   search.value(), search.chosen()

#include <span>
#include <vector>

#include "unfold/base/types.h"
#include "unfold/numerics/random.h"

namespace unfold {

struct SequenceObjective {
  enum class Kind { perceptron, margin, risk, beam_search };
  Kind kind = Kind::perceptron;
  Index beam = 8;     ///< beam width
  double cost = 1;    ///< cost of an edit, for margin
  Index samples = 0;  ///< for risk: number of samples drawn instead of a search; 0: search

  /// Returns the maximum number of prefixes that are open at the same time.
  Index width() const { return (samples > 0 ? samples : beam) + 1; }
};

struct ChosenSequence {
  std::vector<Symbol> symbols;
  std::vector<double> weights;  ///< weight of -log p of each symbol, given the previous symbols
};

class TargetSearch {
 public:
  /// `truth`: includes the end as its last symbol. `longest`: maximum number of symbols of a sequence, including the
  /// end; at least the length of the truth. `draws`: one per sample, in order; empty without samples.
  TargetSearch(const SequenceObjective& objective, std::vector<Symbol> truth, Symbol end, Index longest,
               std::vector<Random> draws = {});

  bool done() const { return done_; }
  /// Prefixes that are extended by one more symbol.
  struct Open {
    std::span<const Symbol> symbols;
    Index from;  ///< index of its parent among the previously open prefixes
  };
  const std::vector<Open>& open() const { return open_; }
  /// Takes log p of the next symbol of each open prefix. REQUIRES !done().
  void step(std::span<const std::vector<double>> log_p);

  double value() const { return value_; }
  const std::vector<ChosenSequence>& chosen() const { return chosen_; }

 private:
  /// A prefix of a predicted sequence.
  struct Beginning {
    std::vector<Symbol> symbols = {};  // including the end
    double score = 0;                  // log p of all symbols
    bool complete = false;             // ended, or of maximum length
    bool is_true = true;
    Index open = 0;  // index of the prefix, or of its parent, among the open prefixes
  };
  /// A prefix and a possible next symbol; kNoSymbol if the prefix is complete and is kept.
  struct Longer {
    double score;
    std::size_t from;
    Symbol symbol;
    bool is_true;
  };
  using LogP = std::span<const std::vector<double>>;

  /// Returns whether log p of the true sequence is needed in addition to the search, which may drop it.
  bool follows_truth() const {
    return objective_.kind == SequenceObjective::Kind::margin || objective_.kind == SequenceObjective::Kind::risk;
  }
  bool is_next(const Beginning& beginning, Symbol symbol) const;
  void append(Symbol symbol, double score, Beginning& to) const;
  std::vector<Longer> extended(LogP log_p) const;
  Beginning made(const Longer& longer) const;
  void keep_best(const std::vector<Longer>& all);
  void update_early(const std::vector<Longer>& all);
  void find_violation(const std::vector<Longer>& all);
  void draw(LogP log_p);
  void list_open();
  void finish();
  void pay_margin();
  void add_risk();
  void pay(const Beginning& found, const Beginning& truth, double more);

  SequenceObjective objective_;
  std::vector<Symbol> target_;
  Symbol end_;
  std::size_t longest_;
  std::vector<Random> draws_;
  std::vector<Beginning> beam_;
  Beginning truth_;  // followed in addition to the beam
  std::vector<Open> open_;
  bool done_ = false;
  double value_ = 0;
  std::vector<double> truth_weights_;
  std::vector<ChosenSequence> chosen_;
};

}  // namespace unfold
