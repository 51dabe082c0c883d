#include "cli/train_options.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "data/readers/example_reader.h"
#include "data/tasks/task_spec.h"

namespace unfold {
namespace {

void add_data_options(CommandOptions& options, TrainRequest& request) {
  TrainSettings& s = request.settings;
  options.add_inputs(
      {.name = "data",
       .target = &s.data,
       .placeholder = "DATA...",
       .help = "files (also .gz, .xz, .zst; - is standard input): text (one sequence per file) or data with fields",
       .least = 0,  // not needed to resume a run
       .most = std::string::npos,
       .file = FileUse::data});
  options.add({.name = "out",
               .target = &request.out,
               .placeholder = "RUN",
               .help = "the run folder (required)",
               .file = FileUse::filled});
  std::vector<std::string> formats = {"text", kLogFormat, "fasta", "fastq"};
  for (std::string& name : readers().names()) formats.push_back(std::move(name));
  options.add({.name = "format",
               .target = &s.format,
               .placeholder = "FORMAT",
               .help = fmt::format("format of DATA: {}", fmt::join(formats, ", ")),
               .choices = formats,
               .default_text = "detected from the file name and the first lines"});
  options.add({.name = "read",
               .target = &s.read,
               .placeholder = "FIELD,...",
               .help = "input fields; FIELD.lower, .shape, .prefix3, .suffix3 are derived from text fields",
               .default_text = "all others, and predicted numbers; tables: see unfold inspect"});
  options.add({.name = "predict",
               .target = &s.predict,
               .placeholder = "FIELD,...",
               .help = "output fields; FIELD@end: once, at the end; FIELD=LOSS: normal, mixture:5, gaussian, "
                       "bernoulli, poisson, softmax",
               .default_text = "label, notes, value, or the only candidate"});
  options.add({.name = "ahead",
               .target = &s.ahead,
               .placeholder = "K",
               .help = "offset in positions from input to prediction",
               .least = 0,
               .most = 1e6,
               .default_text = "1 if a predicted field is also an input, otherwise 0"});
  options.add({.name = "sequences",
               .target = &s.sequences,
               .placeholder = "FIELD",
               .help = "tables: rows with the same value in this column form a sequence; also spelled --group",
               .default_text = "the schema of the table, see unfold inspect"});
  options.add({.name = "group", .target = &s.sequences, .placeholder = "FIELD"});
  add_schema_options(options, s);
  options.add({.name = "trees",
               .target = &s.trees,
               .placeholder = "SHAPE",
               .help = "trees for data with fields: heads (from CoNLL-U), or over the words of sentences and trees: "
                       "balanced, left, right, or found (latent trees)",
               .choices = {"heads", "balanced", "left", "right", "found"}});
  options.add({.name = "log-rules",
               .target = &s.log_rules,
               .placeholder = "FILE",
               .help = "with --format log: custom rules, tried before the built-in ones (docs/logs.md)",
               .file = FileUse::data});
  options.add({.name = "test",
               .target = &s.test,
               .placeholder = "FILE",
               .help = "data with fields: evaluate the best model on this file at the end",
               .file = FileUse::data});
  options.add({.name = "ends",
               .target = &s.ends,
               .placeholder = "HOW",
               .help = "predict whole sequences including their ends: symbol, stop (a separate unit), or a model of "
                       "lengths: geometric, poisson, negative-binomial, table"});
  options.add({.name = "word-dropout",
               .target = &s.word_dropout,
               .placeholder = "SHARE",
               .help = "data with fields: share of positions whose inputs are dropped in training",
               .least = 0,
               .most = 0.99});
  options.add({.name = "shift",
               .target = &s.shift,
               .placeholder = "N",
               .help = "images and other grids: random shift by up to N positions in training",
               .least = 0,
               .most = 1024});
  options.add({.name = "symbols",
               .target = &s.symbols,
               .placeholder = "KIND",
               .help = "the symbols of text: bytes, chars or words"});
  options.add({.name = "vocabulary",
               .target = &s.vocabulary,
               .placeholder = "N",
               .help = "words: keep the N most frequent, the rest is <unk>; 0: all",
               .least = 0});
  options.add({.name = "label-column",
               .target = &s.label_column,
               .help = "the first column of every line is a label, which the model does not read"});
  options.add({.name = "only-label",
               .target = &s.only_label,
               .placeholder = "LABEL",
               .help = "with --label-column: read only lines with this label; for anomaly detection, use the label of "
                       "normal lines, so that the model does not learn anomalies"});
  options.add({.name = "lines", .target = &s.lines, .help = "each line is a separate sequence"});
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
               .help = "for symbols or labels of --valid that do not occur in DATA: stop, or skip them"});
  std::string known;
  for (const TaskHelp& task : tasks()) known += (known.empty() ? "" : ", ") + task.name;
  options.add({.name = "task",
               .target = &s.task,
               .placeholder = "SPEC",
               .help = "instead of text: examples of a task, generated without limit if possible: " + known});
  options.add({.name = "validate-on",
               .target = &s.validate_on,
               .placeholder = "N",
               .help = "tasks: number of examples per validation",
               .least = 1,
               .most = 1e7});
  options.add({.name = "goal-error",
               .target = &s.goal_error,
               .placeholder = "X",
               .help = "tasks: stop when at most this share of validation sequences is wrong",
               .least = 0,
               .most = 1});
  options.add({.name = "follow",
               .target = &s.follow,
               .help = "DATA is one stream, such as - (standard input): learn its bytes in streaming mode, in constant "
                       "memory, until it ends or Ctrl-C (docs/gradients.md)"});
  options.add({.name = "predict-after",
               .target = &s.predict_after,
               .placeholder = "SYMBOL",
               .help = "predict only the symbols that follow this one"});
  options.add({.name = "mask",
               .target = &s.mask,
               .placeholder = "FILE",
               .help = "a file with 1 for every symbol of DATA to be predicted and 0 for the others",
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
                       "uniform, with options, such as lstm:256,layers=2; text with --minutes uses gated-state=true "
                       "and, for short budgets, fewer units"});
  options.add({.name = "start-from",
               .target = &s.copy_matching_parameters,
               .placeholder = "MODEL",
               .help = "initialize from the parameters of this run or model file: a network or an hmm over the same "
                       "symbols, or a model of the same data with fields",
               .default_text = "random",
               .file = FileUse::model});
  options.add({.name = "optimizer",
               .target = &s.optimizer,
               .placeholder = "SPEC",
               .help = "sgd, rmsprop, adam, adamw, path, ruop, rbpm, hf or natural with options: rate, clip, ...; text "
                       "with --minutes uses adamw"});
  options.add({.name = "gradient",
               .target = &s.gradient,
               .placeholder = "METHOD",
               .help = "bptt back-propagates through a window; forward methods: rtrl (exact), snap:N (N steps), uoro "
                       "or nobacktrack (estimates) (docs/gradients.md)",
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
               .help = "sequences per batch",
               .least = 1,
               .most = 1e6});
  options.add({.name = "whole-sequences",
               .target = &s.whole_sequences,
               .help = "back-propagate through whole sequences instead of windows"});
  options.add({.name = "curriculum",
               .target = &s.curriculum,
               .placeholder = "N",
               .help = "epoch e reads only the first e*N symbols of each sequence; tasks: start with the shortest "
                       "examples and double the length after every N; 0: all",
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
               .help = "adds BETA times the mean squared change of the norm of each layer from step to step",
               .least = 0});
  options.add({.name = "flow-penalty",
               .target = &s.flow_penalty,
               .placeholder = "WEIGHT",
               .help = "penalizes changes of the gradient norm in back-propagation through time; rnn and mrnn",
               .least = 0});
  options.add({.name = "label-smoothing",
               .target = &s.label_smoothing,
               .placeholder = "SHARE",
               .help = "label smoothing: share of each training target that is spread over all symbols; 0: none",
               .least = 0});
  options.add(
      {.name = "sampled-softmax",
       .target = &s.sampled_softmax,
       .placeholder = "K",
       .help =
           "large vocabularies: compute the softmax over the symbols of a window and at least K others; 0: over all",
       .least = 0,
       .most = 1e9});
  options.add({.name = "teacher-forcing",
               .target = &s.teacher_forcing,
               .placeholder = "A..B",
               .help = "teacher forcing: share of positions that read the true value as \"previous F\", from the first "
                       "to the last step; the others read the output of the network (scheduled sampling)",
               .default_text = "1, with --feedback 0"});
  options.add({.name = "feedback",
               .target = &s.feedback,
               .placeholder = "N+K",
               .help = "numbers read as \"previous F\" are true for N positions, then outputs of the network for K "
                       "positions, with gradients through them; --teacher-forcing: the share of these K that is true",
               .default_text = "none"});
  options.add({.name = "objective",
               .target = &s.objective,
               .placeholder = "SPEC",
               .help = "objective for labels with a crf and for whole sequences with ends: perceptron, margin, risk, "
                       "bso, for example bso:beam=4",
               .default_text = "likelihood"});
  options.add({.name = "forcing-schedule",
               .target = &s.forcing_schedule,
               .placeholder = "SHAPE",
               .help = "schedule of --teacher-forcing from A to B",
               .choices = {"linear", "exponential", "inverse-sigmoid"},
               .default_text = "linear"});
  options.add({.name = "precision",
               .target = &s.precision,
               .placeholder = "float|double|bf16|tf32",
               .help = "precision of arithmetic and of the model file; bf16: matrix products in training in bfloat16, "
                       "everything else in float; tf32, with --device: the same with 10 mantissa bits",
               .default_text = "double for optimizers that compare losses, such as ruop and rbpm; otherwise float"});
  options.add(
      {.name = "activations",
       .target = &s.activations,
       .help = "activations stored for the gradient: exact, or bf16: at most half the memory, rounded to bfloat16",
       .choices = {"exact", "bf16"},
       .default_text = "exact"});
  options.add({.name = "seed",
               .target = &s.seed,
               .placeholder = "N",
               .help = "random seed of initialization, data order and dropout",
               .least = 0});
  options.add(
      {.name = "restarts",
       .target = &s.restarts,
       .placeholder = "K",
       .help = "train K candidates with different seeds and graphs; the best one after half of the budget is continued",
       .least = 1,
       .most = 10000});
  options.add({.name = "shards",
               .target = &s.shards,
               .placeholder = "S",
               .help = "split every batch into S parts and sum their gradients in a fixed order: `mpirun -n K unfold "
                       "train` computes them in K processes, with the same result for every K up to S",
               .least = 1,
               .most = 65536,
               .default_text = "1"});
  options.add(
      {.name = "gradient-sums",
       .target = &s.gradient_sums,
       .help = "precision of the gradients that processes exchange: exact, or bf16, which halves the communication",
       .choices = {"exact", "bf16"},
       .default_text = "exact"});
  options.add({.name = "validate-every",
               .target = &s.validate_every,
               .placeholder = "STEPS",
               .help = "steps between validations",
               .least = 0,
               .default_text = "chosen so that validation takes 5 % of the time"});
  options.add({.name = "best-by",
               .target = &s.best_by,
               .placeholder = "nats|labels|sequences",
               .help = "data with fields and tasks: validation criterion for the best model: nats, or the share of "
                       "wrong labels or wrong sequences",
               .default_text = "nats; for pairs, sequences"});
  options.add({.name = "early-stop",
               .target = &s.early_stop,
               .placeholder = "N",
               .help = "stop after N validations without improvement; 0: never",
               .least = 0});
}

void add_run_options(CommandOptions& options, TrainRequest& request) {
  RunSettings& r = request.run;
  options.add({.name = "resume", .target = &request.resume, .help = "resume the run in --out"});
  options.add({.name = "overwrite", .target = &request.overwrite, .help = "replace the run in --out"});
  options.add({.name = "sample-every",
               .target = &r.sample_every,
               .placeholder = "STEPS",
               .help = "print a sample every STEPS steps; 0: never",
               .least = 0});
  options.add({.name = "checkpoint-every",
               .target = &r.checkpoint_every,
               .placeholder = "STEPS",
               .help = "steps between checkpoints",
               .least = 0,
               .default_text = "one per minute"});
  options.add({.name = "log-every",
               .target = &r.log_every,
               .placeholder = "STEPS",
               .help = "steps between entries of log.jsonl",
               .least = 1});
  options.add({.name = "memory-limit",
               .target = &r.memory_limit,
               .placeholder = "BYTES",
               .help = "for activations, for example 2G; recomputes what does not fit; ngram: for counting; what does "
                       "not fit goes to $TMPDIR; the result is the same"});
  options.add({.name = "device",
               .target = &r.device,
               .placeholder = "cuda|cuda:N",
               .help = "train and validate on a GPU, with --precision; results are not bit-identical to the CPU. "
                       "Metrics and curvatures of ruop, rbpm, hf, natural and path are computed on the CPU",
               .default_text = "cpu"});
}

}  // namespace

void add_schema_options(CommandOptions& options, TrainSettings& s) {
  options.add({.name = "order",
               .target = &s.order,
               .placeholder = "FIELD",
               .help = "tables: order the rows of each sequence by this column of dates or numbers",
               .default_text = "the schema of the table"});
  options.add({.name = "types",
               .target = &s.types,
               .placeholder = "FIELD=TYPE,...",
               .help =
                   "tables: types of columns: number, integer, category, text, words, characters, date, date:PATTERN, "
                   "id",
               .default_text = "inferred, see unfold inspect"});
  options.add({.name = "missing",
               .target = &s.missing,
               .placeholder = "A,B,...",
               .help = "tables: cells that stand for missing values",
               .default_text = "null, NA, nan, ... (docs/data.md)"});
  options.add({.name = "decimal",
               .target = &s.decimal,
               .placeholder = "comma|point",
               .help = "tables: decimal mark of numbers",
               .choices = {"comma", "point"},
               .default_text = "inferred"});
  options.add({.name = "thousands",
               .target = &s.thousands,
               .placeholder = "MARK",
               .help = "tables: thousands separator of numbers",
               .choices = {"none", "comma", "point", "space"},
               .default_text = "inferred"});
  options.add({.name = "header",
               .target = &s.header,
               .placeholder = "yes|no",
               .help = "tables: whether the first row has the names of the columns",
               .choices = {"yes", "no"},
               .default_text = "inferred"});
  options.add({.name = "comment",
               .target = &s.comment,
               .placeholder = "PREFIX",
               .help = "tables: skip lines that begin with this text",
               .default_text = "none"});
}

void add_train_options(CommandOptions& options, TrainRequest& request) {
  add_data_options(options, request);
  add_training_options(options, request.settings);
  add_run_options(options, request);
}

void take_given(const CommandOptions& options, TrainRequest& request) {
  request.given.clear();
  for (const Setting& setting : all_settings(request.settings, request.run))
    if (options.given(setting.name)) request.given.emplace(setting.name);
  if (options.given("group") && options.given("sequences"))
    throw UsageError("--group and --sequences are the same option; leave out one of them");
  if (options.given("group")) request.given.emplace("sequences");
}

}  // namespace unfold
