#pragma once
/// A recurrent network that keeps learning while it reads: after every `window` symbols, the optimizer makes one step
/// on them by backpropagation through the window (the preceding state is carried over as a constant). With the memory
/// of earlier windows in the network state and a decay toward the trained weights, this is dynamic evaluation (Mikolov
/// et al. 2010; Krause et al. 2018).
///
///   OnlinePredictor predictor(model, {.optimizer = "adam:rate=0.001", .window = 20});
///
/// It uses the engine and the optimizers of training, whose results are bit-identical on every machine (invariant 2),
/// so both ends of a compressed stream learn the same network.

#include <memory>
#include <string>

#include "unfold/model/network/language_model.h"

namespace unfold {

struct OnlineOptions {
  std::string optimizer = "adam:rate=0.0005,clip=1";
  Index window = 20;  ///< symbols per step
  /// After each step the weights move this fraction of the way back to their trained values, because a large training
  /// set is more informative than a few windows (the decay of Krause et al. 2018). Use 0 for an untrained network.
  double recall = 0.005;
  /// Whether to learn from the end of a sequence, which is shorter than a window. Archives do not use it.
  bool ends = false;
};

class OnlinePredictor final : public Predictor {
 public:
  /// Starts from a copy of the parameters of the model. Throws UsageError for a bad optimizer.
  OnlinePredictor(const LanguageModel<float>& model, const OnlineOptions& options);
  ~OnlinePredictor() override;

  Index alphabet() const override;
  std::span<const float> log_probabilities() override;
  void set_learning(bool on) override;
  void reset() override;                              ///< an incomplete window is not learned
  std::unique_ptr<Predictor> clone() const override;  ///< copies parameters and optimizer
  bool clones_are_large() const override { return true; }

 private:
  void update(Symbol symbol) override;

  struct Body;
  explicit OnlinePredictor(std::unique_ptr<Body> body);
  std::unique_ptr<Body> body_;
};

}  // namespace unfold
