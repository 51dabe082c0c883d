#pragma once
/// Hyperparameter sweep: trains over a grid of settings with several seeds, and collects the results in a table.

#include <optional>
#include <string>
#include <vector>

#include "app/common/reporter.h"
#include "app/plots/table.h"
#include "app/train/train.h"

namespace unfold {

/// A setting and its values.
struct SweepAxis {
  std::string key;
  std::vector<std::string> values;
};
/// Parses a grid: "rate=1e-3,3e-3;units=128,256". Values that contain commas, such as SPECs, are separated by bars:
/// "model=lstm:9,layers=2|gru:9". Throws UsageError.
std::vector<SweepAxis> parse_grid(const std::string& text);

/// Assigns a value to a setting: a setting of `train` by its name; `units`, the main size of the model; or an option in
/// the SPEC of the optimizer or the model, optionally with the prefix `optimizer.` or `model.`. Throws UsageError if
/// there is no such setting, both SPECs have it, or the value is invalid.
void assign_in_sweep(const std::string& key, const std::string& value, TrainRequest& request);

struct SweepRequest {
  TrainRequest base;  ///< settings common to all runs; `out` is the folder of the sweep
  std::string grid;
  Index seeds = 1;  ///< seeds per grid point: the seed of `base` and the following ones
  Index jobs = 1;   ///< number of local processes
  /// Path of the measure in the JSON output of train, such as "valid/bits_per_symbol". Default: the first known measure
  /// that is present.
  std::optional<std::string> measure = {};
  Processes* processes = nullptr;  ///< all processes of mpirun, which run this sweep together
};

struct SweepOutcome {
  TextTable table;  ///< one row per grid point with its values, the mean, standard deviation and best value of the
                    ///< measure over seeds, and the seconds
  std::string measure;
  std::string best;          ///< the grid point with the best mean
  std::string results_file;  ///< JSON, with the results of all runs
};
/// Runs the sweep. Finished runs in the folder are not repeated, interrupted ones are resumed. A diverged run has no
/// value in the table. Throws DivergedError if all runs diverge; UsageError, DataError, InterruptedError,
/// RuntimeFailure.
SweepOutcome sweep(const SweepRequest& request, Reporter& reporter);

}  // namespace unfold
