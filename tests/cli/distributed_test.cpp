/// Planning of training in several processes: the cost model, compared with costs computed by hand, and the command.

#include "app/bench/distributed.h"

#include <chrono>
#include <map>
#include <set>
#include <thread>

#include "app/bench/distributed_trace.h"
#include "tests/cli/fixture.h"
#include "tests/support/simulated_processes.h"

namespace unfold::test {
namespace {

const StepEstimate kCost{.per_sequence = 2e-3, .fixed = 4e-3, .parameters = 1'000'000};
const LinkSpeed kLink{.latency = 1e-4, .bytes_per_second = 1e9};

TEST(Distributed, exchange_cost_counts_messages_and_bytes) {
  EXPECT_EQ(exchange_cost(kLink, kCost.parameters, 1).seconds(), 0);
  // Two processes: 2 messages, twice half of 4 MB, a gather of one message.
  EXPECT_NEAR(exchange_cost(kLink, kCost.parameters, 2).seconds(), 2e-4 + 4e-3 + 1e-4, 1e-12);
  // Four: 4 messages, twice three quarters of 4 MB, a gather of two messages.
  EXPECT_NEAR(exchange_cost(kLink, kCost.parameters, 4).seconds(), 4e-4 + 6e-3 + 2e-4, 1e-12);
}

TEST(Distributed, processes_that_cannot_halve_send_to_all) {
  // Three: 4 messages, twice two thirds of 4 MB, a gather of two messages.
  EXPECT_NEAR(exchange_cost(kLink, kCost.parameters, 3).seconds(), 4e-4 + 16e-3 / 3 + 2e-4, 1e-12);
}

TEST(Distributed, batch_division_stops_at_one_sequence_per_process) {
  const auto rows = predict_divided(kCost, kLink, 8);
  ASSERT_EQ(rows.size(), 4u);
  EXPECT_EQ(rows[0].efficiency, 1);
  EXPECT_NEAR(rows[0].seconds(), 8 * 2e-3 + 4e-3, 1e-12);
  EXPECT_EQ(rows[2].processes, 4);
  EXPECT_NEAR(rows[2].seconds(), 2 * 2e-3 + 4e-3 + 6.6e-3, 1e-12);
  EXPECT_NEAR(rows[2].efficiency, 20e-3 / rows[2].seconds() / 4, 1e-12);
}

TEST(Distributed, growing_batch_scales_to_4096_processes) {
  const auto rows = predict_growing(kCost, kLink, 8);
  ASSERT_EQ(rows.size(), 13u);
  EXPECT_EQ(rows.back().processes, 4096);
  for (std::size_t i = 1; i < rows.size(); ++i) EXPECT_LT(rows[i].efficiency, rows[i - 1].efficiency);
}

TEST(Distributed, batch_size_for_a_target_efficiency_is_reported) {
  const double each = sequences_for(kCost, kLink, 16, 0.8);
  const double alone = kCost.seconds(each);
  EXPECT_NEAR(alone / (alone + exchange_cost(kLink, kCost.parameters, 16).seconds()), 0.8, 1e-9);
}

TEST(Distributed, links_and_sums_between_processes_are_measured) {
  run_in_processes(3, [](Processes& processes) {
    const LinkSpeed link = measure_links(processes);
    EXPECT_GT(link.latency, 0);
    EXPECT_GT(link.bytes_per_second, 0);
    const double seconds = measure_exchange(processes, 10'000);
    EXPECT_GT(seconds, 0);
    EXPECT_EQ(processes.gather(link.latency), std::vector<double>(3, link.latency));
  });
}

/// Records a step of 0.4 seconds that ends now and spent `waited` seconds waiting for an exchange.
void note_step(Timeline& timeline, double waited) {
  const auto now = Timeline::Clock::now();
  const auto before = [&](double seconds) {
    return now - std::chrono::duration_cast<Timeline::Clock::duration>(std::chrono::duration<double>(seconds));
  };
  timeline.note("sum", Timeline::Lane::beside, before(0.3));
  timeline.note("waiting", Timeline::Lane::alone, before(waited));
  timeline.note("step", Timeline::Lane::step, before(0.4));
}

TEST(Distributed, timeline_reports_what_a_step_waits_for) {
  Timeline timeline;
  timeline.start();
  EXPECT_EQ(waited_in_step(timeline), 0);
  for (const double waited : {0.4, 0.4, 0.1, 0.3}) {
    std::this_thread::sleep_for(std::chrono::milliseconds(450));
    note_step(timeline, waited);
  }
  EXPECT_NEAR(waited_in_step(timeline), 0.2, 0.05);
}

TEST(Distributed, trace_shows_the_last_steps_of_all_processes) {
  run_in_processes(2, [](Processes& processes) {
    Timeline timeline;
    timeline.start();
    for (int step = 0; step < 3; ++step) {
      std::this_thread::sleep_for(std::chrono::milliseconds(450));
      note_step(timeline, 0.1);
    }
    const nlohmann::json trace = nlohmann::json::parse(to_trace(processes, timeline, 2));
    std::map<std::string, int> counts;
    for (const auto& event : trace["traceEvents"])
      ++counts[event["name"].get<std::string>() + " of " + std::to_string(event["pid"].get<int>())];
    for (const char* event : {"sum of ", "waiting of ", "step of "})
      for (const char* process : {"0", "1"}) EXPECT_EQ(counts[std::string(event) + process], 2) << event << process;
  });
}

TEST(Distributed, distributed_steps_write_a_timeline) {
  run_in_processes(2, [](Processes& processes) {
    Timeline timeline;
    Team team(1);
    const TrainingShape shape{"rnn:8", 4, 8, 10};
    EXPECT_GT(measure_step_together(shape, team, 0.05, processes, timeline), 0);
    std::set<std::string> names;
    for (const Timeline::Entry& e : timeline.entries()) {
      EXPECT_LE(e.begin, e.end);
      names.insert(e.lane == Timeline::Lane::step ? "step" : e.name);
    }
    for (const char* name : {"step", "forward", "gathering losses and norms"})
      EXPECT_TRUE(names.contains(name)) << name;
  });
}

TEST(Distributed, planner_works_for_a_network_that_is_not_loaded) {
  const Arguments bench = {"bench", "--distributed", "--model", "rnn:8",     "--batch",
                           "8",     "--window",      "8",       "--seconds", "0.02"};
  expect_failure(bench, 2, "there is one process and no link to measure");
  expect_failure({"bench", "--latency", "1"}, 2, "--latency, --bandwidth, --plot and --trace require --distributed");
  expect_failure(bench + Arguments{"--latency", "1e-4", "--bandwidth", "1e9", "--trace", "t.json"}, 2,
                 "--trace needs several processes;");
  const Finished text = unfold_command(bench + Arguments{"--latency", "1e-4", "--bandwidth", "1e9"});
  ASSERT_EQ(text.code, 0) << text.err;
  EXPECT_THAT(text.out, HasSubstr("100.0 us per message, 1.00 GB/s (as given)"));
  EXPECT_THAT(text.out, HasSubstr("Advice"));
  const TemporaryFolder folder;
  const Finished found = unfold_command(
      bench + Arguments{"--latency", "1e-4", "--bandwidth", "1e9", "--json", "--plot", folder / "plan.svg"});
  EXPECT_THAT(read_bytes(folder / "plan.svg"), HasSubstr("weak: latency"));
  const nlohmann::json json = only_object(found.out);
  EXPECT_EQ(json["divided"].size(), 4u);
  EXPECT_EQ(json["growing"].size(), 13u);
}

}  // namespace
}  // namespace unfold::test
