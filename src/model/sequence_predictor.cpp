#include "model/sequence_predictor.h"

#include <utility>

#include "model/markov.h"

namespace unfold {
namespace {

class SequencePredictor : public Predictor {
 public:
  SequencePredictor(Symbol end, std::unique_ptr<Predictor> predictor) : end_(end), predictor_(std::move(predictor)) {}

  Index alphabet() const override { return predictor_->alphabet(); }
  std::span<const float> log_probabilities() override { return predictor_->log_probabilities(); }
  void set_learning(bool on) override { predictor_->set_learning(on); }
  void freeze_for_archive() override { predictor_->freeze_for_archive(); }
  void reset() override { predictor_->reset(); }
  std::unique_ptr<Predictor> clone() const override { return restart_after(end_, predictor_->clone()); }
  bool clones_are_large() const override { return predictor_->clones_are_large(); }

 protected:
  const Predictor& predictor() const { return *predictor_; }
  float log_probability_of(Symbol symbol) override { return predictor_->log_probability(symbol); }
  double surprisal_of(Symbol symbol) override { return predictor_->surprisal(symbol); }
  void update(Symbol symbol) override {
    predictor_->observe(symbol);
    if (symbol == end_) predictor_->reset();
  }

 private:
  Symbol end_;
  std::unique_ptr<Predictor> predictor_;
};

class MarkovSequencePredictor final : public SequencePredictor, public MarkovContext {
 public:
  using SequencePredictor::SequencePredictor;
  void append_context(std::string& to) const override {
    dynamic_cast<const MarkovContext&>(predictor()).append_context(to);
  }
};

}  // namespace

std::unique_ptr<Predictor> restart_after(Symbol end, std::unique_ptr<Predictor> predictor) {
  if (end == kNoSymbol) return predictor;
  if (dynamic_cast<const MarkovContext*>(predictor.get()) != nullptr)
    return std::make_unique<MarkovSequencePredictor>(end, std::move(predictor));
  return std::make_unique<SequencePredictor>(end, std::move(predictor));
}

}  // namespace unfold
