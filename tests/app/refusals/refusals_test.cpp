/// The matrix of refusals: every kind of training with every optimizer and every option, two steps each. A combination
/// trains to finite metrics, or it is refused by one of the rules in refusal_rules.cpp. docs/refusals.md lists the
/// rules with what they refuse. UNFOLD_WRITE_REFUSALS=1 writes the page after a deliberate change.

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <map>
#include <regex>
#include <set>
#include <sstream>

#include "app/train/train_in_memory.h"
#include "tests/app/refusals/refusal_rules.h"
#include "tests/app/refusals/training_kinds.h"
#include "tests/app/texts.h"
#include "tests/base/scratch.h"
#include "unfold/base/error.h"
#include "unfold/base/formats/file.h"
#include "unfold/data/tasks/task_spec.h"
#include "unfold/graph/cells/registry.h"
#include "unfold/loss/registry.h"

namespace unfold::refusals {
namespace {

using testing_support::file_bytes;
using testing_support::ScratchFolder;

constexpr const char* kPage = UNFOLD_SOURCE_DIR "/docs/refusals.md";

/// Returns a SPEC with more options; those that it already sets are kept.
std::string with_options(const std::string& model, const std::string& options) {
  std::string result = model;
  std::stringstream list(options);
  for (std::string option; std::getline(list, option, ',');) {
    const std::string key = option.substr(0, option.find('=') + 1);
    if (model.find(":" + key) == std::string::npos && model.find("," + key) == std::string::npos)
      result += (result.find(':') == std::string::npos ? ":" : ",") + option;
  }
  return result;
}

class RefusalsTest : public ::testing::Test {
 protected:
  /// Trains for two steps. Returns an empty string, or the message of a refusal. Anything else fails the test.
  std::string refusal(const TrainingKind& kind, const std::vector<const Change*>& changes) {
    try {
      TrainRequest request = request_of(kind, changes);
      Reporter silent;
      const TrainOutcome outcome =
          request.out.empty() ? train_in_memory(request, silent).outcome : train(request, silent);
      EXPECT_TRUE(std::isfinite(outcome.result.last_loss)) << "training loss " << outcome.result.last_loss;
      EXPECT_TRUE(std::isfinite(outcome.result.best_nats_per_symbol)) << "validation loss";
      EXPECT_GT(outcome.result.steps, 0);
      return {};
    } catch (const UsageError& error) {
      return error.what();
    } catch (const std::exception& error) {
      ADD_FAILURE() << error.what();
      return {};
    }
  }

  TrainRequest request_of(const TrainingKind& kind, const std::vector<const Change*>& changes) {
    TrainRequest request;
    if (!kind.file.empty()) request.settings.data = {kind.file};
    std::string model = kind.model;
    const auto set = [&](const std::string& name, const std::string& value) {
      assign_text(name, value, request.settings, request.run);
      request.given.insert(name);
    };
    for (const auto& [name, value] : kind.settings) set(name, value);
    for (const Change* change : changes) {
      if (change->of_model()) model = with_options(model, change->model);
      for (const auto& [name, value] : change->settings) set(name, value);
    }
    set("model", model);
    set("steps", "2");
    request.run.threads = 1;
    if (request.settings.restarts > 1) request.out = folder_.path("run"), request.overwrite = true;
    return request;
  }

  ScratchFolder folder_;
  const std::vector<TrainingKind> kinds_ = training_kinds(folder_);
};

/// Returns the index of the only rule that a message belongs to; -1 and a failure if there is none or more than one.
int rule_of(const std::string& message) {
  static const std::vector<std::regex> patterns = [] {
    std::vector<std::regex> result;
    for (const Rule& rule : refusal_rules()) result.emplace_back(rule.message);
    return result;
  }();
  std::vector<int> found;
  for (std::size_t i = 0; i < patterns.size(); ++i)
    if (std::regex_search(message, patterns[i])) found.push_back(static_cast<int>(i));
  if (found.size() == 1) return found.front();
  ADD_FAILURE() << found.size() << " rules of the message: " << message;
  return -1;
}

/// The combinations that each rule refuses: the names of kinds, by change.
using Refused = std::map<int, std::vector<std::pair<std::string, std::vector<std::string>>>>;

void note(Refused& refused, int rule, const std::string& change, const std::string& kind) {
  auto& changes = refused[rule];
  const auto found = std::ranges::find(changes, change, [](const auto& each) { return each.first; });
  if (found != changes.end())
    found->second.push_back(kind);
  else
    changes.push_back({change, {kind}});
}

/// Shortens a list that contains every kind of a group to the name of the group.
std::string listed(const std::vector<std::string>& names, const std::vector<TrainingKind>& kinds) {
  std::string text;
  std::set<std::string> groups;
  for (const TrainingKind& kind : kinds) groups.insert(kind.group);
  const std::set<std::string> given(names.begin(), names.end());
  if (given.size() == kinds.size()) return "every kind";
  std::set<std::string> done;
  for (const TrainingKind& kind : kinds) {
    if (!given.contains(kind.title()) || done.contains(kind.group)) continue;
    std::string members;
    bool whole = true;
    for (const TrainingKind& other : kinds) {
      if (other.group != kind.group) continue;
      if (!given.contains(other.title()))
        whole = false;
      else
        members += (members.empty() ? "" : ", ") + ("`" + other.name + "`");
    }
    text += (text.empty() ? "" : "; ") + kind.group + (whole ? "" : " (" + members + ")");
    done.insert(kind.group);
  }
  return text;
}

std::string page_of(const Refused& refused, const std::vector<TrainingKind>& kinds) {
  std::string text;
  for (std::size_t i = 0; i < refusal_rules().size(); ++i) {
    const Rule& rule = refusal_rules()[i];
    text += fmt::format("\n### {}\n`{}`\n\n{} {}\n", rule.title, rule.example, rule.reason, rule.instead);
    const auto found = refused.find(static_cast<int>(i));
    if (found == refused.end()) continue;
    text += "\n| with | refused for |\n| --- | --- |\n";
    // Changes that are refused for the same kinds share a line.
    std::vector<std::pair<std::string, std::string>> lines;
    for (const auto& [change, names] : found->second) {
      const std::string of = listed(names, kinds);
      const auto same = std::ranges::find(lines, of, [](const auto& line) { return line.second; });
      if (same != lines.end())
        same->first += ", `" + change + "`";
      else
        lines.emplace_back("`" + change + "`", of);
    }
    for (const auto& [changes, of] : lines) text += fmt::format("| {} | {} |\n", changes, of);
  }
  return text;
}

/// Compares the generated part of the page, or writes it.
void expect_page(const std::string& generated) {
  const std::string begin = "<!-- refusals: begin -->\n", end = "<!-- refusals: end -->\n";
  const std::string page = file_bytes(kPage);
  const auto from = page.find(begin), to = page.find(end);
  ASSERT_NE(from, std::string::npos) << kPage << " needs the mark " << begin;
  ASSERT_NE(to, std::string::npos) << kPage << " needs the mark " << end;
  const std::string expected = page.substr(0, from + begin.size()) + generated + "\n" + page.substr(to);
  if (std::getenv("UNFOLD_WRITE_REFUSALS") != nullptr) return write_file_atomically(kPage, expected);
  EXPECT_EQ(page, expected) << "docs/refusals.md is outdated; UNFOLD_WRITE_REFUSALS=1 writes it";
}

TEST_F(RefusalsTest, every_pair_trains_or_is_refused_by_a_listed_rule) {
  std::vector<Change> changes = optimizer_changes();
  std::ranges::copy(option_changes(), std::back_inserter(changes));
  Refused refused;
  for (const TrainingKind& kind : kinds_) {
    EXPECT_EQ(refusal(kind, {}), "") << kind.title();
    for (const Change& change : changes) {
      SCOPED_TRACE(kind.title() + " with " + change.name);
      const std::string message = refusal(kind, {&change});
      if (!message.empty()) note(refused, rule_of(message), change.name, kind.title());
    }
  }
  for (std::size_t i = 0; i < refusal_rules().size(); ++i)
    EXPECT_NE(refused.contains(static_cast<int>(i)), refusal_rules()[i].of_triples) << refusal_rules()[i].title;
  expect_page(page_of(refused, kinds_));
}

/// UNFOLD_TRIPLES=N trains every N-th triple.
TEST_F(RefusalsTest, every_triple_trains_or_is_refused_by_a_listed_rule) {
  const char* given = std::getenv("UNFOLD_TRIPLES");
  if (given == nullptr) GTEST_SKIP() << "set UNFOLD_TRIPLES=1 to train all triples";
  const long stride = std::max(1L, std::strtol(given, nullptr, 10));
  const std::vector<Change> optimizers = optimizer_changes(), options = option_changes();
  long number = 0;
  for (const TrainingKind& kind : kinds_)
    for (const Change& optimizer : optimizers)
      for (const Change& option : options) {
        if (number++ % stride != 0) continue;
        SCOPED_TRACE(fmt::format("{} with {} and {}", kind.title(), optimizer.name, option.name));
        const std::string message = refusal(kind, {&optimizer, &option});
        if (!message.empty()) rule_of(message);
      }
}

TEST_F(RefusalsTest, matrix_covers_every_cell_loss_and_task) {
  std::string all;
  for (const TrainingKind& kind : kinds_) {
    all += kind.model + "\n";
    for (const auto& [name, value] : kind.settings) all += value + "\n";
  }
  const auto covers = [&](const std::string& name) {
    return std::regex_search(all, std::regex("(^|[^a-z-])" + name + "([^a-z-]|$)"));
  };
  for (const std::string& cell : cells().names()) EXPECT_TRUE(covers(cell)) << cell;
  for (const std::string& loss : losses().names())
    EXPECT_TRUE(loss == "normalised" || covers(loss)) << loss;  // of linear-gnn only
  for (const TaskHelp& task : tasks()) EXPECT_TRUE(task_needs_files(task.name) || covers(task.name)) << task.name;
}

}  // namespace
}  // namespace unfold::refusals
