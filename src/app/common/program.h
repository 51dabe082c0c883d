#pragma once
/// Runs other programs.

#include <filesystem>
#include <span>
#include <string>

#include "app/common/reporter.h"

namespace unfold {

/// Returns the folder of the running program; empty if it is unknown.
std::filesystem::path program_folder();

/// Runs a program without a shell and without input, and returns its standard output. The program, and the programs
/// that it starts, are looked up in program_folder() before PATH. Throws RuntimeFailure with the last line that the
/// program wrote to standard error if it fails; InterruptedError, after the program has ended.
std::string run_program(std::span<const std::string> words, Reporter& reporter);

}  // namespace unfold
