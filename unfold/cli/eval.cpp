#include <fmt/format.h>

#include <array>
#include <filesystem>
#include <nlohmann/json.hpp>

#include "unfold/capabilities/finite.h"
#include "unfold/cli/figures.h"
#include "unfold/cli/result_file.h"
#include "unfold/cli/run_folder.h"
#include "unfold/cli/scoring.h"
#include "unfold/cli/task_runs.h"
#include "unfold/cli/verb.h"
#include "unfold/models/learning.h"
#include "unfold/models/online_predictor.h"

namespace unfold {
namespace {

class Eval final : public Verb {
 public:
  Eval();
  ExitCode run(Console& console) override;

 private:
  ExitCode run_task(Console& console) const;
  Part choose_part(const Corpus& corpus) const;
  Evaluation measure(const SymbolModel& model, const Corpus& corpus, const Part& part,
                     const std::function<void(Index, float)>& surprisal) const;
  void write_surprisals(const Corpus& corpus, const Part& part, const Surprisals& surprisals) const;

  std::vector<std::string> inputs_;
  std::optional<std::string> split_, part_, per_symbol_, mask_;
  std::string unknown_ = "error", method_ = "unfolding";
  SegmentOptions reading_;
  Index window_ = 0, count_ = 1000, seed_ = 1;
  bool dynamic_ = false;
  std::string optimizer_;
};

Eval::Eval()
    : Verb(VerbOptions("eval", "measures a model on data: bits per symbol and per byte, perplexity",
                       {"unfold eval run other.txt", "unfold eval run book.txt --split 90/5/5 --part test --json"})) {
  options_.add_inputs(
      {.name = "inputs",
       .target = &inputs_,
       .placeholder = "MODEL DATA...",
       .help = "a run folder or model file, then text files (of a task model: the folder of its files, if any)",
       .least = 1,
       .most = std::string::npos});
  options_.add({.name = "split",
                .target = &split_,
                .placeholder = "A/B[/C]",
                .help = "cut the data as in training, and measure a --part of it"});
  options_.add({.name = "part",
                .target = &part_,
                .placeholder = "PART",
                .help = "train, valid or test",
                .choices = {"train", "valid", "test"},
                .default_text = "valid, with --split; of a task: test"});
  options_.add({.name = "unknown",
                .target = &unknown_,
                .placeholder = "error|skip",
                .help = "symbols that the model does not know: stop, or leave them out and count them"});
  options_.add({.name = "mask",
                .target = &mask_,
                .placeholder = "FILE",
                .help = "a 0 or 1 for every symbol of DATA: which are to be predicted"});
  options_.add({.name = "per-symbol",
                .target = &per_symbol_,
                .placeholder = "FILE",
                .help = "write the surprisal of every symbol (TSV)"});
  reading_.add(options_);
  options_.add({.name = "method",
                .target = &method_,
                .placeholder = "METHOD",
                .help = "unfolding, or stepper: one symbol at a time, with the same digits",
                .choices = {"unfolding", "stepper"}});
  options_.add(
      {.name = "dynamic",
       .target = &dynamic_,
       .help = "the model goes on learning while it is measured: each symbol is predicted before it is learnt"});
  options_.add({.name = "optimizer",
                .target = &optimizer_,
                .placeholder = "SPEC",
                .help = "with --dynamic, of a recurrent network",
                .default_text = OnlineOptions().optimizer});
  options_.add({.name = "window",
                .target = &window_,
                .placeholder = "N",
                .help = "with --dynamic, symbols per step of a recurrent network",
                .least = 0,
                .most = 4096,
                .default_text = std::to_string(OnlineOptions().window)});
  options_.add({.name = "count",
                .target = &count_,
                .placeholder = "N",
                .help = "tasks: examples, where there is no end of them",
                .least = 1,
                .most = 1e9});
  options_.add({.name = "seed", .target = &seed_, .placeholder = "N", .help = "tasks: of the examples", .least = 0});
  add_threads();
  add_unpacking_limit();
  add_common();
}

/// True for a file that begins as our models do and cannot be loaded: there is no knowing whether it needs DATA.
bool holds_damaged_model(const std::string& model) {
  try {
    ModelFile::open(model_file(model));
    return false;
  } catch (const ModelError&) {
    std::error_code ignored;
    return !std::filesystem::is_regular_file(model, ignored) ||
           FileBytes(model).bytes().substr(0, 64).find("\"__metadata__\"") != std::string_view::npos;
  }
}

Part Eval::choose_part(const Corpus& corpus) const {
  if (!split_) return whole_corpus(corpus, "all");
  const std::string name = part_.value_or("valid");
  Part part = split_corpus(corpus, parse_split(*split_))[name == "train" ? 0 : name == "valid" ? 1 : 2];
  if (part.empty())
    throw DataError(fmt::format("the split {} leaves nothing for --part {}; give that part a share", *split_, name));
  return part;
}

Evaluation Eval::measure(const SymbolModel& model, const Corpus& corpus, const Part& part,
                         const std::function<void(Index, float)>& surprisal) const {
  if (dynamic_) {
    const auto learner = learning_predictor(model, {.optimizer = optimizer_, .window = window_});
    return evaluate(*learner, corpus, part, predict_after(model), surprisal);
  }
  if (method_ == "stepper") return evaluate(*model.predictor(), corpus, part, predict_after(model), surprisal);
  Team team(threads());
  return model.evaluate(corpus, part, team,
                        {.segments = reading_.segments(),
                         .warmup = reading_.warmup(),
                         .predict_after = predict_after(model),
                         .surprisal = surprisal});
}

void Eval::write_surprisals(const Corpus& corpus, const Part& part, const Surprisals& surprisals) const {
  ResultFile file(*per_symbol_);
  file.write(kSymbolHeading);
  for_each_symbol(corpus, part, surprisals, [&](Index position, Symbol symbol, float nats) {
    file.write(symbol_line(corpus.alphabet(), position, symbol, nats));
  });
  file.commit();
}

/// A model of a task, on examples of it.
ExitCode Eval::run_task(Console&) const {
  for (const char* name : {"split", "unknown", "mask", "per-symbol", "segments", "warmup", "method", "dynamic"})
    if (options_.given(name)) throw UsageError(fmt::format("--{} is for models of text, not of tasks", name));
  const TaskModel<float> model = load_task_model(inputs_.front());
  const std::string part = part_.value_or("test");
  Team team(threads());
  const TaskScore score = evaluate_on_task(model,
                                           {.folder = inputs_.size() > 1 ? inputs_[1] : std::string(),
                                            .part = part == "train"   ? TaskPart::training
                                                    : part == "valid" ? TaskPart::validation
                                                                      : TaskPart::test,
                                            .count = count_,
                                            .seed = static_cast<std::uint64_t>(seed_)},
                                           team);
  print_result(json_ ? one_line(to_json(model, score)) : to_text(model, score));
  return ExitCode::success;
}

ExitCode Eval::run(Console& console) {
  reading_.check(options_);
  if (dynamic_ && (!reading_.exact() || method_ == "stepper"))
    throw UsageError("--dynamic reads one symbol after another: --segments and --method have no meaning with it");
  if (!dynamic_ && (options_.given("optimizer") || options_.given("window")))
    throw UsageError("--optimizer and --window are for --dynamic");
  if (method_ == "stepper" && !reading_.exact()) throw UsageError("--segments has no meaning with --method stepper");
  if (json_ && per_symbol_ == "-") throw UsageError("--json and --per-symbol - both want standard output; name a file");
  if (holds_task_model(inputs_.front())) return run_task(console);
  if (inputs_.size() < 2 && holds_damaged_model(inputs_.front())) load_model(inputs_.front());  // which says what it is
  if (inputs_.size() < 2) throw options_.missing_inputs();
  if (part_ && !split_)
    throw UsageError("--part needs --split: which split is it a part of? For example --split 90/5/5");
  const UnknownPolicy unknown = parse_unknown_policy(unknown_);
  if (split_) parse_split(*split_);
  const std::unique_ptr<SymbolModel> loaded = load_model(inputs_.front());
  const SymbolModel& model = *loaded;
  const Corpus corpus = load_for(model, {inputs_.begin() + 1, inputs_.end()}, unknown, mask_);
  const Part part = choose_part(corpus);
  Surprisals surprisals(per_symbol_ ? part : Part());
  const auto count = count_symbols(console, part.symbols(), "eval");
  SurprisalCheck check;
  const Evaluation result = measure(model, corpus, part, [&](Index place, float nats) {
    if (per_symbol_) surprisals.set(place, nats);
    check.see(place, nats);
    count(place, nats);
  });
  check.require(model, inputs_.front(), dynamic_);
  if (result.predicted == 0) throw DataError("the data hold no symbol that this model predicts");
  if (per_symbol_) write_surprisals(corpus, part, surprisals);

  const Figures figures{
      .nats_per_symbol = result.nats_per_symbol(), .symbols = result.predicted, .bytes = part.bytes(corpus)};
  if (json_) {
    nlohmann::ordered_json json = to_json(figures);
    json["unknown_symbols"] = corpus.unknown();
    json["bytes"] = figures.bytes;
    json["part"] = part.name;
    reading_.describe(result, json);
    print_result(one_line(json));
  } else if (per_symbol_ != "-") {
    print_result(to_text(figures));
    print_result(fmt::format("unknown symbols  {}{}\n", corpus.unknown(),
                             corpus.unknown() == 0                     ? ""
                             : model.alphabet().unknown() != kNoSymbol ? " (read as <unk>)"
                                                                       : " (left out)"));
    print_result(fmt::format("read             {}\n", reading_.describe(result)));
  }
  return ExitCode::success;
}

}  // namespace

std::unique_ptr<Verb> make_eval() { return std::make_unique<Eval>(); }

}  // namespace unfold
