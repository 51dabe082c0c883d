/// `train` on a device compared with `train` on the host: text, data with fields, tasks, and runs that move between
/// devices.

#include <gmock/gmock.h>

#include <filesystem>
#include <functional>

#include "app/train/train.h"
#include "tests/base/scratch.h"
#include "tests/graph/device/simulated_device.h"
#include "tests/optim/small_network.h"
#include "unfold/base/error.h"
#include "unfold/base/formats/file.h"

namespace unfold {
namespace {

using testing::Contains;
using testing::HasSubstr;
using testing::Not;
using testing_support::message_of;
using testing_support::ScratchFolder;

struct Remarks : Reporter {
  void remark(std::string_view text) override { remarks.emplace_back(text); }
  void warn(std::string_view text) override { warnings.emplace_back(text); }
  std::vector<std::string> remarks, warnings;
};

class TrainOnDevice : public testing::Test {
 protected:
  using Change = std::function<void(TrainRequest&)>;
  TrainRequest request(const std::string& out, const std::string& data, const std::string& model, bool there) const {
    TrainRequest r{.out = folder_.path(out)};
    if (!data.empty()) r.settings.data = {data};
    r.settings.model = model;
    r.settings.steps = 12;
    r.settings.batch = 4;
    r.run.threads = 1;
    r.given = {"model", "steps", "batch"};
    return there ? on_device(r) : r;
  }
  TrainRequest on_device(TrainRequest r) const {
    r.device = device_;
    r.run.device = "cuda";
    r.given.insert("device");
    return r;
  }
  /// Expects training on the host and on the device to end with the same loss.
  void expect_same(const std::string& data, const std::string& model, const Change& change,
                   double relative = 1e-3) const {
    const auto loss = [&](bool there) {
      TrainRequest r = request(there ? "there" : "here", data, model, there);
      r.overwrite = true;
      change(r);
      return train(r).result.last_loss;
    };
    const double here = loss(false), there = loss(true);
    EXPECT_NEAR(there, here, relative * here);
    EXPECT_GT(here, 0);
  }
  std::string text() const { return folder_.write("text.txt", wavy_text(3000)); }
  std::string lines() const {
    std::string all;
    for (int i = 0; i < 40; ++i) all += i % 3 == 1 ? "neg\tdull bad film\n" : "pos\tgood fun film again\n";
    return folder_.write("lines", all);
  }

  ScratchFolder folder_;
  std::shared_ptr<Device> device_ = simulated_device();
};

TEST_F(TrainOnDevice, text_training_with_options_matches_the_host) {
  const auto with = [](const std::function<void(TrainSettings&)>& change) {
    return [=](TrainRequest& r) {
      r.settings.window = 12;
      change(r.settings);
    };
  };
  const std::string file = text();
  expect_same(file, "lstm:8,layers=2,dropout=0.2", with([](TrainSettings&) {}));
  expect_same(file, "gru:8", with([](TrainSettings& s) { s.label_smoothing = 0.1; }));
  expect_same(file, "gru:8", with([](TrainSettings& s) { s.activity_penalty = 0.1; }));
  expect_same(file, "gru:8", with([](TrainSettings& s) { s.precision = "double"; }), 1e-9);
  const auto in_double = [&](const char* optimizer) {  // optimizers that compare losses amplify float differences
    return with([=](TrainSettings& s) {
      s.precision = "double";
      s.optimizer = optimizer;
      s.steps = 4;
    });
  };
  for (const char* optimizer : {"hf", "lbfgs", "rbpm"}) {
    SCOPED_TRACE(optimizer);
    expect_same(file, optimizer == std::string("rbpm") ? "rnn:8" : "gru:8", in_double(optimizer), 1e-6);
  }
  expect_same(file, "rnn:8,activation=relu,init=identity", with([](TrainSettings& s) { s.optimizer = "path"; }));
}

TEST_F(TrainOnDevice, sampled_softmax_training_matches_the_host) {
  std::string words;
  Random random(1, "words");
  for (int i = 0; i < 600; ++i) words += "w" + std::to_string(random.below(90)) + (i % 9 == 0 ? "\n" : " ");
  expect_same(folder_.write("words", words), "gru:8", [](TrainRequest& r) {
    r.settings.symbols = "words";
    r.settings.batch = 2;
    r.settings.window = 8;
    r.settings.sampled_softmax = 30;
  });
}

TEST_F(TrainOnDevice, sequence_label_training_matches_the_host) {
  expect_same(lines(), "gru:8", [](TrainRequest& r) { r.settings.format = "labelled"; });
}

TEST_F(TrainOnDevice, task_training_matches_the_host) {
  expect_same("", "lstm:8", [](TrainRequest& r) {
    r.settings.task = "adding:8";
    r.settings.validate_on = 20;
  });
}

TEST_F(TrainOnDevice, device_is_reported_and_stored_in_the_card) {
  TrainRequest r = request("run", text(), "lstm:8", true);
  r.settings.precision = "bf16";
  Remarks said;
  const TrainOutcome outcome = train(r, said);
  EXPECT_THAT(said.remarks, Contains("on simulated, products in bf16"));
  EXPECT_EQ(said.warnings, std::vector<std::string>());
  EXPECT_THAT(read_file(r.out + "/config.toml"), HasSubstr("device = \"cuda\""));
  EXPECT_THAT(read_file(outcome.model_file), HasSubstr("simulated"));
}

TEST_F(TrainOnDevice, run_can_move_from_a_device_and_back) {
  for (const char* precision : {"float", "tf32", "bf16"}) {
    SCOPED_TRACE(precision);
    TrainRequest r = request("run", text(), "lstm:8", true);
    r.overwrite = true;
    r.settings.precision = precision;
    r.given.insert("precision");
    train(r);
    TrainRequest here{.out = r.out, .resume = true};
    here.settings.steps = 20;
    here.run.device = "cpu";
    here.given = {"steps", "device"};
    EXPECT_EQ(train(here).result.steps, 20);
    EXPECT_THAT(read_file(r.out + "/config.toml"), Not(HasSubstr("device =")));
    TrainRequest there = on_device({.out = r.out, .resume = true});
    there.settings.steps = 25;
    there.settings.precision = "tf32";
    there.given.insert({"steps", "precision"});
    EXPECT_EQ(train(there).result.steps, 25);
    there.settings.precision = "double";
    EXPECT_THAT(message_of<UsageError>([&] { train(there); }), HasSubstr("precision"));
  }
}

TEST_F(TrainOnDevice, unsupported_networks_are_rejected_before_writing) {
  const auto refused = [&](const std::string& model, const std::string& format, const std::string& data) {
    TrainRequest r = request("refused", data, model, true);
    if (!format.empty()) r.settings.format = format;
    const std::string message = message_of<UsageError>([&] { train(r); });
    EXPECT_FALSE(std::filesystem::exists(r.out)) << model;
    return message;
  };
  EXPECT_THAT(refused("glnn:8,edges=2", "", text()), HasSubstr("leave out --device"));
  const std::string trees = folder_.write("trees", "(1 (0 a) (1 b))\n(0 (0 b) (1 a))\n(1 (1 a) (1 a))\n");
  EXPECT_THAT(refused("tree-lstm:4", "trees", trees), HasSubstr("leave out --device"));
}

}  // namespace
}  // namespace unfold
