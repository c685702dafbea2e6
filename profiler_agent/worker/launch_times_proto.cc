#include "profiler_agent/worker/launch_times_proto.h"

#include <algorithm>

namespace wavetune {

v1::WorkerTimes LaunchTimesToProto(const LaunchTimes& times) {
  v1::WorkerTimes proto;
  proto.mutable_launch_us()->Add(times.launch_us.begin(),
                                 times.launch_us.end());
  proto.set_launches_per_timing(times.launches_per_timing);
  proto.set_warmup_us(times.warmup_us);
  proto.set_host_stalled(times.host_stalled);
#define WAVETUNE_GIVE(fact, of_both) proto.set_##fact(times.fact);
  WAVETUNE_LAUNCH_FACTS(WAVETUNE_GIVE)
#undef WAVETUNE_GIVE
  return proto;
}

LaunchTimes LaunchTimesFromProto(const v1::WorkerTimes& proto) {
  LaunchTimes times{
      .launch_us = {proto.launch_us().begin(), proto.launch_us().end()},
      .launches_per_timing = std::max(1, proto.launches_per_timing()),
      .warmup_us = proto.warmup_us(),
      .host_stalled = proto.host_stalled()};
#define WAVETUNE_TAKE(fact, of_both) times.fact = proto.fact();
  WAVETUNE_LAUNCH_FACTS(WAVETUNE_TAKE)
#undef WAVETUNE_TAKE
  return times;
}

}  // namespace wavetune
