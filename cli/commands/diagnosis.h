// Diagnose: what is wrong on a node, why, and the command that helps.
//
//   for (const Finding& finding : Diagnose(observations)) ...
//
// Thread safety: pure functions.
#ifndef WAVETUNE_CLI_COMMANDS_DIAGNOSIS_H_
#define WAVETUNE_CLI_COMMANDS_DIAGNOSIS_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "base/socket_diagnosis.h"
#include "proto/wavetune/v1/status_service.pb.h"
#include "proto/wavetune/v1/table_service.pb.h"

namespace wavetune::cli {

struct Finding {
  std::string what;  // One line.
  std::string why;
  std::string run;  // A command, or several after each other.

  friend bool operator==(const Finding&, const Finding&) = default;
};

// Less free space than this is said: the store stops at 8 MiB, and a backup
// needs as much as the store.
inline constexpr int64_t kLittleSpaceBytes = int64_t{512} << 20;
// What a compaction needs beside a copy of the store: logs, tables and jobs.
inline constexpr int64_t kCompactionSpareBytes = int64_t{64} << 20;
// So long a job may wait before it is said.
inline constexpr double kLongWaitS = 60;

// The tables that clients of this user fall back to while no daemon answers.
struct CacheObservation {
  struct Table {
    std::string kernel;
    std::string digest;
    std::string damage;      // Why it cannot be used; empty: it can.
    bool withdrawn = false;  // The cache says so, too.
  };
  std::string folder;   // Empty: clients keep none.
  std::string problem;  // Why it is not where it should be, or cannot be used.
  std::vector<Table> tables;
};

// The observations. `answer` is how the daemon's status came; where it is not
// OK the rest of what a daemon says is empty.
struct Observations {
  std::string endpoint;
  std::string own_version;
  absl::Status answer;
  v1::GetStatusResponse status;
  v1::ListDevicesResponse devices;
  v1::ListKernelsResponse kernels;
  v1::ListTablesResponse tables;
  v1::ListJobsResponse jobs;  // The newest, newest first.
  // Nothing: the node is in no fleet, or its daemon is older than fleets.
  std::optional<v1::GetFleetResponse> fleet;
  // The admin socket's; nothing over TCP.
  std::optional<SocketDiagnosis> admin_socket;
  // On this machine; nothing where the daemon is on another.
  std::optional<bool> nvidia_driver;
  std::optional<bool> opencl_driver;
  std::optional<int64_t> free_bytes;  // Where the store is.
  // Also where the daemon is on another machine: clients are here.
  std::optional<CacheObservation> cache;
  int64_t now_us = 0;
};

// Returns what somebody should look at, the gravest first; empty where there is
// nothing.
std::vector<Finding> Diagnose(const Observations& seen);

}  // namespace wavetune::cli

#endif  // WAVETUNE_CLI_COMMANDS_DIAGNOSIS_H_
