#include "app/settings/setting_options.h"

#include <fmt/format.h>

namespace unfold {

void add_training_rows(OptionRows& rows, TrainSettings& s) {
  rows.push_back({.name = "model",
                  .target = &s.model,
                  .placeholder = "SPEC",
                  .help = "rnn:N, lstm:N, gru:N, mrnn:N, glnn:N, ngram:N, hmm:N, ppm:N, ctw:N, mix:A+B, frequency or "
                          "uniform, with options, such as lstm:256,layers=2; short budgets in minutes use fewer units",
                  .keep = Keep::model,
                  .group = OptionGroup::model,
                  .common = true,
                  .kind_defaults = {{"text", kDefaultModel},
                                    {"text with --minutes", kTimedModel},
                                    {"logs", kDefaultLogModel},
                                    {"labels of positions", kTaggingModel},
                                    {"labels of sequences", kLabelModel},
                                    {"labels of texts", kTextLabelModel},
                                    {"labels of series", "chosen by cross-validation"},
                                    {"tables of numbers", "with --format table, chosen by cross-validation"},
                                    {"series", "chosen by the error of held-out values"}},
                  .default_varies = true});
  rows.push_back({.name = "start-from",
                  .target = &s.copy_matching_parameters,
                  .placeholder = "MODEL",
                  .help = "initialize from the parameters of this run or model file: a network or an hmm over the same "
                          "symbols, or a model of data with the same fields",
                  .keep = Keep::fixed,
                  .default_text = "random",
                  .file = FileUse::model,
                  .group = OptionGroup::model,
                  .common = true,
                  .kinds = kFiniteFiles,
                  .by_gradient = true});
  rows.push_back({.name = "optimizer",
                  .target = &s.optimizer,
                  .placeholder = "SPEC",
                  .help =
                      "sgd, rmsprop, adam, adamw, path, ruop, rbpm, hf or natural with options: rate, clip, ...; text "
                      "with --minutes uses adamw",
                  .keep = Keep::model,
                  .group = OptionGroup::training,
                  .common = true,
                  .by_gradient = true,
                  .kind_defaults = {{"text", kDefaultOptimizer},
                                    {"labels of positions", kTaggingOptimizer},
                                    {"labels of sequences", kLabelOptimizer},
                                    {"labels of texts", kTextLabelOptimizer},
                                    {"series", kSeriesOptimizer}},
                  .default_varies = true});
  rows.push_back({.name = "window",
                  .target = &s.window,
                  .placeholder = "N",
                  .help = "symbols of each sequence in one step",
                  .least = 1,
                  .most = 1e9,
                  .keep = Keep::model,
                  .group = OptionGroup::training,
                  .common = true,
                  .kinds = kFiles,
                  .by_gradient = true,
                  .default_varies = true});
  rows.push_back({.name = "batch",
                  .target = &s.batch,
                  .placeholder = "N",
                  .help = "sequences per batch",
                  .least = 1,
                  .most = 1e6,
                  .keep = Keep::model,
                  .group = OptionGroup::training,
                  .common = true,
                  .by_gradient = true,
                  .kind_defaults = {{"text, labels and series", fmt::format("{}", kDefaultBatch)},
                                    {"labels of texts", fmt::format("{}", kTextLabelBatch)},
                                    {"tables", "by their size"}},
                  .default_varies = true});
  rows.push_back({.name = "whole-sequences",
                  .target = &s.whole_sequences,
                  .help = "back-propagate through whole sequences instead of windows",
                  .keep = Keep::model,
                  .group = OptionGroup::training,
                  .kinds = kFiniteFiles,
                  .by_gradient = true});
  rows.push_back({.name = "curriculum",
                  .target = &s.curriculum,
                  .placeholder = "N",
                  .help = "epoch e reads only the first e*N positions of each sequence; tasks: start with the shortest "
                          "examples and double the length after every N; 0: all",
                  .least = 0,
                  .keep = Keep::model,
                  .group = OptionGroup::training,
                  .kinds = kFiniteFiles | Kind::task,
                  .by_gradient = true});
  rows.push_back({.name = "curriculum-each-epoch",
                  .target = &s.curriculum_each_epoch,
                  .help = "every epoch reads the first N positions of each sequence, then the first 2*N, up to whole "
                          "sequences (--curriculum N)",
                  .keep = Keep::model,
                  .group = OptionGroup::training,
                  .kinds = kFiniteFiles,
                  .by_gradient = true});
  rows.push_back({.name = "epochs",
                  .target = &s.epochs,
                  .placeholder = "N",
                  .help = "budget in passes over the training part",
                  .least = 0,
                  .above_least = true,
                  .keep = Keep::model,
                  .group = OptionGroup::budget,
                  .common = true,
                  .kinds = kFiniteData,
                  .by_gradient = true,
                  .kind_defaults = {{"text without a budget", fmt::format("{}", kDefaultEpochs)},
                                    {"labels of positions", fmt::format("{}", kTaggingEpochs)},
                                    {"labels of sequences and tables", "by their size"},
                                    {"series", fmt::format("{}", kSeriesEpochs)}}});
  rows.push_back({.name = "steps",
                  .target = &s.steps,
                  .placeholder = "N",
                  .help = "budget in steps",
                  .least = 1,
                  .keep = Keep::model,
                  .group = OptionGroup::budget,
                  .common = true,
                  .by_gradient = true});
  rows.push_back({.name = "minutes",
                  .target = &s.minutes,
                  .placeholder = "N",
                  .help = "budget in minutes",
                  .least = 0,
                  .above_least = true,
                  .keep = Keep::model,
                  .group = OptionGroup::budget,
                  .common = true,
                  .by_gradient = true});
  rows.push_back({.name = "activity-penalty",
                  .target = &s.activity_penalty,
                  .placeholder = "BETA",
                  .help = "adds BETA times the mean squared change of the norm of each layer from step to step",
                  .least = 0,
                  .keep = Keep::model,
                  .group = OptionGroup::loss,
                  .kinds = kText | Kind::task});
  rows.push_back({.name = "flow-penalty",
                  .target = &s.flow_penalty,
                  .placeholder = "WEIGHT",
                  .help = "penalizes changes of the gradient norm in back-propagation through time; rnn and mrnn",
                  .least = 0,
                  .keep = Keep::model,
                  .group = OptionGroup::loss,
                  .kinds = kText | Kind::task});
  rows.push_back({.name = "label-smoothing",
                  .target = &s.label_smoothing,
                  .placeholder = "SHARE",
                  .help = "label smoothing: fraction of each training target that is spread over all symbols; 0: none",
                  .least = 0,
                  .keep = Keep::model,
                  .group = OptionGroup::loss,
                  .by_gradient = true});
  rows.push_back(
      {.name = "sampled-softmax",
       .target = &s.sampled_softmax,
       .placeholder = "K",
       .help =
           "large vocabularies: compute the softmax over the symbols of a window and at least K others; 0: over all",
       .least = 0,
       .most = 1e9,
       .keep = Keep::model,
       .group = OptionGroup::loss,
       .kinds = kFiniteText,
       .by_gradient = true});
  rows.push_back({.name = "gradient",
                  .target = &s.gradient,
                  .placeholder = "METHOD",
                  .help =
                      "bptt back-propagates through a window; forward methods: rtrl (exact), snap:N (N steps), uoro "
                      "or nobacktrack (estimates) (docs/gradients.md)",
                  .keep = Keep::model,
                  .default_text = "bptt",
                  .group = OptionGroup::training,
                  .by_gradient = true});
  rows.push_back({.name = "follow",
                  .target = &s.follow,
                  .help =
                      "DATA is one stream, such as - (standard input): learn its bytes in streaming mode, in constant "
                      "memory, until it ends or Ctrl-C is pressed (docs/gradients.md)",
                  .keep = Keep::model,
                  .group = OptionGroup::data,
                  .kinds = kText,
                  .by_gradient = true});
  rows.push_back(
      {.name = "teacher-forcing",
       .target = &s.teacher_forcing,
       .placeholder = "A..B",
       .help = "teacher forcing: fraction of positions that read the true value as \"previous F\", from the first "
               "to the last step; the others read the output of the network (scheduled sampling)",
       .keep = Keep::model,
       .default_text = "1, with --feedback 0",
       .group = OptionGroup::training,
       .kinds = kFiles,
       .by_gradient = true});
  rows.push_back({.name = "feedback",
                  .target = &s.feedback,
                  .placeholder = "N+K",
                  .help = "inputs \"previous F\" are true for N positions, then outputs of the network (means, or "
                          "probabilities of symbols) for K positions, with gradients through them; --teacher-forcing: "
                          "the fraction of these K positions that read the true value. always: the network reads its "
                          "own outputs instead of earlier entries of what it predicts, in training and in use",
                  .keep = Keep::model,
                  .default_text = "none",
                  .group = OptionGroup::training,
                  .kinds = kFiniteFiles,
                  .by_gradient = true});
  rows.push_back({.name = "forcing-schedule",
                  .target = &s.forcing_schedule,
                  .placeholder = "SHAPE",
                  .help = "schedule of --teacher-forcing from A to B",
                  .choices = {"linear", "exponential", "inverse-sigmoid"},
                  .keep = Keep::model,
                  .default_text = "linear",
                  .group = OptionGroup::training,
                  .kinds = kFiles,
                  .by_gradient = true});
  rows.push_back({.name = "objective",
                  .target = &s.objective,
                  .placeholder = "SPEC",
                  .help =
                      "objective for labels with a crf and for whole sequences with ends: perceptron, margin, risk, "
                      "bso, for example bso:beam=4",
                  .keep = Keep::model,
                  .default_text = "likelihood",
                  .group = OptionGroup::loss,
                  .kinds = kFields,
                  .by_gradient = true});
  rows.push_back({.name = "precision",
                  .target = &s.precision,
                  .placeholder = "float|double|bf16|tf32",
                  .help =
                      "precision of arithmetic and of the model file; bf16: matrix products in training in bfloat16, "
                      "everything else in float; tf32, with --device: the same with 10 mantissa bits",
                  .keep = Keep::model,
                  .default_text = "double for optimizers that compare losses, such as ruop and rbpm; otherwise float",
                  .group = OptionGroup::model,
                  .by_gradient = true});
  rows.push_back(
      {.name = "activations",
       .target = &s.activations,
       .help =
           "how activations are stored for the gradient: exact, or bf16 (rounded to bfloat16, at most half the memory)",
       .choices = {"exact", "bf16"},
       .keep = Keep::model,
       .default_text = "exact",
       .group = OptionGroup::execution,
       .by_gradient = true});
  rows.push_back({.name = "seed",
                  .target = &s.seed,
                  .placeholder = "N",
                  .help = "random seed of initialization, data order and dropout",
                  .least = 0,
                  .keep = Keep::model,
                  .group = OptionGroup::training,
                  .common = true});
  rows.push_back(
      {.name = "restarts",
       .target = &s.restarts,
       .placeholder = "K",
       .help = "train K candidates with different seeds and graphs; the best one after half of the budget is continued",
       .least = 1,
       .most = 10000,
       .keep = Keep::model,
       .group = OptionGroup::training,
       .kinds = kFiniteText | Kind::task,
       .by_gradient = true});
  rows.push_back({.name = "shards",
                  .target = &s.shards,
                  .placeholder = "S",
                  .help =
                      "split every batch into S parts and sum their gradients in a fixed order: `mpirun -n K unfold "
                      "train` computes them in K processes, with the same result for every K up to S",
                  .least = 1,
                  .most = 65536,
                  .keep = Keep::model,
                  .default_text = "1",
                  .group = OptionGroup::execution,
                  .by_gradient = true});
  rows.push_back({.name = "gradient-sums",
                  .target = &s.gradient_sums,
                  .help = "precision of the gradients that processes exchange: exact, or bf16 (half the communication)",
                  .choices = {"exact", "bf16"},
                  .keep = Keep::model,
                  .default_text = "exact",
                  .group = OptionGroup::execution,
                  .by_gradient = true});
  rows.push_back({.name = "validate-every",
                  .target = &s.validate_every,
                  .placeholder = "STEPS",
                  .help = "steps between validations",
                  .least = 0,
                  .keep = Keep::model,
                  .default_text = "chosen so that validation takes 5 % of the time",
                  .group = OptionGroup::validation,
                  .kinds = kFiniteData,
                  .by_gradient = true});
  rows.push_back({.name = "best-by",
                  .target = &s.best_by,
                  .placeholder = "nats|labels|sequences",
                  .help =
                      "data with fields and tasks: validation criterion for the best model: nats, or the fraction of "
                      "wrong labels or wrong sequences",
                  .keep = Keep::model,
                  .default_text = "nats; for pairs, sequences",
                  .group = OptionGroup::validation,
                  .kinds = kFields | Kind::task,
                  .by_gradient = true});
  rows.push_back(
      {.name = "refit",
       .target = &s.refit,
       .placeholder = "yes|no",
       .help = "after validation, fit the model again to the training and validation data together",
       .choices = {"yes", "no"},
       .keep = Keep::model,
       .default_text = "yes for fewer than 2,000 examples if neither --split nor --valid nor a budget is given",
       .group = OptionGroup::training,
       .kinds = kFields});
  rows.push_back({.name = "early-stop",
                  .target = &s.early_stop,
                  .placeholder = "N",
                  .help = "stop after N validations without improvement; 0: never",
                  .least = 0,
                  .keep = Keep::model,
                  .group = OptionGroup::validation,
                  .common = true,
                  .by_gradient = true});
}

}  // namespace unfold
