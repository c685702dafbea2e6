// Waits that a stop request ends.
//
// Thread safety: pure functions; tokens may be stopped by any thread.
#ifndef WAVETUNE_PROFILER_AGENT_MEASURE_STOP_WAIT_H_
#define WAVETUNE_PROFILER_AGENT_MEASURE_STOP_WAIT_H_

#include <chrono>
#include <stop_token>

namespace wavetune {

// Sleeps unless stopped; returns whether it was.
bool SleepOrStop(std::chrono::milliseconds duration,
                 const std::stop_token& stop);

// Waits until either is stopped, also before the call; returns whether it was
// `stop` and not `ended`. Holds nothing that a stop request waits for.
bool WaitForStop(const std::stop_token& stop, const std::stop_token& ended);

}  // namespace wavetune

#endif  // WAVETUNE_PROFILER_AGENT_MEASURE_STOP_WAIT_H_
