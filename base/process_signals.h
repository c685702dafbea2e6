// What ends a process, or asks it to reload: signals, and the end of whoever
// started it for itself.
#ifndef WAVETUNE_BASE_PROCESS_SIGNALS_H_
#define WAVETUNE_BASE_PROCESS_SIGNALS_H_

namespace wavetune {

// ProcessSignals: what signals ask of a server: to end, or to reload.
//
//   ProcessSignals::Block();            // Before any thread starts.
//   ...           // TERM and INT end the process at once.
//   while (ProcessSignals::Wait() == Asked::kReload) Reload();
//
// A start may take long (a store is recovered, devices are looked for), and
// nothing that it does has to be undone: an ending signal is obeyed at once
// then. One that comes while the server ends in order ends it at once, too.
class ProcessSignals {
 public:
  enum class Asked { kEnd, kReload };

  // Blocks TERM, INT and HUP in this thread and all that it starts, and
  // starts the thread that waits for signals. Ignores PIPE (a peer that is
  // gone is an error, not the end). Until Keep or Wait an ending signal ends
  // the process with code 0, and HUP is ignored: what starts reads everything
  // anyway.
  static void Block();

  // The start is over: signals from now on are for Wait. Before anybody is told
  // that the server is ready.
  static void Keep();

  // Returns what the next signal asks for. After kEnd the next ending signal
  // ends the process at once.
  static Asked Wait();
};

// Lifeline: a process that was started for somebody ends when that one does,
// however it ends.
//
// Who starts it holds the other end of its standard input (a pipe) and never
// writes: the kernel closes it also after kill -9. Why not PR_SET_PDEATHSIG: it
// follows the thread that started the process, and posix_spawn cannot set it.

// The option of a program that does this.
inline constexpr char kEndWithStdin[] = "--end-with-stdin";
inline constexpr char kEndWithStdinHelp[] =
    "End when standard input ends: for whoever starts this program for itself "
    "alone";

// Starts a thread that reads standard input to its end, and then ends this
// process as SIGTERM does. Block SIGTERM before, if it is waited for. Cannot
// fail.
void EndWithStdin();

}  // namespace wavetune

#endif  // WAVETUNE_BASE_PROCESS_SIGNALS_H_
