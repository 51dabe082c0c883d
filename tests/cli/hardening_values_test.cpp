// No result is printed for non-finite values.
#include <algorithm>
#include <limits>
#include <stdexcept>

#include "tests/cli/fixture.h"
#include "unfold/data/files/safetensors.h"

namespace unfold::test {
namespace {

/// Rewrites the file with one tensor changed and a correct checksum.
template <class Change>
void change(const std::string& path, const std::string& name, const Change& change_values) {
  const std::string before = read_bytes(path);
  const SafetensorsFile file = SafetensorsFile::from_bytes(before, path);
  std::vector<float> changed = file.values<float>(name);
  change_values(changed);
  SafetensorsWriter writer;
  for (const Tensor& tensor : file.tensors())
    if (tensor.name == name)
      writer.add(name, tensor.shape, changed);
    else
      writer.add_bytes(tensor);
  for (const auto& [key, text] : file.metadata()) writer.set_metadata(key, text);
  writer.write(path);
}

/// Changes one element.
void spoil(const std::string& path, const std::string& name, float value) {
  change(path, name, [&](std::vector<float>& values) { values[1] = value; });
}

/// Returns the name of the network's recurrent matrix.
std::string loop_of(const std::string& path) {
  const SafetensorsFile file = SafetensorsFile::from_bytes(read_bytes(path), path);
  for (const Tensor& tensor : file.tensors())
    if (tensor.name.ends_with("/U")) return tensor.name;
  throw std::runtime_error("no tensor /U in " + path);
}

TEST_F(CommandTest, model_with_nonfinite_predictions_is_rejected_by_every_command) {
  train({"--model", "rnn:8,activation=relu"});
  const std::string model = run_ + "/model.safetensors", name = loop_of(model);
  spoil(model, name, 1e38F);
  for (const Arguments& arguments :
       {Arguments{"eval", run_, text_}, Arguments{"eval", run_, text_, "--method", "stepper"},
        Arguments{"score", run_, text_}, Arguments{"sample", run_}, Arguments{"complete", run_, "--json"},
        Arguments{"compress", text_, "--model", run_, "-o", folder_ / "out"}}) {
    const Finished finished = unfold_command(arguments);
    EXPECT_EQ(finished.code, 4) << arguments.front() << ": " << finished.out << finished.err;
    EXPECT_THAT(finished.err, HasSubstr("position")) << arguments.front();
    EXPECT_THAT(finished.err, HasSubstr("the largest weight is 1e+38, element [0, 1] of tensor " + name))
        << arguments.front();
    EXPECT_EQ(finished.out.find("nan"), std::string::npos);
  }
  spoil(model, name, std::numeric_limits<float>::infinity());
  expect_failure({"eval", run_, text_}, 4, name);
}

TEST_F(CommandTest, growing_states_are_distinguished_from_overflowing_weights) {
  train({"--model", "rnn:8,activation=relu"});
  const std::string model = run_ + "/model.safetensors";
  change(model, loop_of(model), [](std::vector<float>& values) { std::fill(values.begin(), values.end(), 3.0F); });
  expect_failure({"eval", run_, text_}, 4,
                 "the largest weight is 3, element [0, 0] of tensor " + loop_of(model) +
                     ", so its states grow from symbol to symbol; train the model again with bounded units (tanh)");
}

TEST_F(CommandTest, checkpoint_with_nonfinite_values_is_rejected) {
  train({"--checkpoint-every", "5"});
  const std::string checkpoint = run_ + "/checkpoint.safetensors";
  for (const float bad : {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity()}) {
    spoil(checkpoint, "parameters", bad);
    expect_failure(training({"--steps", "30", "--resume"}), 4, "element 1 of tensor parameters is not finite");
  }
}

TEST_F(CommandTest, resumed_run_with_unrecoverable_weights_has_diverged) {
  const Arguments path = {"--model", "rnn:8,activation=relu", "--optimizer", "path+adam", "--checkpoint-every", "5"};
  train(path);
  const std::string checkpoint = run_ + "/checkpoint.safetensors";
  for (const float huge : {1e30F, 1e38F}) {
    spoil(checkpoint, "parameters", huge);
    expect_failure(training(path + Arguments{"--steps", "30", "--resume"}), 5, "diverged");
  }
}

TEST_F(CommandTest, diverging_dynamic_evaluation_exits_with_code_5) {
  train();
  expect_failure({"eval", run_, text_, "--dynamic", "--optimizer", "sgd:rate=1e30"}, 5, "diverged");
}

}  // namespace
}  // namespace unfold::test
