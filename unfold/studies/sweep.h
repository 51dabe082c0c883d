#pragma once
/// Trainings over a grid of settings and several seeds, and one table of what came out.

#include <optional>
#include <string>
#include <vector>

#include "unfold/app/train.h"
#include "unfold/report/table.h"
#include "unfold/runs/reporter.h"

namespace unfold {

/// A setting and the values that it takes.
struct SweepAxis {
  std::string key;
  std::vector<std::string> values;
};
/// "rate=1e-3,3e-3;units=128,256"; values that hold commas, as SPECs do, are divided by bars:
/// "model=lstm:9,layers=2|gru:9". Throws UsageError.
std::vector<SweepAxis> parse_grid(const std::string& text);

/// Gives a setting its value: a setting of train by its name, `units`, the main size of the model, or an option of the
/// SPEC of the optimiser or the model, before whose name `optimizer.` or `model.` may stand. Throws UsageError: no such
/// setting, one that both SPECs have, a value that does not fit.
void assign_in_sweep(const std::string& key, const std::string& value, TrainRequest& request);

struct SweepRequest {
  TrainRequest base;  ///< what all runs have; `out` is the folder of the sweep
  std::string grid;
  Index seeds = 1;  ///< of each point: the base's seed and those after it
  Index jobs = 1;   ///< processes on this machine
  /// Where in what train says as JSON the measure stands, as "valid/bits_per_symbol"; none: what there is.
  std::optional<std::string> measure = {};
  Processes* processes = nullptr;  ///< of mpirun, which all do this sweep
};

struct SweepOutcome {
  TextTable table;  ///< a row a point: its values, mean, deviation and best of the measure over seeds, seconds
  std::string measure;
  std::string best;          ///< the point of the best mean
  std::string results_file;  ///< JSON, with the result of every run
};
/// Runs that are finished in the folder are not repeated, and those begun go on. Throws UsageError, DataError,
/// InterruptedError, RuntimeFailure. A run that diverges is a row without a number; DivergedError when all do.
SweepOutcome sweep(const SweepRequest& request, Reporter& reporter);

}  // namespace unfold
