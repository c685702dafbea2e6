// How many cores this machine has.
#ifndef WAVETUNE_CLI_MACHINE_CORES_H_
#define WAVETUNE_CLI_MACHINE_CORES_H_

#include <algorithm>
#include <cstdint>
#include <thread>

namespace wavetune::cli {

// Returns at least 1: also where the system does not say. Cannot fail.
inline int64_t CoresOfThisMachine() {
  return std::max(1U, std::thread::hardware_concurrency());
}

}  // namespace wavetune::cli

#endif  // WAVETUNE_CLI_MACHINE_CORES_H_
