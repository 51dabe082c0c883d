#include "unfold/optim/register_optimizer.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "unfold/base/error.h"

namespace unfold {
namespace {

struct PullOptions {
  double strength = 0.5;
};

template <class Visitor>
void describe(Visitor& v, PullOptions& o) {
  v("strength", o.strength, "factor of the gradient", range(0, 1));
}

/// p -= rate * strength * (g + decay * p), with a count of the steps as its state.
template <class T>
class Pull final : public Direction<T> {
 public:
  Pull(const PullOptions& options, double decay) : options_(options), decay_(decay), steps_(1) {}
  void move(Team&, std::span<T> p, std::span<const T> g, double scale, double rate) override {
    steps_[0] += 1;
    for (std::size_t i = 0; i < p.size(); ++i)
      p[i] -= static_cast<T>(rate * options_.strength) * (static_cast<T>(scale) * g[i] + static_cast<T>(decay_) * p[i]);
  }
  void visit_state(StateVisitor<T>& visitor) override { visitor("steps", steps_); }

 private:
  PullOptions options_;
  double decay_;
  std::vector<T> steps_;
};

void register_pull() {
  static const bool once = [] {
    register_optimizer(
        "pull", "a part of the gradient", {.rate = 0.25}, PullOptions(),
        []<class T>(Index, const PullOptions& o, double decay) { return std::make_unique<Pull<T>>(o, decay); });
    return true;
  }();
  (void)once;
}

/// f(p) = sum p^2 / 2.
template <class T>
class HalfSquare final : public Objective<T> {
 public:
  explicit HalfSquare(Team& team) : team_(team) {
    circuit_.output(circuit_.affine("z", 3, {{"W", circuit_.symbols("x", 2)}}));
    parameters_ = Parameters<T>(circuit_);
    for (T& p : parameters_.flat()) p = T{1};
  }
  Parameters<T>& parameters() override { return parameters_; }
  Team& team() override { return team_; }
  double loss() override { return 1; }
  double gradient(std::span<T> gradient) override {
    const auto p = parameters_.flat();
    std::copy(p.begin(), p.end(), gradient.begin());
    return 1;
  }

 private:
  Circuit circuit_;
  Parameters<T> parameters_;
  Team& team_;
};

std::string refusal(const auto& call) {
  try {
    call();
  } catch (const UsageError& error) {
    return error.what();
  }
  return {};
}

TEST(RegisterOptimizer, registered_direction_is_created_from_a_spec_with_the_common_options) {
  register_pull();
  Team team(1);
  HalfSquare<double> bowl(team);
  const auto optimizer = make_optimizer<double>("pull:strength=0.5,rate=0.5,decay=0.5", bowl.parameters().size());
  optimizer->attach(bowl);
  optimizer->step(bowl, {}, 1);
  for (const double p : bowl.parameters().flat()) EXPECT_DOUBLE_EQ(p, 1 - 0.25 * 1.5);
}

TEST(RegisterOptimizer, canonical_spec_is_stable_and_shows_every_option) {
  register_pull();
  const std::string canonical = canonical_optimizer("pull");
  EXPECT_EQ(canonical_optimizer(canonical), canonical);
  for (const char* part : {"strength=0.5", "rate=0.25", "clip=0", "decay=0", "schedule=constant"})
    EXPECT_NE(canonical.find(part), std::string::npos) << canonical;
  EXPECT_FALSE(compares_losses("pull"));
  EXPECT_FALSE(needs_full_batch("pull"));
}

TEST(RegisterOptimizer, invalid_options_and_taken_names_are_rejected) {
  register_pull();
  EXPECT_NE(refusal([] { make_optimizer<float>("pull:strength=2", 5); }).find("strength"), std::string::npos);
  const auto again = [] {
    register_optimizer("adam", "", {}, PullOptions(), []<class T>(Index, const PullOptions& o, double decay) {
      return std::make_unique<Pull<T>>(o, decay);
    });
  };
  EXPECT_NE(refusal(again).find("there is already an optimizer"), std::string::npos) << refusal(again);
  OptimizerEntry empty;
  empty.name = "empty";
  EXPECT_NE(refusal([&] { register_optimizer(empty); }).find("no function that creates it"), std::string::npos);
}

}  // namespace
}  // namespace unfold
