#include <charconv>
#include <cstdlib>
#include <initializer_list>
#include <string_view>

#include "distributed/launch.h"

namespace unfold {
namespace {

/// Returns the value of the first variable that is a number of at least `least`; otherwise `least`.
int number_in(std::initializer_list<const char*> variables, int least) {
  for (const char* variable : variables) {
    const char* value = std::getenv(variable);
    if (value == nullptr) continue;
    const std::string_view text = value;
    int number = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
    if (error == std::errc() && end == text.data() + text.size() && number >= least) return number;
  }
  return least;
}

}  // namespace

/// Open MPI sets its own variables; launchers with the PMI interface (Hydra, Slurm) set the PMI variables.
LaunchInfo launch_info_from_environment() {
  return {.all = number_in({"OMPI_COMM_WORLD_SIZE", "PMI_SIZE"}, 1),
          .here = number_in({"OMPI_COMM_WORLD_LOCAL_SIZE", "MPI_LOCALNRANKS"}, 1),
          .number = number_in({"OMPI_COMM_WORLD_RANK", "PMI_RANK"}, 0)};
}

}  // namespace unfold
