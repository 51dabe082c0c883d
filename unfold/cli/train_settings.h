#pragma once
/// What `unfold train` is told: its options, their checks, and which of them have a meaning for what is trained.

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "unfold/cli/options.h"
#include "unfold/models/defaults.h"

namespace unfold {

struct TrainSettings {
  std::vector<std::string> data;
  std::string out, model = kDefaultModel, optimizer = kDefaultOptimizer;
  std::optional<std::string> valid, split, predict_after, mask, valid_mask, memory_limit, task, precision;
  std::string symbols = "chars", unknown = "error";
  Index vocabulary = 0, window = kDefaultWindow, batch = kDefaultBatch, curriculum = 0, seed = 1, sampled_softmax = 0;
  std::optional<std::string> only_label;
  bool label_column = false;
  bool lines = false, whole_sequences = false, resume = false, overwrite = false;
  std::optional<double> epochs, minutes, goal_error;
  Index validate_on = 1000;
  double activity_penalty = 0, flow_penalty = 0;
  std::optional<Index> steps;
  Index restarts = 1, validate_every = 0, early_stop = 0, sample_every = 0, checkpoint_every = 0, log_every = 100;
};

/// Declares the options of `train`, which write into `settings`; it must outlive them.
void add_train_options(VerbOptions& options, TrainSettings& settings);

/// Checks the settings before any data is read and puts SPECs into their canonical form, so that equal configurations
/// are equal texts. Throws UsageError, also for an option that was given and has no meaning for what is trained.
void make_canonical(TrainSettings& settings, const VerbOptions& options);

/// Whether the option has a meaning for what is trained.
bool applies(std::string_view option, const TrainSettings& settings);

/// A budget ends a run and may differ between a run and its continuation.
bool is_budget(std::string_view option);
/// When a budget is among the options given now, forgets the others, which an earlier run left.
void replace_budget(TrainSettings& settings, const VerbOptions& options);

/// "500M", "2G": bytes, with the binary multiples K, M, G, T. Throws UsageError.
std::size_t parse_bytes(const std::string& text, std::string_view option = "--memory-limit");

}  // namespace unfold
