// The first process of a PID namespace inherits every orphan there and has to
// collect its exit code. A container's program is that process where nothing
// else was put before it. Orphans that nobody collects stay, and count against
// the limit on processes.
#ifndef WAVETUNE_BASE_INIT_PROCESS_H_
#define WAVETUNE_BASE_INIT_PROCESS_H_

#include <sys/types.h>

namespace wavetune {

// Where this process is the first one: goes on in a child, and leaves a process
// behind. That one collects orphans, passes signals on to the child, and ends
// as it does. Elsewhere: nothing. Why not collect in the program itself:
// whoever waits for a worker there would miss what that ended with.
//
// To be called before anything else, as no thread may run. Cannot fail: without
// room for another process the program goes on alone.
void LeaveInitBehind();

// The same wherever this process is; for tests, which are no first process.
void SplitOffInit();

}  // namespace wavetune

#endif  // WAVETUNE_BASE_INIT_PROCESS_H_
