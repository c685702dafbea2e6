// Ctrl-C: a flag that long work looks at.
#ifndef WAVETUNE_CLI_INTERRUPT_H_
#define WAVETUNE_CLI_INTERRUPT_H_

namespace wavetune::cli {

// From now on SIGINT, SIGTERM and, unless it is ignored, SIGHUP (the terminal
// was closed) set the flag; a second one ends the program at once.
void CatchInterrupts();

// Returns whether the flag is set. Thread-safe.
bool InterruptRequested();

// Returns the exit code of what a signal ended, as shells have it: 130 after
// Ctrl-C, 143 after SIGTERM, 129 after SIGHUP; 0 where there was none.
int InterruptExitCode();

}  // namespace wavetune::cli

#endif  // WAVETUNE_CLI_INTERRUPT_H_
