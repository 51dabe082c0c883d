// Logs: from raw lines to scores, through the library functions.
#include <gtest/gtest.h>

#include <cmath>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "app/common/line_source.h"
#include "app/logs/log_anomaly_score.h"
#include "app/logs/log_sessions.h"
#include "app/logs/log_update.h"
#include "app/report/report.h"
#include "app/score/score.h"
#include "app/train/train.h"
#include "model/ngram/ngram.h"
#include "model/registry/run_folder.h"
#include "tests/base/scratch.h"

namespace unfold {
namespace {

using testing_support::contains;
using testing_support::message_of;
using testing_support::ScratchFolder;

std::string small_log(int lines = 60) {
  std::string log;
  for (int i = 0; i < lines; ++i) {
    log += "Dec 10 06:55:" + std::to_string(10 + i % 50) + " web-" + std::to_string(i % 2) + " sshd[" +
           std::to_string(1000 + i) + "]: ";
    log += i % 10 == 7 ? "session closed for user root\n"
                       : "Accepted password from 10.0.0." + std::to_string(i % 250) + "\n";
  }
  return log;
}

class LogTest : public ::testing::Test {
 protected:
  std::unique_ptr<SymbolModel> trained(const std::string& log, const std::map<std::string, std::string>& more = {}) {
    TrainRequest request{.out = folder_.path("run" + std::to_string(++runs_))};
    request.settings.data = {folder_.write("log" + std::to_string(runs_), log)};
    request.settings.format = kLogFormat;
    request.run.threads = 1;
    request.given = {"format"};
    for (const auto& [name, value] : more) {
      assign_text(name, value, request.settings, request.run);
      request.given.insert(name);
    }
    train(request);
    return load_model(request.out);
  }

  ScratchFolder folder_;
  int runs_ = 0;
};

TEST_F(LogTest, log_training_requires_only_the_format) {
  const auto model = trained(small_log());
  EXPECT_EQ(model->spec_text(), kDefaultLogModel);
  const std::optional<LogCard> card = log_card(*model);
  ASSERT_TRUE(card.has_value());
  EXPECT_EQ(card->lines, 60);
  EXPECT_EQ(card->shapes, 2);
  EXPECT_FALSE(card->label_column);
  EXPECT_EQ(card->rules.text(), LogRules().text());
  EXPECT_NE(model->alphabet().find("<host>"), kNoSymbol);
}

TEST_F(LogTest, first_column_labels_are_detected_and_only_normal_lines_are_trained_on) {
  std::string log;
  for (int i = 0; i < 40; ++i) log += i % 8 == 3 ? "KERNEL 12 all is lost\n" : "- 12 all is well\n";
  const auto model = trained(log);
  EXPECT_TRUE(log_card(*model)->label_column);
  EXPECT_EQ(log_card(*model)->lines, 35);
  EXPECT_EQ(model->alphabet().find("lost"), kNoSymbol);
  LogScorer scorer(*model);
  EXPECT_EQ(scorer.score("KERNEL 12 all is lost").label, "KERNEL");
  EXPECT_EQ(scorer.line().text(), "12 all is lost");
  EXPECT_TRUE(contains(message_of<DataError>([&] { scorer.score(" 12"); }), "line 2"));
  LogScorer unlabeled(*model);
  EXPECT_EQ(unlabeled.score("12 all is well").label, std::nullopt) << "new logs need no labels";
}

TEST_F(LogTest, byte_order_mark_does_not_hide_a_label) {
  std::string log = "\xEF\xBB\xBF";
  for (int i = 0; i < 40; ++i) log += i % 8 == 3 ? "KERNEL 12 all is lost\n" : "- 12 all is well\n";
  const auto model = trained(log);
  EXPECT_TRUE(log_card(*model)->label_column);
  EXPECT_EQ(log_card(*model)->lines, 35);
  EXPECT_EQ(log_card(*model)->shapes, 1);
  LogScorer scorer(*model), plain(*model);
  const ScoredLogLine marked = scorer.score("\xEF\xBB\xBF- 12 all is well");
  EXPECT_EQ(marked.label, "-");
  EXPECT_EQ(marked.nats, plain.score("- 12 all is well").nats);
}

/// Appends a zero byte to each byte.
std::string as_utf16(const std::string& text) {
  std::string wide = "\xFF\xFE";
  for (const char c : text) wide.append(1, c).append(1, '\0');
  return wide;
}

TEST_F(LogTest, utf_16_is_rejected_with_a_remedy) {
  const std::string refused = message_of<DataError>([&] { trained(as_utf16(small_log())); });
  EXPECT_TRUE(contains(refused, "log1 is UTF-16")) << refused;
  EXPECT_TRUE(contains(refused, "iconv -f UTF-16 -t UTF-8")) << refused;
  const auto model = trained(small_log());
  LogScorer scorer(*model);
  EXPECT_TRUE(contains(message_of<DataError>([&] { scorer.score(as_utf16("session closed")); }), "iconv"));
  EXPECT_THROW(log_shapes(*log_card(*model), {Input::from_bytes("x", as_utf16("session"))}), DataError);
  LogScorer cut_off(*model);  // zero bytes after a crash are not UTF-16
  EXPECT_GT(cut_off.score(std::string(40, '\0') + "session closed").nats, 0);
}

TEST_F(LogTest, carriage_returns_end_lines_in_a_log_without_line_feeds) {
  const std::string log = small_log();
  std::string with_returns = log;
  std::ranges::replace(with_returns, '\n', '\r');
  const auto model = trained(with_returns);
  EXPECT_EQ(log_card(*model)->lines, 60);
  EXPECT_EQ(log_card(*model)->templates.to_json(), log_card(*trained(log))->templates.to_json());
  LineSource source(folder_.write("returns", with_returns)), twice(Input::from_bytes("x", "a\rb\nc"));
  source.accept_carriage_returns();
  twice.accept_carriage_returns();
  Index lines = 0;
  std::string_view line;
  for (; source.next(line); ++lines) EXPECT_TRUE(line.starts_with("Dec 10 ")) << line;
  EXPECT_EQ(lines, 60);
  ASSERT_TRUE(twice.next(line));
  EXPECT_EQ(line, "a\rb") << "a line feed ends lines";
}

TEST_F(LogTest, training_label_option_implies_a_label_column) {
  const auto model = trained("good 1 a\nbad 2 b\ngood 3 a\n", {{"only-label", "good"}});
  EXPECT_EQ(log_card(*model)->lines, 2);
  EXPECT_EQ(model->alphabet().find("b"), kNoSymbol);
}

TEST_F(LogTest, unknown_word_has_the_escape_probability_shared_by_all_words) {
  const auto model = trained(small_log());
  LogScorer scorer(*model);
  const ScoredLogLine known = scorer.score("Dec 10 06:55:11 web-1 sshd[7]: session closed for user root");
  const ScoredLogLine unknown = scorer.score("Dec 10 06:55:11 web-1 sshd[7]: session closed for user mallory");
  EXPECT_EQ(unknown.symbols, known.symbols);
  EXPECT_EQ(unknown.token, "mallory");
  EXPECT_GT(unknown.token_bits(), 6);
  EXPECT_GT(unknown.surprise, known.surprise + 1);
  // Witten-Bell by hand. The context "for user" occurs 6 times in training with one distinct successor, so it escapes
  // with probability 1 / 7, as does "user". The empty context counts all words and line endings.
  const Alphabet& alphabet = model->alphabet();
  std::map<Symbol, double> unigrams;
  double all = 0;
  std::ifstream file(folder_.path("log1"));
  const LogScanner scanner{LogRules()};
  LogLine parts;
  for (std::string line; std::getline(file, line);) {
    scanner.scan(line, parts);
    for (const Symbol s : alphabet.encode(parts.shape + "\n")) ++unigrams[s], ++all;
  }
  const double different = static_cast<double>(unigrams.size());
  const double p = 1.0 / 7 * 1.0 / 7 * different / (all + different) * 1 / static_cast<double>(alphabet.size());
  EXPECT_NEAR(unknown.token_nats, -std::log(p), 1e-4);
}

TEST_F(LogTest, long_tokens_are_shown_by_their_beginning) {
  const auto model = trained(small_log());
  std::string token;
  for (int i = 0; i < 300'000; ++i) token += "ä";
  const ScoredLogLine scored =
      LogScorer(*model).score("Dec 10 06:55:11 web-1 sshd[7]: session closed for user " + token);
  EXPECT_EQ(scored.token, token.substr(0, 256) + "...");
}

/// The formula of log_anomaly_score.h in probabilities, computed from scratch for every line.
class SlowScorer {
 public:
  SlowScorer(double lines, double shapes) : lines_(lines), shapes_(shapes) {}
  double surprise(const std::string& shape, double nats, double tokens) {
    const double d = shapes_ + static_cast<double>(std::set<std::string>(seen_.begin(), seen_.end()).size());
    const double c = static_cast<double>(std::ranges::count(seen_, shape));
    const double p = (c + lines_ * std::exp(-nats) + d * std::exp(-nats / tokens)) /
                     (static_cast<double>(seen_.size()) + lines_ + d);
    seen_.push_back(shape);
    return -std::log(p);
  }

 private:
  double lines_, shapes_;
  std::vector<std::string> seen_;
};

TEST_F(LogTest, score_equals_its_formula) {
  const auto model = trained(small_log());
  LogScorer scorer(*model);
  SlowScorer slow(60, 2);
  for (const char* line : {"Dec 10 06:55:11 a sshd[7]: Accepted password from 10.0.0.1", "brand new", "brand new", "",
                           "Dec 10 06:55:11 a sshd[7]: Accepted password from 10.0.0.2", "brand new", "another 7"}) {
    const ScoredLogLine scored = scorer.score(line);
    EXPECT_NEAR(scored.surprise,
                slow.surprise(scorer.line().parts().shape, scored.nats, static_cast<double>(scored.symbols)), 1e-6)
        << line;
  }
}

TEST_F(LogTest, repeated_line_loses_surprisal_unless_scores_are_fixed) {
  const auto model = trained(small_log());
  LogScorer adaptive(*model), fixed(*model, {.adapt = false});
  const double first = adaptive.score("disk full").surprise, fixed_first = fixed.score("disk full").surprise;
  double last = first;
  for (int i = 0; i < 20; ++i) {
    const double next = adaptive.score("disk full").surprise;
    EXPECT_LT(next, last);
    last = next;
    EXPECT_EQ(fixed.score("disk full").surprise, fixed_first);
  }
  EXPECT_EQ(first, fixed_first);
}

/// Lines with a delay between 100 and 899 ms, one per minute.
std::string log_of_delays(int lines) {
  std::string log;
  for (int i = 0; i < lines; ++i) {
    const auto two = [](int x) { return std::string(x < 10 ? "0" : "") + std::to_string(x); };
    log += "2026-03-0" + std::to_string(2 + i / 1440) + " " + two(i / 60 % 24) + ":" + two(i % 60) +
           ":00 app: request served delay=" + std::to_string(100 + i * 7919 % 800) + "ms\n";
  }
  return log;
}

TEST_F(LogTest, expected_values_of_an_alarm_are_those_before_its_line) {
  const auto model = trained(log_of_delays(2000));
  EXPECT_EQ(log_detector(*model).grouping().role, LogOrderModel::kNoRole) << "a measurement does not group lines";
  EXPECT_FALSE(log_detector(*model).grouping().used);
  LogAnomalyScorer scorer(*model, {.false_alarms = 0.001});
  const LogAnomaly anomaly = scorer.score("2026-03-09 08:08:50 app: request served delay=987654ms");
  ASSERT_TRUE(anomaly.alarm);
  EXPECT_EQ(anomaly.alarm->kind, LogAlarmKind::value);
  EXPECT_EQ(anomaly.expected, "100 to 899");
}

TEST_F(LogTest, previous_line_of_the_same_host_is_optional_context) {
  const auto model = trained(small_log());
  const auto line = [](const std::string& host, const std::string& text) {
    return "Dec 10 06:55:11 " + host + " app[7]: " + text;
  };
  // On host a, `one` and `two` alternate; lines of host b in between do not interrupt the sequence.
  LogScorer scorer(*model, {.context = "host"});
  for (int i = 0; i < 30; ++i) {
    scorer.score(line("a", i % 2 == 0 ? "one" : "two"));
    scorer.score(line("b", "three"));
  }
  LogScorer other(*model, {.context = "host"});
  for (int i = 0; i < 30; ++i) {
    other.score(line("a", i % 2 == 0 ? "one" : "two"));
    other.score(line("b", "three"));
  }
  EXPECT_LT(scorer.score(line("a", "one")).surprisal_bits() + 2, other.score(line("a", "two")).surprisal_bits());
  EXPECT_TRUE(contains(message_of<UsageError>([&] { LogScorer(*model, {.context = "planet"}); }), "planet"));
}

/// Counts all values again at every position.
double slow_value_surprise(const std::vector<std::string>& seen, const std::string& value) {
  std::map<std::string, double> counts;
  for (const std::string& text : seen) ++counts[text];
  const double own = counts.contains(value) ? counts[value] : 0, different = static_cast<double>(counts.size());
  double as_rare = different;
  for (const auto& [text, count] : counts)
    if (count <= own) as_rare += count;
  return -std::log(as_rare / (static_cast<double>(seen.size()) + different));
}

TEST_F(LogTest, masked_value_surprisal_reflects_its_rarity_in_place) {
  const auto model = trained("from 10.0.0.1 to 10.0.0.2\nfrom 10.0.0.1 to 10.0.0.3\nat 17 o clock\n");
  LogValueScorer scorer(*model, true), fixed(*model, false);
  std::vector<std::string> seen{"10.0.0.1", "10.0.0.2", "10.0.0.1", "10.0.0.3"};
  // A value that occurred once in training is not stored by name; it still counts as a value seen once.
  for (const std::string next : {"10.0.0.1", "10.0.0.9", "10.0.0.9", "10.0.0.1", "10.0.0.8", "10.0.0.9"}) {
    const std::string line = "again " + next;  // scored lines count as seen but are not stored
    const auto scored = scorer.score(line);
    ASSERT_EQ(scored.size(), 1u);
    EXPECT_EQ(scored[0].value.name, "ip");
    EXPECT_EQ(scored[0].value.text, next);
    EXPECT_NEAR(scored[0].surprise, slow_value_surprise(seen, next), 1e-12) << next;
    seen.push_back(next);
  }
  EXPECT_EQ(fixed.score("from 10.0.0.7")[0].surprise, fixed.score("from 10.0.0.7")[0].surprise);
  EXPECT_TRUE(fixed.score("nothing stands for anything").empty());
  EXPECT_EQ(scorer.score("/what/was/never/there")[0].surprise, 0) << "nothing is known of such places";
}

TEST_F(LogTest, card_with_impossible_values_is_rejected) {
  LogValues values;
  for (const char* text : {"a", "b", "a"}) values.count({"host", text});
  const nlohmann::json good = values.to_json();
  EXPECT_EQ(LogValues::from_json(good).to_json(), good);
  EXPECT_EQ(good["host"]["often"], nlohmann::json({{"a", 2}}));
  for (const char* change : {R"({"seen": -3})", R"({"seen": 1})", R"({"different": 9})", R"({"often": 7})",
                             R"({"often": {"a": "x"}})", R"({"seen": null})"}) {
    nlohmann::json bad = good;
    bad["host"].merge_patch(nlohmann::json::parse(change));
    EXPECT_THROW(LogValues::from_json(bad), ModelError) << change;
  }
  EXPECT_THROW(LogValues::from_json("no"), ModelError);
}

TEST_F(LogTest, custom_rules_are_stored_in_the_model) {
  const std::string rules = folder_.write("rules", "order  ORD-\\d+\n");
  const auto model = trained("ORD-1 sent\nORD-2 sent\nORD-3 sent\n", {{"log-rules", rules}});
  EXPECT_NE(model->alphabet().find("<order>"), kNoSymbol);
  EXPECT_TRUE(log_card(*model)->rules.text().starts_with("only\norder ORD-\\d+\n"));
}

TEST_F(LogTest, networks_learn_unknown_words_from_rare_words) {
  const auto model = trained(small_log() + "once alone\n", {{"model", "gru:4"}, {"steps", "3"}});
  EXPECT_EQ(model->alphabet().find("alone"), kNoSymbol);
  EXPECT_EQ(log_card(*model)->unknown_words, 2) << "once, alone";
  LogScorer scorer(*model);
  const ScoredLogLine scored = scorer.score("unheard");
  const auto predictor = model->predictor();
  double nats = std::log(2.0);  // <unk> stands for two words
  for (const Symbol symbol : {model->alphabet().unknown(), model->alphabet().line_end()}) {
    nats -= predictor->log_probability(symbol);
    predictor->observe(symbol);
  }
  EXPECT_NEAR(scored.nats, nats, 1e-6);
}

TEST_F(LogTest, other_commands_read_a_log_like_training) {
  TrainRequest request{.out = folder_.path("run")};
  request.settings.data = {folder_.write("log", small_log())};
  request.settings.format = kLogFormat;
  request.given = {"format"};
  train(request);
  const ScoredText text = score({.model = request.out, .data = request.settings.data.front(), .by = ScoreUnit::line});
  const std::vector<ScoredLine> lines = text.lines();
  ASSERT_EQ(lines.size(), 60u);
  const auto model = load_model(request.out);
  LogScorer scorer(*model);
  LineSource source(request.settings.data.front());
  std::size_t i = 0;
  for (std::string_view line; source.next(line); ++i) EXPECT_NEAR(scorer.score(line).nats, lines[i].nats, 1e-5);
}

void expect_equal_ngrams(const SymbolModel& a, const SymbolModel& b) {
  ASSERT_EQ(a.alphabet(), b.alphabet());
  const auto &x = dynamic_cast<const NgramModel&>(a), &y = dynamic_cast<const NgramModel&>(b);
  ASSERT_EQ(x.trie().order(), y.trie().order());
  for (Index n = 1; n <= x.trie().order(); ++n) {
    EXPECT_EQ(x.trie().level(n).symbols, y.trie().level(n).symbols) << n;
    EXPECT_EQ(x.trie().level(n).log_probabilities, y.trie().level(n).log_probabilities) << n;
    EXPECT_EQ(x.trie().level(n).log_backoffs, y.trie().level(n).log_backoffs) << n;
  }
}

std::string other_log(int lines) {
  std::string log;
  for (int i = 0; i < lines; ++i)
    log += "Dec 11 06:55:" + std::to_string(10 + i % 50) + " web-1 sshd[" + std::to_string(3000 + i) +
           "]: " + (i % 5 == 3 ? "connection timed out\n" : "session closed for user root\n");
  return log;
}

TEST_F(LogTest, update_equals_training_on_both_logs) {
  for (const std::string model : {"ngram:3,smoothing=witten-bell", "ngram:4"}) {
    trained(small_log(), {{"model", model}});
    const std::string run = folder_.path("run" + std::to_string(runs_));
    Reporter silent;
    const std::string first = folder_.write("first", other_log(40)), second = folder_.write("second", other_log(30));
    EXPECT_EQ(update_log_model({.run = run, .logs = {first}}, silent).new_templates, 1);
    const LogUpdate update = update_log_model({.run = run, .logs = {second}}, silent);
    EXPECT_EQ(update.new_lines, 30);
    EXPECT_EQ(update.lines, 130);
    const auto updated = load_model(run);
    const auto both = trained(small_log() + other_log(40) + other_log(30), {{"model", model}});
    expect_equal_ngrams(*updated, *both);
    const std::optional<LogCard> a = log_card(*updated), b = log_card(*both);
    EXPECT_EQ(a->lines, b->lines);
    EXPECT_EQ(a->shapes, b->shapes);
    EXPECT_EQ(a->templates.to_json(), b->templates.to_json());
    EXPECT_EQ(updated->configuration()["statistics"], both->configuration()["statistics"]);
    EXPECT_EQ(log_detector(*updated).lines(), 130);
    EXPECT_EQ(updated->configuration()["log"]["updates"].size(), 2U);
  }
}

TEST_F(LogTest, updated_model_knows_the_new_lines) {
  const auto before = trained(small_log());
  const std::string run = folder_.path("run" + std::to_string(runs_));
  Reporter silent;
  update_log_model({.run = run, .logs = {folder_.write("other", other_log(40))}}, silent);
  const auto after = load_model(run);
  const std::string line = "Dec 12 06:55:10 web-1 sshd[4000]: connection timed out";
  EXPECT_LT(LogAnomalyScorer(*after).score(line).score.surprise + 1,
            LogAnomalyScorer(*before).score(line).score.surprise);
}

TEST_F(LogTest, half_life_forgets_earlier_lines) {
  trained(small_log());
  const std::string run = folder_.path("run" + std::to_string(runs_));
  Reporter silent;
  const std::string log = folder_.write("other", other_log(40));
  const LogUpdate update = update_log_model({.run = run, .logs = {log}, .half_life = 20}, silent);
  EXPECT_EQ(update.lines, 40 + 14 + 2) << "54 and 6 lines count a quarter";
  const std::string next = folder_.write("next", other_log(80).substr(other_log(40).size()));
  const LogUpdate later = update_log_model({.run = run, .logs = {next}, .half_life = 4}, silent);
  EXPECT_EQ(later.templates, 2) << "the template that no longer occurs is forgotten";
}

/// Collects notes and warnings.
class Notes : public Reporter {
 public:
  void remark(std::string_view text) override { text_.append(text).append(1, '\n'); }
  void warn(std::string_view text) override { remark(text); }
  std::string take() { return std::exchange(text_, {}); }

 private:
  std::string text_;
};

TEST_F(LogTest, pause_of_a_log_with_and_without_years_is_short) {
  std::string log;
  for (int i = 0; i < 600; ++i) {
    const std::string clock = std::to_string(10 + i / 60) + ":" + std::to_string(100 + i % 60).substr(1) + ":07";
    const std::string job = " job=" + std::to_string(i / 4) + (i % 4 == 0 ? " begins\n" : " continues\n");
    log += (i % 3 == 0 ? "Nov 24 " + clock + " web1 worker:" : "2025-11-24T" + clock + "Z worker") + job;
  }
  const auto model = trained(log, {{"group", "job"}});
  const std::optional<LogSessionCard> card = log_session_card(*model);
  ASSERT_TRUE(card.has_value());
  EXPECT_TRUE(card->timed);
  EXPECT_LT(card->pause, 2 * 3600.0);
  EXPECT_EQ(log_card(*model)->clock.now(), log_time("2025-11-24T10:01:07Z").value().seconds);
  EXPECT_NEAR(log_card(*model)->lines_per_day, 24 * 60, 10);
}

TEST_F(LogTest, logs_in_reverse_order_are_noted) {
  const auto notes_on = [&](const std::string& first, const std::string& second) {
    TrainRequest request{.out = folder_.path("run" + std::to_string(++runs_))};
    request.settings.data = {folder_.write("app.log", first), folder_.write("app.log.1", second)};
    request.settings.format = kLogFormat;
    request.run.threads = 1;
    request.given = {"format"};
    Notes notes;
    train(request, notes);
    return notes.take();
  };
  const auto log_at = [](const std::string& time) {
    std::string log;
    for (int i = 0; i < 30; ++i) log += time + " all is well\n";
    return log;
  };
  const auto reversed = [&](const std::string& first, const std::string& second) {
    return contains(notes_on(log_at(first), log_at(second)), "app.log.1 begins before ");
  };
  EXPECT_TRUE(reversed("2026-03-02 10:00:00", "2026-03-01 10:00:00"));
  EXPECT_FALSE(reversed("2026-03-01 10:00:00", "2026-03-02 10:00:00"));
  EXPECT_FALSE(reversed("23:00:00", "01:00:00"));
  EXPECT_FALSE(reversed("Dec 31 23:00:00", "Jan  1 01:00:00"));
}

TEST_F(LogTest, update_of_another_model_says_what_to_do_instead) {
  std::string rows = "a,b,label\n";
  for (int i = 0; i < 30; ++i) rows += std::to_string(i % 7) + "," + std::to_string(i % 4) + (i % 2 ? ",x\n" : ",y\n");
  const std::vector<std::pair<std::string, std::string>> kinds = {{folder_.write("rows.csv", rows), "gru:2"},
                                                                  {folder_.write("rows2.csv", rows), "esn:5"},
                                                                  {folder_.write("text.txt", small_log()), "ngram:2"}};
  for (const auto& [data, model] : kinds) {
    TrainRequest request{.out = folder_.path("run" + std::to_string(++runs_))};
    request.settings.data = {data};
    request.settings.model = model;
    request.run.threads = 1;
    request.given = {"model"};
    if (model == "gru:2") request.settings.steps = 2, request.given.insert("steps");
    train(request);
    Reporter silent;
    const std::string message =
        message_of<UsageError>([&] { update_log_model({.run = request.out, .logs = {"new data.csv"}}, silent); });
    EXPECT_TRUE(contains(message, "only n-gram models of logs (train LOG --format log) can be updated")) << message;
    EXPECT_TRUE(contains(message, "unfold train " + data + " 'new data.csv' --out NEW")) << message;
  }
}

TEST_F(LogTest, update_learns_no_line_twice) {
  trained(small_log());
  const std::string run = folder_.path("run" + std::to_string(runs_)), name = "log" + std::to_string(runs_);
  Notes notes;
  const auto update = [&](const std::vector<std::string>& logs) {
    return update_log_model({.run = run, .logs = logs}, notes);
  };
  const auto refusal = [&](const std::vector<std::string>& logs) {
    return message_of<DataError>([&] { update(logs); });
  };
  EXPECT_PRED2(contains, refusal({folder_.path(name)}), "the 60 lines of " + folder_.path(name) + " were already");
  const std::string first = folder_.write("first", other_log(30)), copy = folder_.write("copy", other_log(30));
  EXPECT_PRED2(contains, refusal({first, copy}), "(as " + first + "); leave the file out");
  EXPECT_EQ(update({first}).lines, 90) << "the refused logs were not learned";
  EXPECT_PRED2(contains, refusal({copy}), "--update: the 30 lines of " + copy + " were already learned (as " + first);
  EXPECT_EQ(notes.take(), "");
  // Of a log that has grown, the new lines are learned.
  EXPECT_EQ(update({folder_.write("grown", other_log(70))}).lines, 130);
  EXPECT_PRED2(contains, notes.take(), "grown: its first 30 lines were already learned (as " + first + "); only");
  expect_equal_ngrams(*load_model(run), *trained(small_log() + other_log(70)));
}

TEST_F(LogTest, update_reports_lines_that_may_be_learned_twice) {
  const std::string early = "2026-03-01 10:00:00 all is well\n", late = "2026-03-02 10:00:00 all is well\n";
  std::string log;
  for (int i = 0; i < 30; ++i) log += late;
  trained(log);
  Notes notes;
  const auto update = [&](const std::string& text) {
    return update_log_model({.run = folder_.path("run" + std::to_string(runs_)), .logs = {folder_.write("n", text)}},
                            notes);
  };
  update(early);
  EXPECT_PRED2(contains, notes.take(),
               "begins at 2026-03-01 10:00:00, before the last line that was learned (2026-03-02 10:00:00)");
  update("2026-03-02 10:00:01 all is well\n");
  EXPECT_EQ(notes.take(), "");
  // Times of day, and dates without a year at the end of a year.
  trained("23:00:00 all is well\n23:10:00 all is well\n");
  update("01:00:00 all is well\n");
  trained("Dec 31 23:00:00 all is well\nDec 31 23:10:00 all is well\n");
  update("Jan  1 01:00:00 all is well\n");
  EXPECT_EQ(notes.take(), "");
  // Without times, equal lines may belong to different logs.
  trained("all is well\nall is over\n");
  EXPECT_EQ(update("all is well\nall is over\n").lines, 4);
  EXPECT_PRED2(contains, notes.take(), "begins with the 2 lines that were already learned");
}

/// A line every few seconds, for `hours` hours from an hour of March 2026 on.
std::string log_of_hours(int begin, int hours) {
  std::string log;
  const auto two = [](int number) { return std::to_string(100 + number).substr(1); };
  for (int second = begin * 3600; second < (begin + hours) * 3600; second += 2 + second % 5)
    log += "2026-03-" + two(1 + second / 86400) + " " + two(second / 3600 % 24) + ":" + two(second / 60 % 60) + ":" +
           two(second % 60) + " request served in " + std::to_string(second % 90) + " ms\n";
  return log;
}

TEST_F(LogTest, learned_lines_raise_no_rate_alarms_after_an_update) {
  trained(log_of_hours(0, 4));
  const std::string run = folder_.path("run" + std::to_string(runs_));
  const auto rates = [&](const std::string& log) {
    const auto model = load_model(run);
    LogAnomalyScorer scorer(*model, {.false_alarms = 0.001});
    std::size_t found = 0;
    for_each_log_line(log, [&](std::string_view line) { found += scorer.score(line).rates.size(); });
    return found;
  };
  ASSERT_FALSE(log_rates(*load_model(run)).empty());
  Reporter silent;
  // A later log, a log from before, and one that overlaps.
  for (const auto& [begin, hours] : {std::pair(50, 2), std::pair(30, 2), std::pair(51, 2)}) {
    update_log_model({.run = run, .logs = {folder_.write("newer", log_of_hours(begin, hours))}}, silent);
    for (const int hour : {0, 3, 31, 51, 52, 53, 100})
      EXPECT_EQ(rates(log_of_hours(hour, 1)), 0U) << "update from hour " << begin << ", scored from hour " << hour;
  }
  const std::string silence = log_of_hours(54, 1) + log_of_hours(56, 1);
  EXPECT_GE(rates(silence), 1U) << "real silences are still found";
  EXPECT_EQ(rates(log_of_hours(54, 2) + log_of_hours(55, 2)), 0U) << "a clock that goes back an hour is no burst";
}

TEST_F(LogTest, update_requires_a_run_with_counts) {
  Reporter silent;
  const std::string log = folder_.write("other", other_log(40));
  const auto message = [&](const std::string& run) {
    return message_of<Error>([&] { update_log_model({.run = run, .logs = {log}}, silent); });
  };
  trained(small_log(), {{"split", "80/20/0"}});
  EXPECT_PRED2(contains, message(folder_.path("run" + std::to_string(runs_))), "--split");
  trained(small_log());
  const std::string run = folder_.path("run" + std::to_string(runs_));
  folder_.write("run" + std::to_string(runs_) + "/counts.cbor", "no counts");
  EXPECT_PRED2(contains, message(run), "damaged");
}

TEST_F(LogTest, report_shows_anomalies_templates_and_drift) {
  trained(small_log(3000));
  const std::string run = folder_.path("run" + std::to_string(runs_));
  std::string log = other_log(50);
  for (int i = 0; i < 250; ++i)
    log += "Dec 11 07:00:" + std::to_string(10 + i % 50) + " web-1 sshd[5000]: session closed for user root zone=b2\n";
  Reporter silent;
  const std::string page = report_page({.runs = {run}, .data = {folder_.write("today", log)}}, silent);
  for (const char* part : {"\"anomalies\"", "\"alarms\"", "\"timeline\"", "\"templates\"", "\"drift\"",
                           "connection timed out", "new field zone in "})
    EXPECT_PRED2(contains, page, part);
  EXPECT_FALSE(contains(page, "Spectral radius"));
  EXPECT_FALSE(contains(page, "\"optimizer\"")) << "an n-gram model has none";
  EXPECT_PRED2(contains, report_page({.runs = {run}}, silent), "This is the log of training");
}

TEST_F(LogTest, report_lists_alarms_about_rates) {
  trained(log_of_hours(0, 4));
  const std::string run = folder_.path("run" + std::to_string(runs_));
  const std::string silence = folder_.write("today", log_of_hours(10, 1) + log_of_hours(12, 1));
  Reporter silent;
  const std::string page = report_page({.runs = {run}, .data = {silence}}, silent);
  EXPECT_PRED2(contains, page, "\"silence\",\"2026-03-01 12:00:0");
  EXPECT_PRED2(contains, page, "silence of all lines: 0 lines in ");
}

TEST_F(LogTest, exact_command_includes_the_updates) {
  trained(log_of_hours(0, 2));
  const std::string run = folder_.path("run" + std::to_string(runs_));
  const std::string first = folder_.write("it's", log_of_hours(3, 1)), second = folder_.write("b", log_of_hours(5, 1)),
                    third = folder_.write("c", log_of_hours(6, 1));
  Reporter silent;
  update_log_model({.run = run, .logs = {first}, .half_life = 5000}, silent);
  update_log_model({.run = run, .logs = {second, third}}, silent);
  const std::string page = report_page({.runs = {run}, .data = {first}}, silent);
  EXPECT_PRED2(contains, page,
               "\\nunfold train " + run + " --update '" + folder_.path("it'\\\\''s") +
                   "' --half-life 5000\\nunfold train " + run + " --update " + second + " --update " + third + "\"");
  EXPECT_PRED2(contains, page, "[\"updated with\",\"" + first + ", " + second + ", " + third + "\"]");
}

TEST_F(LogTest, incompatible_settings_are_rejected) {
  EXPECT_THROW(trained(small_log(), {{"symbols", "chars"}}), UsageError);
  EXPECT_THROW(trained(small_log(), {{"format", "lgo"}}), UsageError);
  EXPECT_THROW(trained(small_log(), {{"format", "text"}, {"log-rules", "x"}}), UsageError);
  EXPECT_THROW(trained(small_log(), {{"log-rules", folder_.path("absent")}}), DataError);
  EXPECT_THROW(LogScorer(*load_model([&] {
                 TrainRequest request{.out = folder_.path("text")};
                 request.settings.data = {folder_.write("t", "abc\n")};
                 request.settings.model = "ngram:2";
                 request.given = {"model"};
                 return train(request).run;
               }())),
               UsageError);
}

TEST_F(LogTest, line_source_returns_every_line_of_any_length) {
  const std::string path = folder_.write("lines", "a\n\n" + std::string(200000, 'x') + "\nlast");
  LineSource source(path);
  std::vector<std::size_t> sizes;
  for (std::string_view line; source.next(line);) sizes.push_back(line.size());
  EXPECT_EQ(sizes, (std::vector<std::size_t>{1, 0, 200000, 4}));
  LineSource empty(folder_.write("empty", ""));
  std::string_view line;
  EXPECT_THROW(empty.next(line), DataError);
}

/// Acceptance test: train on the normal lines among the first thousand and rank the others.
TEST_F(LogTest, supercomputer_anomalies_rank_first) {
  const std::string path = testing_support::real_data("logs/BGL_2k.log");
  if (path.empty()) GTEST_SKIP() << "logs/BGL_2k.log is not there (UNFOLD_DATA)";
  std::ifstream file(path, std::ios::binary);
  std::string first;
  std::vector<std::string> others;
  std::string line;
  for (int i = 0; std::getline(file, line); ++i) {
    if (i < 1000)
      first += line + "\n";
    else
      others.push_back(line);
  }
  const auto model = trained(first);
  EXPECT_EQ(log_card(*model)->lines, 904);
  LogScorer scorer(*model);
  std::vector<double> surprises;
  std::vector<bool> anomalous;
  for (const std::string& other : others) {
    const ScoredLogLine scored = scorer.score(other);
    surprises.push_back(scored.surprise);
    anomalous.push_back(scored.label != "-");
  }
  EXPECT_GE(roc(surprises, anomalous).area, 0.93);
}

}  // namespace
}  // namespace unfold
