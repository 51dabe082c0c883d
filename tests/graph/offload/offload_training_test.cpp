/// A trainer on a device compared with one on the host, and runs that move between them.

#include <gmock/gmock.h>

#include <cmath>

#include "graph/offload/offload.h"
#include "tests/graph/device/simulated_device.h"
#include "tests/train/trained_text.h"

namespace unfold {
namespace {

using testing::HasSubstr;

struct Losses : Observer {
  void progress(const ProgressEvent& e) override { training.push_back(e.loss); }
  void validation(const ValidationEvent& e) override { validations.push_back(e.nats_per_symbol); }
  std::vector<double> training, validations;
};

Losses losses_of(const TrainerOptions& options, double dropout = 0.2) {
  Setting setting(dropout);
  Team team(1);
  Trainer<float> trainer(setting.small.network, setting.small.parameters, setting.data(), options, team);
  Losses losses;
  trainer.set_observer(&losses);
  trainer.run();
  return losses;
}

void expect_close(const std::vector<double>& found, const std::vector<double>& expected, double relative) {
  ASSERT_EQ(found.size(), expected.size());
  for (std::size_t i = 0; i < found.size(); ++i) EXPECT_NEAR(found[i], expected[i], relative * expected[i]) << i;
}

double distance(const std::vector<float>& a, const std::vector<float>& b) {
  double difference = 0, size = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    difference += std::pow(static_cast<double>(a[i]) - static_cast<double>(b[i]), 2);
    size += std::pow(static_cast<double>(b[i]), 2);
  }
  return std::sqrt(difference / size);
}

std::string refusal_of(const TrainerOptions& options) {
  try {
    losses_of(options);
  } catch (const UsageError& error) {
    return error.what();
  }
  return {};
}

class OffloadTraining : public TrainerTest {
 protected:
  TrainerOptions on_device(TrainerOptions options, DevicePrecision precision = DevicePrecision::exact) const {
    options.offload = make_offload(device_, {.precision = precision});
    return options;
  }
  std::shared_ptr<Device> device_ = simulated_device();
};

TEST_F(OffloadTraining, device_training_has_the_losses_of_the_host) {
  TrainerOptions options = small_options(30);
  options.optimizer = "adam:rate=0.03";
  const Losses host = losses_of(options), there = losses_of(on_device(options));
  ASSERT_EQ(host.training.size(), 30u);
  ASSERT_GE(host.validations.size(), 2u);
  EXPECT_LT(host.training.back(), 0.95 * host.training.front());
  expect_close(there.training, host.training, 1e-4);
  expect_close(there.validations, host.validations, 1e-4);
  expect_close(losses_of(on_device(options, DevicePrecision::bf16)).training, host.training, 2e-2);
}

TEST_F(OffloadTraining, optimizers_with_host_gradients_have_the_losses_of_the_host) {
  for (const char* optimizer : {"sgd:rate=0.5,clip=1", "rmsprop"}) {
    SCOPED_TRACE(optimizer);
    TrainerOptions options = small_options(4);
    options.optimizer = optimizer;
    expect_close(losses_of(on_device(options)).training, losses_of(options).training, 1e-3);
  }
}

TEST_F(OffloadTraining, run_can_move_between_device_and_host) {
  const TrainerOptions options = small_options(30);
  Setting on_host(0.2);
  const std::vector<float> host = finish(on_host, options).last;
  for (const bool begins_there : {true, false}) {
    SCOPED_TRACE(begins_there);
    TrainerOptions first = begins_there ? on_device(options, DevicePrecision::tf32) : options;
    TrainerOptions second = begins_there ? options : on_device(options);
    first.checkpoint = second.checkpoint = file(begins_there ? "there" : "here");
    second.resume = true;
    Setting interrupted(0.2), resumed(0.2);
    interrupt_at(interrupted, first, 15, Stop::How::flag);
    const Ending ending = finish(resumed, second);
    EXPECT_EQ(ending.result.steps, 30);
    EXPECT_LT(distance(ending.last, host), 3e-2);
    EXPECT_GT(distance(ending.last, host), 0);
  }
}

TEST_F(OffloadTraining, resumed_run_is_byte_identical_on_the_same_device) {
  const TrainerOptions options = on_device(small_options(20));
  Setting whole(0.2);
  const Ending expected = finish(whole, options);
  TrainerOptions kept = options;
  kept.checkpoint = file("checkpoint");
  Setting interrupted(0.2), resumed(0.2);
  interrupt_at(interrupted, kept, 7, Stop::How::flag);
  kept.resume = true;
  const Ending ending = finish(resumed, kept);
  EXPECT_EQ(ending.last, expected.last);
  EXPECT_EQ(ending.best, expected.best);
}

/// Corrupts a parameter after a step, once.
struct Saboteur : Observer {
  Saboteur(Parameters<float>& parameters_, Index at_) : parameters(parameters_), at(at_) {}
  void progress(const ProgressEvent& e) override {
    if (e.step == at && rollbacks.empty()) parameters.at("z/U")(3, 2) = std::nanf("");
  }
  void rollback(const RollbackEvent& e) override { rollbacks.push_back(e); }
  Parameters<float>& parameters;
  Index at;
  std::vector<RollbackEvent> rollbacks;
};

TEST_F(OffloadTraining, device_recovers_to_the_last_good_state_like_the_host) {
  const auto run = [](const TrainerOptions& options) {
    Setting setting;
    Team team(1);
    Trainer<float> trainer(setting.small.network, setting.small.parameters, setting.data(), options, team);
    Saboteur saboteur(setting.small.parameters, 19);
    trainer.set_observer(&saboteur);
    const double loss = trainer.run().last_loss;
    EXPECT_EQ(saboteur.rollbacks.size(), 1u);
    EXPECT_EQ(saboteur.rollbacks.at(0).to_step, 16);
    EXPECT_THAT(saboteur.rollbacks[0].reason, HasSubstr("at position "));
    return loss;
  };
  const TrainerOptions options = small_options(30);
  const double host = run(options), there = run(on_device(options));
  EXPECT_NEAR(there, host, 1e-4 * host);
}

TEST_F(OffloadTraining, unsupported_device_options_are_rejected) {
  const auto refused = [&](const std::function<void(TrainerOptions&)>& change) {
    TrainerOptions options = on_device(small_options(5));
    change(options);
    return refusal_of(options);
  };
  EXPECT_THAT(refused([](auto& o) { o.memory_limit = 100000; }), HasSubstr("--memory-limit"));
  EXPECT_THAT(refused([](auto& o) { o.activations = Precision::bf16; }), HasSubstr("--activations bf16"));
  EXPECT_THAT(refused([](auto& o) { o.shards = 2; }), HasSubstr("--shards"));
  EXPECT_THAT(refused([](auto& o) { o.gradient = GradientMethod::parse("rtrl"); }), HasSubstr("--gradient rtrl"));
  EXPECT_THAT(refused([](auto& o) { o.forcing.to = 0.5; }), HasSubstr("--teacher-forcing"));
  EXPECT_THAT(refused([](auto& o) { o.feedback = Feedback::parse("2+3"); }), HasSubstr("--feedback"));
  EXPECT_THAT(refused([](auto& o) { o.penalties.flow = 1; }), HasSubstr("--flow-penalty"));
}

}  // namespace
}  // namespace unfold
