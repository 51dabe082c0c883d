// Results worse than a constant prediction cause a warning; results far worse than that and than the initial network
// cause exit code 5.
#include <filesystem>

#include "tests/cli/fields.h"

namespace unfold::test {
namespace {

class DivergenceTest : public FieldsTest {
 protected:
  void expect_diverged(const Arguments& options, const std::string& figure) const {
    SCOPED_TRACE(options.front());
    const Finished finished =
        unfold_command(Arguments{"train"} + options + Arguments{"--out", run_, "--overwrite", "--quiet"});
    EXPECT_EQ(finished.code, 5) << finished.err;
    EXPECT_EQ(finished.out, "");
    EXPECT_THAT(finished.err,
                HasSubstr("unfold: training diverged, although all numbers stayed finite: the " + figure));
    EXPECT_THAT(finished.err, HasSubstr(", the initial network "));
    EXPECT_THAT(finished.err, HasSubstr("with a smaller learning rate"));
    EXPECT_TRUE(std::filesystem::exists(run_ + "/model.safetensors"));
  }
};

const Arguments kWild = {"--optimizer", "adam:rate=1000", "--steps", "60", "--batch", "4"};

TEST_F(DivergenceTest, FindsDivergedModelsOfText) {
  const std::string text = data("book.txt", small_text(3000));
  const Arguments options = Arguments{text, "--symbols", "bytes", "--model", "rnn:8", "--window", "16"} + kWild;
  expect_diverged(options, "nats per symbol is ");
  expect_diverged(options + Arguments{"--split", "100/0/0"}, "nats per symbol is ");
  expect_diverged(Arguments{text, "--follow", "--model", "rnn:8", "--window", "16", "--optimizer", "adam:rate=1000"},
                  "nats per byte is ");
}

TEST_F(DivergenceTest, FindsDivergedModelsOfNumbers) {
  const Arguments options = {data("wave.csv", wave(400)),
                             "--model",
                             "rnn:6",
                             "--optimizer",
                             "natural:windows=2",
                             "--batch",
                             "2",
                             "--epochs",
                             "40"};
  expect_diverged(options, "mean squared error of value is ");
  expect_diverged(options + Arguments{"--split", "100/0/0"}, "mean squared error of value is ");
}

TEST_F(DivergenceTest, FindsDivergedModelsOfLabels) {
  std::string noise;
  for (int i = 0; i < 200; ++i)
    noise +=
        "w" + std::to_string(i * i % 11) + " t" + std::to_string(i * i * i % 13 % 7) + (i % 4 == 3 ? "\n\n" : "\n");
  expect_diverged({data("noise.txt", noise), "--format", "columns", "--read", "1", "--predict", "2=softmax", "--model",
                   "rnn:4", "--optimizer", "sgd:rate=10000,clip=0", "--steps", "60", "--batch", "4"},
                  "nats per prediction of 2 is ");
}

TEST_F(DivergenceTest, FindsDivergedModelsOfTasks) {
  expect_diverged(Arguments{"--task", "adding:8", "--model", "rnn:4"} + kWild, "mean squared error is ");
  expect_diverged(Arguments{"--task", "temporal-order:20", "--model", "rnn:4"} + kWild, "nats per prediction is ");
}

TEST_F(DivergenceTest, WarnsOfResultsWorseThanAConstant) {
  const Arguments options = {"train", text_, "--model", "rnn:4", "--out", run_, "--overwrite"};
  const Finished poor = unfold_command(options + Arguments{"--steps", "1"});
  EXPECT_EQ(poor.code, 0) << poor.err;
  EXPECT_THAT(poor.err, HasSubstr("warning: the model predicts worse than a constant: the nats per symbol is "));
  EXPECT_THAT(poor.err, HasSubstr("always predicting the frequencies has "));
  const Finished good =
      unfold_command(options + Arguments{"--steps", "200", "--optimizer", "adam:rate=0.02", "--batch", "4"});
  EXPECT_EQ(good.code, 0) << good.err;
  EXPECT_THAT(good.err, Not(HasSubstr("than a constant")));
}

TEST_F(DivergenceTest, SweepsCountADivergedRunAsFailed) {
  const Arguments sweep = {"sweep", text_,     "--model", "rnn:4", "--grid",          "rate=0.01,1000", "--optimizer",
                           "adam",  "--steps", "60",      "--out", folder_ / "sweep", "--quiet"};
  const Finished finished = unfold_command(sweep);
  EXPECT_EQ(finished.code, 0) << finished.err;
}

}  // namespace
}  // namespace unfold::test
