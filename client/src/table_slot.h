// TableSlot: what all copies of a tuner share: the table that decides, the one
// that waits, and the rules by which the one becomes the other.
//
// Knows no gRPC: a client offers tables, the application activates them. The
// rules: a tuner's tables have one kernel, fingerprint, silicon key and shape.
// A table of another environment may serve (marked stale) only as long as there
// is none of the right one. A refused table changes nothing. The table that
// decides may become stale, or current again: that is an event.
//
// Thread safety: thread-safe; Resolve is wait-free.
#ifndef WAVETUNE_CLIENT_SRC_TABLE_SLOT_H_
#define WAVETUNE_CLIENT_SRC_TABLE_SLOT_H_

#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "client/src/event_log.h"
#include "client/src/fork_guard.h"
#include "client/src/snapshot_cell.h"
#include "client/src/table_state.h"
#include "client/usage/usage_recorder.h"
#include "wavetune/activation.h"
#include "wavetune/configuration.h"
#include "wavetune/decision.h"
#include "wavetune/dimension.h"
#include "wavetune/joint_problem.h"
#include "wavetune/problem.h"

namespace wavetune {

struct KernelSpec;

// What never changes about a tuner.
struct TunerIdentity {
  std::string kernel;
  std::string specialisation;
  std::string device;       // UUID, as asked for; may be empty.
  std::string fingerprint;  // Hex or a prefix, as asked for; may be empty.
  std::vector<std::string> parameters;
  std::vector<Dimension> dimensions;
};

// A verified table that is offered to a tuner.
struct OfferedTable {
  std::shared_ptr<const CompiledTable> table;
  TableOrigin origin = TableOrigin::kDaemon;
  bool stale = false;             // As whoever served it says.
  std::string stale_reason = "";  // What differs; may be empty.
  // That it was measured with; empty where nobody says, as of a table file.
  std::string compiler = "";
  // The profiled device's; empty where nobody says.
  std::string device_label = "";
  // Environment that it was found to hold in beside its own; may be empty.
  std::string carried_to = "";
  // Why its default does not work on the device, by specialisation, as whoever
  // served it says; nothing where it does.
  std::map<std::string, std::string> default_faults = {};
};

// Returns the state in which a table serves a specialisation. Errors:
// NOT_FOUND, listing the specialisations that the table has.
absl::StatusOr<TableState> StateOf(const OfferedTable& offered,
                                   const std::string& specialisation);

class TableSlot {
 public:
  // Returns what counts the decisions that a state makes for a tuner; nullptr
  // where nothing does. May be called as long as the slot lives.
  using RecorderSource = std::function<std::shared_ptr<UsageRecorder>(
      const TunerIdentity& identity, const TableState& state)>;

  struct Options {
    ActivationPolicy activation = ActivationPolicy::kAutomatic;
    std::vector<Configuration> prepared;
    bool prepares_on_demand = false;
    // The kernel as the program launches it, which tables must be legal for
    // (CheckChoices); nullptr: nobody says.
    std::shared_ptr<const KernelSpec> manifest;
    RecorderSource recorder;  // Empty: nothing counts.
  };
  // How an offer that was not refused went.
  enum class Outcome { kCurrent, kStaged, kActivated };

  TableSlot(TunerIdentity identity, const Options& options,
            const TableState& first, std::shared_ptr<EventLog> log);

  Decision Resolve(const ProblemView& problem) const noexcept {
    return cell_.Read(
        [&](const TableState& state) { return state.Resolve(problem); });
  }

  void ResolveTogether(absl::Span<const JointProblem> problems,
                       absl::Span<const int> shared,
                       absl::Span<Decision> decisions,
                       const Configuration* incumbent) const noexcept {
    cell_.Read([&](const TableState& state) {
      state.ResolveTogether(problems, shared, decisions, incumbent);
      return true;
    });
  }

  const TunerIdentity& identity() const { return identity_; }
  ActivationPolicy activation() const { return activation_; }
  std::shared_ptr<const TableState> current() const { return cell_.Get(); }
  std::optional<StagedTable> staged() const;
  // Keys of the tables that it takes; empty where any.
  std::string silicon_key() const;
  // The fingerprint of its tables, or the requested one.
  std::string fingerprint() const;

  // Takes a table that a watch has brought: it takes over, or waits. Of the
  // table that decides, also a pinned one, takes whether it is stale. Errors,
  // each also in the log: FAILED_PRECONDITION for a pinned tuner, another
  // kernel, fingerprint, silicon or environment, saying which, and for answers
  // that the manifest does not allow; NOT_FOUND where the table lacks the
  // specialisation.
  absl::StatusOr<Outcome> Offer(const OfferedTable& offered);

  // Returns whether the table would be taken. Errors: as Offer; nothing is
  // logged.
  absl::Status Check(const OfferedTable& offered) const;

  // As Offer, but the table waits whatever the policy, and what a watch brings
  // does not displace it.
  absl::StatusOr<Outcome> Stage(const OfferedTable& offered);

  // A table serves no longer: forgets it if it waits (unless Stage put it
  // there). What decides goes on deciding.
  void Withdraw(absl::string_view digest);

  // A table was shown to compute wrong results. Forgets it wherever it waits,
  // and where it decides answers the default from now on. Where the application
  // takes tables over at step boundaries, it does so from the next one. A
  // pinned tuner keeps it. `why` comes to the log.
  void Revoke(absl::string_view digest, const absl::Status& why);

  // As the methods of Tuner.
  void SetPrepared(const std::vector<Configuration>& configurations);
  absl::Status Activate(absl::string_view digest);
  bool StepBoundary();

 private:
  struct Staged {
    TableState state;
    bool held = false;  // Put there by Stage.
  };

  // Returns the state with what counts its decisions. Ahead of activation: a
  // recorder is allocated, and activation is to take microseconds.
  TableState Counted(TableState state) const;

  // All with mutex_ held.
  absl::Status CheckLocked(const OfferedTable& offered) const;
  absl::StatusOr<Outcome> Take(const OfferedTable& offered, bool hold);
  std::vector<Configuration> Unprepared(const TableState& state) const;
  void SetStaged(std::optional<Staged> staged);
  void MakeCurrent(TableState state);
  // Logs that the table which decides now is stale, if it is.
  void LogIfStale(const TableState& state);
  void ActivateStaged();
  // Remembers which tables fit from now on.
  void Learn(const TableState& state);

  const TunerIdentity identity_;
  const ActivationPolicy activation_;
  const bool prepares_on_demand_;
  const std::shared_ptr<const KernelSpec> manifest_;
  const RecorderSource recorder_;
  const std::shared_ptr<EventLog> log_;
  SnapshotCell<TableState> cell_;
  std::atomic<bool> has_staged_ = false;  // A hint, so that steps are cheap.

  mutable ForkSafeMutex mutex_;
  // Guarded by mutex_.
  std::set<Configuration> prepared_;
  std::optional<Staged> staged_;
  std::string fingerprint_;  // Empty or a prefix until a table was there.
  std::string silicon_key_;  // Empty until a table was there.
  // Empty until one was there that is not stale, and once that became stale; of
  // one that holds in two environments, as nobody says in which it decides.
  std::string environment_key_;
};

}  // namespace wavetune

#endif  // WAVETUNE_CLIENT_SRC_TABLE_SLOT_H_
