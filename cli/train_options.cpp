#include "cli/train_options.h"

namespace unfold {

void add_train_options(CommandOptions& options, TrainRequest& request) {
  for (OptionRow& row : train_rows(request)) options.add(std::move(row));
}

void take_given(const CommandOptions& options, TrainRequest& request) {
  request.given.clear();
  for (const OptionRow& row : SettingTable::defaults().rows)
    if (options.given(row.name)) request.given.emplace(row.name);
}

}  // namespace unfold
