#include "tests/app/refusals/training_kinds.h"

#include <fmt/format.h>

#include "unfold/graph/cells/registry.h"
#include "unfold/numerics/random.h"
#include "unfold/optim/optimizer.h"

namespace unfold::refusals {
namespace {

using testing_support::ScratchFolder;

constexpr int kExamples = 16;

template <class Line>
std::string repeated(int count, const Line& line) {
  std::string text;
  for (int i = 0; i < count; ++i) text += line(i);
  return text;
}

std::string text_blocks() {
  return repeated(30, [](int i) { return std::string(at(2 + i % 4), 'a') + std::string(at(2 + i % 4), 'b') + "\n"; });
}
std::string labeled_names() {
  return repeated(kExamples, [](int i) {
    return fmt::format("{}\t{}\n", "xy"[i % 2], std::string(at(2 + i % 3), "abc"[i % 3]) + "ab");
  });
}
std::string tagged_words() {
  return repeated(kExamples, [](int i) {
    return fmt::format("the\tD\tO\n{}\tN\tB-X\n{}", i % 2 == 0 ? "cat" : "dog", i % 3 == 0 ? "\n" : "ran\tV\tI-X\n\n");
  });
}
/// Frames and the labels that they spell, without an alignment.
std::string sounds() {
  return repeated(kExamples,
                  [](int i) { return fmt::format("a1\ta\na2\t{}\n-\t\nb1\t\nb2\t\n\n", i % 2 == 0 ? "b" : ""); });
}
std::string word_pairs() {
  return repeated(kExamples, [](int i) { return i % 2 == 0 ? "abba\tA B B A\n" : "cab\tC A B\n"; });
}
std::string wave() {
  Random random(1, "wave");
  return "load,calls\n" +
         repeated(60, [&](int i) { return fmt::format("{:.3f},{}\n", i * 7 % 5 + 0.1 * random.normal(), i % 4); });
}
std::string durations() {
  Random random(6, "durations");
  return "hours\n" + repeated(60, [&](int i) { return fmt::format("{:.3f}\n", 1 + i * 7 % 5 + random.uniform()); });
}
std::string utterances(bool numbers) {
  Random random(2, "utterances");
  return repeated(kExamples, [&](int i) {
    std::string frames;
    for (int t = 0; t < 3 + i % 3; ++t)
      frames += fmt::format("{}[{:.3f},{:.3f}]", t == 0 ? "" : ",", i % 2 + 0.3 * random.normal(), random.normal());
    const std::string given = numbers ? fmt::format("{}.5", i % 2) : fmt::format("\"{}\"", "ab"[i % 2]);
    return fmt::format("{{\"frames\":[{}],\"given\":{}}}\n", frames, given);
  });
}
std::string votes() {
  Random random(3, "votes");
  return "a,b,c\n" + repeated(40, [&](int) {
           return fmt::format("{},{},{}\n", random.below(2), random.below(2), random.below(2));
         });
}
std::string measurements() {
  Random random(4, "measurements");
  return "a,b,c\n" + repeated(40, [&](int) {
           return fmt::format("{:.3f},{:.3f},{:.3f}\n", random.normal(), 2 * random.normal(), 1 + random.normal());
         });
}
std::string bit_vectors() {
  Random random(5, "bit vectors");
  return repeated(kExamples, [&](int) {
    const auto bit = [&] { return random.below(2); };
    return fmt::format("{{\"bits\":[[{},{},{}],[{},{},{}],[{},{},{}]]}}\n", bit(), bit(), bit(), bit(), bit(), bit(),
                       bit(), bit(), bit());
  });
}
std::string graded_trees() {
  return repeated(kExamples, [](int i) {
    return fmt::format("({} ({} {}) ({} (1 film) (2 good)))\n", i % 3, i % 2, i % 2 == 0 ? "bad" : "film", (i + 1) % 3);
  });
}
std::string labeled_grids() {
  return repeated(kExamples, [](int i) {
    const char label = "ab"[i % 2];
    return fmt::format(".{0}.\t{0}{0}{0}\n{0}..\t{0}{0}{0}\n\n", label);
  });
}

/// Names of kinds that differ from the cell; for cells that need an option to be trained on tiny data.
std::vector<std::pair<std::string, std::string>> cells_of_text() {
  std::vector<std::pair<std::string, std::string>> result;
  for (const std::string& name : cells().names()) {
    if (cells().get(name).reads_grids() || cells().get(name).reads_trees()) continue;
    const std::string spec = name == "urnn" || name == "clockwork" ? name + ":4" : name + ":3";
    result.emplace_back(name, name == "esn" ? spec + ",readout=trained" : spec);
  }
  result.insert(result.end(), {{"rnn, ReLU", "rnn:3,activation=relu"},
                               {"rnn, two layers", "rnn:3,layers=2"},
                               {"rnn, leaky", "rnn:3,leak=learned"},
                               {"rnn, residual", "rnn:3,layers=2,residual=norm"},
                               {"rnn, adaptive-softmax", "rnn:3,loss=adaptive-softmax:1"},
                               {"lstm, layer norm", "lstm:3,norm=layer"}});
  return result;
}

class Kinds {
 public:
  explicit Kinds(const ScratchFolder& folder) : folder_(folder) {}

  void text() {
    const std::string file = folder_.write("text.txt", text_blocks());
    for (const auto& [name, spec] : cells_of_text()) add("text", name, file, spec, {{"batch", "2"}, {"window", "12"}});
  }
  void tags() {
    const std::string file = folder_.write("tags.conll", tagged_words());
    tagged("both directions", file, "bilstm:3", "3=softmax");
    tagged("both directions, ReLU", file, "birnn:3,activation=relu", "3=softmax");
    tagged("two heads", file, "lstm:3", "2,3=softmax", "1");
    tagged("characters", file, "lstm:3", "3=softmax", "1,1.chars");
    tagged("crf", file, "bilstm:3", "3=crf");
    tagged("crf:steps=read", file, "bilstm:3", "3=crf:steps=read");
    tagged("crf:segments=3", file, "bilstm:3", "3=crf:labels=iob2,segments=3");
    tagged("hybrid", file, "lstm:3", "3=hybrid:2");
    tagged("features of columns", file, "crf", "3");
    tagged("ctc", folder_.write("sounds.conll", sounds()), "lstm:3", "2=ctc");
  }
  void classes() {
    const std::string file = folder_.write("names.txt", labeled_names());
    const Settings labeled{{"format", "labelled"}};
    for (const char* pool : {"last", "mean", "max"})
      add("one label", fmt::format("pool={}", pool), file, fmt::format("lstm:3,pool={}", pool), labeled, true);
    add("one label", "bag", file, "bag:3,pool=mean,start=logistic", labeled, true);
    add("one label", "trees that are found", file, "tree-lstm:3",
        {{"format", "labelled"}, {"trees", "found"}, {"symbols", "chars"}}, true);
  }
  void series() {
    const std::string file = folder_.write("wave.csv", wave()), bits = folder_.write("bits.jsonl", bit_vectors());
    for (const char* loss :
         {"gaussian", "normal", "student-t", "mixture:2", "gaussian-mixture:2", "linear-ar", "rnade:2"})
      series(file, "load", loss);
    for (const char* loss : {"poisson", "negative-binomial"}) series(file, "calls", loss);
    series(folder_.write("durations.csv", durations()), "hours", "log-normal");
    series(file, "load", "gaussian-hmm:2", {{"whole-sequences", "true"}});
    for (const char* loss :
         {"bernoulli", "bernoulli-mixture:2", "nade:2", "made:2", "logistic-ar", "neural-ar:2", "nade:2,rounds=2"})
      series(bits, "bits", loss, {{"read", "bits"}, {"ahead", "1"}});
  }
  void sequences() {
    const std::string pairs = folder_.write("words.pairs", word_pairs()), names = folder_.path("names.txt");
    add("pairs", "condition=start", pairs, "gru:3,condition=start", {}, true);
    add("pairs", "condition=both", pairs, "lstm:3,condition=both", {}, true);
    add("pairs", "summary=relu", pairs, "rnn:3,activation=relu,summary=relu", {}, true);
    add("pairs", "attention=additive", pairs, "bigru:3,attention=additive,condition=start", {}, true);
    add("pairs", "attention=multiplicative", pairs, "gru:3,attention=multiplicative", {}, true);
    const auto of_names = [&](const std::string& name, const std::string& ends, const std::string& read) {
      add("whole sequences", name, names, "gru:3",
          {{"format", "labelled"}, {"symbols", "chars"}, {"predict", "text"}, {"read", read}, {"ends", ends}}, true);
    };
    of_names("nothing given", "symbol", "text");
    of_names("class given", "symbol", "label");
    of_names("class given, lengths", "geometric", "label");
    for (const bool numbers : {false, true})
      add("whole sequences", numbers ? "vectors, number given" : "vectors, class given",
          folder_.write(numbers ? "numbers.jsonl" : "classes.jsonl", utterances(numbers)), "gru:3",
          {{"predict", "frames"}, {"read", "given"}, {"ends", "stop"}}, true);
  }
  void shapes() {
    const std::string trees = folder_.write("graded.trees", graded_trees()),
                      grids = folder_.write("lettered.grids", labeled_grids());
    for (const char* spec :
         {"recursive:3", "recursive:3,activation=relu", "recursive-tensor:2", "tree-lstm:3", "child-sum-lstm:3"})
      add("trees", spec, trees, spec, {}, true);
    for (const char* spec : {"grid-rnn:3", "grid-rnn:3,activation=relu", "grid-lstm:3"})
      add("grids", spec, grids, spec, {{"format", "grids"}}, true);
  }
  void tables() {
    const std::string bits = folder_.write("votes.csv", votes()),
                      numbers = folder_.write("measurements.csv", measurements());
    const Settings table{{"format", "table"}, {"rows", "independent"}};
    for (const char* spec :
         {"nade:2", "made:2", "logistic-ar", "neural-ar:2", "deep-nade:2", "bernoulli-mixture:2,fit=gradients"})
      add("tables", spec, bits, spec, table, true);
    for (const char* spec : {"rnade:2", "linear-ar", "deep-rnade:2", "gaussian-mixture:2,fit=gradients"})
      add("tables", spec, numbers, spec, table, true);
  }
  void tasks() {
    for (const char* spec :
         {"adding:6", "multiplication:6", "marked-xor:6", "temporal-order:12", "permutation:5", "memorization:3",
          "copy:3", "narma:40,skip=20", "mackey-glass:40,skip=20", "delay-line:12,delays=4,skip=4"}) {
      const std::string name(spec, std::string_view(spec).find(':'));
      add("tasks", name, "", "rnn:3", {{"task", spec}, {"batch", "2"}, {"validate-on", "4"}});
    }
  }
  std::vector<TrainingKind> all;

 private:
  void add(const std::string& group, const std::string& name, const std::string& file, const std::string& model,
           Settings settings, bool in_batches = false) {
    if (in_batches) settings.insert(settings.end(), {{"batch", "8"}, {"split", "75/25/0"}});
    all.push_back({group, name, file, model, std::move(settings)});
  }
  void tagged(const std::string& name, const std::string& file, const std::string& model, const std::string& predict,
              const std::string& read = "") {
    Settings settings{{"predict", predict}};
    if (!read.empty()) settings.emplace_back("read", read);
    add("tags", name, file, model, settings, true);
  }
  void series(const std::string& file, const std::string& field, const std::string& loss, Settings settings = {}) {
    settings.insert(settings.end(), {{"predict", field + "=" + loss}, {"batch", "2"}, {"split", "75/25/0"}});
    add("series", loss, file, "lstm:3", settings);
  }

  const ScratchFolder& folder_;
};

Change setting(const std::string& name, const std::string& value) {
  return {.name = fmt::format("--{}", name) + (value == "true" ? "" : " " + value), .settings = {{name, value}}};
}

}  // namespace

std::vector<TrainingKind> training_kinds(const ScratchFolder& folder) {
  Kinds kinds(folder);
  kinds.text();
  kinds.tags();
  kinds.classes();
  kinds.series();
  kinds.sequences();
  kinds.shapes();
  kinds.tables();
  kinds.tasks();
  return kinds.all;
}

std::vector<Change> optimizer_changes() {
  std::vector<Change> result;
  const auto add = [&](const std::string& spec) {
    result.push_back({.name = spec, .settings = {{"optimizer", spec}}});
  };
  for (const OptimizerHelp& optimizer : optimizers())
    add(optimizer.name == "hf" || optimizer.name == "natural" ? optimizer.name + ":windows=1,iterations=3"
                                                              : optimizer.name);
  for (const char* spec :
       {"adam:component-clip=0.1", "adam:path-penalty=0.01", "hf:windows=1,iterations=3,structural=0.1", "ruop:draws=1",
        "ruop:own=1", "ruop:reduction=quasi-diagonal", "ruop:sequences=equal", "ruop:control=fixed,keep=0.5",
        "rbpm:reduction=quasi-diagonal", "rbpm:own=1", "ruop:reduction=diagonal", "ruop:writing=full",
        "path:kappa=both"})
    add(spec);
  return result;
}

std::vector<Change> option_changes() {
  std::vector<Change> result;
  for (const auto& [name, value] : Settings{{"curriculum", "2"},
                                            {"restarts", "2"},
                                            {"activity-penalty", "0.1"},
                                            {"flow-penalty", "0.1"},
                                            {"label-smoothing", "0.1"},
                                            {"sampled-softmax", "2"},
                                            {"gradient", "rtrl"},
                                            {"gradient", "snap:1"},
                                            {"gradient", "uoro"},
                                            {"teacher-forcing", "1..0.5"},
                                            {"feedback", "2+2"},
                                            {"feedback", "always"},
                                            {"objective", "margin"},
                                            {"objective", "risk"},
                                            {"precision", "double"},
                                            {"activations", "bf16"},
                                            {"shards", "2"},
                                            {"window", "4"},
                                            {"memory-limit", "1M"},
                                            {"word-dropout", "0.1"},
                                            {"best-by", "labels"},
                                            {"predict-after", "a"},
                                            {"early-stop", "3"}})
    result.push_back(setting(name, value));
  for (const char* option : {"delays=1+2",
                             "leak=fixed",
                             "leak=learned",
                             "activation=relu",
                             "activation=ramp",
                             "init=identity",
                             "input-scale=0.1",
                             "biases=false",
                             "norm=layer",
                             "zoneout=0.1",
                             "gates=hard",
                             "chrono=4",
                             "trained-initial=true",
                             "layers=2",
                             "layers=2,residual=norm",
                             "dropout=0.1",
                             "dropout=0.1,variational=true",
                             "embedding=2",
                             "direct=1",
                             "pool=last",
                             "pool=mean",
                             "gaussians=0.1",
                             "attention=additive",
                             "condition=steps",
                             "dropouti=0.1",
                             "dropouth=0.1",
                             "embedding=2,dropoute=0.1",
                             "wdrop=0.1",
                             "embedding=3,tied=true"})
    result.push_back({.name = option, .settings = {}, .model = option});
  return result;
}

}  // namespace unfold::refusals
