// LaunchTimes of a device <-> WorkerTimes of the pipe. Cannot fail.
#ifndef WAVETUNE_PROFILER_AGENT_WORKER_LAUNCH_TIMES_PROTO_H_
#define WAVETUNE_PROFILER_AGENT_WORKER_LAUNCH_TIMES_PROTO_H_

#include "profiler_agent/measure/backend.h"
#include "proto/wavetune/v1/worker.pb.h"

namespace wavetune {

v1::WorkerTimes LaunchTimesToProto(const LaunchTimes& times);
LaunchTimes LaunchTimesFromProto(const v1::WorkerTimes& proto);

}  // namespace wavetune

#endif  // WAVETUNE_PROFILER_AGENT_WORKER_LAUNCH_TIMES_PROTO_H_
