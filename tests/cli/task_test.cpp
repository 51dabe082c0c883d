#include <algorithm>
#include <nlohmann/json.hpp>

#include "tests/cli/fixture.h"

namespace unfold::test {
namespace {

class TaskCommand : public CommandTest {
 protected:
  Arguments training(const Arguments& more = {}) const {
    return Arguments{"train",
                     "--task",
                     "adding:8",
                     "--model",
                     "rnn:6",
                     "--optimizer",
                     "adam:rate=0.01",
                     "--batch",
                     "8",
                     "--steps",
                     "30",
                     "--out",
                     run_,
                     "--validate-every",
                     "10",
                     "--validate-on",
                     "40"} +
           more;
  }
};

TEST_F(TaskCommand, task_model_is_trained_evaluated_and_shown) {
  const Finished trained = unfold_command(training({"--json"}));
  ASSERT_EQ(trained.code, 0) << trained.err;
  const nlohmann::json result = only_object(trained.out);
  EXPECT_EQ(result["task"], "adding:length=8");
  EXPECT_EQ(result["valid"]["sequences"], 40);
  EXPECT_LE(result["valid"]["error_rate"].get<double>(), 1);
  EXPECT_GT(result["valid"]["mean_squared_error"].get<double>(), 0);
  const Finished measured = unfold_command({"eval", run_, "--part", "valid", "--count", "40", "--json"});
  ASSERT_EQ(measured.code, 0) << measured.err;
  EXPECT_EQ(only_object(measured.out), result["valid"]);
  EXPECT_EQ(only_object(unfold_command({"eval", run_, "--count", "1000", "--json"}).out), result["test"]);
  const nlohmann::json shown = only_object(unfold_command({"info", run_, "--json"}).out);
  EXPECT_EQ(shown["task"], "adding:length=8");
  EXPECT_EQ(shown["model"], "rnn:6");
  EXPECT_THAT(unfold_command({"info", run_}).out, HasSubstr("adding:length=8"));
}

TEST_F(TaskCommand, double_task_model_is_trained_evaluated_and_inspected) {
  const Finished trained = unfold_command(training({"--json", "--precision", "double"}));
  ASSERT_EQ(trained.code, 0) << trained.err;
  const nlohmann::json exact = only_object(trained.out),
                       measured = only_object(unfold_command({"eval", run_, "--json"}).out);
  EXPECT_EQ(measured, exact["test"]);
  EXPECT_EQ(only_object(unfold_command({"info", run_, "--json"}).out)["task"], "adding:length=8");
  const Finished report = unfold_command({"report", run_, "-o", folder_ / "page.html"});
  EXPECT_EQ(report.code, 0) << report.err;
  EXPECT_THAT(read_bytes(folder_ / "page.html"), HasSubstr("Worst predictions"));
  const nlohmann::json single = only_object(unfold_command(training({"--json", "--overwrite"})).out);
  EXPECT_NE(single["test"]["nats_per_symbol"], exact["test"]["nats_per_symbol"]);
  EXPECT_NEAR(single["test"]["nats_per_symbol"].get<double>(), exact["test"]["nats_per_symbol"].get<double>(), 1e-4);
}

TEST_F(TaskCommand, resumed_run_has_the_same_model) {
  const std::string whole = folder_ / "whole";
  ASSERT_EQ(unfold_command(training({"--out", whole})).code, 0);
  ASSERT_EQ(unfold_command(training({"--steps", "12"})).code, 0);
  const Finished resumed = unfold_command({"train", "--out", run_, "--resume", "--steps", "30"});
  ASSERT_EQ(resumed.code, 0) << resumed.err;
  const nlohmann::json a = only_object(unfold_command({"eval", run_, "--json"}).out);
  EXPECT_EQ(a, only_object(unfold_command({"eval", whole, "--json"}).out));
}

TEST_F(TaskCommand, model_is_evaluated_on_longer_examples_of_its_task) {
  ASSERT_EQ(unfold_command(training()).code, 0);
  const auto measured = [&](const char* task) {
    const Finished done = unfold_command({"eval", run_, "--task", task, "--count", "40", "--json"});
    EXPECT_EQ(done.code, 0) << done.err;
    return only_object(done.out);
  };
  EXPECT_EQ(measured("adding:8"), only_object(unfold_command({"eval", run_, "--count", "40", "--json"}).out));
  const nlohmann::json longer = measured("adding:50");
  EXPECT_EQ(longer["task"], "adding:length=50");
  EXPECT_EQ(longer["symbols"], 40);  // one value per sequence, other examples
  EXPECT_NE(longer["mean_squared_error"], measured("adding:8")["mean_squared_error"]);
  expect_failure({"eval", run_, "--task", "temporal-order:20"}, 3, "this task reads 6 symbols, predicts 4 classes");
  expect_failure({"eval", run_, "--task", "addign"}, 2, "did you mean \"adding\"?");
}

TEST_F(TaskCommand, pooling_model_round_trips) {
  const Finished trained = unfold_command(training({"--model", "gru:4,pool=mean", "--json"}));
  ASSERT_EQ(trained.code, 0) << trained.err;
  const Finished measured = unfold_command({"eval", run_, "--count", "1000", "--json"});
  ASSERT_EQ(measured.code, 0) << measured.err;
  EXPECT_EQ(only_object(measured.out), only_object(trained.out)["test"]);
  EXPECT_EQ(only_object(unfold_command({"info", run_, "--json"}).out)["model"], "gru:4,pool=mean");
}

/// A learning rate for which nats and errors select different networks, so that the test can distinguish them.
TEST_F(TaskCommand, best_network_can_be_selected_by_error) {
  const auto kept_and_least = [&](const Arguments& more) {
    const Finished trained =
        unfold_command(training({"--json", "--overwrite", "--steps", "300", "--optimizer", "adam:rate=0.05"}) + more);
    EXPECT_EQ(trained.code, 0) << trained.err;
    double min_error = 1, least_nats = 1e9;
    std::istringstream log(read_bytes(run_ + "/log.jsonl"));
    for (std::string line; std::getline(log, line);) {
      const auto event = nlohmann::json::parse(line);
      if (event["event"] != "validation") continue;
      min_error = std::min(min_error, event["error_rate"].get<double>());
      least_nats = std::min(least_nats, event["nats_per_symbol"].get<double>());
    }
    const nlohmann::json kept = only_object(trained.out)["valid"];
    return std::array{kept["error_rate"].get<double>(), min_error, kept["nats_per_symbol"].get<double>(), least_nats};
  };
  const auto [error, min_error, nats, least_nats] = kept_and_least({"--best-by", "sequences"});
  EXPECT_EQ(error, min_error);
  EXPECT_GT(nats, least_nats + 1e-6);
  const auto [same_error, same_least_error, same_nats, same_least_nats] = kept_and_least({});
  EXPECT_NEAR(same_nats, least_nats, 1e-6);
  EXPECT_GT(same_error, min_error);
  EXPECT_EQ(same_least_error, min_error);
  EXPECT_EQ(same_least_nats, least_nats);
}

TEST_F(TaskCommand, unused_data_are_rejected_for_tasks) {
  ASSERT_EQ(unfold_command({"train", "--task", "adding:10", "--model", "gru:4", "--steps", "2", "--out", run_}).code,
            0);
  expect_failure({"eval", run_, text_}, 2, "task adding:length=10 generates its examples");
  expect_failure({"eval", run_, text_, text_}, 2, "the only input may be the folder of its files");
  expect_failure({"predict", run_, text_}, 2, "use it with eval or info");
}

TEST_F(TaskCommand, incompatible_options_are_rejected_for_tasks) {
  expect_failure(training({"--split", "90/10"}), 2,
                 "--split applies to text and data with fields; this is a task: omit --split");
  for (const Arguments& unused :
       {Arguments{"--restarts", "2"}, Arguments{"--label-column"}, Arguments{"--epochs", "3"}})
    expect_failure(training(unused), 2, unused.front() + " has no effect with --task");
  expect_failure(training({"--best-by", "labels"}), 2, "errors are counted per sequence");
  for (const Arguments& unused : {Arguments{"--curriculum", "10"}, Arguments{"--goal-error", "0.1"}})
    expect_failure(training({"--model", "esn:8"}) + unused, 2,
                   unused.front() + " applies to models trained by gradients");
  expect_failure({"train", "--task", "narma:200", "--model", "esn:8", "--minutes", "1", "--out", run_}, 2,
                 "add --steps");
  expect_failure({"train", "--task", "narma:1000000", "--model", "esn:8", "--steps", "1", "--out", run_}, 2, "length");
  expect_failure(training({"--best-by", "sequences", "--model", "esn:8"}), 2, "is fitted in one pass: omit --best-by");
  expect_failure(training({text_}), 2, "does not take DATA");
  expect_failure(training({"--task", "addign"}), 2, "did you mean \"adding\"?");
  expect_failure(training({"--task", "adding:1"}), 2, "invalid option length=1");
  expect_failure(training({"--task", "mnist"}), 2, "needs one folder");
  expect_failure({"train", folder_.path(), "--task", "mnist", "--out", run_, "--steps", "3"}, 3, "neither");
  expect_failure({"train", "--task", "adding", "--out", run_}, 2, "has no epochs: add --steps or --minutes");
  expect_failure({"train", text_, "--goal-error", "0.1", "--out", run_}, 2,
                 "--goal-error applies to tasks; this data is text");
  expect_failure(training({"--task", "copy:4", "--model", "gru:4,pool=mean"}), 2, "but every position is predicted;");
  expect_failure({"train", text_, "--model", "gru:4,condition=start", "--steps", "1", "--out", run_}, 2,
                 "condition= requires a source");
  ASSERT_EQ(unfold_command(training()).code, 0);
  expect_failure({"eval", run_, "--mask", text_}, 2, "--mask applies to text; this is a task model");
  expect_failure({"sample", run_}, 4, "task");
}

TEST_F(TaskCommand, task_examples_are_written_as_a_table) {
  const Finished table = unfold_command({"generate", "memorization:1", "--count", "2", "-o", "-"});
  ASSERT_EQ(table.code, 0) << table.err;
  EXPECT_THAT(table.out, StartsWith("example\tstep\tinput\ttarget\n0\t0\t"));
  EXPECT_THAT(table.out, HasSubstr("\n0\t5\t3\t2\n"));  // the cue; blank expected
  EXPECT_EQ(std::count(table.out.begin(), table.out.end(), '\n'), 1 + 2 * 11);
  EXPECT_THAT(unfold_command({"generate", "adding:3", "--count", "1", "-o", "-"}).out, HasSubstr("\t-\n"));
  const Finished json = unfold_command({"generate", "adding", "--count", "3", "-o", folder_ / "a.tsv", "--json"});
  EXPECT_EQ(only_object(json.out)["symbols"], 300);
  expect_failure({"generate", "mnist", "-o", "-"}, 2, "read from files");
}

}  // namespace
}  // namespace unfold::test
