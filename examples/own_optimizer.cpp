/// Defines a custom optimizer: a direction, here sign descent, registered under a name and used to train an LSTM.
///
///   own_optimizer

#include <algorithm>
#include <array>
#include <iostream>
#include <numeric>

#include "unfold/graph/cells/cells.h"
#include "unfold/loss/loss.h"
#include "unfold/optim/register_optimizer.h"

using namespace unfold;

/// p -= rate sign(g). A direction with state, such as momentum, also implements `visit` to save it in checkpoints.
template <class T>
class SignDescent final : public Direction<T> {
  void move(Team&, std::span<T> p, std::span<const T> g, double, double rate) override {
    for (std::size_t i = 0; i < p.size(); ++i) p[i] -= static_cast<T>(rate) * (g[i] > 0 ? T{1} : T{-1});
  }
  void visit_state(StateVisitor<T>&) override {}
};

struct Net {
  Net() { c.output(logits); }
  Circuit c;
  Signal x = c.symbols("x", 4), logits = c.affine("logits", 4, {{"V", lstm(c, x, 8)}});
};

/// An objective, the interface that an optimizer uses: the parameters, and the loss with its gradient. This objective
/// predicts each of ten letters from the preceding letters.
class Word final : public Objective<float> {
 public:
  Word() {
    parameters_.initialize(/*seed=*/1);
    u_.lay(Structure::chains(1, 10));
  }
  Parameters<float>& parameters() override { return parameters_; }
  Team& team() override { return team_; }
  double loss() override { return gradient({}); }
  double gradient(std::span<float> gradient) override {
    u_.set_parameters(parameters_);
    std::copy(before_.begin(), before_.end(), u_.symbols(net_.x).begin());
    u_.forward();
    std::array<float, 10> nats{};
    const Observed<float> word{u_.structure(), u_.value(net_.logits), {word_.data(), {}, nullptr}, parameters_.flat()};
    softmax_->gradient(word, 0.1f, team_, nats.data(), u_.adjoint(net_.logits), gradient);
    if (!gradient.empty()) u_.backward(gradient);  // starts from the adjoint of the logits
    return 0.1 * std::accumulate(nats.begin(), nats.end(), 0.0);
  }

 private:
  const std::array<Symbol, 10> before_ = {kNoSymbol, 0, 1, 2, 1, 0, 3, 3, 1, 2}, word_ = {0, 1, 2, 1, 0, 3, 3, 1, 2, 2};
  Net net_;
  Parameters<float> parameters_{net_.c};
  Team team_{1};
  Unfolding<float> u_{std::make_shared<const Plan>(net_.c), team_};
  std::unique_ptr<Loss<float>> softmax_ = softmax_loss<float>();
};

int main() {
  register_optimizer("sign-descent", "each parameter moves by the rate", {.rate = 0.01, .clip = 1}, NoOptions(),
                     []<class T>(Index, const NoOptions&, double) { return std::make_unique<SignDescent<T>>(); });
  Word word;
  const auto optimizer = make_optimizer<float>("sign-descent:schedule=constant", word.parameters().size());
  optimizer->attach(word);  // called once before the first step: directions and controls inspect the objective
  for (Index step = 0; step <= 200; ++step) {
    const StepReport report = optimizer->step(word, {.step = step}, /*factor=*/1);
    if (step % 50 == 0) std::cout << "step " << step << ": " << report.loss << " nats per letter\n";
  }
  return word.loss() < 0.1 ? 0 : 1;
}
