#include "app/train/stages/ridge_training.h"

#include <fmt/format.h>

#include <chrono>
#include <nlohmann/json.hpp>
#include <utility>

#include "base/interruptible.h"
#include "unfold/model/network/language_model.h"
#include "unfold/model/network/network_model.h"

namespace unfold {

template <class AnyModel>
TrainingResult fit_ridge(AnyModel& model, RepeatedReader::Make readers, const ReadoutOptions& options, Team& team,
                         Reporter& reporter) {
  using Clock = std::chrono::steady_clock;
  const Clock::time_point start = Clock::now();
  const NothingToSave fitting;
  ReadoutOptions used = options;
  const bool by_length = options.washout == kWashoutByLength;
  if (by_length) used.washout = washout_by_length(*readers());
  RepeatedReader reader(std::move(readers));
  const ReadoutFit found = fit_readout(model.network(), model.parameters(), reader, team, used);
  reporter.remark(fmt::format(
      "readout fitted to {} of {} positions, lambda {:.0e}{}{}", found.fitted, found.positions, found.lambda,
      reader.passes() > 1 ? fmt::format(", {} passes", reader.passes()) : "",
      by_length ? fmt::format(", washout {} (at most a tenth of the median length of the sequences)", used.washout)
                : ""));
  nlohmann::json entry = {{"readout", "ridge"}, {"positions", found.positions}, {"lambda", found.lambda}};
  if (reader.passes() > 1) {
    entry["readout"] = "softmax";
    entry["passes"] = reader.passes();
  }
  model.history().push_back(std::move(entry));
  return {.steps = 1,
          .epochs = 1,
          .symbols = found.positions,
          .seconds = std::chrono::duration<double>(Clock::now() - start).count(),
          .reason = "fitted"};
}

template TrainingResult fit_ridge(NetworkModel<float>&, RepeatedReader::Make, const ReadoutOptions&, Team&, Reporter&);
template TrainingResult fit_ridge(NetworkModel<double>&, RepeatedReader::Make, const ReadoutOptions&, Team&, Reporter&);
template TrainingResult fit_ridge(LanguageModel<float>&, RepeatedReader::Make, const ReadoutOptions&, Team&, Reporter&);
template TrainingResult fit_ridge(LanguageModel<double>&, RepeatedReader::Make, const ReadoutOptions&, Team&,
                                  Reporter&);

}  // namespace unfold
