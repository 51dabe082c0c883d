/// The command and the functions of app/ give identical bits.

#include "app/evaluate/evaluate.h"
#include "app/sample/sample.h"
#include "app/score/score.h"
#include "app/train/train.h"
#include "tests/cli/fixture.h"

namespace unfold::test {
namespace {

TEST_F(CommandTest, command_has_the_bits_of_the_functions) {
  const Finished trained = unfold_command({"train", text_, "--out", run_, "--model", "gru:6", "--steps", "20",
                                           "--window", "8", "--batch", "4", "--threads", "1", "--quiet", "--json"});
  ASSERT_EQ(trained.code, 0) << trained.err;
  TrainRequest request{.out = folder_ / "called", .given = {"model", "steps", "window", "batch"}};
  request.settings.data = {text_};
  request.settings.model = "gru:6";
  request.settings.steps = 20;
  request.settings.window = 8;
  request.settings.batch = 4;
  request.run.threads = 1;
  const TrainOutcome outcome = unfold::train(request);
  EXPECT_TRUE(read_bytes(outcome.model_file) == read_bytes(run_ + "/model.safetensors"));
  EXPECT_EQ(read_bytes(outcome.run + "/config.toml"), read_bytes(run_ + "/config.toml"));
  EXPECT_EQ(only_object(trained.out)["valid"]["nats_per_symbol"], outcome.valid->nats_per_symbol);

  const nlohmann::json evaluated = only_object(unfold_command({"eval", run_, text_, "--json"}).out);
  EXPECT_EQ(evaluated["nats_per_symbol"], evaluate({.model = run_, .data = {text_}}).figures.nats_per_symbol);

  const nlohmann::json scored = only_object(unfold_command({"score", run_, text_, "--json"}).out)["scores"];
  score({.model = run_, .data = text_}).for_each_symbol([&](const ScoredSymbol& s) {
    EXPECT_EQ(scored[static_cast<std::size_t>(s.position)]["bits"], bits(s.nats));
  });

  const std::vector<SampledText> samples = sample({.model = run_, .sampling = {.length = 40, .seed = 3}});
  EXPECT_EQ(unfold_command({"sample", run_, "--length", "40", "--seed", "3"}).out, samples.front().text);
}

}  // namespace
}  // namespace unfold::test
