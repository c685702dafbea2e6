// Records: the contents of the store, as plain values.
#ifndef WAVETUNE_SERVER_STORE_RECORDS_H_
#define WAVETUNE_SERVER_STORE_RECORDS_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "fit/plan/drift_report.h"
#include "model/kernel/device.h"
#include "model/kernel/sample.h"
#include "model/kernel/weighted_problem.h"
#include "server/store/job_options.h"
#include "server/store/shared_problems.h"
#include "wavetune/configuration.h"

namespace wavetune {

// Who asked for what nobody asked for: the daemon itself.
inline constexpr char kDaemonUser[] = "daemon";

// Identity of a set of samples and of the tables that follow from them: one
// kernel fingerprint on one device class.
struct ProfileKey {
  std::string kernel;           // Name.
  std::string fingerprint;      // Hex SHA-256.
  std::string silicon_key;      // SiliconKey(facts).
  std::string environment_key;  // EnvironmentKey(facts).

  friend bool operator==(const ProfileKey&, const ProfileKey&) = default;
  friend auto operator<=>(const ProfileKey&, const ProfileKey&) = default;
};

// Whether a device is of the key's class: of its silicon and environment, so
// that it has the same samples and tables.
inline bool IsOfClass(const DeviceFacts& device, const ProfileKey& key) {
  return SiliconKey(device) == key.silicon_key &&
         EnvironmentKey(device) == key.environment_key;
}

// A sample with where, when and why it was taken.
struct SampleRecord {
  Sample sample;
  std::string device_uuid;
  int64_t measured_at_us = 0;  // Since the Unix epoch.
  uint64_t job_id = 0;

  friend bool operator==(const SampleRecord&, const SampleRecord&) = default;
};

// A candidate's facts or exclusion, per specialisation.
struct CandidateRecord {
  std::string specialisation;
  Candidate candidate;
  // How often it was found right again after its first check.
  int32_t rechecks = 0;

  friend bool operator==(const CandidateRecord&,
                         const CandidateRecord&) = default;
};

// All of one generation of a profile key.
struct SampleSet {
  std::vector<CandidateRecord>
      candidates;  // Sorted by specialisation, then configuration; the latest
                   // record of each.
  std::vector<SampleRecord>
      samples;  // In the order in which they were appended.

  friend bool operator==(const SampleSet&, const SampleSet&) = default;
};

// How a table came to serve.
enum class PromotionKind {
  kNotRecorded,  // By a daemon that did not write it down.
  kProfiled,     // By a job that measured, fitted and verified it.
  kRolledBack,   // It had served before, and an operator chose it again.
  kCarriedOver,  // Measured in another environment; found to hold in this one.
  kImported,     // An operator brought it from elsewhere.
  kShipped,      // It lay beside its kernel (server/catalog/shipped_tables.h).
  kFleet,        // Another node of the fleet published it (server/fleet/).
  kTrial,        // As well, to some nodes first; it is not the class's yet.
};

// Identity and headline facts of a stored table.
struct TableRecord {
  ProfileKey key;
  std::string digest;          // Hex SHA-256 of the payload: the identity.
  uint64_t epoch = 0;          // Orders promotions within one store.
  uint64_t revision = 0;       // The store's when promoted.
  int64_t promoted_at_us = 0;  // For a withdrawal: when withdrawn.
  int64_t size_bytes = 0;
  int32_t portfolio_size = 0;
  std::string device_label;
  std::string device_uuid;
  // Not empty: it serves no longer for `key`, as one of its choices was shown
  // to compute wrong results there; says which.
  std::string withdrawn;
  // What the fit has to say against it, the worst first.
  std::vector<std::string> notes;
  std::string compiler;  // That it was measured with; empty: not recorded.
  PromotionKind how = PromotionKind::kNotRecorded;
  uint64_t job_id = 0;  // That promoted it; 0: none, or not recorded.
  // Who asked for it, or of a withdrawal who withdrew it: a user's number, or
  // kDaemonUser.
  std::string by;
  std::string why;  // The outcome of verification, or the operator's reason.
  // Environment key of its measurements, where it was carried over to that of
  // `key`; it is current in both. Empty: it was not.
  std::string carried_from;
  bool unverified = false;  // From elsewhere: nothing here has measured it.
  // Median of |predicted / measured - 1| of the fit on its own samples; 0: not
  // recorded.
  double fit_residual = 0;

  // Whether it is for devices of this environment.
  bool IsFor(const std::string& environment_key) const {
    return key.environment_key == environment_key ||
           (!carried_from.empty() && carried_from == environment_key);
  }
  // The environment key that its payload names.
  const std::string& measured_in() const {
    return carried_from.empty() ? key.environment_key : carried_from;
  }
  // Whether a job of this node found it.
  bool measured_here() const {
    return how == PromotionKind::kProfiled ||
           how == PromotionKind::kCarriedOver;
  }

  friend bool operator==(const TableRecord&, const TableRecord&) = default;
};

// While it is there nothing is promoted for the kernel on that silicon.
struct PinRecord {
  std::string kernel;
  std::string silicon_key;
  std::string digest;  // The serving table's when it was pinned.
  std::string by;      // As TableRecord::by.
  std::string why;
  int64_t at_us = 0;  // Since the Unix epoch.

  friend bool operator==(const PinRecord&, const PinRecord&) = default;
};

// A device seen at some time.
struct DeviceRecord {
  DeviceFacts facts;
  int64_t last_seen_us = 0;

  friend bool operator==(const DeviceRecord&, const DeviceRecord&) = default;
};

enum class JobKind { kReprofile, kMeasure };
enum class JobState { kQueued, kRunning, kSucceeded, kFailed, kCancelled };
enum class JobPhase {
  kWaiting,
  kCompiling,
  kScreening,
  kSampling,
  kRefining,
  kFitting,
  kVerifying,
  kMeasuring,
  kDone,
  kDriftProbe  // Before compiling; stored by number.
};

// How many nodes' use and how many workloads weigh a profile of a fleet.
struct FleetDemandCounts {
  int32_t nodes = 0;
  int32_t workloads = 0;

  friend bool operator==(const FleetDemandCounts&,
                         const FleetDemandCounts&) = default;
};

// A job: its request and its state.
struct JobRecord {
  uint64_t id = 0;
  JobKind kind = JobKind::kReprofile;
  std::string kernel;
  std::string device_uuid;  // For a class: the first of its devices.
  // May use every device of its class that is idle and healthy.
  bool whole_class = false;
  int32_t priority = 0;  // Higher ones go first.
  std::string reason;
  std::string by;  // Who asked for it: a user's number, or kDaemonUser.
  // A reprofile job's are without zeros that mean a default.
  JobOptions options;
  // Clients' problems when the job was queued. They are part of the request, so
  // that the fit is a function of stored data.
  std::vector<WeightedProblem> used_problems;
  // Those of the workloads that were declared then. Forgotten when the job
  // ends; how many there were stays.
  SharedProblems workload_problems;
  int32_t workload_problem_count = 0;
  // Set where both became those of the fleet's nodes when the job began
  // (profile_turn.h).
  std::optional<FleetDemandCounts> fleet_demand;
  // Bound when it first runs; a restart goes on with these.
  ProfileKey key;
  uint64_t generation = 0;
  // Where it stands.
  JobState state = JobState::kQueued;
  JobPhase phase = JobPhase::kWaiting;
  int64_t done = 0;
  int64_t total = 0;
  int64_t samples = 0;
  int64_t throttled_samples = 0;  // Throttled ones among them.
  double device_time_us = 0;
  double seconds_left = -1;
  std::vector<std::string> device_uuids;  // That measured for it.
  // Why nothing is measured just now, for people, and since when (since the
  // Unix epoch; 0: it does not wait). Not stored.
  std::string waits_for;
  int64_t waits_since_us = 0;
  std::string message;
  // What the fit has to say against its table, the worst first.
  std::vector<std::string> notes;
  std::vector<CandidateRecord> excluded;
  int64_t not_meant_for_device = 0;  // Configurations: TunableKernel.
  // The table's that it ended with: promoted by it, or found to hold as it
  // serves already.
  std::string digest;
  std::optional<DriftReport> drift;  // What its drift probe found.
  // Mean over the verified problems of latency / best of those measured there,
  // less one: of what served before, and of what serves now. Negative: unknown.
  double regret_before = -1;
  double regret_after = -1;
  int64_t created_at_us = 0;
  int64_t finished_at_us = 0;

  bool finished() const {
    return state == JobState::kSucceeded || state == JobState::kFailed ||
           state == JobState::kCancelled;
  }

  // Whether it has measured that the table that it verifies does not hold.
  bool disproves() const {
    return state == JobState::kFailed && !options.verify_digest.empty() &&
           drift && drift->action != DriftAction::kUndecided &&
           drift->action != DriftAction::kCarryOver;
  }

  friend bool operator==(const JobRecord&, const JobRecord&) = default;
};

}  // namespace wavetune

#endif  // WAVETUNE_SERVER_STORE_RECORDS_H_
