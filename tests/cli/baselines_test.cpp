// Baselines next to the results of train, eval and report.
#include "tests/cli/fixture.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <array>

#include <nlohmann/json.hpp>

namespace unfold::test {
namespace {

class BaselinesTest : public CommandTest {
 protected:
  static nlohmann::json baseline(const nlohmann::json& result, const std::string& name) {
    for (const nlohmann::json& each : result.at("baselines"))
      if (each.at("name") == name) return each;
    ADD_FAILURE() << "no baseline " << name << " in " << result.dump();
    return nlohmann::json::object();
  }
};

/// The model of symbol frequencies is a reference for the unigram.
TEST_F(BaselinesTest, TheUnigramOfEvalIsTheModelOfFrequencies) {
  ASSERT_EQ(unfold_command(training({"--overwrite"})).code, 0);
  const std::string other = folder_ / "other.txt";
  write_bytes(other, "the cat sat on the mat, and the cat");
  const Finished measured = unfold_command({"eval", run_, other, "--unknown", "skip", "--json"});
  ASSERT_EQ(measured.code, 0) << measured.err;
  const nlohmann::json result = only_object(measured.out), unigram = baseline(result, "unigram");
  EXPECT_EQ(unigram["measure"], "nats_per_symbol");
  EXPECT_EQ(unigram["result"], result["nats_per_symbol"]);
  const std::string reference = folder_ / "frequency";
  ASSERT_EQ(unfold_command({"train", text_, "--out", reference, "--model", "frequency", "--quiet"}).code, 0);
  const nlohmann::json frequency =
      only_object(unfold_command({"eval", reference, other, "--unknown", "skip", "--json"}).out);
  EXPECT_NEAR(unigram["value"].get<double>(), frequency["nats_per_symbol"].get<double>(), 1e-5);
  EXPECT_THAT(unfold_command({"eval", run_, other, "--unknown", "skip"}).out, HasSubstr("baseline         unigram"));
}

TEST_F(BaselinesTest, EvalUsesTheMajorityClassOfTraining) {
  const std::string file = folder_ / "labels.tsv", other = folder_ / "other.tsv";
  std::string text;
  for (int i = 0; i < 40; ++i) text += i % 4 == 0 ? "1\tgood film\n" : "0\tbad film\n";
  write_bytes(file, text);
  write_bytes(other, "1\tgood film\n1\tfilm\n1\tgood\n0\tbad film\n");
  const Finished trained = unfold_command(
      {"train", file, "--format", "labelled", "--model", "lstm:4", "--steps", "3", "--out", run_, "--json", "--quiet"});
  ASSERT_EQ(trained.code, 0) << trained.err;
  EXPECT_EQ(baseline(only_object(trained.out), "majority class")["value"], 0.5);  // rows 10, 20, 30 and 40
  const nlohmann::json result = only_object(unfold_command({"eval", run_, other, "--json"}).out);
  EXPECT_EQ(baseline(result, "majority class")["value"], 0.25);
  EXPECT_EQ(baseline(result, "majority class")["field"], "label");
  const std::string page = folder_ / "page.html";
  ASSERT_EQ(unfold_command({"report", run_, "-o", page}).code, 0);
  EXPECT_THAT(read_bytes(page), HasSubstr("majority class"));
}

TEST_F(BaselinesTest, NumbersAreComparedWithTheirMeanAndTheLastValue) {
  const std::string file = folder_ / "wave.csv", other = folder_ / "other.csv";
  std::string text = "x\n";
  for (int i = 0; i < 60; ++i) text += fmt::format("{}\n", i % 2 == 0 ? 1 : 3);
  write_bytes(file, text);
  write_bytes(other, "x\n1\n3\n1\n3\n1\n");
  ASSERT_EQ(unfold_command({"train", file, "--read", "x", "--predict", "x", "--model", "rnn:4", "--steps", "3",
                            "--split", "100/0/0", "--out", run_, "--quiet"})
                .code,
            0);
  const Finished measured = unfold_command({"eval", run_, other, "--json"});
  ASSERT_EQ(measured.code, 0) << measured.err;
  const nlohmann::json result = only_object(measured.out);
  EXPECT_NEAR(baseline(result, "mean")["value"].get<double>(), 1, 1e-5);
  // The first value has no predecessor and is predicted by the mean.
  EXPECT_NEAR(baseline(result, "persistence")["value"].get<double>(), (4 * 4.0 + 1) / 5, 1e-5);
}

/// Sessions of a table, as rows of the users in turn. `next(user, k, last)`: the event k of a user.
template <class Next>
std::string event_table(int users, int length, const Next& next) {
  std::vector<std::string> last(static_cast<std::size_t>(users));
  std::string text = "user,time,event\n";
  for (int k = 0; k < length; ++k)
    for (int u = 0; u < users; ++u) {
      std::string& event = last[static_cast<std::size_t>(u)];
      event = next(u, k, event);
      text += fmt::format("u{:03},2026-03-01T{:02}:{:02}:{:02},{}\n", u, k, u % 60, (u * 7 + k) % 60, event);
    }
  return text;
}

/// Pseudo-random numbers below `count`.
struct Draws {
  std::uint64_t state;
  int below(int count) {
    state = state * 6364136223846793005U + 1442695040888963407U;
    return static_cast<int>((state >> 33) % static_cast<std::uint64_t>(count));
  }
};

TEST_F(BaselinesTest, EventsAreComparedWithBigramsAndTrigrams) {
  Draws draws{7};
  // A Markov chain: each event is followed by one of two events; sessions begin with the same event.
  const auto markov = [&](int, int k, const std::string& last) {
    if (k == 0) return std::string("start");
    const int from = last == "start" ? 0 : last[0] - 'a';
    return std::string(1, static_cast<char>('a' + (draws.below(4) == 0 ? from + 1 : from * 2 + 1) % 5));
  };
  // Nearly deterministic sessions, whose next event depends on the last two.
  const auto cycle = [&](int u, int k, const std::string&) {
    const std::vector<std::string> way = {"open", "read", "read", "write", "close"};
    return draws.below(50) == 0 ? std::string("error") : way[static_cast<std::size_t>(u + k) % way.size()];
  };
  const std::string file = folder_ / "events.csv";
  for (const std::string& table : {event_table(50, 20, markov), event_table(50, 20, cycle)}) {
    write_bytes(file, table);
    const Finished trained = unfold_command({"train", file, "--out", run_, "--overwrite", "--json"});
    ASSERT_EQ(trained.code, 0) << trained.err;
    const nlohmann::json result = only_object(trained.out), bigram = baseline(result, "bigram");
    EXPECT_EQ(bigram["measure"], "nats_per_position");
    EXPECT_LT(bigram["result"].get<double>(), bigram["value"].get<double>() + 0.01);
    EXPECT_EQ(baseline(result, "trigram")["result"], bigram["result"]);
    EXPECT_THAT(trained.err, HasSubstr("(--read overrides it)"));
    EXPECT_LT(result["steps"].get<int>(), 600) << "training should end early";
    EXPECT_THAT(trained.err, Not(HasSubstr("predict --ahead does not know")));
  }
}

TEST_F(BaselinesTest, FieldsOfThePredictedEventItselfAreNamed) {
  Draws draws{3};
  std::string table = "user,time,page\n";
  for (int u = 0; u < 50; ++u)
    for (int k = 0, minute = u; k < 16; ++k) {
      const auto page = static_cast<std::size_t>(draws.below(3));
      minute += std::array{1, 20, 200}[page];  // the time before an event depends on its page
      table += fmt::format("u{:02},2026-03-{:02}T{:02}:{:02}:00,{}\n", u, 1 + minute / 1440, minute / 60 % 24,
                           minute % 60, "abc"[page]);
    }
  const std::string file = folder_ / "events.csv";
  write_bytes(file, table);
  const Finished trained = unfold_command({"train", file, "--out", run_});
  ASSERT_EQ(trained.code, 0) << trained.err;
  EXPECT_THAT(trained.err,
              HasSubstr("time.gap of each event are read to predict it. predict --ahead does not know them"));
  EXPECT_THAT(trained.err, HasSubstr("so a model trained with --read page may predict the next event better"));
}

/// A small table for which the default model is chosen by cross-validation.
TEST_F(BaselinesTest, ResultsOfCrossValidationAreNotThoseOfTheInitialModel) {
  Draws draws{5};
  std::string table = "a,b,c,d,kind\n";
  for (int i = 0; i < 90; ++i) {
    const int kind = i % 3;
    const auto number = [&](int mean) { return mean + draws.below(40); };
    const std::array numbers = {number(kind == 0 ? 50 : 10), number(kind == 1 ? 50 : 10), number(0), number(20 * kind)};
    table += fmt::format("{},{}\n", fmt::join(numbers, ","), "xyz"[kind]);
  }
  const std::string file = folder_ / "kinds.csv";
  write_bytes(file, table);
  const Finished trained = unfold_command({"train", file, "--out", run_});
  ASSERT_EQ(trained.code, 0) << trained.err;
  EXPECT_THAT(trained.err, HasSubstr("leaving out"));
  EXPECT_THAT(trained.out, Not(HasSubstr("initial model")));
  const bool network = trained.err.find("using rnn") != std::string::npos;
  EXPECT_THAT(trained.out, HasSubstr(network ? "Cross-validation; the saved model is trained on all examples, for "
                                             : "Validation:\n"));
}

TEST_F(BaselinesTest, PerfectLabelsAreNotAReasonToTrainLonger) {
  std::string columns;
  for (int i = 0; i < 60; ++i) columns += i % 3 == 0 ? "the D\ncat N\n\n" : "a D\ndog N\nruns V\n\n";
  const std::string file = folder_ / "tags.conll";
  write_bytes(file, columns);
  const Finished more =
      unfold_command({"train", file, "--model", "rnn:8", "--steps", "400", "--validate-every", "50", "--out", run_});
  EXPECT_THAT(more.out, HasSubstr("accuracy               1\n"));
  EXPECT_THAT(more.out, HasSubstr("at step 400 of 400"));
  EXPECT_THAT(more.err, Not(HasSubstr("train longer")));
}

}  // namespace
}  // namespace unfold::test
