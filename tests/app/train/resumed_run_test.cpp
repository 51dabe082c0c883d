/// A run that is interrupted anywhere and resumed ends with the bytes of an uninterrupted run, for any kind of data:
/// the parameters, and all that the card says.

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <nlohmann/json.hpp>
#include <vector>

#include "app/train/train.h"
#include "model/registry/run_folder.h"
#include "tests/app/texts.h"
#include "tests/base/scratch.h"
#include "unfold/model/registry/registry.h"
#include "unfold/numerics/random.h"

namespace unfold {
namespace {

using testing_support::blocks;
using testing_support::file_bytes;
using testing_support::ScratchFolder;

struct Killed {};

/// Counts the steps of a run and its notes since the first step, and ends it at one of them: at a step by a request to
/// stop, at a note as if the process were killed.
class Interruption final : public Reporter, private Observer {
 public:
  explicit Interruption(Index step = -1, Index note = -1) : last_step_(step), last_note_(note) {}
  void remark(std::string_view) override {
    if (steps_ == 0) return;
    if (notes_ == last_note_) throw Killed();
    ++notes_;
  }
  using Reporter::progress;
  const std::atomic<bool>* stop() override { return &stop_; }
  Observer* observer(Index) override { return this; }

  Index steps() const { return steps_; }
  Index notes() const { return notes_; }

 private:
  void progress(const ProgressEvent&) override { stop_ = ++steps_ == last_step_; }

  const Index last_step_, last_note_;
  Index steps_ = 0, notes_ = 0;
  std::atomic<bool> stop_ = false;
};

class ResumedRun : public testing::Test {
 protected:
  using Settings = std::function<void(TrainRequest&)>;

  TrainRequest request(const std::string& out, const Settings& settings) const {
    TrainRequest request{.out = folder_.path(out)};
    request.run.threads = 1;
    settings(request);
    return request;
  }
  std::string model_of(const std::string& out) const { return file_bytes(folder_.path(out) + "/model.safetensors"); }

  /// Interrupts the run at one place and resumes it.
  void expect_same_after(Interruption& interruption, const Settings& settings, const std::string& whole) {
    const std::string out = "run" + std::to_string(runs_++);
    bool ended = false;
    try {
      train(request(out, settings), interruption);
      ended = true;
    } catch (const Killed&) {
    } catch (const InterruptedError&) {
    }
    EXPECT_FALSE(ended) << "the run was not interrupted";
    TrainRequest more{.out = folder_.path(out), .resume = true};
    more.run.threads = 1;
    train(more);
    EXPECT_TRUE(model_of(out) == whole) << card(folder_.path(out)) << "\ninstead of\n" << whole_card_;
  }

  void expect_same(const std::string& name, const Settings& settings) {
    SCOPED_TRACE(name);
    const std::string out = "whole" + std::to_string(runs_++);
    Interruption counts;
    const TrainOutcome outcome = train(request(out, settings), counts);
    const std::string whole = model_of(out);
    whole_card_ = card(folder_.path(out));
    ASSERT_GT(counts.steps(), 1);
    for (const Index step : {Index{1}, outcome.result.steps / 2, counts.steps() - 1}) {
      SCOPED_TRACE("stopped at step " + std::to_string(step));
      Interruption stops(step);
      expect_same_after(stops, settings, whole);
    }
    for (Index note = 0; note < counts.notes(); ++note) {
      SCOPED_TRACE("killed at note " + std::to_string(note) + " after training");
      Interruption kills(-1, note);
      expect_same_after(kills, settings, whole);
    }
    TrainRequest ended{.out = folder_.path(out), .resume = true};
    ended.run.threads = 1;
    train(ended);
    EXPECT_TRUE(model_of(out) == whole) << "the run had ended\n"
                                        << card(folder_.path(out)) << "\ninstead of\n"
                                        << whole_card_;
  }

  static std::string card(const std::string& run) {
    const std::unique_ptr<Model> model = load_model_file(run + "/model.safetensors");
    return model->configuration().dump() + "\n" + model->history().dump();
  }

  /// A few steps of a small network on a file.
  Settings few_steps(const std::string& data, const std::string& model,
                     const std::function<void(TrainRequest&)>& more = {}) const {
    return [=](TrainRequest& request) {
      request.settings.data = {data};
      request.settings.model = model;
      request.settings.steps = 6;
      request.settings.batch = 4;
      request.settings.validate_every = 2;
      request.given = {"model", "steps", "batch", "validate-every"};
      if (more) more(request);
    };
  }

  ScratchFolder folder_;
  std::string whole_card_;
  int runs_ = 0;
};

void refit(TrainRequest& request) {
  request.settings.refit = "yes";
  request.given.insert("refit");
}

void predict(TrainRequest& request, const std::string& field) {
  request.settings.predict = field;
  request.given.insert("predict");
}

/// Tickets with a date, two texts, a category and the queue that is predicted.
std::string tickets(Index count) {
  const std::vector<std::string> subjects = {"page does not load", "refund of my invoice", "cannot login again"};
  const std::vector<std::string> bodies = {"please look at the page", "the invoice is wrong", "my password is wrong"};
  std::string text = "opened,subject,body,priority,queue\n";
  for (Index i = 0; i < count; ++i)
    text += "2024-03-" + std::to_string(10 + i % 20) + "," + subjects[at(i % 3)] + " " + std::to_string(i) + "," +
            bodies[at((i + i / 7) % 3)] + " number " + std::to_string(i) + "," + (i % 2 == 0 ? "high" : "low") + "," +
            (i % 3 == 0 ? "web" : "billing") + "\n";
  return text;
}

/// Rows with a positive, skewed price and a code that repeats.
std::string prices(Index count) {
  Random random(3, "prices");
  std::string text = "area,postcode,price\n";
  for (Index i = 0; i < count; ++i) {
    const double area = 50 + 20 * random.normal();
    text += std::to_string(area) + ",E" + std::to_string(i * 7 % 4) + "," +
            std::to_string(std::exp(area / 20 + 0.3 * random.normal())) + "\n";
  }
  return text;
}

std::string walk(Index rows) {
  Random random(5, "walk");
  std::string text = "noise,load\n";
  double load = 50;
  for (Index r = 0; r < rows; ++r) {
    load += random.normal();
    text += std::to_string(random.normal()) + "," + std::to_string(load) + "\n";
  }
  return text;
}

std::string events(Index sessions) {
  std::string text = "session,time,page\n";
  for (Index s = 0; s < sessions; ++s)
    for (Index i = 0; i < 5; ++i)
      text += "s" + std::to_string(s) + "," + std::to_string(10 * i + s) + "," +
              (i == 0             ? "home"
               : (i + s) % 2 == 0 ? "cart"
                                  : "search") +
              "\n";
  return text;
}

TEST_F(ResumedRun, OfTextHasTheSameBytes) {
  const std::string text = folder_.write("text", blocks(60));
  expect_same("windows", few_steps(text, "gru:4", [](TrainRequest& request) {
                request.settings.window = 8;
                request.given.insert("window");
              }));
  expect_same("lines", few_steps(text, "rnn:4,dropout=0.2", [](TrainRequest& request) {
                request.settings.lines = true;
                request.given.insert("lines");
              }));
}

TEST_F(ResumedRun, FromAnotherModelHasTheSameBytes) {
  const std::string text = folder_.write("text", blocks(60)), more = folder_.write("more", blocks(40) + "xyz\n");
  train(request("start", few_steps(more, "gru:4")));
  expect_same("alphabet of the other model", [&](TrainRequest& request) {
    few_steps(text, "")(request);
    request.given.erase("model");
    request.settings.copy_matching_parameters = folder_.path("start");
    request.given.insert("start-from");
  });
  const std::string table = folder_.write("tickets.csv", tickets(60));
  train(request("start-of-tickets", few_steps(table, "gru:4")));
  expect_same("tickets", few_steps(table, "gru:4", [&](TrainRequest& request) {
                request.settings.copy_matching_parameters = folder_.path("start-of-tickets");
                request.given.insert("start-from");
                refit(request);
              }));
}

TEST_F(ResumedRun, OfTextsInATableHasTheSameBytes) {
  const std::string table = folder_.write("tickets.csv", tickets(80));
  expect_same("tickets", few_steps(table, "gru:4", refit));
  expect_same("default model", [&](TrainRequest& request) {
    request.settings.data = {table};
    request.settings.steps = 3;
    request.given = {"steps"};
  });
  expect_same("column of --read", few_steps(table, "gru:4", [](TrainRequest& request) {
                request.settings.read = "subject,priority";
                request.given.insert("read");
                refit(request);
              }));
  const nlohmann::json card = nlohmann::json::parse(whole_card_.substr(0, whole_card_.find('\n')));
  EXPECT_TRUE(card.at("without_column").contains("priority"));
}

TEST_F(ResumedRun, OfLabelsAndTagsHasTheSameBytes) {
  std::string labeled, tagged, pairs, list;
  for (Index i = 0; i < 40; ++i) {
    labeled += std::string(i % 2 == 0 ? "good" : "bad") + "\tthis is " + (i % 2 == 0 ? "a fine " : "no fine ") +
               std::to_string(i % 5) + "\n";
    tagged += std::string("the D\n") + (i % 3 == 0 ? "cat" : "dog") + " N\nruns V\n\n";
    pairs += i % 2 == 0 ? "abba\tA B B A\n" : "cab\tC A B\n";
    list += std::string(R"({"word":["a","b"],"mood":")") + (i % 2 == 0 ? "up" : "down") + "\"}\n";
  }
  const auto format = [](const std::string& name) {
    return [name](TrainRequest& request) {
      request.settings.format = name;
      request.given.insert("format");
    };
  };
  const std::string words = folder_.write("labeled.txt", labeled), tags = folder_.write("tags.conll", tagged);
  expect_same("labels", few_steps(words, "bilstm:4", format("labelled")));
  expect_same("pairs", few_steps(folder_.write("w.pairs", pairs), "gru:4,attention=additive", format("pairs")));
  expect_same("lists", few_steps(folder_.write("w.jsonl", list), "gru:4", format("jsonl")));
  expect_same("tags", few_steps(tags, "bilstm:4", refit));
  expect_same("random field that converges", [&](TrainRequest& request) {
    request.settings.data = {tags};
    request.settings.model = "crf";
    request.settings.optimizer = "lbfgs:tolerance=0.01";
    request.given = {"model", "optimizer"};
  });
}

TEST_F(ResumedRun, OfTablesOfNumbersHasTheSameBytes) {
  const std::string rows = folder_.write("prices.csv", prices(120));
  expect_same("skewed prices", few_steps(rows, "rnn:4", refit));
  const std::string vectors = folder_.write("vectors.csv", walk(60));
  expect_same("density", few_steps(vectors, "rnade:3", [](TrainRequest& request) {
                request.settings.format = "table";
                request.given.insert("format");
              }));
}

TEST_F(ResumedRun, OfEventsHasTheSameBytes) {
  const std::string sessions = folder_.write("events.csv", events(20));
  expect_same("events", [&](TrainRequest& request) {
    request.settings.data = {sessions};
    request.settings.steps = 6;
    request.given = {"steps"};
  });
}

TEST_F(ResumedRun, OfSeriesHasTheComparisonOfModels) {
  const std::string series = folder_.write("walk.csv", walk(150));
  const auto predict_load = [](TrainRequest& request) { predict(request, "load"); };
  train(request("selected", [&](TrainRequest& request) {
    request.settings.data = {series};
    predict_load(request);
  }));
  const std::string stored = file_bytes(folder_.path("selected") + "/selection.json");
  const auto history_of = [&](const std::string& out) {
    return load_model_file(folder_.path(out) + "/model.safetensors")->history();
  };
  EXPECT_EQ(history_of("selected").at(0).at("selection"), nlohmann::json::parse(stored));
  // A network that is trained in steps is selected only from larger data.
  Interruption stops(3);
  EXPECT_THROW(train(request("cut", few_steps(series, "lstm:4", predict_load)), stops), InterruptedError);
  folder_.write("cut/selection.json", stored);
  TrainRequest more{.out = folder_.path("cut"), .resume = true};
  more.run.threads = 1;
  train(more);
  EXPECT_EQ(history_of("cut").at(0).at("selection"), nlohmann::json::parse(stored));
  EXPECT_EQ(file_bytes(folder_.path("cut") + "/selection.json"), stored);
  TrainRequest other = request("cut", few_steps(series, "lstm:4", predict_load));
  other.overwrite = true;
  train(other);
  EXPECT_FALSE(history_of("cut").at(0).contains("selection"));
  EXPECT_EQ(file_bytes(folder_.path("cut") + "/selection.json"), "");
}

}  // namespace
}  // namespace unfold
