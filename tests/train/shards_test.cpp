/// Training on shards: the bytes of a run are the same for any number of processes, uninterrupted or resumed. Processes
/// are simulated: each is a trainer in a separate thread.

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <functional>
#include <iterator>
#include <utility>

#include "tests/support/simulated_processes.h"
#include "tests/train/trained_text.h"

namespace unfold {
namespace {

constexpr Index kShards = 6;

/// A text and any kind of network over it.
struct ShardedText {
  using Add = std::function<Signal(Circuit&, Signal)>;
  explicit ShardedText(const Add& add, Index length = 1200)
      : text(wavy_text(length)),
        corpus(Corpus::from_text(text, Alphabet::chars_of(text))),
        parts(split_corpus(corpus, parse_split("80/20"))) {
    const Index symbols = corpus.alphabet().size();
    const Signal x = circuit.symbols("symbols", symbols);
    const Signal h = add(circuit, x);
    const Signal logits = circuit.affine("output", symbols, {{"V", h}});
    circuit.output(logits);
    network = text_network<float>(std::make_shared<const Plan>(circuit), x, logits, true);
    parameters = Parameters<float>(circuit);
    parameters.initialize(3);
  }
  TrainingData data() const { return {corpus, parts[0], &parts[1], nullptr}; }

  std::string text;
  Corpus corpus;
  std::array<Split, 3> parts;
  Circuit circuit;
  Network<float> network;
  Parameters<float> parameters;
};

Signal dropped_lstm(Circuit& c, Signal x) { return c.dropout(lstm(c, x, 8, {}), 0.3); }
/// Has enough parameters for every process to own some of them.
Signal wide_lstm(Circuit& c, Signal x) {
  {
    const auto scope = c.scope("layer1");
    x = lstm(c, x, 40, {});
  }
  const auto scope = c.scope("layer2");
  return c.dropout(lstm(c, x, 32, {}), 0.3);
}

/// Has a gradient that spans several messages.
Signal deep_rnn(Circuit& c, Signal x) {
  for (const char* layer : {"layer1", "layer2"}) {
    const auto scope = c.scope(layer);
    x = rnn(c, x, 380, {});
  }
  return x;
}

Signal relu_rnn(Circuit& c, Signal x) { return rnn(c, x, 8, {.activation = Map::relu}); }
Signal small_rnn(Circuit& c, Signal x) { return rnn(c, x, 5, {.trained_initial = true}); }

TrainerOptions sharded_options(const std::string& optimizer, Index steps) {
  TrainerOptions options = small_options(steps);
  options.optimizer = optimizer;
  options.batches = {.window = 9, .batch = 8};
  options.shards = kShards;
  return options;
}

Ending train_in_one(const ShardedText::Add& add, const TrainerOptions& options, int threads = 1) {
  ShardedText setting(add);
  Team team(threads);
  Trainer<float> trainer(setting.network, setting.parameters, setting.data(), options, team);
  Ending ending{.last = {}, .best = {}, .result = trainer.run()};
  ending.last = flat(setting.parameters);
  ending.best = flat(trainer.best());
  return ending;
}

/// Returns how the runs of all processes ended; only the first process has a log.
std::vector<Ending> train_in(int count, const ShardedText::Add& add, const TrainerOptions& given) {
  std::vector<Ending> endings(static_cast<std::size_t>(count));
  run_in_processes(count, [&](Processes& processes) {
    TrainerOptions options = given;
    options.processes = &processes;
    if (!processes.first()) options.log = "";
    endings[static_cast<std::size_t>(processes.number())] = train_in_one(add, options, 1 + processes.number() % 2);
  });
  return endings;
}

struct Trained {
  std::string name, optimizer;
  ShardedText::Add add;
  Index steps;
  bool whole = false;
};

const std::vector<Trained> kTrained = {
    {"dropout", "adam:rate=0.01,clip=1", dropped_lstm, 40},
    {"path", "path+adam:refresh=7", relu_rnn, 25},
    {"hf", "hf:windows=3,iterations=9,probes=2", dropped_lstm, 4},
    {"natural", "natural:windows=2,iterations=6", small_rnn, 4},
    {"ruop", "ruop", small_rnn, 12, true},
    {"rbpm", "rbpm:reduction=quasi-diagonal,control=fixed,rate=0.3,keep=0.8,average=true", small_rnn, 12},
    {"ascent", "ascent", small_rnn, 8, true},
    {"lbfgs", "lbfgs:l2=0.1", small_rnn, 8, true},
    {"slices", "adam:rate=0.01,clip=0.1", wide_lstm, 8},
    {"decay", "adam:rate=0.01,decay=0.01", wide_lstm, 3},
    {"adamw", "adamw:lazy=true", wide_lstm, 3},
    {"sgd", "sgd", wide_lstm, 3},
    {"rmsprop", "rmsprop", wide_lstm, 3},
    {"asgd", "asgd:t0=2", wide_lstm, 3},
    {"path+momentum", "path+momentum", relu_rnn, 5},
    {"parts", "adam:clip=0.5", deep_rnn, 2},
};

TEST_F(TrainerTest, shards_are_byte_identical_for_any_number_of_processes) {
  for (const Trained& trained : kTrained) {
    TrainerOptions options = sharded_options(trained.optimizer, trained.steps);
    options.batches.whole_sequences = trained.whole;
    const Ending expected = train_in_one(trained.add, options);
    EXPECT_EQ(expected.result.reason, expected.result.reason == "converged" ? "converged" : "steps") << trained.name;
    for (const int count : {2, 3, 4})
      for (const Ending& ending : train_in(count, trained.add, options)) {
        EXPECT_EQ(ending.last, expected.last) << trained.name << " in " << count;
        EXPECT_EQ(ending.best, expected.best) << trained.name << " in " << count;
        EXPECT_EQ(ending.result.best_nats_per_symbol, expected.result.best_nats_per_symbol);
      }
  }
}

TEST_F(TrainerTest, rounded_sums_are_byte_identical_for_any_number_of_processes) {
  TrainerOptions options = sharded_options("adam", 2);
  const Ending exact = train_in_one(deep_rnn, options);
  options.gradient_sums = Precision::bf16;
  const Ending expected = train_in_one(deep_rnn, options);
  EXPECT_NE(expected.last, exact.last);
  for (const int count : {2, 3})
    for (const Ending& ending : train_in(count, deep_rnn, options)) EXPECT_EQ(ending.last, expected.last) << count;
}

TEST_F(TrainerTest, one_shard_equals_ordinary_training) {
  TrainerOptions options = sharded_options("adam:rate=0.01", 30);
  options.shards = 1;
  TrainerOptions plain = options;
  options.processes = &single_process();
  EXPECT_EQ(train_in_one(dropped_lstm, options).last, train_in_one(dropped_lstm, plain).last);
}

TEST_F(TrainerTest, shards_learn_like_the_whole_batch) {
  TrainerOptions options = sharded_options("adam:rate=0.01", 30);
  const Ending divided = train_in_one(small_rnn, options);
  options.shards = 1;
  const Ending whole = train_in_one(small_rnn, options);
  EXPECT_NEAR(divided.result.best_nats_per_symbol, whole.result.best_nats_per_symbol, 1e-4);
}

/// Stopped by a signal that only one process receives, and resumed with another number of processes, repeatedly.
TEST_F(TrainerTest, sharded_runs_resume_exactly_with_another_number_of_processes) {
  for (const char* optimizer : {"adam:rate=0.01,clip=1", "hf:windows=2,iterations=6"}) {
    TrainerOptions options = sharded_options(optimizer, optimizer[0] == 'a' ? 60 : 9);
    options.checkpoint_steps = 4;
    options.checkpoint = file(std::string("whole") + optimizer[0]);
    const Ending expected = train_in_one(dropped_lstm, options);
    options.checkpoint = file(std::string("cut") + optimizer[0]);
    const std::vector<Index> stops = optimizer[0] == 'a' ? std::vector<Index>{7, 21, 33} : std::vector<Index>{2, 5};
    int count = 3;
    for (const Index at_step : stops) {
      run_in_processes(count, [&](Processes& processes) {
        TrainerOptions own = options;
        own.processes = &processes;
        Stop stop(at_step, Stop::How::flag);
        own.stop = &stop.flag;
        ShardedText setting(dropped_lstm);
        Team team(1);
        Trainer<float> trainer(setting.network, setting.parameters, setting.data(), own, team);
        if (processes.number() == count - 1) trainer.set_observer(&stop);  // the others do not receive the signal
        EXPECT_THROW(trainer.run(), InterruptedError);
      });
      options.resume = true;
      count = count == 3 ? 2 : 4;
    }
    for (const Ending& ending : train_in(count, dropped_lstm, options))
      EXPECT_EQ(ending.last, expected.last) << optimizer;
    options.resume = false;
  }
}

/// Returns the tensors of a checkpoint without the header, which contains times.
std::string tensors_of(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  const std::string bytes(std::istreambuf_iterator<char>(in), {});
  std::uint64_t header = 0;
  std::memcpy(&header, bytes.data(), sizeof header);
  return bytes.substr(sizeof header + header);
}

TEST_F(TrainerTest, checkpoint_contains_the_state_of_all_lanes) {
  TrainerOptions options = sharded_options("adam:rate=0.01", 8);
  const auto tensors = [&](const std::string& name, int count) {
    options.checkpoint = file(name);
    train_in(count, small_rnn, options);
    return tensors_of(options.checkpoint);
  };
  const std::string one = tensors("one", 1);
  EXPECT_GT(one.size(), 2 * flat(ShardedText(small_rnn).parameters).size() * sizeof(float));  // plus the carried state
  EXPECT_EQ(tensors("three", 3), one);
}

TEST_F(TrainerTest, sliced_checkpoint_equals_that_of_one_process) {
  for (const char* optimizer : {"adam:rate=0.01", "sgd", "asgd:t0=2"}) {
    TrainerOptions options = sharded_options(optimizer, 4);
    const auto written_in = [&](int count) {
      options.checkpoint = file(optimizer + std::to_string(count));
      train_in(count, wide_lstm, options);
      return tensors_of(options.checkpoint);
    };
    const std::string one = written_in(1);
    EXPECT_GT(one.size(), 2 * 4096 * sizeof(float));
    for (const int count : {2, 3, 4}) EXPECT_EQ(written_in(count), one) << optimizer << " in " << count;
  }
}

/// Interrupted between snapshots, so that the checkpoint has two states; the slices differ after resuming.
TEST_F(TrainerTest, slices_resume_exactly_with_another_number_of_processes) {
  TrainerOptions options = sharded_options("adam:rate=0.01,clip=1", 21);
  const Ending expected = train_in_one(wide_lstm, options);
  options.checkpoint = file("cut");
  int count = 4;
  for (const Index at_step : {5, 11, 14}) {
    run_in_processes(count, [&](Processes& processes) {
      TrainerOptions own = options;
      own.processes = &processes;
      Stop stop(at_step, Stop::How::flag);
      own.stop = &stop.flag;
      ShardedText setting(wide_lstm);
      Team team(1);
      Trainer<float> trainer(setting.network, setting.parameters, setting.data(), own, team);
      if (processes.number() == 1) trainer.set_observer(&stop);
      EXPECT_THROW(trainer.run(), InterruptedError);
    });
    options.resume = true;
    count = count == 4 ? 2 : 3;
  }
  for (const int last : {1, 2})
    for (const Ending& ending : train_in(last, wide_lstm, options)) EXPECT_EQ(ending.last, expected.last) << last;
}

/// Recovering from a divergence restores each process's slices.
TEST_F(TrainerTest, slices_recover_from_a_divergence_together) {
  TrainerOptions options = sharded_options("sgd:rate=1e8,clip=0", 12);
  options.attempts = 12;
  const Ending expected = train_in_one(wide_lstm, options);
  EXPECT_GT(expected.result.rollbacks, 0);
  for (const int count : {2, 3})
    for (const Ending& ending : train_in(count, wide_lstm, options)) {
      EXPECT_EQ(ending.result.rollbacks, expected.result.rollbacks);
      EXPECT_EQ(ending.last, expected.last) << count;
    }
}

TEST_F(TrainerTest, step_has_one_small_gather) {
  const auto gatherings = [&](Index steps, const std::string& optimizer, bool beside) {
    SimulatedNetwork network(3);
    std::atomic<bool> stop = false;
    run_in_processes(network, [&](Processes& processes) {
      TrainerOptions options = sharded_options(optimizer, steps);
      options.processes = &processes;
      options.validate_every = 100;
      options.stop = &stop;
      options.checkpoint = file("some");
      options.checkpoint_seconds = 1000;
      train_in_one(beside ? deep_rnn : wide_lstm, options);
    });
    EXPECT_EQ(network.exchanges_beside(0) > 0, beside);
    return network.gatherings(0);
  };
  EXPECT_EQ(gatherings(6, "adam", false) - gatherings(3, "adam", false), 3u);
  EXPECT_EQ(gatherings(3, "adam", true) - gatherings(2, "adam", true), 1u);
  EXPECT_EQ(gatherings(6, "asgd:t0=2", false) - gatherings(3, "asgd:t0=2", false), 3u);
}

TEST_F(TrainerTest, divergence_is_seen_by_all_processes) {
  struct Breaker : Observer {
    explicit Breaker(Parameters<float>& given) : parameters(given) {}
    void progress(const ProgressEvent& e) override {
      if (e.step == 11 && !std::exchange(broken, true)) parameters.flat()[5] = std::nanf("");
    }
    void rollback(const RollbackEvent& e) override { reason = e.reason; }
    Parameters<float>& parameters;
    bool broken = false;
    std::string reason;
  };
  std::vector<std::vector<float>> endings(3);
  for (const int count : {1, 3})
    run_in_processes(count, [&](Processes& processes) {
      TrainerOptions options = sharded_options("adam:rate=0.01", 30);
      options.processes = &processes;
      ShardedText setting(small_rnn);
      Team team(1);
      Trainer<float> trainer(setting.network, setting.parameters, setting.data(), options, team);
      Breaker breaker(setting.parameters);
      trainer.set_observer(&breaker);
      EXPECT_EQ(trainer.run().rollbacks, 1);
      EXPECT_NE(breaker.reason.find("counted in shard"), std::string::npos) << breaker.reason;
      if (count == 1)
        endings[0] = flat(setting.parameters);
      else
        EXPECT_EQ(flat(setting.parameters), endings[0]);
    });
}

TEST_F(TrainerTest, time_budget_uses_the_clock_of_the_first_process) {
  run_in_processes(3, [&](Processes& processes) {
    TrainerOptions options = sharded_options("adam:rate=0.01,schedule=cosine", 0);
    options.processes = &processes;
    options.minutes = 0.005;
    ShardedText setting(small_rnn);
    Team team(1);
    Trainer<float> trainer(setting.network, setting.parameters, setting.data(), options, team);
    const TrainingResult result = trainer.run();
    for (const double steps : processes.gather(static_cast<double>(result.steps)))
      EXPECT_EQ(steps, static_cast<double>(result.steps));
  });
}

TEST_F(TrainerTest, inconsistent_processes_are_rejected) {
  const auto refusal = [&](int count, const std::function<void(int, TrainerOptions&, ShardedText&)>& change) {
    try {
      run_in_processes(count, [&](Processes& processes) {
        TrainerOptions options = sharded_options("adam:rate=0.01", 5);
        options.processes = &processes;
        ShardedText setting(small_rnn);
        change(processes.number(), options, setting);
        Team team(1);
        Trainer<float>(setting.network, setting.parameters, setting.data(), options, team).run();
      });
    } catch (const UsageError& error) {
      return std::string(error.what());
    }
    return std::string();
  };
  EXPECT_EQ(refusal(2, [](int, TrainerOptions&, ShardedText&) {}), "");
  EXPECT_NE(refusal(7, [](int, TrainerOptions&, ShardedText&) {}).find("7 processes, but 6 shards"), std::string::npos);
  EXPECT_NE(refusal(3, [](int process, TrainerOptions& o, ShardedText&) { o.seed += process == 1 ? 1 : 0; })
                .find("process 1 on machine1: seed is 2"),
            std::string::npos);
  EXPECT_NE(refusal(2, [](int process, TrainerOptions&, ShardedText& s) { s.parameters.flat()[0] += process; })
                .find("the parameters at the start"),
            std::string::npos);
}

TEST_F(TrainerTest, unsupported_sharded_options_are_named_in_the_error) {
  TrainerOptions options = sharded_options("adam", 5);
  options.forcing = TeacherForcing::parse("1..0.2", TeacherForcing::Shape::linear);
  try {
    train_in_one(small_rnn, options);
    FAIL();
  } catch (const UsageError& error) {
    EXPECT_NE(std::string(error.what()).find("scheduled sampling"), std::string::npos) << error.what();
  }
  options = sharded_options("adam", 5);
  options.penalties.activity = 1;
  EXPECT_THROW(train_in_one(small_rnn, options), UsageError);
  options = sharded_options("adam", 5);
  options.shards = 0;
  EXPECT_THROW(train_in_one(small_rnn, options), UsageError);
}

}  // namespace
}  // namespace unfold
