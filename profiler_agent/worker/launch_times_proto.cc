#include "profiler_agent/worker/launch_times_proto.h"

#include <algorithm>

namespace wavetune {

v1::WorkerTimes LaunchTimesToProto(const LaunchTimes& times) {
  v1::WorkerTimes proto;
  proto.mutable_launch_us()->Add(times.launch_us.begin(),
                                 times.launch_us.end());
  proto.set_launches_per_timing(times.launches_per_timing);
  proto.set_warmup_us(times.warmup_us);
  proto.set_throttled(times.throttled);
  proto.set_throttle_reasons(times.throttle_reasons);
  proto.set_sm_clock_mhz(times.sm_clock_mhz);
  proto.set_host_stalled(times.host_stalled);
  proto.set_suspect(times.suspect);
  return proto;
}

LaunchTimes LaunchTimesFromProto(const v1::WorkerTimes& proto) {
  return {.launch_us = {proto.launch_us().begin(), proto.launch_us().end()},
          .launches_per_timing = std::max(1, proto.launches_per_timing()),
          .warmup_us = proto.warmup_us(),
          .throttled = proto.throttled(),
          .throttle_reasons = proto.throttle_reasons(),
          .sm_clock_mhz = proto.sm_clock_mhz(),
          .host_stalled = proto.host_stalled(),
          .suspect = proto.suspect()};
}

}  // namespace wavetune
