#pragma once
/// Random predictors, and enumeration of all their sequences.

#include <cmath>
#include <functional>
#include <string>
#include <vector>

#include "model/markov.h"
#include "numerics/functions.h"
#include "unfold/model/predictor.h"
#include "unfold/numerics/random.h"

namespace unfold::test {

/// Predictions that depend on the last `reach` symbols.
class HistoryPredictor : public Predictor {
 public:
  HistoryPredictor(Index alphabet, std::uint64_t seed, std::size_t reach = 1000)
      : alphabet_(alphabet), seed_(seed), reach_(reach) {}
  Index alphabet() const override { return alphabet_; }
  std::span<const float> log_probabilities() override {
    Random random(seed_, "history" + history_);
    logs_.resize(at(alphabet_));
    for (float& x : logs_) x = static_cast<float>(2 * random.normal());
    log_softmax(logs_.data(), logs_.data(), alphabet_);
    return logs_;
  }
  void reset() override { history_.clear(); }
  std::unique_ptr<Predictor> clone() const override { return std::make_unique<HistoryPredictor>(*this); }

 protected:
  void update(Symbol symbol) override {
    history_.push_back(static_cast<char>('a' + symbol));
    if (history_.size() > reach_) history_.erase(0, history_.size() - reach_);
  }

  Index alphabet_;
  std::uint64_t seed_;
  std::size_t reach_;
  std::string history_;
  std::vector<float> logs_;
};

/// The same, with the MarkovContext interface.
class MarkovPredictor final : public HistoryPredictor, public MarkovContext {
 public:
  using HistoryPredictor::HistoryPredictor;
  void append_context(std::string& to) const override { to += history_; }
  std::unique_ptr<Predictor> clone() const override { return std::make_unique<MarkovPredictor>(*this); }
};

/// Calls use(symbols, log p) for all sequences of 1 to `length` symbols.
inline void each_sequence(const Predictor& predictor, Index length,
                          const std::function<void(const std::vector<Symbol>&, double)>& use,
                          std::vector<Symbol> so_far = {}, double log_p = 0) {
  for (Symbol x = 0; x < predictor.alphabet() && length > 0; ++x) {
    const auto next = predictor.clone();
    const double more = log_p + static_cast<double>(next->log_probabilities()[at(x)]);
    next->observe(x);
    so_far.push_back(x);
    use(so_far, more);
    each_sequence(*next, length - 1, use, so_far, more);
    so_far.pop_back();
  }
}

}  // namespace unfold::test
