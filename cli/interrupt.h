// Ctrl-C: a flag that long work looks at.
#ifndef WAVETUNE_CLI_INTERRUPT_H_
#define WAVETUNE_CLI_INTERRUPT_H_

namespace wavetune::cli {

// From now on SIGINT and SIGTERM set the flag; a second one ends the program at
// once.
void CatchInterrupts();

// Returns whether the flag is set. Thread-safe.
bool InterruptRequested();

}  // namespace wavetune::cli

#endif  // WAVETUNE_CLI_INTERRUPT_H_
