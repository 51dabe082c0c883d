#include "app/train/stages/ridge_training.h"

#include <fmt/format.h>

#include <chrono>
#include <nlohmann/json.hpp>

namespace unfold {

template <class T>
TrainingResult fit_ridge(NetworkModel<T>& model, BatchReader& reader, const ReadoutOptions& options, Team& team,
                         Reporter& reporter) {
  using Clock = std::chrono::steady_clock;
  const Clock::time_point start = Clock::now();
  const ReadoutFit found = fit_readout(model.network(), model.parameters(), reader, team, options);
  reporter.remark(
      fmt::format("readout fitted to {} of {} positions, lambda {:.0e}", found.fitted, found.positions, found.lambda));
  model.history().push_back({{"readout", "ridge"}, {"positions", found.positions}, {"lambda", found.lambda}});
  return {.steps = 1,
          .epochs = 1,
          .symbols = found.positions,
          .seconds = std::chrono::duration<double>(Clock::now() - start).count(),
          .reason = "fitted"};
}

template TrainingResult fit_ridge(NetworkModel<float>&, BatchReader&, const ReadoutOptions&, Team&, Reporter&);
template TrainingResult fit_ridge(NetworkModel<double>&, BatchReader&, const ReadoutOptions&, Team&, Reporter&);

}  // namespace unfold
