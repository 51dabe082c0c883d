#include "app/sweep/run_settings_record.h"

#include <fstream>
#include <iterator>

#include "model/registry/run_folder.h"
#include "unfold/base/formats/file.h"

namespace unfold {

bool can_resume(const std::string& folder, const std::string& settings) {
  const std::string begun = folder + ".begun";
  const RunFolder run(folder);
  std::ifstream file(begun);
  if (std::string(std::istreambuf_iterator<char>(file), {}) == settings) return run.has_checkpoint();
  run.lock();
  run.clear();  // done first, so no checkpoint of other settings remains next to the new file
  write_file_atomically(begun, settings);
  return false;
}

}  // namespace unfold
