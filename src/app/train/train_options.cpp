#include "app/settings/setting_options.h"
#include "app/train/train.h"

namespace unfold {

OptionRows train_rows(TrainRequest& request) {
  OptionRows rows = setting_rows(request.settings, request.run);
  rows.push_back({.name = "out",
                  .target = &request.out,
                  .placeholder = "RUN",
                  .help = "the run folder (required)",
                  .file = FileUse::filled,
                  .group = OptionGroup::output,
                  .common = true});
  rows.push_back({.name = "resume",
                  .target = &request.resume,
                  .help = "resume the run in --out",
                  .group = OptionGroup::output,
                  .common = true,
                  .by_gradient = true});
  rows.push_back({.name = "overwrite",
                  .target = &request.overwrite,
                  .help = "replace the run in --out",
                  .group = OptionGroup::output,
                  .common = true});
  return rows;
}

}  // namespace unfold
