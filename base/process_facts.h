// What this process takes of its machine just now, as /proc has it.
//
//   const ProcessFacts facts = ReadProcessFacts();
//
// Thread safety: thread-safe.
#ifndef WAVETUNE_BASE_PROCESS_FACTS_H_
#define WAVETUNE_BASE_PROCESS_FACTS_H_

#include <cstdint>

namespace wavetune {

struct ProcessFacts {
  int64_t resident_bytes = 0;
  int64_t virtual_bytes = 0;
  double cpu_s = 0;         // All threads', in user and kernel mode.
  double started_at_s = 0;  // Since the Unix epoch.
  int64_t open_descriptors = 0;
  int64_t most_descriptors = 0;  // Its soft limit.
};

// Cannot fail: what cannot be read is 0. Cost: a look at each open descriptor.
ProcessFacts ReadProcessFacts();

// The first of them alone, at a cost that no number of descriptors raises.
int64_t ReadResidentBytes();

}  // namespace wavetune

#endif  // WAVETUNE_BASE_PROCESS_FACTS_H_
