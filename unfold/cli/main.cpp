#include <csignal>
#include <string>
#include <vector>

#include "unfold/cli/verb.h"

int main(int argc, char** argv) {
  std::signal(SIGXFSZ, SIG_IGN);  // a file that may not grow is an error with a message, not the end of the process
  const std::vector<std::string> arguments(argv + (argc > 0 ? 1 : 0), argv + argc);
  return unfold::run_command(arguments);
}
