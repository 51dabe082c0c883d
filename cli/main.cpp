#include "unfold/command.h"

int main(int argc, char** argv) { return unfold::run_main(argc, argv); }
