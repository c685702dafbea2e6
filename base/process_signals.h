// ProcessSignals: what signals ask of a server: to end, or to reload.
//
//   ProcessSignals::Block();            // Before any thread starts.
//   ...                                 // TERM and INT end the process at
//   once. while (ProcessSignals::Wait() == Asked::kReload) Reload();
//
// A start may take long (a store is recovered, devices are looked for), and
// nothing that it does has to be undone: an ending signal is obeyed at once
// then. One that comes while the server ends in order ends it at once, too.
//
// Thread safety: Block once; Wait from one thread.
#ifndef WAVETUNE_BASE_PROCESS_SIGNALS_H_
#define WAVETUNE_BASE_PROCESS_SIGNALS_H_

namespace wavetune {

class ProcessSignals {
 public:
  enum class Asked { kEnd, kReload };

  // Blocks TERM, INT and HUP in this thread and all that it starts, ignores
  // PIPE (a peer that is gone is an error, not the end), and starts the thread
  // that waits for signals. Until Wait an ending signal ends the process with
  // code 0, and HUP is ignored: what starts reads everything anyway.
  static void Block();

  // Returns what the next signal asks for. After kEnd the next ending signal
  // ends the process at once.
  static Asked Wait();
};

}  // namespace wavetune

#endif  // WAVETUNE_BASE_PROCESS_SIGNALS_H_
