#include "cli/train_options.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "data/readers/example_reader.h"
#include "data/tasks/task_spec.h"

namespace unfold {
namespace {

void add_data_options(CommandOptions& options, TrainRequest& request) {
  TrainSettings& s = request.settings;
  options.add_inputs({.name = "data",
                      .target = &s.data,
                      .placeholder = "DATA...",
                      .help = "files (also .gz, .xz, .zst; - is standard input): text, each one sequence, or data with "
                              "fields",
                      .least = 0,  // not needed to resume a run
                      .most = std::string::npos,
                      .file = FileUse::data});
  options.add({.name = "out",
               .target = &request.out,
               .placeholder = "RUN",
               .help = "the run folder, needed",
               .file = FileUse::filled});
  std::vector<std::string> formats = {"text", kLogFormat, "fasta", "fastq"};
  for (std::string& name : readers().names()) formats.push_back(std::move(name));
  options.add({.name = "format",
               .target = &s.format,
               .placeholder = "FORMAT",
               .help = fmt::format("how DATA is read: {}", fmt::join(formats, ", ")),
               .choices = formats,
               .default_text = "by the name and the first lines"});
  options.add({.name = "read",
               .target = &s.read,
               .placeholder = "FIELD,...",
               .help = "fields that go in; FIELD.lower, .shape, .prefix3, .suffix3 are made from a text",
               .default_text = "the others; numbers that are predicted too"});
  options.add({.name = "predict",
               .target = &s.predict,
               .placeholder = "FIELD,...",
               .help = "fields that come out; FIELD@end: once, at the end; FIELD=LOSS: normal, mixture:5, gaussian, "
                       "bernoulli, poisson, softmax",
               .default_text = "label, notes, value, or what else is obvious"});
  options.add({.name = "ahead",
               .target = &s.ahead,
               .placeholder = "K",
               .help = "positions from what is read to what is predicted",
               .least = 0,
               .most = 1e6,
               .default_text = "1 where a field that is predicted is read, else 0"});
  options.add({.name = "sequences",
               .target = &s.sequences,
               .placeholder = "FIELD",
               .help = "tables: neighbouring rows that agree there are one sequence"});
  options.add({.name = "trees",
               .target = &s.trees,
               .placeholder = "SHAPE",
               .help = "trees over data with fields: heads (of CoNLL-U), or over the words of sentences and trees "
                       "balanced, left, right, or as the model finds them (found)",
               .choices = {"heads", "balanced", "left", "right", "found"}});
  options.add({.name = "log-rules",
               .target = &s.log_rules,
               .placeholder = "FILE",
               .help = "with --format log: rules of your own, tried before the built-in ones (docs/logs.md)",
               .file = FileUse::data});
  options.add({.name = "test",
               .target = &s.test,
               .placeholder = "FILE",
               .help = "data with fields: measure the best model on this file at the end",
               .file = FileUse::data});
  options.add({.name = "ends",
               .target = &s.ends,
               .placeholder = "HOW",
               .help =
                   "what is predicted are whole sequences, and the end of each too: symbol, stop (a unit of its own), "
                   "or a model of lengths: geometric, poisson, negative-binomial, table"});
  options.add({.name = "word-dropout",
               .target = &s.word_dropout,
               .placeholder = "SHARE",
               .help = "data with fields: share of positions that training leaves unread",
               .least = 0,
               .most = 0.99});
  options.add({.name = "shift",
               .target = &s.shift,
               .placeholder = "N",
               .help = "images and other grids: training moves each by up to N positions, at random",
               .least = 0,
               .most = 1024});
  options.add({.name = "symbols",
               .target = &s.symbols,
               .placeholder = "KIND",
               .help = "what is a symbol of text: bytes, chars or words"});
  options.add({.name = "vocabulary",
               .target = &s.vocabulary,
               .placeholder = "N",
               .help = "words: keep the N most frequent, the rest is <unk>; 0: all",
               .least = 0});
  options.add({.name = "label-column",
               .target = &s.label_column,
               .help = "the first column of every line is a label, which the model shall not read"});
  options.add({.name = "only-label",
               .target = &s.only_label,
               .placeholder = "LABEL",
               .help = "with --label-column: read only lines with this label; of a model that is to find anomalies the "
                       "label of normal lines, or it learns the anomalies too"});
  options.add({.name = "lines", .target = &s.lines, .help = "each line is a sequence of its own"});
  options.add({.name = "split",
               .target = &s.split,
               .placeholder = "A/B[/C]",
               .help = "percentages for training, validation and test",
               .default_text = std::string(kDefaultSplit) + " without --valid"});
  options.add({.name = "valid",
               .target = &s.valid,
               .placeholder = "FILE",
               .help = "validate on this file and train on all of DATA",
               .file = FileUse::data});
  options.add({.name = "unknown",
               .target = &s.unknown,
               .placeholder = "error|skip",
               .help = "symbols, or labels, of --valid that DATA lacks: stop, or leave them out"});
  std::string known;
  for (const TaskHelp& task : tasks()) known += (known.empty() ? "" : ", ") + task.name;
  options.add({.name = "task",
               .target = &s.task,
               .placeholder = "SPEC",
               .help = "instead of text: examples of a task, endless where they are generated: " + known});
  options.add({.name = "validate-on",
               .target = &s.validate_on,
               .placeholder = "N",
               .help = "tasks: examples of a validation",
               .least = 1,
               .most = 1e7});
  options.add({.name = "goal-error",
               .target = &s.goal_error,
               .placeholder = "X",
               .help = "tasks: end when a validation finds at most this share of wrong sequences",
               .least = 0,
               .most = 1});
  options.add({.name = "follow",
               .target = &s.follow,
               .help = "DATA is one stream, such as - (standard input): learn its bytes as they come, in constant "
                       "memory, until it ends or Ctrl-C (docs/gradients.md)"});
  options.add({.name = "predict-after",
               .target = &s.predict_after,
               .placeholder = "SYMBOL",
               .help = "predict only the symbols that follow this one"});
  options.add({.name = "mask",
               .target = &s.mask,
               .placeholder = "FILE",
               .help = "a 0 or 1 for every symbol of DATA: which are to be predicted",
               .file = FileUse::data});
  options.add({.name = "valid-mask",
               .target = &s.valid_mask,
               .placeholder = "FILE",
               .help = "the same for --valid",
               .file = FileUse::data});
}

void add_training_options(CommandOptions& options, TrainSettings& s) {
  options.add({.name = "model",
               .target = &s.model,
               .placeholder = "SPEC",
               .help = "rnn:N, lstm:N, gru:N, mrnn:N, glnn:N, ngram:N, hmm:N, ppm:N, ctw:N, mix:A+B, frequency or "
                       "uniform, with options, as lstm:256,layers=2; text with --minutes takes gated-state=true, and "
                       "less units where they are few"});
  options.add({.name = "start-from",
               .target = &s.copy_matching_parameters,
               .placeholder = "MODEL",
               .help =
                   "begin with the parameters of this run or model file: a network or an hmm over the same symbols, "
                   "or a model of the same data with fields",
               .default_text = "random",
               .file = FileUse::model});
  options.add({.name = "optimizer",
               .target = &s.optimizer,
               .placeholder = "SPEC",
               .help = "sgd, rmsprop, adam, adamw, path, ruop, rbpm, hf or natural with options: rate, clip, ...; text "
                       "with --minutes takes adamw"});
  options.add({.name = "gradient",
               .target = &s.gradient,
               .placeholder = "METHOD",
               .help = "bptt looks back through a window; without looking back: rtrl (exact), snap:N (of N steps), "
                       "uoro or nobacktrack (estimates) (docs/gradients.md)",
               .default_text = "bptt"});
  options.add({.name = "window",
               .target = &s.window,
               .placeholder = "N",
               .help = "symbols of each sequence in one step",
               .least = 1,
               .most = 1e9});
  options.add({.name = "batch",
               .target = &s.batch,
               .placeholder = "N",
               .help = "sequences side by side in one step",
               .least = 1,
               .most = 1e6});
  options.add({.name = "whole-sequences",
               .target = &s.whole_sequences,
               .help = "back-propagate through whole sequences, not windows"});
  options.add({.name = "curriculum",
               .target = &s.curriculum,
               .placeholder = "N",
               .help = "epoch e reads only the first e*N symbols of each sequence; tasks: the shortest examples first, "
                       "twice as long after every N; 0: all",
               .least = 0});
  options.add({.name = "epochs",
               .target = &s.epochs,
               .placeholder = "N",
               .help = "budget in passes over the training part",
               .least = 0,
               .default_text = fmt::format("{} when no budget is given", kDefaultEpochs)});
  options.add({.name = "steps", .target = &s.steps, .placeholder = "N", .help = "budget in steps", .least = 1});
  options.add({.name = "minutes",
               .target = &s.minutes,
               .placeholder = "N",
               .help = "budget in minutes",
               .least = 0,
               .above_least = true});
  options.add({.name = "activity-penalty",
               .target = &s.activity_penalty,
               .placeholder = "BETA",
               .help = "adds BETA * the mean squared change of each layer's norm from step to step",
               .least = 0});
  options.add({.name = "flow-penalty",
               .target = &s.flow_penalty,
               .placeholder = "WEIGHT",
               .help = "keeps the norm of the gradient as it flows back through time; rnn and mrnn",
               .least = 0});
  options.add({.name = "label-smoothing",
               .target = &s.label_smoothing,
               .placeholder = "SHARE",
               .help = "share of every target that is spread over all symbols, in training; 0: none",
               .least = 0});
  options.add({.name = "sampled-softmax",
               .target = &s.sampled_softmax,
               .placeholder = "K",
               .help = "large vocabularies: train on the symbols of a window and at least K others; 0: on all",
               .least = 0,
               .most = 1e9});
  options.add({.name = "teacher-forcing",
               .target = &s.teacher_forcing,
               .placeholder = "A..B",
               .help = "share of positions that read what is true as \"previous F\", from the first to the last step; "
                       "the others read what the network gave itself (scheduled sampling)",
               .default_text = "1, with --feedback 0"});
  options.add({.name = "feedback",
               .target = &s.feedback,
               .placeholder = "N+K",
               .help =
                   "numbers read as \"previous F\" are true for N positions, then for K those that the network gave, "
                   "with the gradient through them; --teacher-forcing: the share of these K that stays true",
               .default_text = "none"});
  options.add(
      {.name = "objective",
       .target = &s.objective,
       .placeholder = "SPEC",
       .help =
           "what is paid for labels judged by crf, and for sequences whose end is predicted: perceptron, margin, risk, "
           "bso, as bso:beam=4",
       .default_text = "likelihood"});
  options.add({.name = "forcing-schedule",
               .target = &s.forcing_schedule,
               .placeholder = "SHAPE",
               .help = "how it goes from A to B",
               .choices = {"linear", "exponential", "inverse-sigmoid"},
               .default_text = "linear"});
  options.add({.name = "precision",
               .target = &s.precision,
               .placeholder = "float|double|bf16|tf32",
               .help = "of all arithmetic, and of the model file; bf16: products of training in bfloat16, all else in "
                       "float; tf32, with --device: the same with 10 bits after the first",
               .default_text = "double where the optimiser compares losses, as ruop and rbpm do; else float"});
  options.add({.name = "activations",
               .target = &s.activations,
               .help =
                   "what is kept of a batch for its gradient: exact, or bf16: in half the memory and less, rounded to "
                   "bfloat16",
               .choices = {"exact", "bf16"},
               .default_text = "exact"});
  options.add(
      {.name = "seed", .target = &s.seed, .placeholder = "N", .help = "of start, order and dropout", .least = 0});
  options.add(
      {.name = "restarts",
       .target = &s.restarts,
       .placeholder = "K",
       .help = "start K times from other seeds and graphs; the best by validation after half of the budget goes on",
       .least = 1,
       .most = 10000});
  options.add({.name = "shards",
               .target = &s.shards,
               .placeholder = "S",
               .help =
                   "divide every batch into S parts and add their gradients in one order: `mpirun -n K unfold train` "
                   "computes them in K processes, with the same result for every K up to S",
               .least = 1,
               .most = 65536,
               .default_text = "1"});
  options.add({.name = "gradient-sums",
               .target = &s.gradient_sums,
               .help = "of shards and their sums: exact, or bf16: rounded to bfloat16, half as much is sent",
               .choices = {"exact", "bf16"},
               .default_text = "exact"});
  options.add({.name = "validate-every",
               .target = &s.validate_every,
               .placeholder = "STEPS",
               .help = "steps between validations",
               .least = 0,
               .default_text = "so that they take a twentieth of the time"});
  options.add({.name = "best-by",
               .target = &s.best_by,
               .placeholder = "nats|labels|sequences",
               .help = "data with fields and tasks: what the best network is chosen by in validation: its nats, or the "
                       "share of labels, or of whole sequences, that are wrong",
               .default_text = "nats; of pairs sequences"});
  options.add({.name = "early-stop",
               .target = &s.early_stop,
               .placeholder = "N",
               .help = "end after N validations without improvement; 0: never",
               .least = 0});
}

void add_run_options(CommandOptions& options, TrainRequest& request) {
  RunSettings& r = request.run;
  options.add({.name = "resume", .target = &request.resume, .help = "go on where the run in --out stands"});
  options.add({.name = "overwrite", .target = &request.overwrite, .help = "replace the run in --out"});
  options.add({.name = "sample-every",
               .target = &r.sample_every,
               .placeholder = "STEPS",
               .help = "show a sample now and then; 0: never",
               .least = 0});
  options.add({.name = "checkpoint-every",
               .target = &r.checkpoint_every,
               .placeholder = "STEPS",
               .help = "steps between checkpoints",
               .least = 0,
               .default_text = "one a minute"});
  options.add({.name = "log-every",
               .target = &r.log_every,
               .placeholder = "STEPS",
               .help = "steps between entries of log.jsonl",
               .least = 1});
  options.add({.name = "memory-limit",
               .target = &r.memory_limit,
               .placeholder = "BYTES",
               .help = "for activities, as 2G; recomputes what does not fit; ngram: of counting, what does not fit "
                       "goes to $TMPDIR; the "
                       "result is the same"});
  options.add({.name = "device",
               .target = &r.device,
               .placeholder = "cuda|cuda:N",
               .help = "train and validate on a GPU, as --precision says; its bits are others than those of the "
                       "processor. Metrics and curvatures of ruop, rbpm, hf, natural and path stay on the processor",
               .default_text = "cpu, the processor"});
}

}  // namespace

void add_train_options(CommandOptions& options, TrainRequest& request) {
  add_data_options(options, request);
  add_training_options(options, request.settings);
  add_run_options(options, request);
}

void take_given(const CommandOptions& options, TrainRequest& request) {
  request.given.clear();
  for (const Setting& setting : all_settings(request.settings, request.run))
    if (options.given(setting.name)) request.given.emplace(setting.name);
}

}  // namespace unfold
