#include "app/settings/setting_options.h"

namespace unfold {

void add_execution_rows(OptionRows& rows, RunSettings& r) {
  rows.push_back({.name = "sample-every",
                  .target = &r.sample_every,
                  .placeholder = "STEPS",
                  .help = "print a sample every STEPS steps; 0: never",
                  .least = 0,
                  .keep = Keep::run,
                  .group = OptionGroup::output,
                  .kinds = kText,
                  .by_gradient = true});
  rows.push_back({.name = "checkpoint-every",
                  .target = &r.checkpoint_every,
                  .placeholder = "STEPS",
                  .help = "steps between checkpoints",
                  .least = 0,
                  .keep = Keep::run,
                  .default_text = "one per minute",
                  .group = OptionGroup::output,
                  .by_gradient = true});
  rows.push_back({.name = "log-every",
                  .target = &r.log_every,
                  .placeholder = "STEPS",
                  .help = "steps between entries of log.jsonl",
                  .least = 1,
                  .keep = Keep::fixed,
                  .group = OptionGroup::output,
                  .by_gradient = true});
  rows.push_back(
      {.name = "memory-limit",
       .target = &r.memory_limit,
       .placeholder = "BYTES",
       .help = "memory limit for activations, for example 2G; activations that do not fit are recomputed; ngram: what "
               "does not fit is written to $TMPDIR; results do not depend on it",
       .keep = Keep::run,
       .group = OptionGroup::execution,
       .by_gradient = true});
  rows.push_back(threads_row(r.threads, Keep::run));
  rows.push_back({.name = "device",
                  .target = &r.device,
                  .placeholder = "cuda|cuda:N",
                  .help = "train and validate on a GPU, with --precision; results are not bit-identical to the CPU. "
                          "Metrics and curvatures of ruop, rbpm, hf, natural and path are computed on the CPU",
                  .keep = Keep::run,
                  .default_text = "cpu",
                  .group = OptionGroup::execution,
                  .by_gradient = true});
}

}  // namespace unfold
