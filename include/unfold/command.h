#pragma once
/// The command `unfold` as a function, for programs that extend it with their own cells, losses or optimizers. Link
/// unfold::command (find_package(unfold COMPONENTS command)).
///
///   int main(int argc, char** argv) {
///     unfold::register_cell("gated", gated);
///     return unfold::run_main(argc, argv);   // my-unfold train book.txt --model gated:64 --out run
///   }

namespace unfold {

/// Runs the command with the arguments of main, prints messages to standard error, and returns the exit code. Installs
/// handlers for SIGINT and SIGTERM. Call it once, in the main thread.
int run_main(int argc, char** argv);

}  // namespace unfold
