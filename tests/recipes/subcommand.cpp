// Built in the modified copy of the sources: the command with the subcommand added by the recipe.
#include "unfold/command.h"

int main(int, char** argv) {
  char name[] = "count";
  char* arguments[] = {argv[0], name, argv[0], nullptr};
  return unfold::run_main(3, arguments);
}
