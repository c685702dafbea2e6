// Lifeline: a process that was started for somebody ends when that one does,
// however it ends.
//
// Who starts it holds the other end of its standard input (a pipe) and never
// writes: the kernel closes it also after kill -9. Why not PR_SET_PDEATHSIG: it
// follows the thread that started the process, and posix_spawn cannot set it.
//
// Thread safety: call once.
#ifndef WAVETUNE_BASE_LIFELINE_H_
#define WAVETUNE_BASE_LIFELINE_H_

namespace wavetune {

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

#endif  // WAVETUNE_BASE_LIFELINE_H_
