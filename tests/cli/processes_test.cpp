/// `mpirun -n K unfold train --shards S`: the same model bytes for every K. Invalid requests fail in all processes with
/// one message. If a process is killed, the others exit, and the run can be resumed with a different number of
/// processes. Skipped if the build has no MPI.

#include <filesystem>
#include <nlohmann/json.hpp>
#include <set>
#include <thread>

#include "tests/cli/fields.h"
#include "tests/cli/mpirun.h"

namespace unfold::test {
namespace {

struct Kind {
  std::string name;
  Arguments options;
};

TEST_F(ProcessesTest, model_does_not_depend_on_the_number_of_processes) {
  write_bytes(folder_ / "some.trees", tree_lines(40));
  const Arguments text = {"train", text_, "--window", "10", "--batch", "12", "--seed", "5"};
  const std::vector<Kind> kinds = {
      {"lstm", text + Arguments{"--model", "lstm:12,layers=2,dropout=0.2", "--optimizer", "adam:rate=0.01,clip=1",
                                "--steps", "30", "--validate-every", "10"}},
      {"ruop", text + Arguments{"--model", "glnn:6,edges=3", "--optimizer", "ruop", "--steps", "5"}},
      {"ruop with draws",
       text + Arguments{"--model", "glnn:6,edges=3", "--optimizer", "ruop:draws=2,sequences=equal", "--steps", "3"}},
      {"hf", text + Arguments{"--model", "rnn:8", "--optimizer", "hf:windows=2,iterations=5", "--steps", "3"}},
      {"path", text + Arguments{"--model", "rnn:8,activation=relu", "--optimizer", "path+adam", "--steps", "20"}},
      // Parts of the gradient are sent while the rest is computed, and each process has its slices.
      {"wide", text + Arguments{"--model", "lstm:256,layers=2", "--optimizer", "adam:rate=0.01", "--steps", "4"}},
      {"rounded", text + Arguments{"--model", "lstm:12", "--gradient-sums", "bf16", "--steps", "20"}},
      {"trees", {"train", folder_ / "some.trees", "--model", "tree-lstm:5", "--batch", "12", "--steps", "12"}}};
  for (const Kind& kind : kinds) {
    const std::string expected = model_of(1, kind.name, kind.options + Arguments{"--shards", "6"});
    EXPECT_FALSE(expected.empty());
    EXPECT_EQ(model_of(2, kind.name, kind.options + Arguments{"--shards", "6"}), expected) << kind.name;
    EXPECT_EQ(model_of(3, kind.name, kind.options + Arguments{"--shards", "6", "--threads", "2"}), expected)
        << kind.name;
  }
  for (const std::size_t kind : {0, 4}) {
    const Arguments eight = kinds[kind].options + Arguments{"--shards", "8"};
    EXPECT_EQ(model_of(4, "eight", eight), model_of(1, "eight", eight)) << kinds[kind].name;
  }
}

TEST_F(ProcessesTest, distributed_trace_is_written) {
  const std::string trace = folder_ / "trace.json";
  const Finished finished = mpirun(2, {"bench", "--distributed", "--model", "lstm:256,layers=2", "--batch", "4",
                                       "--window", "8", "--seconds", "0.1", "--threads", "1", "--trace", trace});
  EXPECT_EQ(finished.code, 0) << finished.err;
  EXPECT_THAT(finished.out, HasSubstr("% of an exchange is hidden"));
  const nlohmann::json events = nlohmann::json::parse(read_bytes(trace))["traceEvents"];
  std::set<int> with_sums_beside;
  for (const auto& event : events)
    if (event.value("cat", "") == "exchange beside") with_sums_beside.insert(event["pid"].get<int>());
  EXPECT_EQ(with_sums_beside, (std::set<int>{0, 1}));
}

TEST_F(ProcessesTest, processes_count_ngrams_together) {
  const Arguments options = {"train", text_, "--model", "ngram:6"};
  const std::string expected = model_of(1, "ngrams", options);
  EXPECT_FALSE(expected.empty());
  EXPECT_EQ(model_of(2, "ngrams", options), expected);
  EXPECT_EQ(model_of(3, "ngrams", options + Arguments{"--memory-limit", "1"}), expected);
  const Finished refused = mpirun(2, {"train", text_, "--model", "ctw:4", "--out", run_});
  EXPECT_EQ(refused.code, 2);
  EXPECT_THAT(refused.err, HasSubstr("2 processes were started, but ctw:4 is fitted in one"));
}

TEST_F(ProcessesTest, processes_report_one_error) {
  const auto refused = [&](int count, const Arguments& more, const std::string& message) {
    const Finished finished = unfold_command(training(more), started_in(count));
    EXPECT_EQ(finished.code, 2) << finished.err;
    EXPECT_THAT(finished.err, HasSubstr(message));
    EXPECT_EQ(finished.err.find("unfold: "), finished.err.rfind("unfold: ")) << finished.err;
  };
  refused(2, {}, "2 processes were started without --shards");
  refused(3, {"--shards", "2"}, "3 processes, but --shards 2");
  refused(2, {"--gradient-sums", "bf16"}, "--gradient-sums needs --shards S with S of at least");
  refused(2, {"--shards", "5"}, "--shards 5 exceeds the 4 sequences of a batch");
}

TEST_F(ProcessesTest, process_with_different_data_is_named) {
  // Each process has a separate folder, as on separate machines.
  const std::string script = folder_ / "apart.sh";
  write_bytes(script, "cd '" + folder_.path() + "/'$OMPI_COMM_WORLD_RANK && exec \"$@\"\n");
  for (const char* process : {"0", "1"}) {
    std::filesystem::create_directories(folder_ / process);
    write_bytes(folder_ / process + "/book.txt", small_text(process[0] == '0' ? 3000 : 2990));
  }
  Surroundings apart = started_in(2);
  apart.before.insert(apart.before.end(), {"sh", script});
  const Finished finished = unfold_command({"train", "book.txt", "--shards", "2", "--model", "rnn:4", "--batch", "4",
                                            "--window", "8", "--steps", "3", "--out", "run"},
                                           apart);
  EXPECT_EQ(finished.code, 2) << finished.err;
  EXPECT_THAT(finished.err, HasSubstr("process 1 on "));
  EXPECT_THAT(finished.err, HasSubstr("the fingerprint of book.txt"));
}

TEST_F(ProcessesTest, killed_process_ends_the_others_and_the_run_resumes_with_another_number) {
  const Arguments options = {
      "train",    text_, "--window",           "10", "--batch", "12",  "--model", "lstm:64,dropout=0.2",
      "--shards", "6",   "--checkpoint-every", "3",  "--steps", "400", "--seed",  "3"};
  const std::string expected = model_of(1, "whole", options);
  const Arguments cut = options + Arguments{"--out", run_};
  const Arguments resumed = {"train", "--out", run_, "--resume"};
  int count = 3, killed = 0;
  for (const int moment : {700, 1100, 900}) {
    Process process(killed == 0 ? cut : resumed, started_in(count));
    std::this_thread::sleep_for(std::chrono::milliseconds(moment));
    std::vector<pid_t> children = children_of(process.id());
    while (children.size() < static_cast<std::size_t>(count) &&
           process.running()) {  // mpirun has not yet started all processes
      std::this_thread::sleep_for(std::chrono::milliseconds(50));
      children = children_of(process.id());
    }
    if (!children.empty()) ::kill(children[static_cast<std::size_t>(killed) % children.size()], SIGKILL);
    const auto begin = std::chrono::steady_clock::now();
    const Finished finished = process.finish(60);
    if (finished.code == 0) break;  // it finished first
    EXPECT_LT(std::chrono::steady_clock::now() - begin, std::chrono::seconds(20));
    EXPECT_THAT(finished.err, HasSubstr("exited on signal 9")) << finished.err;
    if (!read_bytes(run_ + "/config.toml").empty()) ++killed;
    count = count == 3 ? 2 : 3;
  }
  const Finished finished = mpirun(count, killed == 0 ? cut + Arguments{"--overwrite"} : resumed);
  EXPECT_EQ(finished.code, 0) << finished.err;
  EXPECT_EQ(short_of(read_bytes(run_ + "/model.safetensors")), expected);
}

TEST(WithoutMpi, shards_work_without_mpi) {
  TemporaryFolder folder;
  write_bytes(folder / "text.txt", small_text(3000));
  const Finished finished = unfold_command({"train", folder / "text.txt", "--shards", "3", "--model", "rnn:4",
                                            "--batch", "6", "--window", "8", "--steps", "5", "--out", folder / "run"});
  EXPECT_EQ(finished.code, 0) << finished.err;
}

TEST(WithoutMpi, multiple_processes_are_rejected_without_mpi) {
  if (!std::string(UNFOLD_MPIEXEC).empty()) GTEST_SKIP() << "this build has MPI";
  TemporaryFolder folder;
  write_bytes(folder / "text.txt", small_text(3000));
  expect_failure({"train", folder / "text.txt", "--shards", "2", "--out", folder / "run"}, 2,
                 "this build has no MPI support", {.environment = {{"OMPI_COMM_WORLD_SIZE", "2"}}});
  const Finished second = unfold_command(
      {"info", folder / "run"}, {.environment = {{"OMPI_COMM_WORLD_SIZE", "2"}, {"OMPI_COMM_WORLD_RANK", "1"}}});
  EXPECT_EQ(second.code, 2);
  EXPECT_EQ(second.err, "");  // the first process reports it
}

}  // namespace
}  // namespace unfold::test
