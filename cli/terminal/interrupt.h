#pragma once
/// Signal handling of the command.
///
/// SIGINT, SIGTERM and SIGHUP end the process with exit code 130 and remove its temporary files. A command that can
/// save its state polls `catch_interrupts`. The first of these signals then requests an orderly stop, unless the
/// process is waiting for another process (a pipe). A second signal ends the process immediately. SIGBUS in a mapped
/// file that has been truncated ends the process with exit code 1 and names the file. Failed writes to pipes and files
/// are reported as errors and do not raise signals.

#include <atomic>

namespace unfold {

/// Call once, at the start of the program.
void handle_signals();

/// From this call until the end of the process, interrupts set the returned flag.
const std::atomic<bool>& catch_interrupts();
/// From now on, SIGTERM ends the process with success: it is the normal end of a service that reads a stream.
void end_with_success_on_termination();

}  // namespace unfold
