#include "app/train/setup/train_processes.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <numeric>

#include "app/train/setup/training_data.h"
#include "distributed/consistency.h"
#include "unfold/base/error.h"
#include "unfold/base/threads/processors.h"
#include "unfold/model/registry/registry.h"
#include "unfold/numerics/bf16.h"

namespace unfold {
namespace {

/// Returns whether a setting may differ between processes, because it affects neither results nor decisions.
bool may_differ(std::string_view key) {
  return key == name_of(&RunSettings::threads) || key == name_of(&RunSettings::memory_limit);
}

void add_settings(const TrainSettings& settings, const RunSettings& run, std::vector<Claim>& claims) {
  const Config all = configuration(settings, run, Keep::run);
  for (const ConfigEntry& entry : all.entries())
    if (!may_differ(entry.key)) claims.push_back({"--" + entry.key, to_string(entry.value)});
}

void add_files(const TrainSettings& s, std::vector<Claim>& claims) {
  const auto add = [&](const std::string& file, auto&& fingerprint_of) {
    if (file == "-") throw UsageError("standard input is only available to one of several processes; name a file");
    claims.push_back({"the fingerprint of " + file, fingerprint_of(file)});
  };
  // Data read in parts is verified while it is read (Corpus::of_blocks).
  for (const std::string& file : s.data) add(file, is_read_in_parts(s) ? fingerprint_of_parts : fingerprint_of_file);
  for (const auto* file : {&s.valid, &s.mask, &s.valid_mask, &s.test, &s.log_rules})
    if (*file) add(**file, fingerprint_of_file);
}

void require_divided(const Processes& processes, const TrainSettings& settings) {
  if (is_fitted_model(settings.model)) {
    if (is_counted_model(settings.model)) return;
    throw UsageError(
        fmt::format("{} processes were started, but {} is fitted in one process; only ngram supports several",
                    processes.count(), settings.model));
  }
  if (!settings.shards)
    throw UsageError(fmt::format("{0} processes were started without --shards; add --shards {0}, or a multiple of it",
                                 processes.count()));
  if (processes.count() > *settings.shards)
    throw UsageError(fmt::format("{} processes, but --shards {}: start at most one process per shard",
                                 processes.count(), *settings.shards));
}

}  // namespace

int threads_of_process(Index wanted, const Processes& processes) {
  if (wanted > 0 || processes.alone()) return thread_count(wanted);
  const int share = machine_threads() / std::max(1, processes.local_count());
  return std::max(1, std::min(thread_count(0), share));
}

int sum_over(int mine, Processes& processes) {
  const std::vector<double> all = processes.gather(mine);
  return static_cast<int>(std::accumulate(all.begin(), all.end(), 0.0));
}

void require_same_training(Processes& processes, const TrainSettings& settings, const RunSettings& run, bool resumes) {
  if (processes.alone()) return;
  require_divided(processes, settings);
  std::vector<Claim> claims = {
      {"the version", UNFOLD_VERSION},
      {"the byte order", std::endian::native == std::endian::little ? "little-endian" : "big-endian"},
      {"a checkpoint", resumes ? "found" : "not found"}};
  if (settings.precision == "bf16") claims.push_back({"the unit for bfloat16", std::string(bf16_unit_name())});
  add_settings(settings, run, claims);
  add_files(settings, claims);
  require_same_settings(processes, claims);
}

}  // namespace unfold
