#include "client/src/table_slot.h"

#include <algorithm>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/digest.h"
#include "base/status_macros.h"
#include "model/kernel/kernel_spec.h"
#include "model/kernel/key_difference.h"
#include "model/table/kernel_match.h"

namespace wavetune {
namespace {

using Kind = ClientEvent::Kind;

std::string Short(const std::string& fingerprint) {
  return fingerprint.substr(0, 12);
}

absl::Status Refuse(const Table& table, const std::string& digest,
                    absl::string_view what, absl::string_view its,
                    absl::string_view ours, absl::string_view next) {
  return absl::FailedPreconditionError(
      absl::StrCat("table ", ShortDigest(digest), " of kernel \"", table.kernel,
                   "\" is for ", what, " \"", its, "\", the tuner for \"", ours,
                   "\"; the tuner keeps what it has. ", next));
}

// What differs between the environments of a table and the one that a tuner's
// tables are for; empty where nothing does, or no environment is known.
std::string EnvironmentDifference(const OfferedTable& offered,
                                  const std::string& environment_key) {
  if (environment_key.empty() || offered.carried_to == environment_key)
    return "";
  return KeyDifference(offered.table->table().environment_key, environment_key);
}

}  // namespace

absl::StatusOr<TableState> StateOf(const OfferedTable& offered,
                                   const std::string& specialisation) {
  const Table& table = offered.table->table();
  const int index = offered.table->SubTableIndex(specialisation);
  if (index < 0) {
    return absl::NotFoundError(absl::StrCat(
        "kernel \"", table.kernel, "\" has no specialisation \"",
        specialisation, "\" in table ", ShortDigest(offered.table->digest()),
        "; it has: ",
        absl::StrJoin(table.sub_tables, ", ",
                      [](std::string* out, const SubTable& sub) {
                        absl::StrAppend(out, "\"", sub.specialisation, "\"");
                      })));
  }
  return TableState{
      .table = offered.table,
      .sub_table = index,
      .stale = offered.stale,
      .stale_reason = offered.stale_reason,
      .compiler = offered.compiler,
      .carried_to = offered.carried_to,
      .origin = offered.origin,
      .default_configuration = table.default_configuration,
      .default_unusable = offered.default_faults.count(specialisation) > 0};
}

TableSlot::TableSlot(TunerIdentity identity, const Options& options,
                     const TableState& first, std::shared_ptr<EventLog> log)
    : identity_(std::move(identity)),
      activation_(options.activation),
      prepares_on_demand_(options.prepares_on_demand),
      manifest_(options.manifest),
      recorder_(options.recorder),
      log_(std::move(log)),
      cell_(std::make_shared<const TableState>(Counted(first))),
      prepared_(options.prepared.begin(), options.prepared.end()),
      fingerprint_(identity_.fingerprint) {
  Learn(first);
  LogIfStale(first);
}

void TableSlot::LogIfStale(const TableState& state) {
  if (!state.stale) return;
  log_->Add(Kind::kStale, identity_.kernel, state.digest(),
            absl::FailedPreconditionError(absl::StrCat(
                "table ", ShortDigest(state.digest()), " of kernel \"",
                identity_.kernel, "\" is stale: ",
                state.stale_reason.empty() ? "the daemon does not say why"
                                           : state.stale_reason,
                ". It decides on; profile the kernel again")));
}

TableState TableSlot::Counted(TableState state) const {
  if (recorder_) state.usage = recorder_(identity_, state);
  return state;
}

std::optional<StagedTable> TableSlot::staged() const {
  std::lock_guard lock(mutex_);
  if (!staged_) return std::nullopt;
  const TableState& state = staged_->state;
  return StagedTable{.digest = state.digest(),
                     .origin = state.origin,
                     .stale = state.stale,
                     .configurations = state.Configurations(),
                     .unprepared = Unprepared(state)};
}

std::string TableSlot::silicon_key() const {
  std::lock_guard lock(mutex_);
  return silicon_key_;
}

std::string TableSlot::fingerprint() const {
  std::lock_guard lock(mutex_);
  return fingerprint_;
}

absl::StatusOr<TableSlot::Outcome> TableSlot::Offer(
    const OfferedTable& offered) {
  std::lock_guard lock(mutex_);
  return Take(offered, /*hold=*/false);
}

absl::StatusOr<TableSlot::Outcome> TableSlot::Stage(
    const OfferedTable& offered) {
  std::lock_guard lock(mutex_);
  return Take(offered, /*hold=*/true);
}

absl::Status TableSlot::Check(const OfferedTable& offered) const {
  std::lock_guard lock(mutex_);
  return CheckLocked(offered);
}

absl::Status TableSlot::CheckLocked(const OfferedTable& offered) const {
  const Table& table = offered.table->table();
  const std::string& digest = offered.table->digest();
  if (table.kernel != identity_.kernel) {
    return Refuse(table, digest, "kernel", table.kernel, identity_.kernel, "");
  }
  const std::shared_ptr<const TableState> current = cell_.Get();
  if (current->digest() == digest) return absl::OkStatus();
  if (activation_ == ActivationPolicy::kPinned) {
    return absl::FailedPreconditionError(
        absl::StrCat("the tuner of kernel \"", identity_.kernel,
                     "\" is pinned to table ", ShortDigest(current->digest()),
                     "; table ", ShortDigest(digest), " was not taken"));
  }
  if (!absl::StartsWith(table.fingerprint, fingerprint_)) {
    return Refuse(table, digest, "fingerprint", Short(table.fingerprint),
                  Short(fingerprint_),
                  "For the kernel's other version make a new tuner");
  }
  if (!silicon_key_.empty() && table.silicon_key != silicon_key_) {
    return Refuse(table, digest, "silicon", table.silicon_key, silicon_key_,
                  "Profile the kernel on this device");
  }
  const bool other_environment =
      offered.stale ||
      !EnvironmentDifference(offered, environment_key_).empty();
  if (other_environment && current->table != nullptr && !current->stale) {
    if (!offered.stale_reason.empty()) {
      return absl::FailedPreconditionError(absl::StrCat(
          "table ", ShortDigest(digest), " of kernel \"", table.kernel,
          "\" is stale (", offered.stale_reason,
          "); the tuner keeps what it has. Profile the kernel again"));
    }
    return Refuse(table, digest, "environment", table.environment_key,
                  current->table->table().environment_key,
                  "No record carries it over: profile the kernel again");
  }
  if (table.parameters != identity_.parameters ||
      table.dimensions != identity_.dimensions) {
    return absl::FailedPreconditionError(absl::StrCat(
        "table ", ShortDigest(digest), " of kernel \"", table.kernel,
        "\" has other parameters or dimensions than the tuner, though the "
        "fingerprint is the same; the tuner keeps what it has"));
  }
  if (manifest_ != nullptr) {
    if (const absl::Status legal = CheckChoices(*manifest_, table);
        !legal.ok()) {
      return absl::FailedPreconditionError(
          absl::StrCat("table ", ShortDigest(digest), ": ", legal.message(),
                       "; the tuner keeps what it has"));
    }
  }
  return StateOf(offered, identity_.specialisation).status();
}

absl::StatusOr<TableSlot::Outcome> TableSlot::Take(const OfferedTable& offered,
                                                   bool hold) {
  const std::string& digest = offered.table->digest();
  if (const absl::Status status = CheckLocked(offered); !status.ok()) {
    log_->Add(Kind::kRefused, identity_.kernel, digest, status);
    return status;
  }
  ASSIGN_OR_RETURN(TableState state,
                   StateOf(offered, identity_.specialisation));
  if (!state.stale) {
    state.stale_reason = EnvironmentDifference(offered, environment_key_);
    state.stale = !state.stale_reason.empty();
  }
  const std::shared_ptr<const TableState> current = cell_.Get();
  if (current->digest() == digest) {
    // The same answers; only what is said of them may have changed.
    if (current->stale != state.stale ||
        current->stale_reason != state.stale_reason ||
        current->carried_to != state.carried_to) {
      state.origin = current->origin;
      state.usage = current->usage;
      if (current->stale && !state.stale)
        log_->Add(Kind::kActivated, identity_.kernel, digest);
      LogIfStale(state);
      MakeCurrent(std::move(state));
    }
    if (hold || !staged_ || !staged_->held) SetStaged(std::nullopt);
    return Outcome::kCurrent;
  }
  if (staged_ && staged_->held && !hold) return Outcome::kStaged;
  if (staged_ && staged_->state.digest() == digest) {
    staged_->held = staged_->held || hold;
    return Outcome::kStaged;
  }
  SetStaged(Staged{.state = Counted(std::move(state)), .held = hold});
  if (hold || activation_ != ActivationPolicy::kAutomatic ||
      !Unprepared(staged_->state).empty()) {
    log_->Add(Kind::kStaged, identity_.kernel, digest);
    return Outcome::kStaged;
  }
  ActivateStaged();
  return Outcome::kActivated;
}

void TableSlot::Withdraw(absl::string_view digest) {
  std::lock_guard lock(mutex_);
  if (staged_ && !staged_->held && staged_->state.digest() == digest) {
    SetStaged(std::nullopt);
  }
}

void TableSlot::Revoke(absl::string_view digest, const absl::Status& why) {
  std::lock_guard lock(mutex_);
  if (staged_ && staged_->state.digest() == digest) SetStaged(std::nullopt);
  const std::shared_ptr<const TableState> current = cell_.Get();
  if (digest.empty() || current->digest() != digest ||
      activation_ == ActivationPolicy::kPinned) {
    return;
  }
  log_->Add(Kind::kWithdrawn, identity_.kernel, std::string(digest), why);
  TableState state =
      Counted({.default_configuration = current->default_configuration,
               .default_reason = DefaultReason::kTableWithdrawn,
               .default_unusable = current->default_unusable});
  if (activation_ != ActivationPolicy::kStepBoundary) {
    MakeCurrent(std::move(state));
    return;
  }
  // What waits takes over there, too, unless it is held.
  if (staged_ && !staged_->held) return;
  SetStaged(Staged{.state = std::move(state)});
}

std::vector<Configuration> TableSlot::Unprepared(
    const TableState& state) const {
  std::vector<Configuration> result;
  if (prepares_on_demand_) return result;
  for (const Configuration& configuration : state.Configurations()) {
    if (prepared_.count(configuration) == 0) result.push_back(configuration);
  }
  return result;
}

void TableSlot::SetStaged(std::optional<Staged> staged) {
  if (staged_) {
    log_->Add(Kind::kWithdrawn, identity_.kernel, staged_->state.digest());
  }
  staged_ = std::move(staged);
  has_staged_.store(staged_.has_value(), std::memory_order_relaxed);
}

void TableSlot::MakeCurrent(TableState state) {
  Learn(state);
  cell_.Publish(std::make_shared<const TableState>(std::move(state)));
}

void TableSlot::ActivateStaged() {
  TableState state = std::move(staged_->state);
  staged_.reset();
  has_staged_.store(false, std::memory_order_relaxed);
  log_->Add(Kind::kActivated, identity_.kernel, state.digest());
  LogIfStale(state);
  MakeCurrent(std::move(state));
}

void TableSlot::Learn(const TableState& state) {
  if (state.table == nullptr) return;
  const Table& table = state.table->table();
  fingerprint_ = table.fingerprint;
  silicon_key_ = table.silicon_key;
  if (!state.stale) {
    environment_key_ = state.carried_to.empty() ? table.environment_key : "";
  } else if (environment_key_ == table.environment_key) {
    environment_key_.clear();  // It was right; what is now, nobody has said.
  }
}

void TableSlot::SetPrepared(const std::vector<Configuration>& configurations) {
  std::lock_guard lock(mutex_);
  prepared_ = {configurations.begin(), configurations.end()};
  if (staged_ && !staged_->held &&
      activation_ == ActivationPolicy::kAutomatic &&
      Unprepared(staged_->state).empty()) {
    ActivateStaged();
  }
}

absl::Status TableSlot::Activate(absl::string_view digest) {
  std::lock_guard lock(mutex_);
  const std::string current = cell_.Get()->digest();
  if (!digest.empty() && current == digest) return absl::OkStatus();
  if (activation_ == ActivationPolicy::kPinned) {
    return absl::FailedPreconditionError(
        absl::StrCat("the tuner of kernel \"", identity_.kernel,
                     "\" is pinned to table ", ShortDigest(current)));
  }
  if (!staged_ || staged_->state.digest() != digest) {
    return absl::NotFoundError(absl::StrCat(
        "table ", digest, " is not staged for kernel \"", identity_.kernel,
        "\"; staged is: ", staged_ ? staged_->state.digest() : "nothing"));
  }
  ActivateStaged();
  return absl::OkStatus();
}

bool TableSlot::StepBoundary() {
  if (activation_ != ActivationPolicy::kStepBoundary ||
      !has_staged_.load(std::memory_order_relaxed)) {
    return false;
  }
  std::lock_guard lock(mutex_);
  if (!staged_ || staged_->held) return false;
  ActivateStaged();
  return true;
}

}  // namespace wavetune
