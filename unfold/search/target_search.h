#pragma once
/// Internal: learning through search for one sequence whose next symbol depends on all symbols before (objective.h).
///
/// The search is told log p of the next symbols and says which beginnings it keeps; when it is done, it has chosen
/// sequences, and of each position of them what minus its log p weighs in the loss. So the gradient is that of a sum of
/// weighted log probabilities, whatever gave them:
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
  Index beam = 8;     ///< beginnings that are kept
  double cost = 1;    ///< of an edit, for margin
  Index samples = 0;  ///< of risk: drawn in place of a search; 0: none are

  /// Beginnings that are open at once, at most.
  Index width() const { return (samples > 0 ? samples : beam) + 1; }
};

struct ChosenSequence {
  std::vector<Symbol> symbols;
  std::vector<double> weights;  ///< of minus log p of each symbol, given those before
};

class TargetSearch {
 public:
  /// `truth`: its end is its last symbol. `longest`: symbols of a sequence, its end among them; never fewer than the
  /// truth has. `draws`: of each sample, in its order; empty without samples.
  TargetSearch(const SequenceObjective& objective, std::vector<Symbol> truth, Symbol end, Index longest,
               std::vector<Random> draws = {});

  bool done() const { return done_; }
  /// Those that go on with one more symbol.
  struct Open {
    std::span<const Symbol> symbols;
    Index from;  ///< which of those open before it goes on from
  };
  const std::vector<Open>& open() const { return open_; }
  /// log p of the next symbol of each open beginning. REQUIRES !done().
  void step(std::span<const std::vector<double>> log_p);

  double value() const { return value_; }
  const std::vector<ChosenSequence>& chosen() const { return chosen_; }

 private:
  /// A sequence that begins what is to be predicted.
  struct Beginning {
    std::vector<Symbol> symbols = {};  // its end among them
    double score = 0;                  // log p of them all
    bool complete = false;             // ended, or as long as may be
    bool is_true = true;
    Index open = 0;  // which of the open ones it is, or goes on from
  };
  /// A beginning, and what may be its next symbol; kNoSymbol: it is complete and stays.
  struct Longer {
    double score;
    std::size_t from;
    Symbol symbol;
    bool is_true;
  };
  using LogP = std::span<const std::vector<double>>;

  /// Whether log p of the truth is asked for beside the search, which may lose it.
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
  void pay_risk();
  void pay(const Beginning& found, const Beginning& truth, double more);

  SequenceObjective objective_;
  std::vector<Symbol> target_;
  Symbol end_;
  std::size_t longest_;
  std::vector<Random> draws_;
  std::vector<Beginning> beam_;
  Beginning truth_;  // beside the beam
  std::vector<Open> open_;
  bool done_ = false;
  double value_ = 0;
  std::vector<double> truth_weights_;
  std::vector<ChosenSequence> chosen_;
};

}  // namespace unfold
