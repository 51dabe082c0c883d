#pragma once
/// What the signals do to the command.
///
/// SIGINT, SIGTERM and SIGHUP end it with code 130 and remove its temporary files. A verb that has something to save
/// polls `catch_interrupts`: then the first of them asks for an end in good order, unless the process waits for others
/// (a pipe), and a second one ends it at once. Work that has nothing to save (base/interruptible.h) ends within half a
/// second of the first, whether it polls by then or not. SIGBUS in a mapped file, which somebody has shortened, ends it
/// with code 1 and names the file. Pipes and files that cannot be written are errors, not signals.

#include <atomic>

namespace unfold {

/// To be called once, at the start of the program.
void handle_signals();

/// From here on, until the end of the process, a signal is a flag.
const std::atomic<bool>& catch_interrupts();

}  // namespace unfold
