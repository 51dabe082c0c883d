#pragma once
/// A recurrent network that goes on learning while it reads: after every `window` symbols one step of the optimiser on
/// them, by back-propagation through the window (the state before it is carried over, not differentiated). Together
/// with the network's memory of earlier windows and a decay towards the trained weights this is dynamic evaluation
/// (Mikolov et al. 2010; Krause et al. 2018).
///
///   OnlinePredictor predictor(model, {.optimizer = "adam:rate=0.001", .window = 20});
///
/// Everything runs through the engine and the optimisers of training: the same bits on every machine (law 2), so both
/// ends of a compressed stream learn the same network.

#include <memory>
#include <string>

#include "unfold/models/language_model.h"

namespace unfold {

struct OnlineOptions {
  std::string optimizer = "adam:rate=0.0005,clip=1";
  Index window = 20;  ///< symbols per step
  /// After each step the weights go this share of the way back to those that the network came with: what was trained on
  /// much text is worth more than what a few windows say (the decay of Krause et al. 2018). 0 for what knows nothing.
  double recall = 0.005;
  /// Whether what a sequence ends with, less than a window, is learnt from, too. Archives are coded without it.
  bool ends = false;
};

class OnlinePredictor final : public Predictor {
 public:
  /// Starts from the model's parameters, which are copied. Throws UsageError for a bad optimiser.
  OnlinePredictor(const LanguageModel<float>& model, const OnlineOptions& options);
  ~OnlinePredictor() override;

  Index alphabet() const override;
  std::span<const float> log_probabilities() override;
  void set_learning(bool on) override;
  void reset() override;                              ///< the window that is not full yet is not learnt from
  std::unique_ptr<Predictor> clone() const override;  ///< copies parameters and optimiser
  bool clones_are_large() const override { return true; }

 private:
  void update(Symbol symbol) override;

  struct Body;
  explicit OnlinePredictor(std::unique_ptr<Body> body);
  std::unique_ptr<Body> body_;
};

}  // namespace unfold
