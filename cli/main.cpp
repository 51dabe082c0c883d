#include <string>
#include <vector>

#include "cli/terminal/interrupt.h"
#include "cli/verb.h"

int main(int argc, char** argv) {
  unfold::handle_signals();
  const std::vector<std::string> arguments(argv + (argc > 0 ? 1 : 0), argv + argc);
  return unfold::run_command(arguments);
}
