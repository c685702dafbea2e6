// The life of a worker process.
#ifndef WAVETUNE_PROFILER_AGENT_WORKER_WORKER_MAIN_H_
#define WAVETUNE_PROFILER_AGENT_WORKER_WORKER_MAIN_H_

#include <functional>
#include <memory>

#include "profiler_agent/measure/backend.h"

namespace wavetune {

// Answers requests from standard input on standard output until the input ends.
// `create_backend` is called once standard output is protected: what drivers
// print goes to standard error. The process ends itself, also in the middle of
// a launch, as soon as the agent is gone. Returns the exit code: 0 at the end
// of the input, 1 when the pipe does not carry messages. Call at the start of
// main, before there are threads.
int RunWorker(const std::function<std::unique_ptr<Backend>()>& create_backend);

// Lowers the priority of this process, and of what it starts, by so many steps
// of nice(2). Call before there are threads. Cannot fail: lowering needs no
// privilege.
void BeNice(int steps);

}  // namespace wavetune

#endif  // WAVETUNE_PROFILER_AGENT_WORKER_WORKER_MAIN_H_
